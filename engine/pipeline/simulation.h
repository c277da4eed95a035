#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/pipeline/schedule.h"

namespace p2 {

/// What sending activations to the next stage, or gradients to the one before, holds up.
enum class PipelineLink : std::uint8_t {
  Delay,    ///< nothing: what is sent arrives `latency` later
  Link,     ///< the link: one transfer at a time in each direction between two stages
  Blocking  ///< the sender too: it computes nothing until what it sent has arrived
};

/// `delay`, `link`, `blocking`.
std::string_view to_string(PipelineLink link);

/// Times of one stage and microbatch, in whatever unit; every stage takes the same.
struct PipelineTimes {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::int64_t latency = 0;
  std::int64_t weight = 0;  ///< of the gradient of weights, where backwards are split

  std::int64_t of(WorkKind kind) const;
};

struct TimedWork {
  Work work;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// What a stage sends to a neighbour.
struct TimedTransfer {
  std::size_t from = 0;  ///< stage
  TimedWork sent;        ///< the work whose result it is, and when it is on its way
};

struct PipelineRun {
  std::vector<std::vector<TimedWork>> stages;  ///< what each stage did, in order
  std::vector<TimedTransfer> transfers;        ///< in no particular order
  std::int64_t makespan = 0;                   ///< the end of the last work
};

/// Runs a pipeline in which stage i does `orders[i]`. Each piece of work starts as soon as the
/// stage is free and what it needs has arrived: a forward needs the forward of the stage before, a
/// backward that of the stage after, a gradient of weights nothing but its place in the order.
/// Stops loudly where the orders wait for each other in a circle.
PipelineRun simulate(const std::vector<std::vector<Work>>& orders, const PipelineTimes& times,
                     PipelineLink link);

/// The same, with the orders of a schedule.
PipelineRun simulate(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                     PipelineLink link);

/// The same with backwards split and gradients of weights delayed.
PipelineRun simulate_split(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                           PipelineLink link, std::uint32_t delay);

/// The least delay of gradients of weights with which the pipeline is as fast as with any up to the
/// number of microbatches.
std::uint32_t least_delay(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                          PipelineLink link);

}  // namespace p2
