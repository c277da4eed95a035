#include "engine/strategy/pareto_elimination.h"

#include <algorithm>

#include "engine/strategy/dominance.h"
#include "engine/strategy/pareto_sums.h"

namespace p2::strategy {
namespace {

// Of choices in tables of costs, and of lists of pairs: both take up to 2 GiB.
constexpr std::size_t kMostChoices = std::size_t{1} << 28;
constexpr std::size_t kMostLists = std::size_t{1} << 26;

/// The least cost of strategies that choose a configuration, by vertex and configuration.
std::vector<std::vector<Cost>> costs_through(const Graph& graph,
                                             const std::vector<Addition>& additions,
                                             const std::vector<OpenChoices>& choices) {
  const AddedTables least = least_sums(graph, additions, choices);
  const AddedTables rests = least_rests(graph, additions, choices, least);
  auto through = graph.costs;
  for (std::size_t n = 0; n < additions.size(); ++n) {
    if (additions[n].part >= graph.vertices()) continue;
    const auto& costs = graph.costs[additions[n].part];
    auto& own = through[additions[n].part];
    std::ranges::fill(own, kCostEnd);
    choices[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      const Cost sum = additions[n].sum ? least[*additions[n].sum][a] : 0;
      own[b] = std::min(own[b], sum + costs[b] + rests[n][made]);
    });
  }
  return through;
}

class GapCloser {
 public:
  GapCloser(const FittingProblem& problem, const std::vector<Price>& prices, std::size_t effort,
            const Limits& limits)
      : problem_(problem), prices_(prices), effort_(effort), limits_(limits) {}

  /// False where tables would be too large.
  bool prepare() {
    kept_ = remove_dominated(*problem_.graph, problem_.memory).kept;
    const Graph graph = restricted(*problem_.graph, kept_);
    const Memory memory = restricted(*problem_.memory, kept_);
    const auto order = additions(graph, elimination_order(graph).vertices);
    const auto choices = open_choices(graph, order, kMostChoices);
    if (!choices) return false;
    bounds_.resize(kept_.size());
    for (const Price price : prices_) {
      const auto through = costs_through(priced(graph, memory, price), order, *choices);
      const auto back = static_cast<Cost>(worth(price, problem_.limit));
      for (std::size_t v = 0; v < kept_.size(); ++v) {
        bounds_[v].resize(kept_[v].size(), 0);
        for (std::size_t c = 0; c < kept_[v].size(); ++c) {
          bounds_[v][c] = std::max(bounds_[v][c], through[v][c] - back);
        }
      }
    }
    return true;
  }

  void run(Found& found) {
    constexpr Cost kFirst = 1024;  // a part of the gap, to begin with
    Cost step = std::max<Cost>((found.cost - found.bound) / kFirst, 1);
    while (found.bound < found.cost) {
      const Cost ceiling = found.cost - found.bound > step ? found.bound + step : found.cost;
      if (!look_below(ceiling, found)) return;
      step += step / 2 + 1;  // work grows fast with it: little is lost by those that were too low
    }
  }

 private:
  /// Below the ceiling there is a best strategy, or none; false where a limit is met first.
  bool look_below(Cost ceiling, Found& found) {
    Kept kept(kept_.size());
    for (std::size_t v = 0; v < kept.size(); ++v) {
      for (std::size_t c = 0; c < kept_[v].size(); ++c) {
        if (bounds_[v][c] < ceiling) kept[v].push_back(kept_[v][c]);
      }
      if (kept[v].empty()) {
        found.bound = ceiling;
        return true;
      }
    }
    const Graph graph = restricted(*problem_.graph, kept);
    const Memory memory = restricted(*problem_.memory, kept);
    auto order = additions(graph, elimination_order(graph).vertices);
    auto choices = open_choices(graph, order, kMostLists);
    if (!choices) return false;
    ParetoSums sums({&graph, &memory, problem_.limit}, prices_, std::move(order),
                    std::move(*choices));
    if (!sums.run(ceiling, effort_, limits_)) return false;
    const auto best = sums.cheapest();
    if (best && best->cost < found.cost) {
      found.cost = best->cost;
      for (std::size_t v = 0; v < kept.size(); ++v) {
        found.strategy[v] = kept[v][best->strategy[v]];
      }
    }
    found.bound = std::min(ceiling, found.cost);
    return true;
  }

  FittingProblem problem_;
  std::vector<Price> prices_;
  std::size_t effort_;
  Limits limits_;
  Kept kept_;  // what is not dominated in cost and memory
  std::vector<std::vector<Cost>>
      bounds_;  // what strategies that fit and choose these cost at least
};

}  // namespace

void close_gap(const FittingProblem& problem, const std::vector<Price>& prices, std::size_t effort,
               const Limits& limits, Found& found) {
  constexpr std::size_t kBytes = std::size_t{4} << 30U;
  Limits own = limits;
  if (!own.memory_bytes) own.memory_bytes = kBytes;
  GapCloser closer(problem, prices, effort, own);
  if (closer.prepare()) closer.run(found);
}

}  // namespace p2::strategy
