#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace p2::execution {

/// How far a rank has come, for whoever watches over it, maybe from another process. Counts grow
/// over the whole run.
struct RankProgress {
  std::atomic<std::uint64_t> begun = 0;    ///< steps that it has entered
  std::atomic<std::uint64_t> ended = 0;    ///< steps that it has left
  std::atomic<std::uint32_t> program = 0;  ///< the one it is at, from 1
  std::atomic<std::uint32_t> step = 0;     ///< of that program, from 1
};

/// `rank 3 did not enter step 2 of program 1, where others wait for it`, of the rank that is
/// farthest behind; where all have entered as many steps, `rank 3 entered step 2 of program 1 and
/// did not leave it`, of the first such rank, or `no rank was inside a step`.
std::string who_is_late(std::span<const RankProgress> ranks);

}  // namespace p2::execution
