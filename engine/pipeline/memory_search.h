#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/pipeline/schedule.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2 {

/// The makespan of full overlap, a lower bound for all orders under the link model `delay`: the
/// last stage receives the first microbatch after all earlier forwards and transfers, computes
/// without idle time, and the last backward returns through all stages.
std::int64_t full_overlap(PipelineSize size, const PipelineTimes& times);

/// A branching decision: whether a stage runs this forward before this backward, or after it.
struct OverlapCase {
  std::uint32_t stage = 0;
  std::uint32_t forward = 0;   ///< microbatch
  std::uint32_t backward = 0;  ///< microbatch
};

struct OverlapAnswer {
  Outcome outcome = Outcome::Undecided;  ///< whether such orders exist
  PipelineRun run;                       ///< where established: the starts of all work
  /// Where refuted: the case tree of the refutation in preorder, the branch in which the
  /// forward is first before the other one. A leaf, in which the earliest starts make some work end
  /// after the makespan, has no entry.
  std::vector<OverlapCase> cases;
};

/// The state of running searches, for another thread to read.
struct OverlapProgress {
  std::atomic<std::uint64_t> cases = 0;  ///< branching decisions
};

/// Orders of forwards and backwards (not split) with the makespan full_overlap() under `delay`, in
/// which stage i holds at most `peaks[i]` ≥ 1 activations. Microbatches are processed in order,
/// which loses no solution since they are identical.
///
/// Branch and bound on the disjunctive graph (Carlier and Pinson, "An algorithm for solving the
/// job-shop problem", 1989): earliest starts are longest paths over precedences; a forward and a
/// backward of one stage that overlap are branched on. Unknown at a limit.
OverlapAnswer search_overlap(PipelineSize size, const PipelineTimes& times,
                             const std::vector<std::uint32_t>& peaks, const Limits& limits,
                             OverlapProgress* progress = nullptr);

/// The least peak activations with full overlap.
struct LeastMemory {
  std::vector<std::uint32_t> each;  ///< of each stage, the other stages unlimited
  /// By stage: why it cannot hold one less; empty where it holds one.
  std::vector<std::vector<OverlapCase>> cases;
  /// By stage, of a schedule that minimises the sum over all stages; equal to `each` where the
  /// stages' minima are compatible.
  std::vector<std::uint32_t> peaks;
  PipelineRun run;  ///< such a schedule
};

/// Empty if a limit is reached.
std::optional<LeastMemory> least_memory(PipelineSize size, const PipelineTimes& times,
                                        const Limits& limits, OverlapProgress* progress = nullptr);

}  // namespace p2
