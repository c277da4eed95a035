#pragma once

#include <cstdint>
#include <optional>

#include "p2/limits.h"
#include "engine/strategy/printed_algorithm.h"

namespace p2::strategy {

/// `Every` tries all ways to break ties, up to a bound, and takes the first one that fails.
enum class TieRule : std::uint8_t { First, Last, Any, Every };

/// `None`: no strategy is left. `TooLarge`: the tables of the algorithm were not made.
enum class PrintedKind : std::uint8_t { Optimal, Dearer, Incomplete, None, TooLarge };

struct PrintedRun {
  PrintedKind kind = PrintedKind::TooLarge;
  Cost cost = 0;  ///< of a complete strategy
  Printed result;
};

/// Runs the printed algorithms and judges what they return. `seed` is for TieRule::Any.
PrintedRun judge_printed(const Graph& graph, Cost optimum, const Reading& reading, TieRule rule,
                         std::uint32_t seed);

/// A graph on which the printed algorithms fail.
struct Failure {
  Graph graph;
  Cost optimum = 0;
  PrintedRun run;
};

/// Leaves out vertices, edges and configurations and lowers costs as long as the same kind of
/// failure stays, with ties broken by `rule`: nothing more can go from what is returned.
Failure minimised(Failure failure, const Reading& reading, TieRule rule);

/// What a number of random graphs with many equal costs show.
struct PrintedCampaign {
  std::uint64_t graphs = 0;
  std::uint64_t dearer = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t none = 0;
  /// A graph of which the search of this project did not find the optimum: there must be none.
  std::optional<Graph> wrong_search;
  /// The smallest of the minimised failures: fewest vertices, edges, configurations, costs. Ties
  /// of graphs that fail under First, Last or Any are broken in every way to minimise.
  std::optional<Failure> smallest;
};

/// Random graphs of 4 or 5 vertices, one after the other from `seed`, each solved by enumeration,
/// by find_strategy and by the printed algorithms. For a reading in doubles their costs are
/// disguised (small_graphs.h). Ends early at the deadline of `limits`.
PrintedCampaign printed_campaign(std::uint64_t graphs, const Reading& reading, TieRule rule,
                                 std::uint32_t seed, const Limits& limits = {});

}  // namespace p2::strategy
