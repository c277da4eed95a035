#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/execution/job.h"

namespace p2::execution {

/// How many bytes packed() has, the same for all ranks.
std::size_t packed_size(const Job& job);

/// The most that it has for a program of `steps` steps.
std::size_t most_packed(std::size_t steps, unsigned iterations);

/// What one rank brings back, but for its calls, as it is sent to the others.
std::vector<std::byte> packed(const RankResult& result);
/// The same again.
RankResult unpacked(const Job& job, std::span<const std::byte> bytes);

}  // namespace p2::execution
