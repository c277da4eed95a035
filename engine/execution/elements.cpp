#include "engine/execution/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace p2::execution {

std::size_t size_of(ElementType type) {
  return with_type(type, [](auto element) { return sizeof(element); });
}

unsigned exact_bits(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return 24;
    case ElementType::Float64:
      return 53;
    case ElementType::Int32:
      return 31;
    case ElementType::BFloat16:
      return 8;
  }
  return 0;
}

std::string_view to_string(ElementType type) {
  constexpr std::array<std::string_view, 4> kNames = {"float32", "float64", "int32", "bfloat16"};
  return kNames[static_cast<std::size_t>(type)];
}

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

/// A different key for each rank.
std::uint32_t key_of(const Inputs& inputs, std::uint32_t rank) {
  return mixed(mixed(static_cast<std::uint32_t>(inputs.seed)) +
               mixed(static_cast<std::uint32_t>(inputs.seed >> 32U) + 0x9E3779B9U) + rank);
}

/// Hashes of the positions of elements from `first` on, the same for all ranks.
std::vector<std::uint32_t> places(std::size_t first, std::size_t count) {
  std::vector<std::uint32_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto low = static_cast<std::uint32_t>(first + i);
    const auto high = static_cast<std::uint32_t>((first + i) >> 32U);
    places[i] = mixed(low + high * 0x9E3779B1U);
  }
  return places;
}

/// p such that sums over all ranks of integers from −2^p to 2^p − 1 are exact in the type, where
/// there is one; at most 20.
unsigned bits_of_integers(const Inputs& inputs) {
  const auto for_ranks = static_cast<unsigned>(std::bit_width(inputs.ranks - 1));
  return std::min(exact_bits(inputs.type) - std::min(for_ranks, exact_bits(inputs.type)), 20U);
}

/// Calls `use` with a function from position hash and key to the value of an element; loops over it
/// are vectorized.
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

namespace {

constexpr std::size_t kBlockBytes = 16384;

/// bfloat16 is added up in float32 and rounded once; integers wrap round.
template <typename Element>
using Sum = std::conditional_t<
    std::is_same_v<Element, BFloat16>, float,
    std::conditional_t<std::is_same_v<Element, std::int32_t>, std::uint32_t, Element>>;

/// Adds four more to every sum, one after the other: the sums stay in registers meanwhile.
template <typename Element>
void add_four(Sum<Element>* sum, std::span<const std::byte* const> from, std::size_t first,
              std::size_t count) {
  const auto buffer = [&](std::size_t i) {
    return reinterpret_cast<const Element*>(from[i]) + first;
  };
  const Element* a = buffer(0);
  const Element* b = buffer(1);
  const Element* c = buffer(2);
  const Element* d = buffer(3);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i] = sum[i] + static_cast<Sum<Element>>(a[i]) + static_cast<Sum<Element>>(b[i]) +
             static_cast<Sum<Element>>(c[i]) + static_cast<Sum<Element>>(d[i]);
  }
}

template <typename Element>
void sum_block(std::span<const std::byte* const> from, std::size_t first, std::size_t count,
               std::span<std::byte* const> to, std::size_t to_first) {
  std::array<Sum<Element>, kBlockBytes / sizeof(Element)> sum;
  const auto* buffer = reinterpret_cast<const Element*>(from[0]) + first;
  for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<Sum<Element>>(buffer[i]);
  std::size_t source = 1;
  for (; source + 4 <= from.size(); source += 4) {
    add_four<Element>(sum.data(), from.subspan(source, 4), first, count);
  }
  for (; source < from.size(); ++source) {
    buffer = reinterpret_cast<const Element*>(from[source]) + first;
    for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<Sum<Element>>(buffer[i]);
  }
  const void* result = sum.data();
  std::array<Element, sizeof(Sum<Element>) == sizeof(Element) ? 1 : kBlockBytes / sizeof(Element)>
      rounded;
  if constexpr (sizeof(Sum<Element>) != sizeof(Element)) {
    for (std::size_t i = 0; i < count; ++i) rounded[i] = static_cast<Element>(sum[i]);
    result = rounded.data();
  }
  for (std::byte* target : to) {
    std::memcpy(reinterpret_cast<Element*>(target) + to_first, result, count * sizeof(Element));
  }
}

}  // namespace

void sum_buffers(ElementType type, std::span<const std::byte* const> from, std::size_t first,
                 std::size_t count, std::span<std::byte* const> to, std::size_t to_first) {
  with_type(type, [&](auto zero) {
    using Element = decltype(zero);
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Element);
    for (std::size_t at = 0; at < count; at += kBlock) {
      sum_block<Element>(from, first + at, std::min(kBlock, count - at), to, to_first + at);
    }
  });
}

}  // namespace p2::execution
