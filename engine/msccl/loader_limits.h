#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/msccl/memory_layout.h"

namespace p2::msccl {

/// The largest `cnt` that loaders of MSCCL take.
constexpr std::uint32_t kMostChunksOfStep = 71;

/// What a loader refuses, whatever the algorithm would do.
struct LoaderLimit {
  std::string name;  ///< `steps_per_thread_block`, `count`, `channels`
  std::uint64_t allowed = 0;
  std::uint64_t found = 0;  ///< the largest in the file

  bool met() const { return found <= allowed; }
};

std::vector<LoaderLimit> loader_limits(const Algorithm& algorithm);

/// Steps that reach past a buffer although they start in it: loaders check where a region starts,
/// not where it ends, and let them pass.
std::vector<StepPlace> pass_loaders(const Algorithm& algorithm);

}  // namespace p2::msccl
