#pragma once

#include <string>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel {

using Cost = std::int64_t;
using Costs = std::vector<Cost>;

constexpr std::uint64_t kCostEnd = std::uint64_t{1} << 62U;

/// A function of the configurations of some vertices; that of the last varies fastest.
struct CostTable {
  Numbers scope;
  Costs cells;
};

/// A list of costs, each below kCostEnd, and not empty.
Costs as_costs(const Json& value, Budget& budget);

/// The graph of a strategy certificate, and which configurations of it are left.
class StrategyGraph {
 public:
  /// Reads problem.json.
  StrategyGraph(const Json& root, Budget& budget);

  std::size_t vertices() const { return costs_.size(); }
  std::size_t edges() const { return edges_.size(); }
  std::size_t left(std::uint32_t vertex) const { return kept_[vertex].size(); }

  /// What a strategy of one configuration per vertex costs; objects to any other.
  Cost cost_of(const Numbers& strategy) const;
  /// Leaves out a configuration for another one that costs no more whatever is chosen elsewhere,
  /// `removal` = [vertex, configuration, by], or objects.
  void leave_out(const Numbers& removal);

  /// The costs of a vertex or, after all vertices, of an edge.
  CostTable term(std::size_t number) const;
  Costs costs_left(std::uint32_t vertex) const;
  /// What is left of an edge, a row per configuration of the end with the lower position.
  CostTable table_left(std::size_t edge, const Numbers& position) const;

 private:
  struct Edge {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::size_t table = 0;
  };
  struct Rows {
    std::size_t columns = 0;
    Costs cells;
  };

  void read_table(const Json& value);
  void read_edge(const Json& value);
  void check_sum();
  Cost cell(const Edge& edge, std::uint32_t vertex, std::size_t own, std::size_t other) const;

  Budget& budget_;
  std::vector<Costs> costs_;
  std::vector<Rows> tables_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;  // by vertex
  std::vector<Numbers> kept_;
  std::size_t removals_ = 0;
};

/// Objects unless proof.lrat refutes the clauses that say that a strategy costs less. Its cost is
/// added up as sums.json says, and of every sum those values are told apart that stand there.
/// Nothing has been left out of the graph.
void refute_cheaper(const StrategyGraph& graph, Cost cost, const Files& files, Budget& budget);

}  // namespace p2::kernel
