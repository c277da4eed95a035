#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "encodings/z3/terms.h"

namespace p2::z3_encoding {

/// Breaks conditions down to clauses over single bits. A solver that is handed `guard implies
/// condition` as one formula introduces a variable for every part of the condition; nearly all
/// parts of ours stand under a guard in one polarity only, where clauses need no variables.
class Clauses {
 public:
  /// There may be millions: LimitReached is thrown where the meter, which must outlive this, says
  /// so.
  explicit Clauses(const Meter& meter) : meter_(meter) {}

  void add(const z3::expr& clause) { clauses_.push_back(clause); }
  /// Demands that the Boolean `condition` has this value wherever all of `guards` hold.
  void demand(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value);
  /// Demands that `row` is that constant wherever all of `guards` hold.
  void demand_equal(const std::vector<z3::expr>& guards, const z3::expr& row,
                    const z3::expr& constant);
  /// Demands that `symbol` is `row` wherever `guard` holds.
  void demand_same(const z3::expr& guard, const z3::expr& symbol, const z3::expr& row);
  /// Demands the condition wherever `guard` holds. If it is that some bit of a compound row is set,
  /// the bits are named by symbols of `fresh`, each of which implies its bit.
  void demand_witnessed(const z3::expr& guard, const z3::expr& condition,
                        const std::function<z3::expr()>& fresh);

  /// The clauses since the last call.
  std::vector<z3::expr> take() { return std::exchange(clauses_, {}); }

 private:
  void demand_bit(std::vector<z3::expr> guards, const z3::expr& row, unsigned bit, bool value);
  /// As `demand`, of a part that is not broken down further unless it decides between others.
  void demand_leaf(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value);
  void imply(const std::vector<z3::expr>& guards, const z3::expr* consequence);
  z3::expr literal(const z3::expr& row, unsigned bit, bool value);
  /// A symbol for a condition that decides between rows: it occurs once for every bit of them.
  z3::expr named(const z3::expr& condition);

  const Meter& meter_;
  std::size_t made_ = 0;
  std::vector<z3::expr> clauses_;
  /// Symbols by the number of their condition, which is kept so that no other gets its number.
  std::map<unsigned, std::pair<z3::expr, z3::expr>> names_;
};

}  // namespace p2::z3_encoding
