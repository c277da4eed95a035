#include "engine/pipeline/schedule.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2 {

std::string_view to_string(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::GPipe:
      return "gpipe";
    case PipelineSchedule::OneForwardOneBackward:
      return "1f1b";
    case PipelineSchedule::Eager:
      break;
  }
  return "eager-1f1b";
}

std::string to_string(Work work) {
  return fmt::format("{}{}", "FBW"[static_cast<std::size_t>(work.kind)], work.microbatch);
}

std::uint32_t warm_up(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage) {
  const std::uint32_t to_the_end = size.stages - stage;
  switch (schedule) {
    case PipelineSchedule::GPipe:
      return size.microbatches;
    case PipelineSchedule::OneForwardOneBackward:
      return std::min(size.microbatches, to_the_end);
    case PipelineSchedule::Eager:
      break;
  }
  return std::min(size.microbatches, 2 * to_the_end - 1);
}

std::vector<Work> stage_order(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage) {
  std::vector<Work> order;
  order.reserve(std::size_t{2} * size.microbatches);
  std::uint32_t forwards = 0;
  while (forwards < warm_up(schedule, size, stage)) {
    order.push_back({WorkKind::Forward, forwards++});
  }
  for (std::uint32_t backwards = 0; backwards < size.microbatches; ++backwards) {
    order.push_back({WorkKind::Backward, backwards});
    if (forwards < size.microbatches) order.push_back({WorkKind::Forward, forwards++});
  }
  return order;
}

std::vector<Work> with_delayed_weights(const std::vector<Work>& order, std::uint32_t delay) {
  std::vector<Work> split;
  std::uint32_t backwards = 0;
  std::uint32_t weights = 0;
  for (const Work& work : order) {
    split.push_back(work);
    if (work.kind != WorkKind::Backward) continue;
    if (++backwards > delay) split.push_back({WorkKind::Weight, weights++});
  }
  while (weights < backwards) split.push_back({WorkKind::Weight, weights++});
  return split;
}

std::uint32_t peak_activations(const std::vector<Work>& order) {
  const bool split = std::any_of(order.begin(), order.end(),
                                 [](const Work& work) { return work.kind == WorkKind::Weight; });
  const WorkKind last = split ? WorkKind::Weight : WorkKind::Backward;
  std::uint32_t held = 0;
  std::uint32_t peak = 0;
  for (const Work& work : order) {
    if (work.kind == WorkKind::Forward) peak = std::max(peak, ++held);
    if (work.kind == last) --held;
  }
  return peak;
}

}  // namespace p2
