#pragma once

#include <cstdint>
#include <string_view>

namespace p2 {

/// In which sense two modules compute the same floating-point numbers; every sense implies those
/// before it. Integers are equal modulo 2^bits in all of them (docs/hlo.md).
enum class FloatEquality : std::uint8_t {
  Real,          ///< as real numbers: rounding, overflow, NaN and infinity are left out
  Reassociated,  ///< the same operations, but sums may be in another order
  Bitwise,       ///< the same operations in the same order: the same bits, NaNs counting as one
};

/// `real`, `reassociated`, `bitwise`.
std::string_view to_string(FloatEquality equality);
/// `as real numbers`, `up to the order of sums`, `bit for bit`.
std::string_view words_of(FloatEquality equality);
/// Throws InputError for any other text than those of to_string.
FloatEquality float_equality_called(std::string_view name);

}  // namespace p2
