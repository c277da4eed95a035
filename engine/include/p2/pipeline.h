#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// The order of work on the stages of a synchronous pipeline (Zhuang et al., "On Optimizing the
/// Communication of Model Parallelism", MLSys 2023, section 4). `Eager` is eager-1F1B.
enum class PipelineSchedule : std::uint8_t { GPipe, OneForwardOneBackward, Eager };

/// `gpipe`, `1f1b`, `eager-1f1b`.
std::string_view to_string(PipelineSchedule schedule);

/// What a transfer of activations to the next stage, or of gradients to the previous one, occupies.
enum class PipelineLink : std::uint8_t {
  Delay,    ///< nothing: a transfer arrives `latency` later
  Link,     ///< the link: one transfer at a time in each direction between two stages
  Blocking  ///< the sender too: it is idle until its transfer has arrived
};

/// `delay`, `link`, `blocking`.
std::string_view to_string(PipelineLink link);

/// What a stage computes for a microbatch. Where backwards are split, `Backward` is the gradient of
/// activations, which the previous stage waits for, and `Weight` the gradient of weights.
enum class WorkKind : std::uint8_t { Forward, Backward, Weight };

/// The computation of one microbatch on one stage; microbatches count from 0.
struct Work {
  WorkKind kind = WorkKind::Forward;
  std::uint32_t microbatch = 0;

  bool operator==(const Work&) const = default;
};

/// `F0`, `B3`, `W3`.
std::string to_string(Work work);

struct TimedWork {
  Work work;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// The number of stages and of microbatches, both at least 1.
struct PipelineSize {
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;
};

/// Times per microbatch in any integer unit; all stages are alike.
struct PipelineTimes {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::int64_t latency = 0;
  std::int64_t weight = 0;  ///< of the gradient of weights, where backwards are split

  std::int64_t of(WorkKind kind) const;
};

constexpr std::uint32_t kMaxPipelineStages = 1024;
constexpr std::uint32_t kMaxMicrobatches = 65536;
constexpr std::int64_t kMaxPipelineTime = 1'000'000'000;  ///< so that no sum of times overflows

/// A pipeline to simulate or, with `least_memory`, the search for the orders of forwards and
/// backwards that hold the fewest activations.
struct PipelineRequest {
  PipelineSize size;
  PipelineTimes times = {1, 2, 0, 0};
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  PipelineLink link = PipelineLink::Delay;
  /// Splits backwards into gradients of activations (`times.backward`) and of weights
  /// (`times.weight`).
  bool split_backward = false;
  /// The number of backwards by which gradients of weights are delayed. Absent: the least one that
  /// makes the pipeline fastest, for at most 100,000 stages times microbatches squared.
  std::optional<std::uint32_t> weight_delay = 0;

  /// Minimises peak activations over all orders with full overlap, i.e. with the least makespan
  /// that any order has. Excludes splitting and other links than Delay; `schedule` is ignored.
  bool least_memory = false;
  /// Writes a certificate for p2-check to this folder: no stage can hold fewer activations.
  std::optional<std::string> certify;

  std::optional<std::uint64_t> activation_bytes;  ///< of one microbatch on one stage
  std::uint64_t weight_bytes = 0;                 ///< of one stage: everything but activations
  bool plot = false;                              ///< draws the timeline
  bool json = true;  ///< fills Document::json, which is large for large pipelines
};

struct PipelineAnswer : Answer {
  std::vector<std::vector<TimedWork>> stages;   ///< by stage, in order; empty where undecided
  std::int64_t makespan = 0;                    ///< the end of the last work
  double bubble_share = 0;                      ///< the idle share of all stages until the makespan
  std::vector<std::uint32_t> peak_activations;  ///< by stage
  std::vector<std::uint64_t> peak_memory_bytes;  ///< by stage; empty without `activation_bytes`
  /// With `least_memory`: by stage, the least peak with the other stages unlimited.
  std::vector<std::uint32_t> least_of_each;
  std::string plot;  ///< SVG, where asked for
};

/// Simulates or searches. Throws InputError for sizes beyond the bounds above, more than 4,000,000
/// forwards and backwards, contradictory members, or more than 2^60 bytes.
///
///     PipelineRequest request;
///     request.size = {4, 16};
///     const PipelineAnswer answer = pipeline(request);  // answer.makespan,
///     answer.peak_activations
PipelineAnswer pipeline(const PipelineRequest& request, const Options& options = {});

}  // namespace p2
