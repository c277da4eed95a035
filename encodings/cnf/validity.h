#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// The query `validity`: is this program valid?
struct ValidityQuery {
  /// Programs whose simulated devices have more matrix cells than this together are Unknown. 64
  /// devices in one class have as many.
  static constexpr std::size_t kMostCells = std::size_t{64} * 64 * 64;

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Limits limits = {};
};

/// What the SAT solver says of a program.
struct Judgement {
  enum class Kind : std::uint8_t { Valid, Invalid, Unknown };

  Kind kind = Kind::Unknown;
  std::size_t legal_steps = 0;
  /// Of an invalid program: the step that is refused, from 1, or the number of steps if all are
  /// legal and the goal is missed; and the rule that refuses, named as rule_name names it.
  std::size_t step = 0;
  std::string rule;
};

/// Judges the program step by step. The state before a step is known cell by cell; the clauses of
/// GroupRules, those of synthesis, have a model exactly if the step is legal, and the model is the
/// state after it; that there is no other model is asked as well. Of a step without a model the
/// solver is asked which premise fails first. Groups of steps with a shape are formed by
/// Coordinates and not taken from the step.
Judgement judge(const ValidityQuery& query);

}  // namespace p2::cnf
