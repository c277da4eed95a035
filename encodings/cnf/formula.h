#pragma once

#include <span>

#include <cadical.hpp>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/solver.h"

namespace p2::cnf {

/// Clauses in a SAT solver of their own, which is asked what they leave possible.
class Formula : private CaDiCaL::Terminator {
 public:
  /// The literals of `known` hold. In one pass, in the order in which they were made, clauses are
  /// rid of what they and clauses of one literal settle, so that the solver never sees most of
  /// them. The limits must outlive the formula.
  Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits);
  ~Formula() override;
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  /// Whether there is a model in which `assumed` holds. Throws LimitMet.
  bool possible(Literal assumed);
  /// Whether a literal holds in the model found last.
  bool holds(Literal literal) const { return solver_.val(literal) > 0; }
  /// Excludes the models in which all of `literals` hold.
  void exclude(std::span<const Literal> literals);

 private:
  bool terminate() override { return limits_.exceeded(bytes_); }

  const Limits& limits_;
  std::size_t bytes_;
  mutable CaDiCaL::Solver solver_;
};

}  // namespace p2::cnf
