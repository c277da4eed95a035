#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace p2 {

/// In which order a stage of a synchronous pipeline does its work ("On Optimizing the Communication
/// of Model Parallelism", section 4). `Eager` is eager-1F1B.
enum class PipelineSchedule : std::uint8_t { GPipe, OneForwardOneBackward, Eager };

/// `gpipe`, `1f1b`, `eager-1f1b`.
std::string_view to_string(PipelineSchedule schedule);

/// What a stage computes of a microbatch. Where backwards are split, `Backward` is the gradient of
/// activations, which the stage before waits for, and `Weight` the gradient of weights.
enum class WorkKind : std::uint8_t { Forward, Backward, Weight };

/// The computation of one microbatch on one stage; microbatches count from 0.
struct Work {
  WorkKind kind = WorkKind::Forward;
  std::uint32_t microbatch = 0;

  bool operator==(const Work&) const = default;
};

/// `F0`, `B3`, `W3`.
std::string to_string(Work work);

/// How many stages, and how many microbatches go through each; both at least 1.
struct PipelineSize {
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;
};

/// How many forwards `stage` (from 0) does before its first backward: all of them for GPipe,
/// stages − stage for 1F1B, 2 (stages − stage) − 1 for eager-1F1B, and never more than there are.
/// As many activations are held at the peak, see peak_activations().
std::uint32_t warm_up(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage);

/// What `stage` does, in order: its warm-up forwards, then backward and forward in turn while there
/// are forwards left, then the backwards that are left.
std::vector<Work> stage_order(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage);

/// The same with backwards split (backward weight delaying, section 4): the gradient of weights of
/// a microbatch is computed right after the backward of the `delay`-th microbatch after it, or at
/// the end where there is none.
std::vector<Work> with_delayed_weights(const std::vector<Work>& order, std::uint32_t delay);

/// The most microbatches whose forward is done or begun and whose backward, with its gradient of
/// weights, is not yet done, at any point of an order: how many activations the stage must hold.
std::uint32_t peak_activations(const std::vector<Work>& order);

}  // namespace p2
