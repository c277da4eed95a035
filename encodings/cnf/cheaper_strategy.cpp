#include "encodings/cnf/queries.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "encodings/cnf/solver.h"
#include "engine/strategy/bucket_elimination.h"

namespace p2::cnf {
namespace {

using strategy::Addition;
using strategy::Cost;
using strategy::CostTerm;
using strategy::Graph;
using strategy::Strategy;
using Sums = std::vector<Cost>;

struct TooManyClauses {};

/// Interval stabbing: a least set of points that meets every interval [low, high]; every `low` is
/// raised to its point.
Sums stab(Sums& low, const Sums& high) {
  const auto end = [&](std::size_t i) { return std::max(low[i], high[i]); };
  std::vector<std::size_t> by_end(low.size());
  std::iota(by_end.begin(), by_end.end(), std::size_t{0});
  std::ranges::sort(by_end, {}, [&](std::size_t i) { return std::pair(end(i), i); });
  Sums points;
  Cost group_end = -1;
  for (const std::size_t i : by_end) {
    if (low[i] > group_end) {
      points.push_back(low[i]);
      group_end = end(i);
    }
    points.back() = std::max(points.back(), low[i]);
  }
  for (Cost& sum : low) sum = *std::ranges::lower_bound(points, sum);
  return points;
}

/// Ascending thresholds of every addition that suffice to refute a cheaper strategy if there is
/// none. For given configurations of its scope, any threshold between the value that a sum must
/// reach and its least value serves; the last addition has `bound` alone. Empty if there are
/// more than `max_assignments`.
std::optional<std::vector<Sums>> initial_thresholds(const Graph& graph,
                                                    const std::vector<Addition>& additions,
                                                    Cost bound, std::size_t max_assignments) {
  const auto choices = join_assignments(graph, additions, max_assignments);
  if (!choices) return std::nullopt;
  const auto terms = cost_terms(graph);
  const auto least = least_sums(graph, additions, *choices);
  const Sums zero = {0};
  std::vector<Sums> needed(additions.size()), points(additions.size());
  needed.back() = points.back() = {bound};
  // Top down: with the least value of one part, the other has to reach the rest of the threshold.
  for (std::size_t n = additions.size(); n-- > 0;) {
    const auto sum = additions[n].sum;
    const bool is_term = additions[n].part < terms.size();
    const std::size_t part = is_term ? 0 : additions[n].part - terms.size();
    const Sums& least_part = is_term ? *terms[additions[n].part].cells : least[part];
    if (sum) {
      needed[*sum].assign((*choices)[*sum].made, 0);
      (*choices)[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
        needed[*sum][a] = std::max(needed[*sum][a], needed[n][made] - least_part[b]);
      });
      points[*sum] = stab(needed[*sum], least[*sum]);
    }
    if (is_term) continue;
    const Sums& other = sum ? needed[*sum] : zero;
    needed[part].assign((*choices)[part].made, 0);
    (*choices)[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      needed[part][b] = std::max(needed[part][b], needed[n][made] - other[a]);
    });
    points[part] = stab(needed[part], least[part]);
  }
  return points;
}

