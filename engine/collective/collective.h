#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace p2 {

/// The five collectives of section 3.2, in the order in which synthesis tries them.
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast };

constexpr std::array<Collective, 5> kCollectives = {
    Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::Reduce,
    Collective::Broadcast};

std::string_view to_string(Collective collective);
std::optional<Collective> collective_called(std::string_view name);

}  // namespace p2
