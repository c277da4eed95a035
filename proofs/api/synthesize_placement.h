#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/program/synthesis.h"
#include "p2/document.h"
#include "p2/synthesize.h"
#include "proofs/api/open_sizes.h"
#include "proofs/api/synthesize.h"

/// Private to synthesize: what is asked, and the answer about one placement.
namespace p2 {

/// A request whose texts are parsed.
struct SynthesisQuestion {
  const SynthesizeRequest& request;
  const Options& limits;
  std::string system;  ///< as it was given
  GivenInstance given;
  SynthesisOptions options;
  Engines engines;
  std::optional<ProgramProperty> property;
  std::optional<OpenSizes> open = {};  ///< sizes given as *

  bool listed() const { return !request.count_only && !property; }
};

/// `1 program`, `47 programs`.
std::string count_text(std::uint64_t programs);

/// Where the certificate of a placement goes.
struct CertificatePlace {
  std::string folder;
  bool is_shared = false;  ///< with other placements: into a folder inside, named by its contents
};

/// What is said of a placement.
struct PlacementAnswer {
  SynthesizedPlacement placement;
  Result result;
  bool settled = false;  ///< up to the size asked for
  std::vector<Diagnostic> diagnostics;
  Document text;
  Json json;
};

/// An answer in a journal. Read back, its text and JSON are the same; of the placement only the
/// counts are kept, and of the result what record_of(Result) keeps.
nlohmann::ordered_json record_of(const PlacementAnswer& answer);
/// Throws nlohmann::json::exception for what record_of has not written.
PlacementAnswer journaled_placement(const nlohmann::ordered_json& record);

/// Asks everything about one placement after its programs were found, and describes it.
class PlacementQuestion {
 public:
  PlacementQuestion(const SynthesisQuestion& question, const PlacementPrograms& found,
                    std::optional<CertificatePlace> certificate)
      : question_(question), found_(found), certificate_(std::move(certificate)) {}

  void ask();
  Outcome outcome() const;
  /// After ask(): the answer about placement `number` of `count`, with the parts of the document
  /// that are wanted. To be called once.
  PlacementAnswer take_answer(std::size_t number, std::size_t count, bool text, bool json);

 private:
  void add_text(Document& document, std::size_t number, std::size_t count) const;
  Json json() const;
  bool is_settled() const;
  void ask_engines();
  void write_cubes();
  void list_programs();
  bool asks_all_sizes() const { return question_.request.all_sizes || question_.open; }
  void decide_all_sizes();
  Result result() const;
  std::string all_sizes_text() const {
    return to_string(*all_sizes_, "the same programs", found_.instance(), *open_);
  }

  const SynthesisQuestion& question_;
  const PlacementPrograms& found_;
  std::optional<CertificatePlace> certificate_;
  SynthesizedPlacement placement_;
  std::vector<Diagnostic> diagnostics_;
  Evidence evidence_;
  std::optional<OpenSizes> open_;  ///< what all_sizes_ is about
  std::optional<SizesAnswer> all_sizes_;
  bool list_cut_ = false;  ///< a limit left no room for all of the list
};

}  // namespace p2
