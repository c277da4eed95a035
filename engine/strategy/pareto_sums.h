#pragma once

#include <optional>

#include "engine/strategy/open_choices.h"
#include "engine/strategy/pareto_elimination.h"

namespace p2::strategy {

/// What a sum of terms costs, and the bytes of its vertices.
struct Pair {
  Cost cost = 0;
  Cost memory = 0;

  bool operator==(const Pair&) const = default;
};

/// The cheapest of the strategies that fit, where one costs less than a ceiling, by the pairs that
/// every sum may have.
class ParetoSums {
 public:
  ParetoSums(const FittingProblem& problem, const std::vector<Price>& prices,
             std::vector<Addition> additions, std::vector<OpenChoices> choices);

  /// False where a limit is met first, or more than `effort` pairs were made.
  bool run(Cost ceiling, std::size_t effort, const Limits& limits);

  /// After a run that ended: the cheapest, if it costs less than the ceiling; otherwise another one
  /// that fits, or nothing.
  std::optional<Optimum> cheapest() const;

 private:
  using Pairs = std::vector<Pair>;  ///< ascending in cost, descending in memory

  struct Rests {
    Price price = 0;
    AddedTables least;
  };

  bool worth_keeping(std::size_t addition, std::size_t cell, const Pair& pair, Cost ceiling) const;
  bool make(std::size_t addition, Cost ceiling, const Limits& limits);
  Pair of_term(std::size_t term, std::size_t cell) const;
  void read_back(std::size_t addition, std::size_t cell, Pair pair, Strategy& strategy) const;

  FittingProblem problem_;
  std::vector<CostTerm> terms_;
  std::vector<Addition> additions_;
  std::vector<OpenChoices> choices_;
  std::vector<Rests> rests_;  ///< by price
  AddedTables lean_;          ///< the least memory of the rest
  std::vector<std::vector<Pairs>> made_;
  std::size_t bytes_ = 0;
  std::size_t effort_left_ = 0;
};

}  // namespace p2::strategy
