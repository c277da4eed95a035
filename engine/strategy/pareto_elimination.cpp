#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/invariant.h"
#include "engine/strategy/bucket_elimination.h"
#include "engine/strategy/strategy.h"

namespace p2::strategy {
namespace {

/// The cost of a sum of terms, and the bytes of its vertices.
struct Pair {
  Cost cost = 0;
  Cost memory = 0;

  bool operator==(const Pair&) const = default;
};

/// Computes the Pareto front of every partial sum below a ceiling.
class ParetoElimination {
 public:
  ParetoElimination(const FittingProblem& problem, const std::vector<Price>& prices,
                    std::vector<Addition> additions, std::vector<JoinAssignments> assignments);

  /// False where a limit is reached or more than `max_pairs` pairs are made.
  bool run(Cost ceiling, std::size_t max_pairs, const Limits& limits);

  /// After a complete run: the optimum where it is below the ceiling; otherwise any strategy that
  /// fits, or nothing.
  std::optional<Optimum> cheapest() const;

 private:
  using Front = std::vector<Pair>;  ///< ascending in cost, descending in memory

  struct PricedRests {
    Price price = 0;
    AdditionTables least;
  };

  bool is_useful(std::size_t addition, std::size_t cell, const Pair& pair, Cost ceiling) const;
  bool make(std::size_t addition, Cost ceiling, const Limits& limits);
  Pair of_term(std::size_t term, std::size_t cell) const;
  void extract(std::size_t addition, std::size_t cell, Pair pair, Strategy& strategy) const;

  FittingProblem problem_;
  std::vector<CostTerm> terms_;
  std::vector<Addition> additions_;
  std::vector<JoinAssignments> assignments_;
  std::vector<PricedRests> rests_;  ///< by price
  AdditionTables least_memory_;     ///< of the rest
  std::vector<std::vector<Front>> fronts_;
  std::size_t bytes_ = 0;
  std::size_t pairs_left_ = 0;
};

using Front = std::vector<Pair>;

const Front kZero = {{0, 0}};

/// Keeps the Pareto-optimal pairs, ascending in cost.
void remove_dominated_pairs(Front& pairs) {
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.cost, pair.memory); });
  std::size_t kept = 0;
  for (const Pair& pair : pairs) {
    if (kept == 0 || pair.memory < pairs[kept - 1].memory) pairs[kept++] = pair;
  }
  pairs.resize(kept);
}

bool contains(const Front& pairs, const Pair& pair) {
  const auto found = std::ranges::lower_bound(pairs, pair.cost, {}, &Pair::cost);
  return found != pairs.end() && *found == pair;
}

Pair operator-(const Pair& a, const Pair& b) { return {a.cost - b.cost, a.memory - b.memory}; }

ParetoElimination::ParetoElimination(const FittingProblem& problem,
                                     const std::vector<Price>& prices,
                                     std::vector<Addition> additions,
                                     std::vector<JoinAssignments> assignments)
    : problem_(problem),
      terms_(cost_terms(*problem.graph)),
      additions_(std::move(additions)),
      assignments_(std::move(assignments)) {
  const auto rests = [&](const Graph& graph) {
    return least_rests(graph, additions_, assignments_,
                       least_sums(graph, additions_, assignments_));
  };
  for (const Price price : prices) {
    rests_.push_back({price, rests(priced(*problem.graph, *problem.memory, price))});
  }
  Graph bytes = *problem.graph;
  bytes.costs = *problem.memory;
  for (Edge& edge : bytes.edges) std::ranges::fill(edge.table, 0);
  least_memory_ = rests(bytes);
}

bool ParetoElimination::is_useful(std::size_t addition, std::size_t cell, const Pair& pair,
                                  Cost ceiling) const {
  const Cost spare = problem_.limit - pair.memory;
  if (spare < least_memory_[addition][cell]) return false;
  return std::ranges::all_of(rests_, [&](const PricedRests& rests) {
    return pair.cost + rests.least[addition][cell] - worth(rests.price, spare) < ceiling;
  });
}

