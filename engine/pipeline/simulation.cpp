#include "engine/pipeline/simulation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// Transfers on a link are asked for in the order in which they are served, since one stage sends
/// them, in its own order. So the time of each piece of work follows from those it waits for, and
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
      invariant(run_.stages[i].size() == orders_[i].size(), "a pipeline waits for itself");
    }
    return std::move(run_);
  }

 private:
  struct Stage {
    std::int64_t free = 0;
    std::array<std::int64_t, 2> link_free{};  ///< of the links forward and backward
    /// When what a forward, or a backward, of each microbatch needs is here.
    std::array<std::vector<std::optional<std::int64_t>>, 2> arrivals;
  };

  std::optional<std::int64_t> arrival(std::size_t stage, Work work) const {
    const bool backward = work.kind == WorkKind::Backward;
    const std::size_t first = backward ? stages_.size() - 1 : 0;
    if (stage == first || work.kind == WorkKind::Weight) return 0;
    return stages_[stage].arrivals[backward ? 1 : 0][work.microbatch];
  }

  /// Does the next work of the stage, if what it needs is known.
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
