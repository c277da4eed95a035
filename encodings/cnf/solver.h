#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "p2/error.h"
#include "p2/limits.h"

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

/// A temporary file with a solver's proof in binary DRAT; it is deleted with the object.
class DratTrace {
 public:
  /// Throws ToolError when no temporary file can be made.
  DratTrace();

  std::FILE* file() const { return file_.get(); }
  /// Appends a clause, learnt or deleted. Throws ToolError when there is no room for it.
  void add(bool learnt, std::span<const Literal> clause) const;

  /// Reads the proof from the start: `visit` gets every clause, with whether it was learnt or
  /// deleted, and returns whether to continue. Throws ToolError where it is not DRAT.
  void for_each(
      const std::function<bool(bool learnt, std::span<const Literal> clause)>& visit) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// What the solver throws where a limit is reached before there is an answer.
using LimitReached = LimitReached;

/// The version of CaDiCaL in use, e.g. `1.5.3`.
std::string solver_version();

/// CaDiCaL on one formula (Biere et al., CaDiCaL at the SAT Competition 2020). It runs without
/// inprocessing: on these formulas it is as fast, and what it learns is less to check.
class Solver {
 public:
  /// The limits must outlive the solver; their work is counted in conflicts, anew for each answer.
  explicit Solver(const Limits& limits);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// From now on writes learnt and deleted clauses to `trace`; called before the first clause.
  void write_proof(const DratTrace& trace);
  /// Adds clauses, each ended by 0.
  void add(std::span<const Literal> clauses);
  /// Excludes the models in which all of `literals` hold.
  void exclude(std::span<const Literal> literals);

  /// Whether there is a model in which `assumed` holds. Throws LimitReached.
  bool possible(Literal assumed);
  /// Whether there is a model. Throws LimitReached.
  bool possible();
  /// Whether the literal holds in the last model.
  bool holds(Literal literal) const;
  /// Flushes the proof.
  void finish_proof();

 private:
  struct Backend;  // keeps cadical.hpp out of this header

  std::unique_ptr<Backend> backend_;
};

/// What holds in the last model of a solver, without the solver.
class Model {
 public:
  Model(const Solver& solver, std::int32_t variables);

  bool holds(Literal literal) const {
    return true_[static_cast<std::size_t>(literal < 0 ? -literal : literal)] == (literal > 0);
  }

 private:
  std::vector<bool> true_;  ///< by variable
};

/// Clauses in a solver of their own.
class Formula : public Solver {
 public:
  /// The literals of `known` hold. One pass over the clauses, in the order in which they were made,
  /// propagates them and the unit clauses, so that the solver never sees most of the clauses. The
  /// limits must outlive the formula.
  Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits);
};

}  // namespace p2::cnf
