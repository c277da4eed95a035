#pragma once

#include <span>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/solver.h"

namespace p2::cnf {

/// Clauses in a SAT solver of their own, which is asked what they leave possible.
class Formula : public Solver {
 public:
  /// The literals of `known` hold. In one pass, in the order in which they were made, clauses are
  /// rid of what they and clauses of one literal settle, so that the solver never sees most of
  /// them. The limits must outlive the formula.
  Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits);
};

}  // namespace p2::cnf
