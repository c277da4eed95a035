#pragma once

#include <cstddef>

#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::cnf {

/// The query `validity`: is this program valid?
struct ValidityQuery {
  /// Programs whose simulated devices have more matrix cells than this together are Undecided, with
  /// the rule kTooLarge. 64 devices in one class have as many.
  static constexpr std::size_t kMaxCells = std::size_t{64} * 64 * 64;

  static constexpr const char* kTooLarge = "too large for the clauses, which judge 64^3 cells";

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Limits limits = {};
};

/// Decides the program step by step. The state before a step is known cell by cell; the clauses of
/// GroupRules, those of synthesis, have a model exactly if the step is legal, and the model is the
/// state after it; that there is no other model is asked as well. Of a step without a model the
/// solver is asked which premise fails first. Groups of steps with a shape are formed by
/// Coordinates and not taken from the step.
EngineAnswer judge(const ValidityQuery& query);

}  // namespace p2::cnf
