#include "engine/reshard/partial_schedule.h"

#include <algorithm>
#include <limits>

namespace p2 {
namespace {

std::int64_t work_of(const PartialSchedule& state, const SchedulingProblem& problem,
                     const std::vector<std::size_t>& classes) {
  std::int64_t work = 0;
  for (const std::size_t i : classes) {
    work += problem.classes[i].size * static_cast<std::int64_t>(state.left[i]);
  }
  return work;
}

/// The end of a clique: its tasks run one after another, none before the earliest can start.
std::int64_t end_of_clique(const PartialSchedule& state, const SchedulingProblem& problem,
                           const std::vector<std::size_t>& clique) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t i : clique) {
    if (state.left[i] == 0) continue;
    for (const std::size_t sender : problem.classes[i].senders) {
      start = std::min(start, state.earliest_start(problem.classes[i], sender));
    }
  }
  const std::int64_t work = work_of(state, problem, clique);
  return work == 0 ? 0 : start + work;
}

std::int64_t end_of_pool(const PartialSchedule& state, const SchedulingProblem& problem,
                         const SenderPool& pool) {
  std::int64_t total = work_of(state, problem, pool.classes);
  if (total == 0) return 0;
  for (const std::size_t sender : pool.senders) {
    total += std::max(state.now, state.send_free[sender]);
  }
  const auto senders = static_cast<std::int64_t>(pool.senders.size());
  return (total + senders - 1) / senders;
}

std::vector<std::int64_t> ends_of_receivers(const PartialSchedule& state,
                                            const SchedulingProblem& problem) {
  std::vector<std::int64_t> ends = state.receive_free;
  for (std::int64_t& end : ends) end = std::max(end, state.now);
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    const TaskClass& each = problem.classes[i];
    const std::int64_t work = each.size * static_cast<std::int64_t>(state.left[i]);
    for (const std::size_t receiver : each.receivers) ends[receiver] += work;
  }
  return ends;
}

}  // namespace

PartialSchedule::PartialSchedule(const SchedulingProblem& problem)
    : send_free(problem.sender_hosts.size()), receive_free(problem.receiver_hosts.size()) {
  for (const TaskClass& each : problem.classes) {
    left.push_back(each.tasks.size());
    tasks_left += each.tasks.size();
  }
}

std::int64_t PartialSchedule::earliest_start(const TaskClass& each, std::size_t sender) const {
  std::int64_t start = std::max(now, send_free[sender]);
  for (const std::size_t receiver : each.receivers) {
    start = std::max(start, receive_free[receiver]);
  }
  return start;
}

void PartialSchedule::start(const SchedulingProblem& problem, std::size_t number,
                            std::size_t sender) {
  const TaskClass& each = problem.classes[number];
  now = earliest_start(each, sender);
  send_free[sender] = now + each.size;
  for (const std::size_t receiver : each.receivers) receive_free[receiver] = now + each.size;
  end = std::max(end, now + each.size);
  --left[number];
  --tasks_left;
}

LowerBound lower_bound(const PartialSchedule& state, const SchedulingProblem& problem) {
  LowerBound best{state.end, LowerBound::Reason::End, 0};
  const auto raise = [&](std::int64_t value, LowerBound::Reason reason, std::size_t index) {
    if (value > best.value) best = {value, reason, index};
  };
  const auto receivers = ends_of_receivers(state, problem);
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    raise(receivers[i], LowerBound::Reason::Receiver, i);
  }
  for (std::size_t i = 0; i < problem.pools.size(); ++i) {
    raise(end_of_pool(state, problem, problem.pools[i]), LowerBound::Reason::Senders, i);
  }
  for (std::size_t i = 0; i < problem.cliques.size(); ++i) {
    raise(end_of_clique(state, problem, problem.cliques[i]), LowerBound::Reason::Clique, i);
  }
  return best;
}

}  // namespace p2
