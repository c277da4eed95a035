#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace p2::execution {

/// The type of the elements of a buffer.
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
/// Significand bits: a sum of integers that needs no more is exact; 31 for int32.
unsigned exact_bits(ElementType type);

/// `float32`, `float64`, `int32`, `bfloat16`.
std::string_view to_string(ElementType type);

/// The inputs of the ranks: element e of rank r is a function of seed, r and e.
struct Inputs {
  enum class Kind : std::uint8_t {
    Integers,  ///< small: a sum over all ranks is exact in any order
    Reals,     ///< from −1 to 1: the error of a sum is at most n·eps·Σ|x|
  };

  ElementType type = ElementType::Float32;
  Kind kind = Kind::Integers;
  std::uint32_t ranks = 1;
  std::uint64_t seed = 1;

  /// Writes elements `first`, `first` + 1, … of `rank`, as many as `elements` holds.
  void write(std::uint32_t rank, std::size_t first, std::span<std::byte> elements) const;

  /// Whether sums are exact. Not for integers in bfloat16 over more than 256 ranks.
  bool exact() const;
};

/// Reference values: sums over contributors, and bounds on the rounding error of a result.
struct Reference {
  std::vector<double> sum;
  std::vector<double> bound;  ///< 0 where sums are exact

  /// Computes elements `first` … `first` + `count` − 1 summed over `contributors`.
  void compute(const Inputs& inputs, std::span<const std::uint32_t> contributors, std::size_t first,
               std::size_t count);
  /// Writes the sums as elements of the type, from element `first` of `elements` on.
  void write(ElementType type, std::span<std::byte> elements, std::size_t first) const;
};

/// Sums elements `first` … `first` + `count` − 1 over the buffers `from`, in their order, and
/// writes the sums to all buffers `to`, from element `to_first` on. A buffer may be in both if
/// first == to_first. Cache-blocked: every element is read from memory once and written once.
void sum_buffers(ElementType type, std::span<const std::byte* const> from, std::size_t first,
                 std::size_t count, std::span<std::byte* const> to, std::size_t to_first);

}  // namespace p2::execution
