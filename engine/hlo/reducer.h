#pragma once

#include <cstdint>
#include <string_view>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// What a computation of two scalars does, where it is one of those that put values together in
/// any order.
enum class Reducer : std::uint8_t { Add, Multiply, Maximum, Minimum, And, Or, Unknown };

std::string_view to_string(Reducer reducer);
/// The reducer that one operation of two operands is.
Reducer reducer_of(std::string_view opcode, ElementType type);
/// Recognised where the root is that operation on both parameters, each once.
Reducer reducer_of(const Computation& computation);

}  // namespace p2::hlo
