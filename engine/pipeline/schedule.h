#pragma once

#include <cstdint>
#include <vector>

#include "p2/pipeline.h"

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

}  // namespace p2
