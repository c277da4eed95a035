#pragma once

#include <optional>
#include <string>
#include <vector>

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
  GivenInstance given;
  SynthesisOptions options;
  Engines engines;
  std::optional<ProgramProperty> property;
  std::optional<OpenSizes> open = {};  ///< sizes given as *

  bool listed() const { return !request.count_only && !property; }
};

/// `1 program`, `47 programs`.
std::string count_text(std::uint64_t programs);

/// Asks everything about one placement after its programs were found, and describes it.
class PlacementQuestion {
 public:
  PlacementQuestion(const SynthesisQuestion& question, const PlacementPrograms& found,
                    std::optional<std::string> certificate_folder)
      : question_(question), found_(found), folder_(std::move(certificate_folder)) {}

  void answer(SynthesizeAnswer& answer);
  void add_text(Document& document, std::size_t number, std::size_t count) const;
  Json json() const;

 private:
  void ask_engines(std::vector<Diagnostic>& diagnostics);
  void list_programs();
  bool asks_all_sizes() const { return question_.request.all_sizes || question_.open; }
  void decide_all_sizes(std::vector<Diagnostic>& diagnostics);
  Outcome outcome() const;
  Result result() const;
  std::string all_sizes_text() const {
    return to_string(*all_sizes_, "the same programs", found_.instance(), *open_);
  }

  const SynthesisQuestion& question_;
  const PlacementPrograms& found_;
  std::optional<std::string> folder_;
  SynthesizedPlacement placement_;
  Evidence evidence_;
  std::optional<OpenSizes> open_;  ///< what all_sizes_ is about
  std::optional<SizesAnswer> all_sizes_;
  bool list_cut_ = false;  ///< a limit left no room for all of the list
};

}  // namespace p2
