#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "engine/base/limit_watch.h"

namespace p2::cnf {

/// A variable (positive) or its negation, as in DIMACS; never 0.
using Literal = std::int32_t;

/// A formula in conjunctive normal form under construction, with the definitions that the encoding
/// needs. Variables are numbered in the order in which they are made.
///
/// Every function that adds clauses throws LimitReached where a limit is exceeded.
class Clauses {
 public:
  /// Without limits.
  Clauses();
  /// The limits must outlive the formula.
  explicit Clauses(const Limits& limits);

  Literal fresh();
  std::vector<Literal> fresh(std::size_t count);
  void add(std::initializer_list<Literal> clause);
  void add(std::span<const Literal> clause);

  /// A literal that is true in every model.
  Literal truth() const { return 1; }

  /// A new literal that is true exactly if all, or some, of `literals` are.
  Literal all_of(std::span<const Literal> literals);
  Literal any_of(std::span<const Literal> literals);

  /// Under `guard`: a and b agree; at most one of `literals` holds (pairwise).
  void equal_if(Literal guard, Literal a, Literal b);
  void at_most_one_if(Literal guard, std::span<const Literal> literals);

  /// at_least[i][j]: at least j of the first i literals hold, for 0 ≤ j ≤ i (sequential counter).
  std::vector<std::vector<Literal>> count(std::span<const Literal> literals);

  std::int32_t variables() const { return variables_; }
  std::size_t bytes() const { return literals_.size() * sizeof(Literal); }
  /// All clauses, each ended by 0.
  const std::vector<Literal>& literals() const { return literals_; }

 private:
  LimitWatch watch_;
  std::int32_t variables_ = 0;
  std::vector<Literal> literals_;
};

}  // namespace p2::cnf
