#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "encodings/z3/synthesis.h"
#include "engine/program/synthesis.h"
#include "p2/document.h"
#include "p2/synthesize.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/engines.h"
#include "proofs/api/open_sizes.h"

/// The parts of `synthesize`: the engines on one placement, and the answer about it.
namespace p2 {

/// As the public one, its questions answered by `run` or, without one, by this process: one system
/// after the other. Z3 goes by `z3_definitions`, in the order of Collective: with others than the
/// built-in ones, tests see whether a difference between the engines is detected.
SynthesizeAnswer synthesize(
    const SynthesizeRequest& request, const Options& options, const CampaignRun* run,
    const std::vector<language::Definition>& z3_definitions = language::built_in_definitions());
/// The request of the header of a journal. Throws nlohmann::json::exception.
SynthesizeRequest journaled_synthesis(const nlohmann::ordered_json& header);

/// Enumerates the programs of a placement again with each of `engines` and compares the sets, as
/// programs with the groups of the whole system. The first programs that only one side has are
/// replayed by the reference interpreter, which shows who is wrong.
std::vector<ListComparison> compare_with_solvers(const PlacementPrograms& found,
                                                 const SynthesisOptions& options,
                                                 const Engines& engines);
/// The comparison in the text of `synth`: one line or, where they differ, a line per program.
std::string to_text(const ListComparison& comparison, std::uint64_t count);

/// The query to Z3 for the programs of a placement; `found` and `engines` must outlive it.
z3_encoding::SynthesisQuery query_of(const PlacementPrograms& found,
                                     const SynthesisOptions& options, const Engines& engines);

/// The comparison that shows a valid program, `missing`, that the clauses found and the list lacks.
/// Its steps have shapes and no groups.
ListComparison contradiction(const PlacementPrograms& found, const SynthesisOptions& options,
                             std::vector<Step> missing);

/// A property of a program: that one of its steps has a collective or a form, or that none does.
struct ProgramProperty {
  std::string name;  ///< of the collective or form: `Broadcast`, `Master`
  bool used = true;  ///< false: no step has it
  std::optional<Collective> collective = {};
  Form form = Form::InsideGroup;  ///< without a collective

  bool holds_for(Collective of_step, const GroupShape& shape) const {
    return collective ? of_step == *collective : shape.form == form;
  }
};

/// Parses `Broadcast`, `Master`, `no-AllReduce`, …. Throws InputError at `--exists`.
ProgramProperty parse_property(const std::string& text, const CollectiveSet& collectives);

/// A request whose texts are parsed.
struct SynthesisQuestion {
  const SynthesizeRequest& request;
  const Options& options;
  std::string system;  ///< as it was given
  GivenInstance given;
  SynthesisOptions search;
  Engines engines;
  std::optional<ProgramProperty> property;
  std::optional<OpenSizes> open = {};  ///< sizes given as *

  bool listed() const { return !request.count_only && !property; }
};

/// The answers about one placement and the property of the question, of the explicit engine and of
/// those asked. cnf is not asked whether a program avoids a collective or form: its clauses cannot
/// exclude a step.
std::vector<ExistenceAnswer> find_property(const PlacementPrograms& found,
                                           const SynthesisQuestion& question);

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
