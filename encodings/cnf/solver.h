#pragma once

#include <cstddef>
#include <span>

#include <cadical.hpp>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/proof/drat_trace.h"
#include "p2/limits.h"

namespace p2::cnf {

/// Thrown where a limit is met before there is an answer.
struct LimitMet {};

/// A formula in a SAT solver. CaDiCaL runs without inprocessing: on these formulas it is as fast,
/// and what it learns is less to check.
class Solver : private CaDiCaL::Terminator {
 public:
  /// The limits must outlive the solver; their work is counted in conflicts, anew for each answer.
  explicit Solver(const Limits& limits);
  ~Solver() override;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// From now on writes what is learnt and forgotten to `trace`; called before the first clause.
  void write_proof(const DratTrace& trace);
  /// Clauses, each ended by 0.
  void add(std::span<const Literal> clauses);
  /// Excludes the models in which all of `literals` hold.
  void exclude(std::span<const Literal> literals);

  /// Whether there is a model in which `assumed` holds. Throws LimitMet.
  bool possible(Literal assumed);
  /// Whether there is a model. Throws LimitMet.
  bool possible();
  /// In the last model.
  bool holds(Literal literal) const { return solver_.val(literal) > 0; }
  /// Writes out what is left of the proof.
  void finish_proof() { solver_.flush_proof_trace(); }

 private:
  bool terminate() override { return limits_.exceeded(bytes_); }

  const Limits& limits_;
  std::size_t bytes_ = 0;
  mutable CaDiCaL::Solver solver_;  // whose val() is not const
};

}  // namespace p2::cnf
