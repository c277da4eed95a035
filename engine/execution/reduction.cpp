#include "engine/execution/reduction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace p2::execution {
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
void add_up_block(std::span<const std::byte* const> from, std::size_t first, std::size_t count,
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

void add_up(ElementType type, std::span<const std::byte* const> from, std::size_t first,
            std::size_t count, std::span<std::byte* const> to, std::size_t to_first) {
  with_type(type, [&](auto zero) {
    using Element = decltype(zero);
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Element);
    for (std::size_t at = 0; at < count; at += kBlock) {
      add_up_block<Element>(from, first + at, std::min(kBlock, count - at), to, to_first + at);
    }
  });
}

}  // namespace p2::execution
