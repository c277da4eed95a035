#include "engine/strategy/memory_limit.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "engine/strategy/pareto_elimination.h"
#include "engine/strategy/strategy.h"

namespace p2::strategy {
namespace {

/// Configurations that are left, the best bound on them, and the two strategies that show where to
/// part them: one that needs too much memory and a dearer one that needs less.
struct Part {
  Kept kept;
  Cost bound = 0;
  Price price = 0;
  Strategy cheap;
  Strategy small;

  bool operator<(const Part& other) const { return bound > other.bound; }
};

class Search {
 public:
  Search(const Graph& graph, const Memory& memory, Cost limit, const Limits& limits)
      : graph_(graph), memory_(memory), limit_(limit), limits_(limits) {
    for (const auto& bytes : memory) most_memory_ += std::ranges::max(bytes);
    for (const auto& costs : graph.costs) most_cost_ += std::ranges::max(costs);
    for (const Edge& edge : graph.edges) most_cost_ += std::ranges::max(edge.table);
  }

  std::optional<Found> run() {
    Part whole{all_configurations(graph_), 0, 0, {}, {}};
    if (!thin_out(whole.kept)) return std::nullopt;
    best_.strategy = leanest(whole.kept);
    best_.cost = best_.bound = cost_of(graph_, best_.strategy);
    consider(std::move(whole));
    while (!open_.empty() && open_.top().bound < best_.cost) {
      Part part = open_.top();
      open_.pop();
      if (!limits_.exceeded(0)) close_gap(part);
      if (part.bound >= best_.cost) continue;
      if (limits_.exceeded(0)) {
        unsettled_ = std::min(unsettled_, part.bound);
      } else {
        part_up(part);
      }
    }
    best_.bound = std::min(best_.cost, unsettled_);
    return std::move(best_);
  }

 private:
  /// By pairs of cost and memory. What is too hard for that is parted up, and the parts may be
  /// harder before they are, too.
  void close_gap(Part& part) {
    const Graph graph = restricted(graph_, part.kept);
    const Memory memory = restricted(memory_, part.kept);
    Found found{best_.cost, part.bound, Strategy(part.kept.size())};
    strategy::close_gap({&graph, &memory, limit_}, {part.price, 0}, effort_, limits_, found);
    if (found.cost < best_.cost) {
      best_.cost = found.cost;
      for (std::size_t v = 0; v < part.kept.size(); ++v) {
        best_.strategy[v] = part.kept[v][found.strategy[v]];
      }
    }
    part.bound = found.bound;
    if (part.bound < best_.cost) effort_ += effort_ / 2;
  }

  Strategy leanest(const Kept& kept) const {
    Strategy strategy;
    for (std::size_t v = 0; v < kept.size(); ++v) {
      strategy.push_back(
          *std::ranges::min_element(kept[v], {}, [&](std::uint32_t c) { return memory_[v][c]; }));
    }
    return strategy;
  }

  /// Leaves out configurations that do not fit beside the least of all other vertices; false where
  /// nothing fits.
  bool thin_out(Kept& kept) const {
    for (const auto& choices : kept) {
      if (choices.empty()) return false;
    }
    const Strategy lean = leanest(kept);
    const Cost spare = limit_ - memory_of(memory_, lean);
    if (spare < 0) return false;
    for (std::size_t v = 0; v < kept.size(); ++v) {
      std::erase_if(kept[v],
                    [&](std::uint32_t c) { return memory_[v][c] - memory_[v][lean[v]] > spare; });
    }
    return true;
  }

  /// The cheapest strategy where memory has a price, and what that says of all that fit.
  std::pair<Cost, Strategy> cheapest_at(const Kept& kept, Price price) const {
    const Graph part = priced(restricted(graph_, kept), restricted(memory_, kept), price);
    Answer answer = find_strategy(part, limits_);
    for (std::size_t v = 0; v < kept.size(); ++v) {
      answer.found.strategy[v] = kept[v][answer.found.strategy[v]];
    }
    const Cost back = static_cast<Cost>(worth(price, limit_));
    return {answer.found.bound - back, std::move(answer.found.strategy)};
  }

  /// Notes what was found at a price; true where it fits.
  bool note(Part& part, Price price) {
    auto [bound, strategy] = cheapest_at(part.kept, price);
    if (bound > part.bound || price == 0) {
      part.bound = std::max(part.bound, bound);
      part.price = price;
    }
    const bool fits = memory_of(memory_, strategy) <= limit_;
    const Cost cost = cost_of(graph_, strategy);
    if (fits && price == 0 && bound < cost) unsettled_ = std::min(unsettled_, bound);
    if (fits && cost < best_.cost) {
      best_.cost = cost;
      best_.strategy = strategy;
    }
    (fits ? part.small : part.cheap) = std::move(strategy);
    return fits;
  }

  /// Bounds a part from what no price says to what the best price does, and keeps it if it may hold
  /// something better.
  void consider(Part part) {
    part.cheap.clear();
    part.small.clear();
    const Price first = part.price > 0 ? part.price : starting_price();
    if (note(part, 0)) return;
    Price low = 0;
    Price high = first;
    while (!note(part, high) && high < dearest()) {
      low = high;
      high = std::min(high * 2, dearest());
    }
    constexpr int kHalvings = 14;
    for (int i = 0; i < kHalvings && high - low > 1 && part.bound < best_.cost; ++i) {
      if (limits_.exceeded(0)) break;
      const Price middle = low + (high - low) / 2;
      (note(part, middle) ? high : low) = middle;
    }
    if (part.small.empty()) part.small = leanest(part.kept);
    if (part.bound < best_.cost) open_.push(std::move(part));
  }

  Price starting_price() const {
    const WideCost price = (WideCost{best_.cost} << 32U) / std::max<Cost>(limit_, 1) / 16;
    return static_cast<Price>(std::clamp<WideCost>(price, 1, dearest()));
  }

  /// At this price nothing overflows yet.
  Price dearest() const {
    const WideCost left = (WideCost{kCostEnd} - 1 - most_cost_) << 32U;
    const WideCost price = left / std::max<Cost>(std::max(most_memory_, limit_), 1) / 2;
    return static_cast<Price>(std::clamp<WideCost>(price, 1, WideCost{1} << 61U));
  }

  /// At the vertex where the two strategies differ most in memory.
  void part_up(const Part& part) {
    const auto difference = [&](std::size_t v) {
      return memory_[v][part.cheap[v]] - memory_[v][part.small[v]];
    };
    std::size_t vertex = 0;
    for (std::size_t v = 1; v < part.kept.size(); ++v) {
      if (difference(v) > difference(vertex)) vertex = v;
    }
    const Cost most = memory_[vertex][part.small[vertex]];
    for (const bool small : {true, false}) {
      Part half{part.kept, part.bound, part.price, {}, {}};
      std::erase_if(half.kept[vertex],
                    [&](std::uint32_t c) { return (memory_[vertex][c] <= most) != small; });
      if (thin_out(half.kept)) consider(std::move(half));
    }
  }

  const Graph& graph_;
  const Memory& memory_;
  Cost limit_;
  const Limits& limits_;
  Cost most_memory_ = 0;
  Cost most_cost_ = 0;
  Found best_;
  std::size_t effort_ = std::size_t{1} << 29U;
  Cost unsettled_ = kCostEnd;  ///< the least bound of parts that a deadline ended
  std::priority_queue<Part> open_;
};

}  // namespace

std::optional<Found> find_fitting(const Graph& graph, const Memory& memory, Cost limit,
                                  const Limits& limits) {
  return Search(graph, memory, limit, limits).run();
}

}  // namespace p2::strategy
