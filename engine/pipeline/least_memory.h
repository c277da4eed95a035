#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/pipeline/overlap_search.h"

namespace p2 {

/// The fewest activations that stages can hold at their peak with full overlap.
struct LeastMemory {
  std::vector<std::uint32_t> each;  ///< of each stage if the others hold as many as they like
  /// Why it can hold no fewer; nothing where it is one.
  std::vector<std::vector<OverlapCase>> cases;
  /// The fewest of all stages together, and one of each stage for which that is so: `each` where
  /// stages do not stand in each other's way.
  std::vector<std::uint32_t> peaks;
  PipelineRun run;  ///< of such a schedule
};

/// Nothing where a limit is met.
std::optional<LeastMemory> least_memory(PipelineSize size, const PipelineTimes& times,
                                        const Limits& limits, OverlapProgress* progress = nullptr);

}  // namespace p2
