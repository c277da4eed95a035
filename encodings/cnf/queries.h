#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "encodings/cnf/drat_to_lrat.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/sharding.h"
#include "engine/strategy/bucket_elimination.h"
#include "p2/limits.h"
#include "p2/result.h"

/// Questions to a SAT solver about programs, plans, schedules and strategies; those about synthesis
/// are in synthesis.h. Where a limit is reached they are undecided.
namespace p2::cnf {

/// The query `validity`: is this program valid?
struct ValidityQuery {
  /// Programs whose simulated devices have more matrix cells than this together are Undecided, with
  /// the rule kTooLarge. 64 devices in one class have as many.
  static constexpr std::size_t kMaxCells = std::size_t{64} * 64 * 64;

  static constexpr const char* kTooLarge = "too large for the clauses, which judge 64^3 cells";

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Limits limits = {};
};

/// Decides the program step by step. The state before a step is known cell by cell; the clauses of
/// GroupRules, those of synthesis, have a model exactly if the step is legal, and the model is the
/// state after it; that there is no other model is asked as well. Of a step without a model the
/// solver is asked which premise fails first. Groups of steps with a shape are formed by
/// Coordinates and not taken from the step.
EngineAnswer judge(const ValidityQuery& query);

/// The query `reshard-plan`: does this plan obey all rules?
struct PlanQuery {
  /// Plans of more operations are undecided.
  static constexpr std::size_t kMaxOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// Decides rule by rule whether some element, whose coordinates are bit vectors, violates it. There
/// is a deadlock iff there is a nonempty set of steps and transfers of which each waits for another
/// one of the set. Of the answer, `rule` is the first one that is broken; the outcome is undecided
/// where a limit is reached.
EngineAnswer judge(const PlanQuery& query);

/// A SAT solver's answer to: no schedule of the unit tasks (Eq. 1–3) is shorter than `makespan`.
struct ScheduleRefutation {
  Outcome outcome = Outcome::Undecided;
  ClauseProof proof;  ///< where established, over the clauses of docs/certificates.md
};

/// Time-indexed order encoding (Tamura et al., "Compiling finite linear CSP into SAT", 2009).
/// Undecided at a limit, or where p2-check would not read that many clauses: sums of sizes take too
/// many values. With `refuted_in`, by the proofs of the cubes in that folder.
ScheduleRefutation refute_shorter_schedule(
    const UnitTasks& tasks, std::int64_t makespan, const Limits& limits,
    const std::optional<std::string>& refuted_in = std::nullopt);
/// The clauses, with a cube for every sender of the largest task that has several; nothing where
/// they would be too many.
std::optional<SplitClauses> shorter_schedule_clauses(const UnitTasks& tasks, std::int64_t makespan);

// Larger graphs are undecided.
constexpr std::size_t kMaxStrategyClauses = std::size_t{1} << 22;
/// Assignments to the scopes of all additions.
constexpr std::size_t kMaxJoinAssignments = std::size_t{1} << 27;

/// A SAT solver's answer to: no strategy costs less than a bound.
struct StrategyRefutation {
  Outcome outcome = Outcome::Undecided;
  bool too_large = false;       ///< undecided since the graph exceeds the sizes above
  strategy::Strategy strategy;  ///< where refuted, one that costs less

  // Where established:
  std::vector<strategy::Addition> additions;      ///< the order of summation
  std::vector<std::vector<strategy::Cost>> sums;  ///< the thresholds of each addition
  ClauseProof proof;                              ///< over the clauses of docs/certificates.md
};

/// A literal per configuration, and per addition of the bucket tree the thresholds that the partial
/// sum reaches, as in a totalizer (Bailleux and Boufkhad, 2003) over selected values. Values
/// between thresholds round down, so a refutation holds; a model that is not cheaper in exact
/// arithmetic adds its sums as thresholds, and the solver runs again (counterexample-guided
/// refinement: Clarke et al., 2000). With `refuted_in`, by the proofs of the cubes in that folder.
StrategyRefutation refute_cheaper_strategy(
    const strategy::Graph& graph, strategy::Cost below, const Limits& limits,
    const std::optional<std::string>& refuted_in = std::nullopt);
/// The clauses before any refinement, which suffice if no strategy costs less, with a cube for
/// every configuration of a vertex that has most of them; nothing for larger graphs.
std::optional<SplitClauses> cheaper_strategy_clauses(const strategy::Graph& graph,
                                                     strategy::Cost below);

}  // namespace p2::cnf
