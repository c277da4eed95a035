#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encodings/cnf/proof/literal.h"

namespace p2::cnf {

/// Clauses and what follows from them by unit propagation, with two watched literals per clause.
/// Clauses can be put to sleep and woken again, as long as they are woken in the reverse order and
/// with the literals assigned that were assigned when they went to sleep.
class UnitPropagation {
 public:
  using Index = std::uint32_t;  ///< of a clause, from 0
  static constexpr Index kNone = UINT32_MAX;

  explicit UnitPropagation(std::int32_t variables);

  /// Stores a clause and watches it; literals that are not false are put first. Propagates nothing.
  Index add(std::span<const Literal> clause);
  void sleep(Index clause) { clauses_[clause].awake = false; }
  void wake(Index clause) { clauses_[clause].awake = true; }
  std::span<const Literal> literals(Index clause) const {
    return std::span(arena_).subspan(clauses_[clause].begin, clauses_[clause].size);
  }

  /// 1 true, −1 false, 0 open.
  std::int8_t value(Literal literal) const { return values_[slot(literal)]; }
  /// Why a literal has its value: a clause, or kNone for what was assumed.
  Index reason(Literal literal) const { return facts_[slot(literal) / 2].reason; }
  /// When it got it: its place on the trail.
  std::uint32_t position(Literal literal) const { return facts_[slot(literal) / 2].position; }

  /// The literals that are true, in the order in which they became so.
  const std::vector<Literal>& trail() const { return trail_; }
  void assign(Literal literal, Index reason);
  /// Propagates what is new on the trail: the first clause that became false, or kNone.
  Index propagate();
  /// Takes literals off the trail until `size` are left.
  void undo(std::size_t size);

 private:
  struct Stored {
    std::size_t begin = 0;
    std::uint32_t size = 0;
    bool awake = true;
  };
  struct Watch {
    Index clause = 0;
    Literal other = 0;  ///< some literal of the clause: where it is true there is nothing to do
  };
  struct Fact {
    Index reason = kNone;
    std::uint32_t position = 0;
  };

  static std::size_t slot(Literal literal) {
    return 2 * static_cast<std::size_t>(literal < 0 ? -literal : literal) + (literal < 0 ? 1 : 0);
  }
  /// Whether the watch stays where it is.
  bool visit(Watch& watch, Literal falsified, Index& conflict);

  std::vector<Stored> clauses_;
  std::vector<Literal> arena_;
  std::vector<std::vector<Watch>> watches_;  ///< by the literal watched
  std::vector<std::int8_t> values_;
  std::vector<Fact> facts_;
  std::vector<Literal> trail_;
  std::size_t propagated_ = 0;
};

}  // namespace p2::cnf
