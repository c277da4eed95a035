#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encodings/z3/budget.h"
#include "encodings/z3/lowering.h"
#include "encodings/z3/rulebook.h"

namespace p2::z3_encoding {

/// One thing that a program may do in a step.
struct Instruction {
  GroupShape shape;  ///< the first of the names that form these groups
  std::uint32_t rule = 0;
  std::vector<Group> groups;
};

/// All instructions over the instance's hierarchy: every slice, form and level, its groups formed
/// by the solver's formulas, with every rule that the dialect allows. Two that form the same groups
/// are one. Throws OutOfBudget where the meter says so. InsideGroup comes before Parallel and
/// Parallel before Master, each by slice and level.
std::vector<Instruction> all_instructions(const Lowering& lowering, const Instance& instance,
                                          Dialect dialect, const Rulebook& rulebook,
                                          const Meter& meter);

}  // namespace p2::z3_encoding
