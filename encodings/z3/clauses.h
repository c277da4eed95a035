#pragma once

#include <vector>

#include <z3++.h>

namespace p2::z3_encoding {

/// Breaks conditions down to clauses over single bits. A solver that is handed `guard implies
/// condition` as one formula introduces a variable for every part of the condition; nearly all
/// parts of ours stand under a guard in one polarity only, where clauses need no variables.
class Clauses {
 public:
  /// Clauses are added to `clauses`, which must outlive this.
  explicit Clauses(std::vector<z3::expr>& clauses) : clauses_(clauses) {}

  /// Demands that the Boolean `condition` has this value wherever all of `guards` hold.
  void demand(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value);
  /// Demands that `row` is that constant wherever all of `guards` hold.
  void demand_equal(const std::vector<z3::expr>& guards, const z3::expr& row,
                    const z3::expr& constant);
  /// Demands that `symbol` is `row` wherever `guard` holds.
  void demand_same(const z3::expr& guard, const z3::expr& symbol, const z3::expr& row);

 private:
  void demand_bit(std::vector<z3::expr> guards, const z3::expr& row, unsigned bit, bool value);
  void add(const std::vector<z3::expr>& guards, const z3::expr* consequence);

  std::vector<z3::expr>& clauses_;
};

}  // namespace p2::z3_encoding
