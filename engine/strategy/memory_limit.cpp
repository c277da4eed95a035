#include "engine/strategy/strategy.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace p2::strategy {

Graph priced(Graph graph, const Memory& memory, Price price) {
  for (std::size_t v = 0; v < graph.costs.size(); ++v) {
    for (std::size_t c = 0; c < graph.costs[v].size(); ++c) {
      graph.costs[v][c] += static_cast<Cost>(worth(price, memory[v][c]));
    }
  }
  return graph;
}

namespace {

/// A subset of the configurations, its Lagrangian bound, and the two strategies on which the
/// partition is based: a cheap one that needs too much memory and a small one that fits.
struct Subproblem {
  Kept kept;
  Cost bound = 0;
  Price price = 0;
  Strategy cheap;
  Strategy small;

  bool operator<(const Subproblem& other) const { return bound > other.bound; }
};

class FittingSearch {
 public:
  FittingSearch(const Graph& graph, const Memory& memory, Cost limit, const Limits& limits)
      : graph_(graph), memory_(memory), limit_(limit), limits_(limits) {
    for (const auto& bytes : memory) max_memory_ += std::ranges::max(bytes);
    for (const auto& costs : graph.costs) max_cost_ += std::ranges::max(costs);
    for (const Edge& edge : graph.edges) max_cost_ += std::ranges::max(edge.table);
  }

  std::optional<Found> run() {
    Subproblem whole{all_configurations(graph_), 0, 0, {}, {}};
    if (!remove_oversized(whole.kept)) return std::nullopt;
    best_.strategy = least_memory_strategy(whole.kept);
    best_.cost = best_.bound = cost_of(graph_, best_.strategy);
    bound_and_push(std::move(whole));
    while (!open_.empty() && open_.top().bound < best_.cost) {
      Subproblem part = open_.top();
      open_.pop();
      if (!limits_.exceeded(0)) close_gap(part);
      if (part.bound >= best_.cost) continue;
      if (limits_.exceeded(0)) {
        open_bound_ = std::min(open_bound_, part.bound);
      } else {
        partition(part);
      }
    }
    best_.bound = std::min(best_.cost, open_bound_);
    return std::move(best_);
  }

 private:
  /// By Pareto fronts. Every failure raises the effort that the next subproblem may take.
  void close_gap(Subproblem& part) {
    const Graph graph = restricted(graph_, part.kept);
    const Memory memory = restricted(memory_, part.kept);
    Found found{best_.cost, part.bound, Strategy(part.kept.size())};
    strategy::close_gap({&graph, &memory, limit_}, {part.price, 0}, max_pairs_, limits_, found);
    if (found.cost < best_.cost) {
      best_.cost = found.cost;
      for (std::size_t v = 0; v < part.kept.size(); ++v) {
        best_.strategy[v] = part.kept[v][found.strategy[v]];
      }
    }
    part.bound = found.bound;
    if (part.bound < best_.cost) max_pairs_ += max_pairs_ / 2;
  }

  Strategy least_memory_strategy(const Kept& kept) const {
    Strategy strategy;
    for (std::size_t v = 0; v < kept.size(); ++v) {
      strategy.push_back(
          *std::ranges::min_element(kept[v], {}, [&](std::uint32_t c) { return memory_[v][c]; }));
    }
    return strategy;
  }

  /// Removes configurations that do not fit even with the least memory of all other vertices; false
  /// where nothing fits.
  bool remove_oversized(Kept& kept) const {
    for (const auto& choices : kept) {
      if (choices.empty()) return false;
    }
    const Strategy lean = least_memory_strategy(kept);
    const Cost spare = limit_ - memory_of(memory_, lean);
    if (spare < 0) return false;
    for (std::size_t v = 0; v < kept.size(); ++v) {
      std::erase_if(kept[v],
                    [&](std::uint32_t c) { return memory_[v][c] - memory_[v][lean[v]] > spare; });
    }
    return true;
  }

