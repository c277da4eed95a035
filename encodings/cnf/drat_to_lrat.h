#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "encodings/cnf/solver.h"
#include "p2/limits.h"

/// Backward checking of a solver's DRAT proof (Heule, Hunt, Wetzler: Trimming while checking
/// clausal proofs, FMCAD 2013), with LRAT as its output (Cruz-Filipe et al.: Efficient certified
/// RAT verification, CADE 2017).
namespace p2::cnf {

/// Unit propagation with two watched literals per clause. Clauses can be deactivated and activated
/// again, in reverse order and under the assignment under which they were deactivated.
class UnitPropagation {
 public:
  using Index = std::uint32_t;  ///< of a clause, from 0
  static constexpr Index kNone = UINT32_MAX;

  explicit UnitPropagation(std::int32_t variables);

  /// Stores a clause and watches it; literals that are not false are put first. Propagates nothing.
  Index add(std::span<const Literal> clause);
  void deactivate(Index clause) { clauses_[clause].active = false; }
  void activate(Index clause) { clauses_[clause].active = true; }
  std::span<const Literal> literals(Index clause) const {
    return std::span(arena_).subspan(clauses_[clause].begin, clauses_[clause].size);
  }

  /// 1 true, −1 false, 0 unassigned.
  std::int8_t value(Literal literal) const { return values_[slot(literal)]; }
  /// The reason of a literal: a clause, or kNone for an assumption.
  Index reason(Literal literal) const { return facts_[slot(literal) / 2].reason; }
  /// Its position on the trail.
  std::uint32_t position(Literal literal) const { return facts_[slot(literal) / 2].position; }

  /// The literals that are true, in the order in which they became so.
  const std::vector<Literal>& trail() const { return trail_; }
  void assign(Literal literal, Index reason);
  /// Propagates what is new on the trail: the conflict, i.e. the first falsified clause, or kNone.
  Index propagate();
  /// Takes literals off the trail until `size` are left.
  void undo(std::size_t size);

 private:
  struct Stored {
    std::size_t begin = 0;
    std::uint32_t size = 0;
    bool active = true;
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

/// The number of a clause: those of the formula count from 1.
using ClauseId = std::uint32_t;

/// A refutation as LRAT, with its unsatisfiable core.
struct Refutation {
  std::vector<ClauseId> core;  ///< the formula's clauses in use, ascending
  /// One line per step: its number, its clause, 0, its hints, 0. The core's clauses are numbered
  /// by their place, from 1, and steps after them. Hints become unit one after the other once the
  /// step's clause is assumed false; the last of them is false then. The last step is empty.
  std::string lrat;
};

/// Turns DRAT into LRAT. Forwards, lemmas are added unchecked until propagation alone finds a
/// conflict. Backwards from there, every lemma that is needed is checked by reverse unit
/// propagation (RUP), and the clauses that the propagation used are its hints. A top-level unit is
/// a step of its own.
class DratToLrat {
 public:
  DratToLrat(std::int32_t variables, ClauseId axioms);

  /// All axioms come before the first lemma.
  void axiom(std::span<const Literal> clause) { learn(clause, false); }
  void lemma(std::span<const Literal> clause) { learn(clause, true); }
  /// Deletes one lemma with these literals, in any order. Axioms are never deleted, which is
  /// cheaper than to find them again, nor is a clause that is the reason of a literal now true.
  void erase(std::span<const Literal> clause);
  /// A conflict was found; later steps are ignored.
  bool refuted() const { return conflict_ != UnitPropagation::kNone; }

  /// The backward pass; called once, after a conflict. Calls `tick` regularly, which may throw to
  /// cancel it. Throws ToolError when a lemma that is needed is not RUP.
  Refutation refutation(const std::function<void()>& tick);

 private:
  using Index = UnitPropagation::Index;
  enum class Kind : std::uint8_t { Lemma, Unit, Deleted };
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
  void mark(Index clause);
  void mark_unit(Literal literal);
  void justify(Event& event);
  void justify_lemma(Index clause);
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

/// That a CNF is unsatisfiable.
struct ClauseProof {
  std::string cnf;  ///< DIMACS: the unsatisfiable core, in the order of the clauses
  std::string lrat;
};

/// The proof that the solver wrote to `trace` when it refuted `clauses`. Throws LimitReached, and
/// ToolError when it is no proof.
ClauseProof clause_proof(const Clauses& clauses, const DratTrace& trace, const Limits& limits);
/// The same where several solvers, one after the other, have refuted parts of the search space: the
/// last one with what the others had refuted as unit clauses. It is one proof, so that the parts
/// cover everything is a part of it.
ClauseProof clause_proof(const Clauses& clauses, std::span<const DratTrace* const> traces,
                         const Limits& limits);

// Cube and conquer (Heule, Kullmann, Wieringa, Biere 2011). A cube is a literal; that some cube
// holds in every model need not be known, it is decided as well.

/// A hard question as clauses, and what splits it.
struct SplitClauses {
  Clauses clauses;
  std::vector<Literal> cubes;
};

/// A model, or the proof that there is none.
using Decided = std::variant<Model, ClauseProof>;

/// By `parts` solvers on threads of the caller's TBB arena, each with some of the cubes, and a last
/// one. 1 part: one solver, without cubes. The answer depends on the parts and not on the threads.
/// With `refuted_in`, by the proofs in that folder of write_cubes, `cube-I.lrat` or `cube-I.drat`,
/// as text or binary, of solvers outside of this process, and a last solver. Each lemma is read
/// with the negation of its cube, under which it was learnt, so that all follow from the formula
/// alone; of LRAT, hints are not read.
///
/// Throws LimitReached, and InputError for a folder of another formula, and for proofs that are
/// missing, malformed, not whole, or prove nothing.
Decided decide(const Clauses& clauses, std::span<const Literal> cubes, unsigned parts,
               const std::optional<std::string>& refuted_in, const Limits& limits);

/// Writes for cube I, from 1, the formula with that literal as a unit clause, `cube-I.cnf` in
/// DIMACS, and manifest.json when all are there. Throws InputError where the folder cannot be
/// written, or holds anything else.
void write_cubes(const std::string& folder, const Clauses& clauses, std::span<const Literal> cubes);

/// A folder of write_cubes.
struct CubeFolder {
  std::size_t cubes = 0;
  std::string formula;  ///< a fingerprint, which tells it from other formulas
};
/// Throws InputError for any other folder.
CubeFolder read_cube_folder(const std::string& folder);
/// Refutes a cube, from 1, that has no proof there yet, and writes `cube-I.drat`, whole or not at
/// all: whether it has a proof now. Otherwise it has a model. Throws LimitReached, and InputError.
bool refute_cube(const std::string& folder, std::size_t cube, const Limits& limits);

}  // namespace p2::cnf
