#include "engine/strategy/elimination_order.h"

#include <array>
#include <limits>
#include <set>
#include <utility>

namespace p2::strategy {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return b > kMost - a ? kMost : a + b; }

/// Eliminates on paper: the neighbours of an eliminated vertex become neighbours of each other.
class Rehearsal {
 public:
  using Score = std::array<std::uint64_t, 2>;

  Rehearsal(const Graph& graph, bool by_pairs)
      : graph_(graph),
        by_pairs_(by_pairs),
        neighbours_(graph.vertices()),
        tables_(graph.vertices(), 1),
        scores_(graph.vertices()),
        done_(graph.vertices(), false) {
    for (const Edge& edge : graph.edges) {
      for (const auto& [one, other] :
           {std::pair(edge.first, edge.second), std::pair(edge.second, edge.first)}) {
        ++tables_[one];
        const bool joins = graph.configurations(one) > 1 && graph.configurations(other) > 1;
        if (joins) neighbours_[one].insert(other);
      }
    }
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) scores_[v] = score(v);
  }

  EliminationOrder run() {
    for (std::size_t i = 0; i < graph_.vertices(); ++i) eliminate(best());
    return std::move(order_);
  }

 private:
  std::uint64_t cells(std::uint32_t vertex) const {
    std::uint64_t product = 1;
    for (const std::uint32_t n : neighbours_[vertex]) {
      product = times(product, graph_.configurations(n));
    }
    return product;
  }

  Score score(std::uint32_t vertex) const {
    std::uint64_t pairs = 0;
    const auto& around = neighbours_[vertex];
    for (auto a = around.begin(); a != around.end(); ++a) {
      for (auto b = std::next(a); b != around.end(); ++b) pairs += !neighbours_[*a].contains(*b);
    }
    return by_pairs_ ? Score{pairs, cells(vertex)} : Score{cells(vertex), pairs};
  }

  std::uint32_t best() const {
    std::uint32_t found = 0;
    while (done_[found]) ++found;
    for (std::uint32_t v = found + 1; v < graph_.vertices(); ++v) {
      if (!done_[v] && scores_[v] < scores_[found]) found = v;
    }
    return found;
  }

  void eliminate(std::uint32_t vertex) {
    const std::set<std::uint32_t> around = neighbours_[vertex];
    order_.vertices.push_back(vertex);
    if (graph_.configurations(vertex) > 1) count(vertex);
    done_[vertex] = true;
    std::set<std::uint32_t> affected = around;
    for (const std::uint32_t n : around) {
      ++tables_[n];  // at most: the tables of `vertex` are gone
      neighbours_[n].erase(vertex);
      for (const std::uint32_t m : around) {
        if (m != n) neighbours_[n].insert(m);
      }
      affected.insert(neighbours_[n].begin(), neighbours_[n].end());
    }
    for (const std::uint32_t n : affected) scores_[n] = score(n);
  }

  void count(std::uint32_t vertex) {
    const std::uint64_t made = cells(vertex);
    if (made > largest_) {
      largest_ = made;
      order_.largest.assign(neighbours_[vertex].begin(), neighbours_[vertex].end());
      order_.largest.push_back(vertex);
    }
    order_.cells = plus(order_.cells, made);
    order_.additions =
        plus(order_.additions, times(made, times(graph_.configurations(vertex), tables_[vertex])));
  }

  const Graph& graph_;
  bool by_pairs_;
  std::vector<std::set<std::uint32_t>> neighbours_;
  std::vector<std::uint64_t> tables_;  // at most so many have the vertex in their scope
  std::vector<Score> scores_;
  std::vector<bool> done_;
  std::uint64_t largest_ = 0;
  EliminationOrder order_;
};

}  // namespace

EliminationOrder elimination_order(const Graph& graph) {
  EliminationOrder by_cells = Rehearsal(graph, false).run();
  EliminationOrder by_pairs = Rehearsal(graph, true).run();
  return by_pairs.additions < by_cells.additions ? by_pairs : by_cells;
}

}  // namespace p2::strategy
