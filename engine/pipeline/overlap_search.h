#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "p2/limits.h"
#include "engine/pipeline/simulation.h"

namespace p2 {

/// The makespan below which no pipeline is, whatever its orders (link model `delay`): the last
/// stage gets the first microbatch after all forwards before it and their transfers, works without
/// a pause, and its last backward goes all the way back.
std::int64_t full_overlap(PipelineSize size, const PipelineTimes& times);

/// What is told apart: whether a stage does this forward before this backward, or after it.
struct OverlapCase {
  std::uint32_t stage = 0;
  std::uint32_t forward = 0;
  std::uint32_t backward = 0;  ///< microbatches
};

struct OverlapAnswer {
  enum class Kind : std::uint8_t { Exists, None, Unknown };
  Kind kind = Kind::Unknown;
  PipelineRun run;  ///< where there is one: the starts of all work
  /// Where there is none: cases such that in each the earliest starts make some work end too late.
  /// In preorder, first the case in which the forward comes first; a case that is settled so has no
  /// entry.
  std::vector<OverlapCase> cases;
};

/// For whoever watches a search from another thread: grows over several of them.
struct OverlapProgress {
  std::atomic<std::uint64_t> cases = 0;  ///< told apart
};

/// Orders of forwards and backwards (not split) in which stage i holds at most `most[i]`
/// activations, at least 1, and the pipeline takes no longer than full_overlap() under `delay`.
/// Microbatches go in turn, which loses nothing: they are all alike. Unknown where a limit is met.
OverlapAnswer search_overlap(PipelineSize size, const PipelineTimes& times,
                             const std::vector<std::uint32_t>& most, const Limits& limits,
                             OverlapProgress* progress = nullptr);

}  // namespace p2
