#include "engine/pipeline/schedule.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "engine/base/invariant.h"

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
  const std::uint32_t remaining_stages = size.stages - stage;
  switch (schedule) {
    case PipelineSchedule::GPipe:
      return size.microbatches;
    case PipelineSchedule::OneForwardOneBackward:
      return std::min(size.microbatches, remaining_stages);
    case PipelineSchedule::Eager:
      break;
  }
  return std::min(size.microbatches, 2 * remaining_stages - 1);
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

namespace {

/// One stage sends all transfers of a link direction, in its own order, so they are served in the
/// order of requests. Hence the start of each piece of work depends on its predecessors only, and
/// the stages can be advanced in any order.
class Simulator {
 public:
  Simulator(const std::vector<std::vector<Work>>& orders, const PipelineTimes& times,
            PipelineLink link)
      : orders_(orders), times_(times), link_(link), stages_(orders.size()) {
    run_.stages.resize(orders.size());
    for (std::size_t i = 0; i < orders.size(); ++i) {
      for (auto& arrivals : stages_[i].arrivals) arrivals.resize(orders[i].size());
    }
  }

  PipelineRun run() {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) ready_.push_back(stage);
    while (!ready_.empty()) {
      const std::size_t stage = ready_.back();
      ready_.pop_back();
      while (advance(stage)) {
      }
    }
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      invariant(run_.stages[i].size() == orders_[i].size(),
                "orders of a pipeline without a cyclic dependency");
    }
    return std::move(run_);
  }

 private:
  struct Stage {
    std::int64_t free = 0;
    std::array<std::int64_t, 2> link_free{};  ///< of the links forward and backward
    /// When the input of a forward, or of a backward, of each microbatch arrives.
    std::array<std::vector<std::optional<std::int64_t>>, 2> arrivals;
  };

  std::optional<std::int64_t> arrival(std::size_t stage, Work work) const {
    const bool backward = work.kind == WorkKind::Backward;
    const std::size_t first = backward ? stages_.size() - 1 : 0;
    if (stage == first || work.kind == WorkKind::Weight) return 0;
    return stages_[stage].arrivals[backward ? 1 : 0][work.microbatch];
  }

  /// Runs the next work of the stage if the arrival of its input is known.
  bool advance(std::size_t stage) {
    const std::size_t done = run_.stages[stage].size();
    if (done == orders_[stage].size()) return false;
    const Work work = orders_[stage][done];
    const auto needed = arrival(stage, work);
    if (!needed) return false;
    Stage& here = stages_[stage];
    const std::int64_t start = std::max(here.free, *needed);
    here.free = start + times_.of(work.kind);
    run_.stages[stage].push_back({work, start, here.free});
    run_.makespan = std::max(run_.makespan, here.free);
    const std::size_t last = work.kind == WorkKind::Backward ? 0 : stages_.size() - 1;
    if (stage != last && work.kind != WorkKind::Weight) send(stage, work);
    return true;
  }

  void send(std::size_t stage, Work work) {
    Stage& here = stages_[stage];
    const std::size_t direction = work.kind == WorkKind::Backward ? 1 : 0;
    const std::size_t next = work.kind == WorkKind::Backward ? stage - 1 : stage + 1;
    std::int64_t& link_free = here.link_free[direction];
    const std::int64_t start =
        link_ == PipelineLink::Link ? std::max(here.free, link_free) : here.free;
    const std::int64_t end = start + times_.latency;
    link_free = end;
    if (link_ == PipelineLink::Blocking) here.free = end;
    stages_[next].arrivals[direction][work.microbatch] = end;
    run_.transfers.push_back({stage, {work, start, end}});
    ready_.push_back(next);
  }

  const std::vector<std::vector<Work>>& orders_;
  const PipelineTimes times_;
  const PipelineLink link_;
  std::vector<Stage> stages_;
  std::vector<std::size_t> ready_;
  PipelineRun run_;
};

}  // namespace

std::string_view to_string(PipelineLink link) {
  switch (link) {
    case PipelineLink::Delay:
      return "delay";
    case PipelineLink::Link:
      return "link";
    case PipelineLink::Blocking:
      break;
  }
  return "blocking";
}

PipelineRun simulate(const std::vector<std::vector<Work>>& orders, const PipelineTimes& times,
                     PipelineLink link) {
  return Simulator(orders, times, link).run();
}

std::int64_t PipelineTimes::of(WorkKind kind) const {
  if (kind == WorkKind::Forward) return forward;
  return kind == WorkKind::Backward ? backward : weight;
}

PipelineRun simulate(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                     PipelineLink link) {
  std::vector<std::vector<Work>> orders;
  for (std::uint32_t stage = 0; stage < size.stages; ++stage) {
    orders.push_back(stage_order(schedule, size, stage));
  }
  return simulate(orders, times, link);
}

PipelineRun simulate_split(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                           PipelineLink link, std::uint32_t delay) {
  std::vector<std::vector<Work>> orders;
  for (std::uint32_t stage = 0; stage < size.stages; ++stage) {
    orders.push_back(with_delayed_weights(stage_order(schedule, size, stage), delay));
  }
  return simulate(orders, times, link);
}

std::uint32_t least_delay(PipelineSchedule schedule, PipelineSize size, const PipelineTimes& times,
                          PipelineLink link) {
  std::uint32_t best = 0;
  std::int64_t least = INT64_MAX;
  for (std::uint32_t delay = 0; delay <= size.microbatches; ++delay) {
    const std::int64_t makespan = simulate_split(schedule, size, times, link, delay).makespan;
    if (makespan >= least) continue;
    least = makespan;
    best = delay;
  }
  return best;
}

}  // namespace p2
