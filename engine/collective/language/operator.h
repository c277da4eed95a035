#pragma once

#include <string_view>

#include "engine/collective/language/definition.h"

namespace p2::language {

/// A binary operator of the text and what it becomes: `kind` applied to the operands, in exchanged
/// order if `swapped`, under a Not if `negated`.
struct Operator {
  std::string_view spelling;
  int level;  ///< how tightly it binds
  Kind kind;
  Type operands;
  Type result;
  bool swapped = false;
  bool negated = false;
};

constexpr int kLoosest = 0;
constexpr int kImpliesLevel = 1;
/// `not` stands between `and` and the comparisons.
constexpr int kNotLevel = 4;
constexpr int kComparisonLevel = 5;

/// The operator, or null if nothing is spelled so.
const Operator* operator_spelled(std::string_view spelling);

}  // namespace p2::language
