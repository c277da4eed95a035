#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encodings/cnf/queries.h"
#include "engine/collective/language/definition.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "engine/strategy/graph.h"
#include "engine/strategy/strategy.h"
#include "p2/json.h"
#include "p2/limits.h"
#include "p2/parallelize.h"
#include "p2/result.h"

namespace p2 {

/// The engines that answer in addition to the explicit one: `z3` (bit-vectors
/// compiled from the definitions), `cnf` (clauses for CaDiCaL) and `reference` (the interpreter of
/// the definitions, which replays the other answers). They share the definitions of the collectives
/// and no evaluator; z3 and cnf have a lowering of their own. cnf supports the paper's collectives
/// and goal only.
struct Engines {
  bool z3 = false;
  bool cnf = false;
  bool reference = false;
  bool of_modules = false;    ///< `symbolic` or `interpreter`: nothing else is judged
  bool cnf_left_out = false;  ///< asked for, but the terms are not supported
  /// The definitions of z3, in the order of Collective. Others than the built-in ones and the
  /// user's serve to test that a difference is detected.
  std::vector<language::Definition> z3_definitions = language::built_in_definitions();
};

/// `cnf: not asked, …`, for an answer without cnf.
std::string not_asked_text();

/// The engines that support the terms. Throws InputError if the only one asked for does not.
Engines on_terms(Engines engines, const Terms& terms);

/// The engines of `--engine NAME`. Throws InputError for an unknown name.
Engines engines_called(const std::string& name);

/// The answers about a program of all engines asked, by name; the explicit one's is `decision`.
std::vector<EngineAnswer> ask(const Engines& engines, const ProgramFile& file,
                              const ProgramDecision& decision, const Limits& limits);

/// The answer of the explicit engine.
EngineAnswer engine_answer(const ProgramDecision& decision);

/// Whether two answers have the same outcome, step and rule.
bool same_decision(const EngineAnswer& a, const EngineAnswer& b);

/// `valid`, `unknown after 1 legal step`, or `invalid at step 2 by disjoint`.
std::string to_string(const EngineAnswer& answer);
/// `{verdict, step, rule}`; of an undecided answer also `legal_steps`.
Json json_of(const EngineAnswer& answer);

/// A solver's check of an answer of the search: nothing costs less (within the memory limit, if
/// any), or, where nothing was found, nothing fits.
struct StrategyCheck {
  EngineAnswer answer;  ///< Refuted: the solver found a better strategy
  std::string text;     ///< one readable line
};

StrategyCheck check_with_z3(const strategy::GraphFile& file,
                            std::optional<strategy::Cost> memory_limit,
                            const strategy::Found* found, const Limits& limits);

/// `refutation`: where established, the clauses' refutation of a cheaper strategy. By the proofs of
/// cubes, where a folder is given.
StrategyCheck check_with_clauses(const strategy::Graph& graph, const strategy::Found& found,
                                 const Limits& limits, cnf::StrategyRefutation& refutation,
                                 const std::optional<std::string>& refuted_in = std::nullopt);

/// Runs the paper's algorithms, as `request.paper` reads them, on the graph and compares with the
/// least cost.
ParallelizeAnswer compare_with_paper(const ParallelizeRequest& request,
                                     const strategy::GraphFile& file, const Options& options);

}  // namespace p2
