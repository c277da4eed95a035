#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encodings/z3/synthesis.h"
#include "engine/program/synthesis.h"
#include "p2/synthesize.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/engines.h"

/// The parts of `synthesize` that tests and campaigns use as well.
namespace p2 {

/// As the public one, except that Z3 goes by `z3_definitions`, in the order of Collective, instead
/// of the built-in ones: tests see whether a difference between the engines is detected.
SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options,
                            std::vector<language::Definition> z3_definitions);

/// As the public one, its questions answered by `run`.
SynthesizeAnswer synthesize_in_campaign(const SynthesizeRequest& request, const Options& options,
                                        const CampaignRun& run);
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

/// The answers of the explicit engine and of `engines` about one placement. cnf is not asked
/// whether a program avoids a collective or form: its clauses cannot exclude a step.
std::vector<ExistenceAnswer> find_property(const PlacementPrograms& found,
                                           const ProgramProperty& property,
                                           const SynthesisOptions& options, const Engines& engines);

}  // namespace p2
