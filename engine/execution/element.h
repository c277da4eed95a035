#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace p2::execution {

/// What the elements of a buffer are.
enum class ElementType : std::uint8_t { Float32, Float64, Int32, BFloat16 };

/// The upper half of a float32; arithmetic is done in float32 and rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((whole + 0x7FFFU + ((whole >> 16U) & 1U)) >> 16U);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

/// Calls `use` with a value of the C++ type of the elements.
template <typename Use>
decltype(auto) with_type(ElementType type, Use use) {
  switch (type) {
    case ElementType::Float64:
      return use(double{});
    case ElementType::Int32:
      return use(std::int32_t{});
    case ElementType::BFloat16:
      return use(BFloat16{});
    case ElementType::Float32:
      break;
  }
  return use(float{});
}

/// In bytes.
std::size_t size_of(ElementType type);
/// How many bits of significand a sum may need and still be exact; 31 for int32.
unsigned exact_bits(ElementType type);

/// `float32`, `float64`, `int32`, `bfloat16`.
std::string_view to_string(ElementType type);

}  // namespace p2::execution
