#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace p2 {

/// The five collectives of section 3.2, in the order in which synthesis tries them. Further values
/// stand for collectives that users define (CollectiveSet).
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast };

constexpr std::array<Collective, 5> kCollectives = {
    Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::Reduce,
    Collective::Broadcast};

constexpr bool is_built_in(Collective collective) {
  return static_cast<std::size_t>(collective) < kCollectives.size();
}

/// The name of one of the five; for others ask their CollectiveSet.
std::string_view to_string(Collective collective);

}  // namespace p2