  /// A solution of the relaxation and its lower bound of all strategies that fit.
  std::pair<Cost, Strategy> solve_relaxation(const Kept& kept, Price price) const {
    const Graph part = priced(restricted(graph_, kept), restricted(memory_, kept), price);
    Solution answer = find_strategy(part, limits_);
    for (std::size_t v = 0; v < kept.size(); ++v) {
      answer.found.strategy[v] = kept[v][answer.found.strategy[v]];
    }
    const Cost back = static_cast<Cost>(worth(price, limit_));
    return {answer.found.bound - back, std::move(answer.found.strategy)};
  }

  /// Solves the relaxation and records its bound and strategy; true where the strategy fits.
  bool evaluate(Subproblem& part, Price price) {
    auto [bound, strategy] = solve_relaxation(part.kept, price);
    if (bound > part.bound || price == 0) {
      part.bound = std::max(part.bound, bound);
      part.price = price;
    }
    const bool fits = memory_of(memory_, strategy) <= limit_;
    const Cost cost = cost_of(graph_, strategy);
    if (fits && price == 0 && bound < cost) open_bound_ = std::min(open_bound_, bound);
    if (fits && cost < best_.cost) {
      best_.cost = cost;
      best_.strategy = strategy;
    }
    (fits ? part.small : part.cheap) = std::move(strategy);
    return fits;
  }

  /// Maximises the Lagrangian bound by bisection, and keeps the subproblem if the bound is below
  /// the best cost.
  void bound_and_push(Subproblem part) {
    part.cheap.clear();
    part.small.clear();
    const Price first = part.price > 0 ? part.price : first_price();
    if (evaluate(part, 0)) return;
    Price low = 0;
    Price high = first;
    while (!evaluate(part, high) && high < max_price()) {
      low = high;
      high = std::min(high * 2, max_price());
    }
    constexpr int kHalvings = 14;
    for (int i = 0; i < kHalvings && high - low > 1 && part.bound < best_.cost; ++i) {
      if (limits_.exceeded(0)) break;
      const Price middle = low + (high - low) / 2;
      (evaluate(part, middle) ? high : low) = middle;
    }
    if (part.small.empty()) part.small = least_memory_strategy(part.kept);
    if (part.bound < best_.cost) open_.push(std::move(part));
  }

  Price first_price() const {
    const Wide price = (Wide{best_.cost} << 32U) / std::max<Cost>(limit_, 1) / 16;
    return static_cast<Price>(std::clamp<Wide>(price, 1, max_price()));
  }

  /// The largest price at which nothing overflows.
  Price max_price() const {
    const Wide left = (Wide{kCostEnd} - 1 - max_cost_) << 32U;
    const Wide price = left / std::max<Cost>(std::max(max_memory_, limit_), 1) / 2;
    return static_cast<Price>(std::clamp<Wide>(price, 1, Wide{1} << 61U));
  }

  /// Splits the configurations of the vertex where the two strategies differ most in memory.
  void partition(const Subproblem& part) {
    const auto difference = [&](std::size_t v) {
      return memory_[v][part.cheap[v]] - memory_[v][part.small[v]];
    };
    std::size_t vertex = 0;
    for (std::size_t v = 1; v < part.kept.size(); ++v) {
      if (difference(v) > difference(vertex)) vertex = v;
    }
    const Cost most = memory_[vertex][part.small[vertex]];
    for (const bool small : {true, false}) {
      Subproblem half{part.kept, part.bound, part.price, {}, {}};
      std::erase_if(half.kept[vertex],
                    [&](std::uint32_t c) { return (memory_[vertex][c] <= most) != small; });
      if (remove_oversized(half.kept)) bound_and_push(std::move(half));
    }
  }

  const Graph& graph_;
  const Memory& memory_;
  Cost limit_;
  const Limits& limits_;
  Cost max_memory_ = 0;
  Cost max_cost_ = 0;
  Found best_;
  std::size_t max_pairs_ = std::size_t{1} << 29U;
  Cost open_bound_ = kCostEnd;  ///< the least bound of subproblems left open at a limit
  std::priority_queue<Subproblem> open_;
};

}  // namespace

std::optional<Found> find_fitting(const Graph& graph, const Memory& memory, Cost limit,
                                  const Limits& limits) {
  return FittingSearch(graph, memory, limit, limits).run();
}

}  // namespace p2::strategy
