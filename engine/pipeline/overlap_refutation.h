#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/limits.h"
#include "engine/pipeline/simulation.h"

namespace p2 {

/// What is told apart next: whether a stage does this forward before this backward, or after it.
struct OverlapCase {
  std::uint32_t stage = 0;
  std::uint32_t forward = 0;
  std::uint32_t backward = 0;  ///< microbatches
};

/// Why no pipeline (link model `delay`, not split) that takes at most `makespan` holds at most
/// `most` activations on `stage`, at least 1: cases such that in each the earliest starts make some
/// work end too late. In preorder, first the case in which the forward comes first; a case that is
/// settled so has no entry. Nothing where there is such a pipeline, or a limit is met.
std::optional<std::vector<OverlapCase>> refute_overlap(PipelineSize size,
                                                       const PipelineTimes& times,
                                                       std::int64_t makespan, std::uint32_t stage,
                                                       std::uint32_t most, const Limits& limits);

}  // namespace p2
