#include "encodings/cnf/cheaper_strategy.h"

#include <algorithm>

#include "encodings/cnf/solver.h"
#include "encodings/cnf/strategy_sums.h"

namespace p2::cnf {
namespace {

using strategy::Cost;
using strategy::Graph;
using strategy::Strategy;

using Sums = std::vector<Cost>;

struct TooLarge {};

/// One configuration of every vertex, at least; after every term, which of its `sums` are reached;
/// and the last sum does not reach `below`.
class Encoding {
 public:
  Encoding(const Graph& graph, const std::vector<CostTerm>& terms, const std::vector<Sums>& sums,
           Cost below) {
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      chosen_.push_back(clauses_.fresh(graph.configurations(v)));
      add(chosen_.back());
    }
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const bool last = t + 1 == terms.size();
      add_term(terms[t], last ? Sums{below} : sums[t], last);
    }
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

  void add_term(const CostTerm& term, const Sums& sums, bool last) {
    std::vector<Literal> reached;
    for (std::size_t j = 0; j < sums.size(); ++j) {
      reached.push_back(last ? -clauses_.truth() : clauses_.fresh());
      if (j > 0) add({-reached[j], reached[j - 1]});
    }
    const auto& fast = chosen_[term.scope.back()];
    for (std::size_t at = 0; at < term.cells.size(); ++at) {
      std::vector<Literal> choice;
      if (term.scope.size() > 1) choice.push_back(-chosen_[term.scope[0]][at / fast.size()]);
      choice.push_back(-fast[at % fast.size()]);
      add_cell(term.cells[at], choice, sums, reached);
    }
    sums_ = sums;
    reached_ = std::move(reached);
  }

  /// From every sum before, the nothing that is always reached first, to the last one that it makes
  /// with the cell; where it makes no more than the one before it, there is nothing to say.
  void add_cell(Cost cell, const std::vector<Literal>& choice, const Sums& sums,
                const std::vector<Literal>& reached) {
    std::size_t known = 0;
    for (std::size_t k = 0; k <= sums_.size(); ++k) {
      const Cost sum = k == 0 ? cell : sums_[k - 1] + cell;
      const auto made =
          static_cast<std::size_t>(std::ranges::upper_bound(sums, sum) - sums.begin());
      if (made == known) continue;
      known = made;
      std::vector<Literal> clause;
      if (k > 0) clause.push_back(-reached_[k - 1]);
      clause.insert(clause.end(), choice.begin(), choice.end());
      clause.push_back(reached[made - 1]);
      add(clause);
    }
  }

  Clauses clauses_;
  std::size_t count_ = 0;
  std::vector<std::vector<Literal>> chosen_;  // by vertex and configuration
  Sums sums_;                                 // of the term before
  std::vector<Literal> reached_;
};

/// The sums of this strategy, too.
void tell_apart(const Graph& graph, const Strategy& strategy, const std::vector<CostTerm>& terms,
                std::vector<Sums>& sums) {
  Cost sum = 0;
  for (std::size_t t = 0; t < sums.size(); ++t) {
    std::size_t at = 0;
    for (const std::uint32_t v : terms[t].scope) at = at * graph.configurations(v) + strategy[v];
    sum += terms[t].cells[at];
    const auto place = std::ranges::lower_bound(sums[t], sum);
    if (place == sums[t].end() || *place != sum) sums[t].insert(place, sum);
  }
}

}  // namespace

CheaperStrategy cheaper_strategy(const Graph& graph, Cost below, const Limits& limits) try {
  CheaperStrategy answer;
  answer.order = order_of_sums(graph);
  const std::vector<CostTerm> terms = cost_terms(graph, answer.order);
  auto sums = telling_sums(graph, terms, below, kMostStrategyClauses);
  if (!sums) throw TooLarge{};
  for (answer.sums = std::move(*sums);;) {
    const Encoding encoding(graph, terms, answer.sums, below);
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
    tell_apart(graph, answer.strategy, terms, answer.sums);
  }
} catch (const LimitMet&) {
  return {};
} catch (const TooLarge&) {
  return {CheaperStrategy::Kind::TooLarge, {}, {}, {}, {}};
}

}  // namespace p2::cnf