Pair ParetoElimination::of_term(std::size_t term, std::size_t cell) const {
  const Cost cost = (*terms_[term].cells)[cell];
  return {cost, term < problem_.graph->vertices() ? (*problem_.memory)[term][cell] : 0};
}

bool ParetoElimination::make(std::size_t addition, Cost ceiling, const Limits& limits) {
  constexpr std::size_t kMinBufferPairs = 256;
  const std::optional<std::size_t> from = additions_[addition].sum;
  const std::size_t part = additions_[addition].part;
  std::vector<Front> made(assignments_[addition].made);
  std::vector<std::size_t> capacity(made.size(), kMinBufferPairs);
  std::size_t since_limit_check = 0;
  bool stopped = false;
  assignments_[addition].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
    if (stopped) return;
    const Front& sums = from ? fronts_[*from][a] : kZero;
    if (sums.empty()) return;
    const bool is_term = part < terms_.size();
    const Front own = is_term ? Front{of_term(part, b)} : Front{};
    for (const Pair& first : sums) {
      for (const Pair& second : is_term ? own : fronts_[part - terms_.size()][b]) {
        const Pair pair{first.cost + second.cost, first.memory + second.memory};
        if (is_useful(addition, to, pair, ceiling)) made[to].push_back(pair);
      }
      if (made[to].size() > capacity[to]) {
        remove_dominated_pairs(made[to]);
        capacity[to] = 2 * made[to].size() + kMinBufferPairs;
      }
    }
    const std::size_t work = sums.size() * (is_term ? 1 : fronts_[part - terms_.size()][b].size());
    stopped = work > pairs_left_;
    if (stopped) return;
    pairs_left_ -= work;
    since_limit_check += work;
    if (since_limit_check < std::size_t{1} << 16U) return;
    since_limit_check = 0;
    stopped = limits.exceeded(bytes_);
  });
  for (Front& pairs : made) {
    remove_dominated_pairs(pairs);
    pairs.shrink_to_fit();
    bytes_ += sizeof(Front) + pairs.size() * sizeof(Pair);
  }
  fronts_.push_back(std::move(made));
  return !stopped && !limits.exceeded(bytes_);
}

bool ParetoElimination::run(Cost ceiling, std::size_t max_pairs, const Limits& limits) {
  pairs_left_ = max_pairs;
  fronts_.clear();
  bytes_ = 0;
  for (std::size_t n = 0; n < additions_.size(); ++n) {
    if (!make(n, ceiling, limits)) return false;
  }
  return true;
}

std::optional<Optimum> ParetoElimination::cheapest() const {
  if (fronts_.back()[0].empty()) return std::nullopt;
  const Pair best = fronts_.back()[0].front();
  Optimum optimum{best.cost, Strategy(problem_.graph->vertices(), 0)};
  extract(additions_.size() - 1, 0, best, optimum.strategy);
  invariant(cost_of(*problem_.graph, optimum.strategy) == best.cost &&
                memory_of(*problem_.memory, optimum.strategy) == best.memory,
            "the strategy costs and needs what its sums say");
  return optimum;
}

void ParetoElimination::extract(std::size_t addition, std::size_t cell, Pair pair,
                                Strategy& strategy) const {
  const std::optional<std::size_t> from = additions_[addition].sum;
  const std::size_t part = additions_[addition].part;
  const bool is_term = part < terms_.size();
  bool found = false;
  std::size_t sum_cell = 0;
  std::size_t part_cell = 0;
  Pair of_part;
  assignments_[addition].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
    if (found || to != cell) return;
    const Front& sums = from ? fronts_[*from][a] : kZero;
    for (const Pair& first : sums) {
      of_part = pair - first;
      const bool fits = is_term ? of_term(part, b) == of_part
                                : contains(fronts_[part - terms_.size()][b], of_part);
      if (!fits) continue;
      found = true;
      sum_cell = a;
      part_cell = b;
      return;
    }
  });
  invariant(found, "every pair is the sum of two");
  if (part < problem_.graph->vertices()) {
    strategy[part] = static_cast<std::uint32_t>(part_cell);
  }
  if (from) extract(*from, sum_cell, pair - of_part, strategy);
  if (!is_term) extract(part - terms_.size(), part_cell, of_part, strategy);
}

