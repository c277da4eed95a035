#pragma once

#include "encodings/cnf/drat_to_lrat.h"
#include "engine/strategy/bucket_tree.h"
#include "p2/result.h"

namespace p2::cnf {

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
/// refinement: Clarke et al., 2000).
StrategyRefutation refute_cheaper_strategy(const strategy::Graph& graph, strategy::Cost below,
                                           const Limits& limits);

}  // namespace p2::cnf
