#include "engine/strategy/pareto_sums.h"

#include <algorithm>
#include <utility>

#include "engine/base/invariant.h"

namespace p2::strategy {
namespace {

using Pairs = std::vector<Pair>;

const Pairs kZero = {{0, 0}};

/// Leaves those that none undercuts, in ascending order of cost.
void thin_out(Pairs& pairs) {
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::pair(pair.cost, pair.memory); });
  std::size_t kept = 0;
  for (const Pair& pair : pairs) {
    if (kept == 0 || pair.memory < pairs[kept - 1].memory) pairs[kept++] = pair;
  }
  pairs.resize(kept);
}

bool has(const Pairs& pairs, const Pair& pair) {
  const auto found = std::ranges::lower_bound(pairs, pair.cost, {}, &Pair::cost);
  return found != pairs.end() && *found == pair;
}

Pair operator-(const Pair& a, const Pair& b) { return {a.cost - b.cost, a.memory - b.memory}; }

}  // namespace

ParetoSums::ParetoSums(const FittingProblem& problem, const std::vector<Price>& prices,
                       std::vector<Addition> additions, std::vector<OpenChoices> choices)
    : problem_(problem),
      terms_(cost_terms(*problem.graph)),
      additions_(std::move(additions)),
      choices_(std::move(choices)) {
  const auto rests = [&](const Graph& graph) {
    return least_rests(graph, additions_, choices_, least_sums(graph, additions_, choices_));
  };
  for (const Price price : prices) {
    rests_.push_back({price, rests(priced(*problem.graph, *problem.memory, price))});
  }
  Graph bytes = *problem.graph;
  bytes.costs = *problem.memory;
  for (Edge& edge : bytes.edges) std::ranges::fill(edge.table, 0);
  lean_ = rests(bytes);
}

bool ParetoSums::worth_keeping(std::size_t addition, std::size_t cell, const Pair& pair,
                               Cost ceiling) const {
  const Cost spare = problem_.limit - pair.memory;
  if (spare < lean_[addition][cell]) return false;
  return std::ranges::all_of(rests_, [&](const Rests& rests) {
    return pair.cost + rests.least[addition][cell] - worth(rests.price, spare) < ceiling;
  });
}

Pair ParetoSums::of_term(std::size_t term, std::size_t cell) const {
  const Cost cost = (*terms_[term].cells)[cell];
  return {cost, term < problem_.graph->vertices() ? (*problem_.memory)[term][cell] : 0};
}

bool ParetoSums::make(std::size_t addition, Cost ceiling, const Limits& limits) {
  constexpr std::size_t kFewPairs = 256;
  const auto [from, part, scope] = additions_[addition];
  std::vector<Pairs> made(choices_[addition].made);
  std::vector<std::size_t> full(made.size(), kFewPairs);
  std::size_t unchecked = 0;
  bool stopped = false;
  choices_[addition].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
    if (stopped) return;
    const Pairs& sums = from ? made_[*from][a] : kZero;
    if (sums.empty()) return;
    const bool is_term = part < terms_.size();
    const Pairs own = is_term ? Pairs{of_term(part, b)} : Pairs{};
    for (const Pair& first : sums) {
      for (const Pair& second : is_term ? own : made_[part - terms_.size()][b]) {
        const Pair pair{first.cost + second.cost, first.memory + second.memory};
        if (worth_keeping(addition, to, pair, ceiling)) made[to].push_back(pair);
      }
      if (made[to].size() > full[to]) {
        thin_out(made[to]);
        full[to] = 2 * made[to].size() + kFewPairs;
      }
    }
    const std::size_t work = sums.size() * (is_term ? 1 : made_[part - terms_.size()][b].size());
    stopped = work > effort_left_;
    if (stopped) return;
    effort_left_ -= work;
    unchecked += work;
    if (unchecked < std::size_t{1} << 16U) return;
    unchecked = 0;
    stopped = limits.exceeded(bytes_);
  });
  for (Pairs& pairs : made) {
    thin_out(pairs);
    pairs.shrink_to_fit();
    bytes_ += sizeof(Pairs) + pairs.size() * sizeof(Pair);
  }
  made_.push_back(std::move(made));
  return !stopped && !limits.exceeded(bytes_);
}

bool ParetoSums::run(Cost ceiling, std::size_t effort, const Limits& limits) {
  effort_left_ = effort;
  made_.clear();
  bytes_ = 0;
  for (std::size_t n = 0; n < additions_.size(); ++n) {
    if (!make(n, ceiling, limits)) return false;
  }
  return true;
}

std::optional<Optimum> ParetoSums::cheapest() const {
  if (made_.back()[0].empty()) return std::nullopt;
  const Pair best = made_.back()[0].front();
  Optimum optimum{best.cost, Strategy(problem_.graph->vertices(), 0)};
  read_back(additions_.size() - 1, 0, best, optimum.strategy);
  invariant(cost_of(*problem_.graph, optimum.strategy) == best.cost &&
                memory_of(*problem_.memory, optimum.strategy) == best.memory,
            "the strategy costs and needs what its sums say");
  return optimum;
}

void ParetoSums::read_back(std::size_t addition, std::size_t cell, Pair pair,
                           Strategy& strategy) const {
  const auto [from, part, scope] = additions_[addition];
  const bool is_term = part < terms_.size();
  bool found = false;
  std::size_t sum_cell = 0;
  std::size_t part_cell = 0;
  Pair of_part;
  choices_[addition].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
    if (found || to != cell) return;
    const Pairs& sums = from ? made_[*from][a] : kZero;
    for (const Pair& first : sums) {
      of_part = pair - first;
      const bool fits =
          is_term ? of_term(part, b) == of_part : has(made_[part - terms_.size()][b], of_part);
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
  if (from) read_back(*from, sum_cell, pair - of_part, strategy);
  if (!is_term) read_back(part - terms_.size(), part_cell, of_part, strategy);
}

}  // namespace p2::strategy
