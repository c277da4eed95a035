#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo::interpreter {

/// An element of an operand: its row-major number.
struct Source {
  std::int32_t operand = 0;  ///< -1: no operand's element, the padding
  std::int64_t element = 0;
};

/// For an instruction that only moves elements (slice, reshape, bitcast, transpose, broadcast,
/// concatenate, pad, reverse), where each element of the result comes from; nothing for any other.
/// A bitcast keeps the order of elements in memory, which the layouts give; the others do not
/// depend on layouts. Throws NotUnderstood where the shapes do not fit.
std::optional<std::vector<Source>> sources_of(const Instruction& instruction,
                                              const std::vector<ArrayShape>& operands,
                                              const ArrayShape& result);

}  // namespace p2::hlo::interpreter
