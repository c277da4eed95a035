#include "engine/strategy/strategy.h"

#include <algorithm>
#include <utility>

namespace p2::strategy {
namespace {

/// The table of an edge with a row per configuration of one of its ends, both ends reduced.
struct Side {
  std::size_t columns = 0;
  std::vector<Cost> cells;
  std::vector<Cost> least;  ///< by row

  const Cost* row(std::size_t r) const { return cells.data() + r * columns; }
};

class Dominance {
 public:
  Dominance(const Graph& graph, const std::vector<std::vector<Cost>>* memory)
      : graph_(graph), memory_(memory), edges_(graph.vertices()), changed_(graph.vertices(), true) {
    result_.kept = all_configurations(graph);
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      edges_[graph.edges[e].first].push_back(e);
      edges_[graph.edges[e].second].push_back(e);
    }
  }

  Reduction run() {
    while (std::ranges::find(changed_, true) != changed_.end()) {
      for (std::uint32_t v = 0; v < graph_.vertices(); ++v) {
        if (!changed_[v]) continue;
        changed_[v] = false;
        reduce(v);
      }
    }
    return std::move(result_);
  }

 private:
  Side side_of(const Edge& edge, std::uint32_t vertex) const {
    const bool is_first = edge.first == vertex;
    const std::size_t width = graph_.configurations(edge.second);
    const auto& columns = result_.kept[is_first ? edge.second : edge.first];
    Side side{columns.size(), {}, {}};
    for (const std::uint32_t own : result_.kept[vertex]) {
      for (const std::uint32_t other : columns) {
        side.cells.push_back(edge.table[is_first ? own * width + other : other * width + own]);
      }
      side.least.push_back(
          *std::min_element(side.cells.end() - std::ssize(columns), side.cells.end()));
    }
    return side;
  }

  void reduce(std::uint32_t vertex) {
    auto& kept = result_.kept[vertex];
    sides_.clear();
    for (const std::size_t e : edges_[vertex]) sides_.push_back(side_of(graph_.edges[e], vertex));
    least_.assign(kept.size(), 0);
    for (std::size_t c = 0; c < kept.size(); ++c) {
      least_[c] = graph_.costs[vertex][kept[c]];
      for (const Side& side : sides_) least_[c] += side.least[c];
    }
    std::vector<std::size_t> remaining(kept.size());
    for (std::size_t c = 0; c < kept.size(); ++c) remaining[c] = c;
    for (std::size_t c = kept.size(); c-- > 0;) {
      const auto by = std::ranges::find_if(remaining, [&](std::size_t other) {
        return other != c && needs_no_more(vertex, kept[other], kept[c]) && dominates(other, c);
      });
      if (by == remaining.end()) continue;
      result_.removals.push_back({vertex, kept[c], kept[*by]});
      std::erase(remaining, c);
    }
    if (remaining.size() == kept.size()) return;
    for (std::size_t& c : remaining) c = kept[c];
    kept.assign(remaining.begin(), remaining.end());
    for (const std::size_t e : edges_[vertex]) {
      changed_[graph_.edges[e].first + graph_.edges[e].second - vertex] = true;
    }
  }

  bool needs_no_more(std::uint32_t vertex, std::uint32_t by, std::uint32_t c) const {
    return memory_ == nullptr || (*memory_)[vertex][by] <= (*memory_)[vertex][c];
  }

  /// Starts from an optimistic bound, the difference of row minima, and makes it exact edge by
  /// edge.
  bool dominates(std::size_t by, std::size_t c) const {
    Cost worst = least_[by] - least_[c];
    if (worst > 0) return false;
    for (const Side& side : sides_) {
      worst -= side.least[by] - side.least[c];
      const Cost* const more = side.row(by);
      const Cost* const less = side.row(c);
      Cost difference = more[0] - less[0];
      for (std::size_t i = 1; i < side.columns && worst + difference <= 0; ++i) {
        difference = std::max(difference, more[i] - less[i]);
      }
      worst += difference;
      if (worst > 0) return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<std::vector<Cost>>* memory_;
  std::vector<std::vector<std::size_t>> edges_;  // by vertex
  std::vector<bool> changed_;                    // by vertex: a neighbour has lost configurations
  Reduction result_;
  // Of the vertex being reduced:
  std::vector<Side> sides_;
  std::vector<Cost> least_;
};

}  // namespace

Reduction remove_dominated(const Graph& graph, const std::vector<std::vector<Cost>>* memory) {
  return Dominance(graph, memory).run();
}

}  // namespace p2::strategy
