#include "engine/execution/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace p2::execution {
namespace {

/// A permutation of the 32-bit numbers whose output looks random (the finaliser of MurmurHash3).
std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16U;
  x *= 0x85EBCA6BU;
  x ^= x >> 13U;
  x *= 0xC2B2AE35U;
  return x ^ (x >> 16U);
}

/// The elements of one rank, without their type.
class Source {
 public:
  Source(const Inputs& inputs, std::uint32_t rank)
      : key_(mixed(mixed(static_cast<std::uint32_t>(inputs.seed)) +
                   mixed(static_cast<std::uint32_t>(inputs.seed >> 32U) + 0x9E3779B9U) + rank)),
        whole_(inputs.kind == Inputs::Kind::Integers),
        most_(most(inputs)) {}

  double operator()(std::size_t element) const {
    const auto low = static_cast<std::uint32_t>(element);
    const auto high = static_cast<std::uint32_t>(element >> 32U);
    const std::uint32_t random = mixed(mixed(low + high * 0x9E3779B1U) ^ key_) >> 8U;  // 24 bits
    if (!whole_) return static_cast<double>(random) * 0x1p-23 - 1.0;
    const auto values = static_cast<std::uint64_t>(2 * most_ + 1);
    return static_cast<double>(static_cast<std::int64_t>((random * values) >> 24U) - most_);
  }

 private:
  /// The greatest whole number for which all sums are exact, if there is one, and at most 2^20.
  static std::int64_t most(const Inputs& inputs) {
    const std::int64_t exact = (std::int64_t{1} << exact_bits(inputs.type)) / inputs.ranks;
    return std::clamp<std::int64_t>(exact - 1, 1, std::int64_t{1} << 20U);
  }

  std::uint32_t key_;
  bool whole_;
  std::int64_t most_;
};

template <typename Element>
Element as(double value) {
  if constexpr (std::is_same_v<Element, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Element, std::int32_t>) {
    return static_cast<std::int32_t>(std::lround(value));
  } else {
    return static_cast<Element>(value);
  }
}

double epsilon(ElementType type) { return std::ldexp(1.0, 1 - static_cast<int>(exact_bits(type))); }

}  // namespace

void Inputs::write(std::uint32_t rank, std::size_t first, std::span<std::byte> elements) const {
  const Source source(*this, rank);
  with_type(type, [&](auto zero) {
    using Element = decltype(zero);
    auto* to = reinterpret_cast<Element*>(elements.data());
    const std::size_t count = elements.size() / sizeof(Element);
    for (std::size_t i = 0; i < count; ++i) to[i] = as<Element>(source(first + i));
  });
}

bool Inputs::exact() const {
  if (type == ElementType::Int32) return true;
  return kind == Kind::Integers && ranks < (std::uint64_t{1} << exact_bits(type));
}

void Reference::compute(const Inputs& inputs, std::span<const std::uint32_t> contributors,
                        std::size_t first, std::size_t count) {
  sum.assign(count, 0.0);
  bound.assign(count, 0.0);
  const double factor =
      inputs.exact() ? 0.0 : static_cast<double>(contributors.size()) * epsilon(inputs.type);
  with_type(inputs.type, [&](auto zero) {
    using Element = decltype(zero);
    for (const std::uint32_t rank : contributors) {
      const Source source(inputs, rank);
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(as<Element>(source(first + i)));
        sum[i] += value;
        if (factor != 0.0) bound[i] += factor * std::abs(value);
      }
    }
  });
}

}  // namespace p2::execution
