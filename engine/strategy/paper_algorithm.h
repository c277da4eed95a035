#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "engine/strategy/graph.h"
#include "p2/limits.h"

namespace p2::strategy {

/// The choice of `argmin` among equal minima. The paper leaves it open, and the result of its
/// algorithm depends on it.
class TieBreaker {
 public:
  TieBreaker() = default;
  virtual ~TieBreaker() = default;
  TieBreaker(const TieBreaker&) = delete;
  TieBreaker& operator=(const TieBreaker&) = delete;

  /// A position in `tied`: vertices or configurations, ascending, more than one.
  virtual std::size_t pick(const std::vector<std::uint32_t>& tied) = 0;
};

class FirstTie final : public TieBreaker {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
};

class LastTie final : public TieBreaker {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
};

/// A random one every time, as an unordered set may return.
class RandomTie final : public TieBreaker {
 public:
  explicit RandomTie(std::uint32_t seed) : random_(seed) {}
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;

 private:
  std::mt19937 random_;
};

/// All sequences of picks, by depth-first enumeration over runs: a run repeats a prefix of the
/// previous one and then takes the next alternative.
class EveryTie final : public TieBreaker {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
  /// Ends a run; false when all sequences were enumerated.
  bool next();

 private:
  struct Pick {
    std::size_t taken = 0;
    std::size_t count = 0;
  };
  std::vector<Pick> picks_;
  std::size_t made_ = 0;  ///< in the current run
};

/// The interpretation of ambiguous lines of the paper's algorithms 1 to 3 (docs/strategy.md). Line
/// 12 of algorithm 3 has `v.tbl` where only `T` makes sense; both mean the vertices of the table.
struct Reading {
  /// Algorithm 3, line 4: "S is empty" as printed, or "no table was joined yet" as intended. They
  /// differ where the join of two tables is empty: as printed, the next table replaces it.
  bool restarts_when_empty = true;
  /// Costs are summed as integers, or as the doubles `cost / unit`.
  std::optional<double> unit;
};

/// The result of the printed algorithms.
struct Printed {
  /// By vertex; nothing for a vertex that occurs in no joined table. Empty where the join is empty.
  std::vector<std::optional<std::uint32_t>> strategy;

  bool complete() const;
};

/// Algorithm 1 with algorithms 2 and 3, line by line: a reference for comparison. Its tables have a
/// row per assignment to a vertex and all its neighbours; empty if there would be more than
/// `max_rows`.
std::optional<Printed> printed_algorithm(const Graph& graph, const Reading& reading,
                                         TieBreaker& ties, std::size_t max_rows);

/// The number of rows of the initial tables, saturated.
std::uint64_t printed_rows(const Graph& graph);

/// `Every` enumerates all tie-breaks, up to a bound, and takes the first one that fails.
enum class TieRule : std::uint8_t { First, Last, Any, Every };

/// `None`: the join is empty. `TooLarge`: the tables were not made.
enum class PrintedKind : std::uint8_t { Optimal, Suboptimal, Incomplete, None, TooLarge };

struct PrintedRun {
  PrintedKind kind = PrintedKind::TooLarge;
  Cost cost = 0;  ///< of a complete strategy
  Printed result;
};

/// Runs the printed algorithms and compares the result with the optimum. `seed` is for
/// TieRule::Any.
PrintedRun judge_printed(const Graph& graph, Cost optimum, const Reading& reading, TieRule rule,
                         std::uint32_t seed);

/// A graph on which the printed algorithms fail.
struct Failure {
  Graph graph;
  Cost optimum = 0;
  PrintedRun run;
};

/// Greedy test-case reduction: removes vertices, edges and configurations and lowers costs while
/// the same kind of failure remains, with ties broken by `rule`. The result is 1-minimal.
Failure minimise(Failure failure, const Reading& reading, TieRule rule);

/// The failures on a number of random graphs with many equal costs.
struct PrintedCampaign {
  std::uint64_t graphs = 0;
  std::uint64_t suboptimal = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t none = 0;
  /// A graph whose optimum find_strategy missed: a bug of this program.
  std::optional<Graph> wrong_search;
  /// The smallest reduced failure by vertices, edges, configurations, costs. Failures under First,
  /// Last or Any are reduced under Every.
  std::optional<Failure> smallest;
};

/// Random graphs of 4 or 5 vertices from `seed`, each solved by enumeration, by find_strategy and
/// by the printed algorithms. For a reading in doubles they are reparametrised. Ends early at a
/// limit.
PrintedCampaign printed_campaign(std::uint64_t graphs, const Reading& reading, TieRule rule,
                                 std::uint32_t seed, const Limits& limits = {});

/// The size of a graph: vertices, edges, configurations, sum of costs.
std::tuple<std::size_t, std::size_t, std::size_t, Cost> size_of(const Graph& graph);

/// The graphs with one vertex, edge or configuration removed, or one cost set to 0 or lowered by
/// one, in this order.
std::vector<Graph> reductions(const Graph& graph);

/// A path of `least` to `most` vertices with 2 configurations each, and every other edge with
/// probability 1/5; costs are 1 with probability 1/8, else 0.
Graph tied_graph(std::mt19937& random, std::uint32_t least, std::uint32_t most);

/// An equivalent graph: costs are shifted between vertices and their edges, and all strategies cost
/// more by the same constant.
Graph reparametrised(Graph graph, std::mt19937& random);

/// The least cost, by enumeration of all strategies.
Cost least_by_enumeration(const Graph& graph);

/// Advances to the next strategy in enumeration order, from all zeros; false after the last one.
bool next_strategy(const Graph& graph, Strategy& strategy);

}  // namespace p2::strategy
