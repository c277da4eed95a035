#include "engine/execution/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace p2::execution {
namespace {

constexpr std::size_t kBlock = 4096;  // elements

/// A permutation of the 32-bit numbers whose output looks random (the finaliser of MurmurHash3).
std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16U;
  x *= 0x85EBCA6BU;
  x ^= x >> 13U;
  x *= 0xC2B2AE35U;
  return x ^ (x >> 16U);
}

/// Of each rank another key.
std::uint32_t key_of(const Inputs& inputs, std::uint32_t rank) {
  return mixed(mixed(static_cast<std::uint32_t>(inputs.seed)) +
               mixed(static_cast<std::uint32_t>(inputs.seed >> 32U) + 0x9E3779B9U) + rank);
}

/// What the elements at `first` and on have in common in all ranks.
std::vector<std::uint32_t> places(std::size_t first, std::size_t count) {
  std::vector<std::uint32_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto low = static_cast<std::uint32_t>(first + i);
    const auto high = static_cast<std::uint32_t>((first + i) >> 32U);
    places[i] = mixed(low + high * 0x9E3779B1U);
  }
  return places;
}

/// Whole numbers from −2^p to 2^p − 1, where sums over all ranks stay within the exact bits of the
/// type, as far as there is such a p, and p ≤ 20.
unsigned bits_of_integers(const Inputs& inputs) {
  const auto for_ranks = static_cast<unsigned>(std::bit_width(inputs.ranks - 1));
  return std::min(exact_bits(inputs.type) - std::min(for_ranks, exact_bits(inputs.type)), 20U);
}

/// Calls `use` with a function from place and key to the value of an element: written so that a
/// loop over it runs on vectors.
template <typename Use>
void with_values(const Inputs& inputs, Use use) {
  if (inputs.kind == Inputs::Kind::Reals) {
    use([](std::uint32_t place, std::uint32_t key) {
      const auto random = static_cast<std::int32_t>(mixed(place ^ key));
      return static_cast<double>(random >> 8) * 0x1p-23;
    });
  } else {
    const unsigned bits = bits_of_integers(inputs);
    use([bits](std::uint32_t place, std::uint32_t key) {
      const auto random = static_cast<std::int32_t>(mixed(place ^ key));
      return static_cast<double>(random >> (31U - bits));
    });
  }
}

template <typename Element>
Element as(double value) {
  if constexpr (std::is_same_v<Element, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Element, std::int32_t>) {
    return static_cast<std::int32_t>(value);
  } else {
    return static_cast<Element>(value);
  }
}

double epsilon(ElementType type) { return std::ldexp(1.0, 1 - static_cast<int>(exact_bits(type))); }

}  // namespace

void Inputs::write(std::uint32_t rank, std::size_t first, std::span<std::byte> elements) const {
  const std::uint32_t key = key_of(*this, rank);
  with_type(type, [&](auto zero) {
    using Element = decltype(zero);
    auto* to = reinterpret_cast<Element*>(elements.data());
    const std::size_t count = elements.size() / sizeof(Element);
    with_values(*this, [&](auto value) {
      for (std::size_t at = 0; at < count; at += kBlock) {
        const std::vector<std::uint32_t> block = places(first + at, std::min(kBlock, count - at));
        for (std::size_t i = 0; i < block.size(); ++i)
          to[at + i] = as<Element>(value(block[i], key));
      }
    });
  });
}

bool Inputs::exact() const {
  if (type == ElementType::Int32) return true;
  return kind == Kind::Integers && ranks <= (std::uint64_t{1} << exact_bits(type));
}

void Reference::compute(const Inputs& inputs, std::span<const std::uint32_t> contributors,
                        std::size_t first, std::size_t count) {
  sum.assign(count, 0.0);
  bound.assign(count, 0.0);
  const double factor =
      inputs.exact() ? 0.0 : static_cast<double>(contributors.size()) * epsilon(inputs.type);
  const std::vector<std::uint32_t> block = places(first, count);
  with_values(inputs, [&](auto value) {
    for (const std::uint32_t rank : contributors) {
      const std::uint32_t key = key_of(inputs, rank);
      if (factor == 0.0) {  // then the elements are what they are in every type
        for (std::size_t i = 0; i < count; ++i) sum[i] += value(block[i], key);
        continue;
      }
      with_type(inputs.type, [&](auto zero) {
        for (std::size_t i = 0; i < count; ++i) {
          const auto element = static_cast<double>(as<decltype(zero)>(value(block[i], key)));
          sum[i] += element;
          bound[i] += factor * std::abs(element);
        }
      });
    }
  });
}

void Reference::write(ElementType type, std::span<std::byte> elements, std::size_t first) const {
  with_type(type, [&](auto zero) {
    auto* to = reinterpret_cast<decltype(zero)*>(elements.data()) + first;
    for (std::size_t i = 0; i < sum.size(); ++i) to[i] = as<decltype(zero)>(sum[i]);
  });
}

}  // namespace p2::execution
