#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "p2/limits.h"
#include "p2/pipeline.h"
#include "p2/result.h"

namespace p2 {

/// The number of forwards of `stage` (from 0) before its first backward: all of them for GPipe,
/// stages − stage for 1F1B, 2 (stages − stage) − 1 for eager-1F1B, at most `microbatches`. It
/// equals peak_activations() of the order.
std::uint32_t warm_up(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage);

/// The work of `stage` in order: its warm-up forwards, then alternately a backward and a forward,
/// then the remaining backwards.
std::vector<Work> stage_order(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage);

/// The same order with backwards split (backward weight delaying, section 4): the gradient of
/// weights of a microbatch is computed right after the backward of the `delay`-th next microbatch,
/// or at the end where there is none.
std::vector<Work> with_delayed_weights(const std::vector<Work>& order, std::uint32_t delay);

/// The peak number of activations that a stage holds: of a microbatch, from the start of its
/// forward to the end of its backward, or of its gradient of weights where backwards are split.
std::uint32_t peak_activations(const std::vector<Work>& order);

/// A transfer to a neighbouring stage.
struct TimedTransfer {
  std::size_t from = 0;  ///< stage
  TimedWork sent;        ///< the work whose result is sent, and the times of the transfer
};

struct PipelineRun {
  std::vector<std::vector<TimedWork>> stages;  ///< by stage, in order
  std::vector<TimedTransfer> transfers;        ///< in no particular order
  std::int64_t makespan = 0;                   ///< the end of the last work
};

/// Simulates a pipeline in which stage i follows `orders[i]`. Work starts as soon as the stage is
/// free and its input has arrived: a forward needs the forward of the previous stage, a backward
/// that of the next stage, a gradient of weights only its place in the order. Throws InternalError
/// for orders with a cyclic dependency.
PipelineRun simulate(const std::vector<std::vector<Work>>& orders, const PipelineTimes& times,
                     PipelineLink link);

/// The same with the orders of a schedule.
PipelineRun simulate(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                     PipelineLink link);

/// The same with backwards split and gradients of weights delayed.
PipelineRun simulate_split(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                           PipelineLink link, std::uint32_t delay);

/// The least delay of gradients of weights that minimises the makespan over all delays up to the
/// number of microbatches.
std::uint32_t least_delay(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                          PipelineLink link);

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
