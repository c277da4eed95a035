#pragma once

#include <cstdint>
#include <functional>

#include "p2/limits.h"
#include "proofs/definition/shape.h"

namespace p2::definition {

/// How many bits a state may have for all states of the shape to be looked at one by one, and how
/// many random states are looked at otherwise.
constexpr std::uint32_t kMostBitsOfAll = 16;
constexpr std::uint32_t kSamples = 400;

/// Gives `visit` all states of the shape, which then has at most 64 bits, or kSamples random ones:
/// states of several densities and, because premises refuse most of them, states in which
/// contributions are dealt out, chunks are dealt out, the root holds all that others hold, or the
/// root alone holds anything. False when a limit was met before the end.
bool for_each_state(const Shape& shape, bool all, std::uint64_t seed, const Limits& limits,
                    const std::function<void(const language::GroupState&)>& visit);

}  // namespace p2::definition