// Tables of costs and of fronts take up to 2 GiB each.
constexpr std::size_t kMaxAssignments = std::size_t{1} << 28;
constexpr std::size_t kMaxFronts = std::size_t{1} << 26;

/// Min-marginals: the least cost of strategies with a configuration, by vertex and configuration.
std::vector<std::vector<Cost>> costs_through(const Graph& graph,
                                             const std::vector<Addition>& additions,
                                             const std::vector<JoinAssignments>& assignments) {
  const AdditionTables least = least_sums(graph, additions, assignments);
  const AdditionTables rests = least_rests(graph, additions, assignments, least);
  auto through = graph.costs;
  for (std::size_t n = 0; n < additions.size(); ++n) {
    if (additions[n].part >= graph.vertices()) continue;
    const auto& costs = graph.costs[additions[n].part];
    auto& own = through[additions[n].part];
    std::ranges::fill(own, kCostEnd);
    assignments[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      const Cost sum = additions[n].sum ? least[*additions[n].sum][a] : 0;
      own[b] = std::min(own[b], sum + costs[b] + rests[n][made]);
    });
  }
  return through;
}

class GapCloser {
 public:
  GapCloser(const FittingProblem& problem, const std::vector<Price>& prices, std::size_t max_pairs,
            const Limits& limits)
      : problem_(problem), prices_(prices), max_pairs_(max_pairs), limits_(limits) {}

  /// False where tables would be too large.
  bool prepare() {
    kept_ = remove_dominated(*problem_.graph, problem_.memory).kept;
    const Graph graph = restricted(*problem_.graph, kept_);
    const Memory memory = restricted(*problem_.memory, kept_);
    const auto order = additions(graph, elimination_order(graph).vertices);
    const auto assignments = join_assignments(graph, order, kMaxAssignments);
    if (!assignments) return false;
    bounds_.resize(kept_.size());
    for (const Price price : prices_) {
      const auto through = costs_through(priced(graph, memory, price), order, *assignments);
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
    constexpr Cost kFirst = 1024;  // the first step is the gap divided by this
    Cost step = std::max<Cost>((found.cost - found.bound) / kFirst, 1);
    while (found.bound < found.cost) {
      const Cost ceiling = found.cost - found.bound > step ? found.bound + step : found.cost;
      if (!search_below(ceiling, found)) return;
      step += step / 2 + 1;  // work grows fast with the ceiling, so low ones cost little
    }
  }

 private:
  /// Finds the optimum if it is below the ceiling, else raises the bound to it; false at a limit.
  bool search_below(Cost ceiling, Found& found) {
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
    auto assignments = join_assignments(graph, order, kMaxFronts);
    if (!assignments) return false;
    ParetoElimination sums({&graph, &memory, problem_.limit}, prices_, std::move(order),
                           std::move(*assignments));
    if (!sums.run(ceiling, max_pairs_, limits_)) return false;
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
  std::size_t max_pairs_;
  Limits limits_;
  Kept kept_;  // configurations not dominated in cost and memory
  std::vector<std::vector<Cost>>
      bounds_;  // lower bounds of strategies that fit, by vertex and configuration
};

}  // namespace

void close_gap(const FittingProblem& problem, const std::vector<Price>& prices,
               std::size_t max_pairs, const Limits& limits, Found& found) {
  constexpr std::size_t kBytes = std::size_t{4} << 30U;
  Limits own = limits;
  if (!own.memory_bytes) own.memory_bytes = kBytes;
  GapCloser closer(problem, prices, max_pairs, own);
  if (closer.prepare()) closer.run(found);
}

}  // namespace p2::strategy
