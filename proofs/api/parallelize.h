#pragma once

#include <optional>
#include <string>

#include "encodings/cnf/queries.h"
#include "engine/strategy/graph.h"
#include "engine/strategy/strategy.h"
#include "p2/limits.h"
#include "p2/parallelize.h"
#include "p2/result.h"

namespace p2 {

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
