#include "engine/reshard/pressed_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace p2 {
namespace {

constexpr std::size_t kMostCliques = 24;

std::vector<std::size_t> longest_cliques(const SchedulingProblem& problem) {
  const auto length = [&](std::size_t clique) {
    std::int64_t sum = 0;
    for (const std::size_t i : problem.cliques[clique]) {
      const TaskClass& each = problem.classes[i];
      sum += each.size * static_cast<std::int64_t>(each.tasks.size());
    }
    return sum;
  };
  std::vector<std::size_t> order(problem.cliques.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return length(a) > length(b); });
  order.resize(std::min(order.size(), kMostCliques));
  return order;
}

}  // namespace

Pressure::Pressure(const SchedulingProblem& problem, double enough)
    : problem_(problem), enough_(enough) {
  std::uint64_t key = 0;
  for (const TaskClass& each : problem.classes) {
    key = key * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto size = static_cast<double>(each.size);
    Class made{
        each.senders, {}, size, size / static_cast<double>(each.senders.size()), key ^ key >> 29U};
    for (const std::size_t receiver : each.receivers) {
      made.others.push_back(problem.sender_hosts.size() + receiver);
    }
    classes_.push_back(std::move(made));
  }
  resources_ = problem.sender_hosts.size() + problem.receiver_hosts.size();
  for (const std::size_t clique : longest_cliques(problem)) {
    for (const std::size_t i : problem.cliques[clique]) classes_[i].others.push_back(resources_);
    ++resources_;
  }
}

PressedSchedule Pressure::nothing_started() const {
  PressedSchedule root;
  root.free.assign(resources_, 0);
  root.work.assign(resources_, 0);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const std::size_t count = problem_.classes[i].tasks.size();
    root.left.push_back(static_cast<std::uint16_t>(count));
    for (const std::size_t r : classes_[i].senders) {
      root.work[r] += classes_[i].part * static_cast<double>(count);
    }
    for (const std::size_t r : classes_[i].others) {
      root.work[r] += classes_[i].size * static_cast<double>(count);
    }
  }
  return root;
}

double Pressure::earliest(const PressedSchedule& from, std::size_t number,
                          std::size_t sender) const {
  double start = std::max(from.now, from.free[sender]);
  for (const std::size_t r : classes_[number].others) start = std::max(start, from.free[r]);
  return start;
}

void Pressure::start(PressedSchedule& schedule, std::size_t number, std::size_t sender) const {
  const Class& each = classes_[number];
  schedule.now = earliest(schedule, number, sender);
  --schedule.left[number];
  schedule.key += each.key;
  const double end = schedule.now + each.size;
  schedule.end = std::max(schedule.end, end);
  schedule.free[sender] = end;
  for (const std::size_t r : each.senders) schedule.work[r] -= each.part;
  for (const std::size_t r : each.others) {
    schedule.free[r] = end;
    schedule.work[r] -= each.size;
  }
}

double Pressure::weight(double end, int steepness) const {
  double power = end / enough_;
  for (int i = 0; i < steepness; ++i) power *= power;
  return power;
}

double Pressure::waiting(const PressedSchedule& from, double start, int steepness) const {
  double sum = 0;
  for (std::size_t r = 0; r < resources_; ++r) {
    sum += weight(std::max(start, from.free[r]) + from.work[r], steepness);
  }
  return sum;
}

double Pressure::started(const PressedSchedule& from, std::size_t number, std::size_t sender,
                         double start, double waiting, int steepness, double most) const {
  const Class& each = classes_[number];
  const double end = start + each.size;
  const auto change = [&](std::size_t r, double free, double part) {
    const double before = std::max(start, from.free[r]) + from.work[r];
    return weight(free + from.work[r] - part, steepness) - weight(before, steepness);
  };
  for (const std::size_t r : each.others) {
    if (end + from.work[r] - each.size >= most) return std::numeric_limits<double>::infinity();
    waiting += change(r, end, each.size);
  }
  for (const std::size_t r : each.senders) {
    waiting += change(r, r == sender ? end : std::max(start, from.free[r]), each.part);
  }
  return end < most ? waiting : std::numeric_limits<double>::infinity();
}

}  // namespace p2