/// At least one configuration of every vertex; the thresholds that every addition reaches; and that
/// the last addition does not reach its only threshold.
class Encoding {
 public:
  Encoding(const Graph& graph, const std::vector<Addition>& additions,
           const std::vector<Sums>& sums)
      : terms_(cost_terms(graph)), sums_(sums) {
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      chosen_.push_back(clauses_.fresh(graph.configurations(v)));
      add(chosen_.back());
    }
    for (const Addition& addition : additions) add_sum(addition);
  }

  const Clauses& clauses() const { return clauses_; }
  Clauses take_clauses() { return std::move(clauses_); }

  /// By configuration of the first vertex that has most of them.
  const std::vector<Literal>& cubes() const {
    return *std::ranges::max_element(chosen_, {}, &std::vector<Literal>::size);
  }

  /// The first configuration of every vertex that holds in a model.
  Strategy strategy(const Model& model) const {
    Strategy strategy;
    for (const auto& own : chosen_) {
      const auto holds = [&](Literal literal) { return model.holds(literal); };
      strategy.push_back(
          static_cast<std::uint32_t>(std::ranges::find_if(own, holds) - own.begin()));
    }
    return strategy;
  }

 private:
  void add(const std::vector<Literal>& clause) {
    if (++count_ > kMaxStrategyClauses) throw TooManyClauses{};
    clauses_.add(clause);
  }

  void add_sum(const Addition& addition) {
    const std::size_t n = reached_.size();
    const bool last = n + 1 == sums_.size();
    std::vector<Literal> reached;
    for (std::size_t j = 0; j < sums_[n].size(); ++j) {
      reached.push_back(last ? -clauses_.truth() : clauses_.fresh());
      if (j > 0) add({-reached[j], reached[j - 1]});
    }
    reached_.push_back(std::move(reached));
    if (addition.part < terms_.size()) {
      add_term(addition, terms_[addition.part]);
    } else {
      const std::size_t part = addition.part - terms_.size();
      add_case(addition.sum, 0, {});
      for (std::size_t j = 0; j < sums_[part].size(); ++j) {
        add_case(addition.sum, sums_[part][j], {-reached_[part][j]});
      }
    }
  }

  void add_term(const Addition& addition, const CostTerm& term) {
    const auto& fast = chosen_[term.scope.back()];
    for (std::size_t at = 0; at < term.cells->size(); ++at) {
      std::vector<Literal> choice;
      if (term.scope.size() > 1) choice.push_back(-chosen_[term.scope[0]][at / fast.size()]);
      choice.push_back(-fast[at % fast.size()]);
      add_case(addition.sum, (*term.cells)[at], choice);
    }
  }

  /// The part is at least `part` unless one of the literals holds: for every threshold of the sum,
  /// 0 first, the threshold that the newest addition reaches. Redundant clauses are omitted.
  void add_case(std::optional<std::size_t> sum, Cost part, const std::vector<Literal>& unless) {
    const Sums& made = sums_[reached_.size() - 1];
    std::size_t known = 0;
    for (std::size_t k = 0; k <= (sum ? sums_[*sum].size() : 0); ++k) {
      const Cost value = k == 0 ? part : sums_[*sum][k - 1] + part;
      const auto count =
          static_cast<std::size_t>(std::ranges::upper_bound(made, value) - made.begin());
      if (count == known) continue;
      known = count;
      std::vector<Literal> clause;
      if (k > 0) clause.push_back(-reached_[*sum][k - 1]);
      clause.insert(clause.end(), unless.begin(), unless.end());
      clause.push_back(reached_.back()[count - 1]);
      add(clause);
    }
  }

  const std::vector<CostTerm> terms_;
  const std::vector<Sums>& sums_;
  Clauses clauses_;
  std::size_t count_ = 0;
  std::vector<std::vector<Literal>> chosen_;   // by vertex and configuration
  std::vector<std::vector<Literal>> reached_;  // by addition and sum
};

/// Adds the partial sums of this strategy as thresholds.
void refine(const Graph& graph, const Strategy& strategy, const std::vector<Addition>& additions,
            std::vector<Sums>& sums) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  std::vector<Cost> made;
  for (std::size_t n = 0; n + 1 < additions.size(); ++n) {
    const Addition& addition = additions[n];
    Cost sum = addition.sum ? made[*addition.sum] : 0;
    if (addition.part < terms.size()) {
      std::size_t at = 0;
      for (const std::uint32_t v : terms[addition.part].scope) {
        at = at * graph.configurations(v) + strategy[v];
      }
      sum += (*terms[addition.part].cells)[at];
    } else {
      sum += made[addition.part - terms.size()];
    }
    made.push_back(sum);
    const auto place = std::ranges::lower_bound(sums[n], sum);
    if (place == sums[n].end() || *place != sum) sums[n].insert(place, sum);
  }
}

}  // namespace

std::optional<SplitClauses> cheaper_strategy_clauses(const Graph& graph, Cost below) try {
  const auto additions = strategy::additions(graph, strategy::elimination_order(graph).vertices);
  const auto sums = initial_thresholds(graph, additions, below, kMaxJoinAssignments);
  if (!sums) return std::nullopt;
  Encoding encoding(graph, additions, *sums);
  std::vector<Literal> cubes = encoding.cubes();
  return SplitClauses{encoding.take_clauses(), std::move(cubes)};
} catch (const TooManyClauses&) {
  return std::nullopt;
}

StrategyRefutation refute_cheaper_strategy(const Graph& graph, Cost below, const Limits& limits,
                                           const std::optional<std::string>& refuted_in) try {
  StrategyRefutation answer;
  answer.additions = strategy::additions(graph, strategy::elimination_order(graph).vertices);
  auto sums = initial_thresholds(graph, answer.additions, below, kMaxJoinAssignments);
  if (!sums) throw TooManyClauses{};
  for (answer.sums = std::move(*sums);;) {
    const Encoding encoding(graph, answer.additions, answer.sums);
    Decided decided = decide(encoding.clauses(), encoding.cubes(), 1, refuted_in, limits);
    if (auto* const proof = std::get_if<ClauseProof>(&decided)) {
      answer.outcome = Outcome::Established;
      answer.proof = std::move(*proof);
      return answer;
    }
    answer.strategy = encoding.strategy(std::get<Model>(decided));
    if (cost_of(graph, answer.strategy) < below) {
      answer.outcome = Outcome::Refuted;
      return answer;
    }
    refine(graph, answer.strategy, answer.additions, answer.sums);
  }
} catch (const LimitReached&) {
  return {};
} catch (const TooManyClauses&) {
  StrategyRefutation undecided;
  undecided.too_large = true;
  return undecided;
}

}  // namespace p2::cnf
