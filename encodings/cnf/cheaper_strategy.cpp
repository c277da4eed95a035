#include "encodings/cnf/cheaper_strategy.h"

#include <algorithm>

#include "encodings/cnf/solver.h"
#include "encodings/cnf/strategy_sums.h"
#include "engine/strategy/elimination_order.h"

namespace p2::cnf {
namespace {

using strategy::Addition;
using strategy::Cost;
using strategy::CostTerm;
using strategy::Graph;
using strategy::Strategy;

using Sums = std::vector<Cost>;

struct TooLarge {};

/// One configuration of every vertex, at least; which of its `sums` every addition reaches; and
/// that the last one does not reach the only one it has.
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

  /// Of the configurations that hold in the last model, the first of every vertex.
  Strategy strategy(const Solver& solver) const {
    Strategy strategy;
    for (const auto& own : chosen_) {
      const auto holds = [&](Literal literal) { return solver.holds(literal); };
      strategy.push_back(
          static_cast<std::uint32_t>(std::ranges::find_if(own, holds) - own.begin()));
    }
    return strategy;
  }

 private:
  void add(const std::vector<Literal>& clause) {
    if (++count_ > kMostStrategyClauses) throw TooLarge{};
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

  /// Where the part is at least this, unless one of the literals holds: with every number that the
  /// sum may have reached, 0 first, what the newest addition reaches. Where that is no more than
  /// with the number before, there is nothing to say.
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

/// The sums of this strategy, too.
void tell_apart(const Graph& graph, const Strategy& strategy,
                const std::vector<Addition>& additions, std::vector<Sums>& sums) {
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

CheaperStrategy cheaper_strategy(const Graph& graph, Cost below, const Limits& limits) try {
  CheaperStrategy answer;
  answer.additions = strategy::additions(graph, strategy::elimination_order(graph).vertices);
  auto sums = telling_sums(graph, answer.additions, below, kMostOpenChoices);
  if (!sums) throw TooLarge{};
  for (answer.sums = std::move(*sums);;) {
    const Encoding encoding(graph, answer.additions, answer.sums);
    const DratTrace trace;
    Solver solver(limits);
    solver.write_proof(trace);
    solver.add(encoding.clauses().literals());
    if (!solver.possible()) {
      solver.finish_proof();
      answer.kind = CheaperStrategy::Kind::None;
      answer.proof = clause_proof(encoding.clauses(), trace, limits);
      return answer;
    }
    answer.strategy = encoding.strategy(solver);
    if (cost_of(graph, answer.strategy) < below) {
      answer.kind = CheaperStrategy::Kind::Exists;
      return answer;
    }
    tell_apart(graph, answer.strategy, answer.additions, answer.sums);
  }
} catch (const LimitMet&) {
  return {};
} catch (const TooLarge&) {
  return {CheaperStrategy::Kind::TooLarge, {}, {}, {}, {}};
}

}  // namespace p2::cnf
