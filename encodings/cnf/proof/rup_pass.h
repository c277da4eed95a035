#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "encodings/cnf/proof/unit_propagation.h"

namespace p2::cnf {

/// The number of a clause: those of the formula count from 1.
using ClauseId = std::uint32_t;

/// A refutation as LRAT, with the part of the formula that it rests on.
struct Refutation {
  std::vector<ClauseId> core;  ///< the formula's clauses in use, ascending
  /// One line per step: its number, its clause, 0, its hints, 0. The core's clauses are numbered
  /// by their place, from 1, and steps after them. Hints become unit one after the other once the
  /// step's clause is assumed false; the last of them is false then. The last step is empty.
  std::string lrat;
};

/// Turns what a SAT solver has learnt and forgotten (DRAT) into LRAT. Forwards, learnt clauses are
/// taken as they are until propagation alone finds a contradiction; backwards from there, those
/// that are needed are shown to follow by reverse unit propagation, and the clauses that the
/// propagation used are their hints. What follows without any assumption is a step of its own.
class RupPass {
 public:
  RupPass(std::int32_t variables, ClauseId axioms);

  /// All axioms come before the first lemma.
  void axiom(std::span<const Literal> clause) { learn(clause, false); }
  void lemma(std::span<const Literal> clause) { learn(clause, true); }
  /// Forgets one lemma with these literals, in any order. Axioms stay, which is cheaper than to
  /// find them again, and so does a clause from which a literal now true was propagated.
  void forget(std::span<const Literal> clause);
  /// A contradiction was found; nothing that comes later matters.
  bool refuted() const { return conflict_ != UnitPropagation::kNone; }

  /// Goes back; called once, after a contradiction. Calls `tick` now and then, which may throw to
  /// end it. Throws std::runtime_error when a clause that is needed does not follow by unit
  /// propagation.
  Refutation refutation(const std::function<void()>& tick);

 private:
  using Index = UnitPropagation::Index;
  enum class Kind : std::uint8_t { Lemma, Unit, Forgotten };
  struct Event {
    Kind kind = Kind::Lemma;
    Index clause = 0;     ///< of a unit: the clause it was propagated from
    Literal literal = 0;  ///< of a unit
    bool needed = false;
    std::size_t hints = 0;  ///< where they begin and end among all hints, once it is shown
    std::size_t hints_end = 0;
  };

  void learn(std::span<const Literal> clause, bool is_lemma);
  void propagate();
  void need(Index clause);
  void need_unit(Literal literal);
  void show(Event& event);
  void show_lemma(Index clause);
  void explain(Index conflict, std::span<const Literal> assumed);
  Refutation print() const;
  void print_step(const Event& event, const std::vector<ClauseId>& number, std::string& text) const;

  UnitPropagation clauses_;
  ClauseId axioms_;
  std::vector<Event> events_;
  /// A step, or an axiom: axiom i is i, event e is axioms + e.
  std::vector<std::uint32_t> step_of_clause_;
  std::vector<std::uint32_t> step_of_unit_;  ///< by variable
  std::vector<bool> axiom_needed_;
  std::vector<bool> seen_;  ///< by variable
  std::vector<std::uint32_t> hints_;
  std::unordered_multimap<std::uint64_t, Index> by_hash_;
  Index conflict_ = UnitPropagation::kNone;
  std::size_t last_hints_end_ = 0;
};

}  // namespace p2::cnf
