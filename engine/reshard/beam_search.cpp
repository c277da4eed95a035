#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "engine/reshard/scheduling.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxExpansions = 1'500'000;
constexpr std::size_t kExpansionsPerPair = 500;  // of tasks
constexpr std::size_t kWidthFactor = 4;
constexpr int kExponents[] = {7, 6, 9};   // of two; tuned by experiment
constexpr std::size_t kOversampling = 4;  // candidates per place, before duplicates are removed
constexpr std::size_t kMaxCliqueResources = 24;

/// A partial schedule, and what remains for every resource: senders, receivers and the longest
/// cliques, in one numbering.
struct BeamState {
  std::vector<std::uint16_t> remaining;  ///< tasks not started, by class
  std::vector<double> ready;             ///< by resource: when it becomes free
  std::vector<double> work;  ///< by resource: remaining work; possible senders share a task evenly
  double now = 0;            ///< no remaining task starts earlier
  double end = 0;
  std::uint64_t hash = 0;  ///< of `remaining`
  std::size_t step = 0;    ///< the last one, in Beam::steps_
};

/// Evaluates partial schedules by when their resources can complete. Every resource is penalised by
/// (completion time / target) to the power of 2^exponent, so that the critical ones dominate.
class ResourceModel {
 public:
  /// `target`: a lower bound on the makespan.
  ResourceModel(const SchedulingProblem& problem, double target);

  BeamState initial_state() const;
  /// The earliest start of a task of class `number` on `sender`.
  double earliest_start(const BeamState& from, std::size_t number, std::size_t sender) const;
  void start(BeamState& state, std::size_t number, std::size_t sender) const;

  /// Penalty if no task starts before `start`.
  double idle_penalty(const BeamState& from, double start, int exponent) const;
  /// Penalty after a task of the class is started at `start`, given idle_penalty(); infinite where
  /// a receiver or clique cannot complete before `upper_bound`.
  double penalty_after(const BeamState& from, std::size_t number, std::size_t sender, double start,
                       double idle_penalty, int exponent, double upper_bound) const;
  std::uint64_t hash(std::size_t number) const { return classes_[number].hash; }
  double size(std::size_t number) const { return classes_[number].size; }

 private:
  struct Class {
    std::vector<std::size_t> senders;
    std::vector<std::size_t> others;  ///< receivers and cliques
    double size = 0;
    double share = 0;  ///< of the size, for each possible sender
    std::uint64_t hash = 0;
  };

  double resource_penalty(double completion, int exponent) const;

  const SchedulingProblem& problem_;
  const double target_;
  std::vector<Class> classes_;
  std::size_t resources_ = 0;
};

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
  order.resize(std::min(order.size(), kMaxCliqueResources));
  return order;
}

ResourceModel::ResourceModel(const SchedulingProblem& problem, double target)
    : problem_(problem), target_(target) {
  std::uint64_t hash = 0;
  for (const TaskClass& each : problem.classes) {
    hash = hash * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto size = static_cast<double>(each.size);
    Class made{each.senders,
               {},
               size,
               size / static_cast<double>(each.senders.size()),
               hash ^ hash >> 29U};
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

BeamState ResourceModel::initial_state() const {
  BeamState root;
  root.ready.assign(resources_, 0);
  root.work.assign(resources_, 0);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const std::size_t count = problem_.classes[i].tasks.size();
    root.remaining.push_back(static_cast<std::uint16_t>(count));
    for (const std::size_t r : classes_[i].senders) {
      root.work[r] += classes_[i].share * static_cast<double>(count);
    }
    for (const std::size_t r : classes_[i].others) {
      root.work[r] += classes_[i].size * static_cast<double>(count);
    }
  }
  return root;
}

double ResourceModel::earliest_start(const BeamState& from, std::size_t number,
                                     std::size_t sender) const {
  double start = std::max(from.now, from.ready[sender]);
  for (const std::size_t r : classes_[number].others) start = std::max(start, from.ready[r]);
  return start;
}

void ResourceModel::start(BeamState& state, std::size_t number, std::size_t sender) const {
  const Class& each = classes_[number];
  state.now = earliest_start(state, number, sender);
  --state.remaining[number];
  state.hash += each.hash;
  const double end = state.now + each.size;
  state.end = std::max(state.end, end);
  state.ready[sender] = end;
  for (const std::size_t r : each.senders) state.work[r] -= each.share;
  for (const std::size_t r : each.others) {
    state.ready[r] = end;
    state.work[r] -= each.size;
  }
}

double ResourceModel::resource_penalty(double completion, int exponent) const {
  double power = completion / target_;
  for (int i = 0; i < exponent; ++i) power *= power;
  return power;
}

double ResourceModel::idle_penalty(const BeamState& from, double start, int exponent) const {
  double sum = 0;
  for (std::size_t r = 0; r < resources_; ++r) {
    sum += resource_penalty(std::max(start, from.ready[r]) + from.work[r], exponent);
  }
  return sum;
}

double ResourceModel::penalty_after(const BeamState& from, std::size_t number, std::size_t sender,
                                    double start, double idle_penalty, int exponent,
                                    double upper_bound) const {
  const Class& each = classes_[number];
  const double end = start + each.size;
  double penalty = idle_penalty;
  const auto change = [&](std::size_t r, double ready, double work) {
    const double before = std::max(start, from.ready[r]) + from.work[r];
    return resource_penalty(ready + from.work[r] - work, exponent) -
           resource_penalty(before, exponent);
  };
  for (const std::size_t r : each.others) {
    if (end + from.work[r] - each.size >= upper_bound) {
      return std::numeric_limits<double>::infinity();
    }
    penalty += change(r, end, each.size);
  }
  for (const std::size_t r : each.senders) {
    penalty += change(r, r == sender ? end : std::max(start, from.ready[r]), each.share);
  }
  return end < upper_bound ? penalty : std::numeric_limits<double>::infinity();
}

/// An extension of a state of the beam by one started task.
struct Candidate {
  std::size_t parent = 0;
  std::size_t number = 0;  // of the class
  std::size_t sender = 0;
  double start = 0;
  double penalty = 0;
  std::uint64_t hash = 0;
};

/// A started task, linked to the step before it.
struct Step {
  std::size_t previous = 0;
  std::size_t number = 0;
  std::size_t sender = 0;
};

class Beam {
 public:
  Beam(const SchedulingProblem& problem, std::int64_t upper_bound, std::int64_t target,
       const Limits& limits)
      : problem_(problem),
        upper_bound_(static_cast<double>(upper_bound)),
        target_(static_cast<double>(target)),
        limits_(limits),
        model_(problem, target_) {
    for (const TaskClass& each : problem.classes) tasks_ += each.tasks.size();
    expansions_left_ = std::min(kMaxExpansions, kExpansionsPerPair * tasks_ * tasks_);
  }

  StartSequence run() {
    for (std::size_t width = 1;; width *= kWidthFactor) {
      for (const int exponent : kExponents) {
        exponent_ = exponent;
        if (upper_bound_ <= target_ || !search(width)) return best_;
      }
    }
  }

 private:
  /// One pass over all levels; false where a limit is reached.
  bool search(std::size_t width) {
    steps_.assign(1, {});
    std::vector<BeamState> beam{model_.initial_state()};
    for (std::size_t started = 0; started < tasks_; ++started) {
      candidates_.clear();
      for (std::size_t i = 0; i < beam.size(); ++i) add_candidates(beam[i], i);
      if (candidates_.size() > expansions_left_ || limits_.exceeded(0)) return false;
      expansions_left_ -= candidates_.size();
      select(width);
      std::vector<BeamState> next;
      for (const Candidate& each : candidates_) {
        next.push_back(beam[each.parent]);
        model_.start(next.back(), each.number, each.sender);
        steps_.push_back({next.back().step, each.number, each.sender});
        next.back().step = steps_.size() - 1;
      }
      beam = std::move(next);
    }
    for (const BeamState& complete : beam) record(complete);
    return true;
  }

  void record(const BeamState& complete) {
    if (complete.end >= upper_bound_) return;
    upper_bound_ = complete.end;
    best_.clear();
    for (std::size_t at = complete.step; at != 0; at = steps_[at].previous) {
      best_.emplace_back(steps_[at].number, steps_[at].sender);
    }
    std::reverse(best_.begin(), best_.end());
  }

  /// The tasks that can start before the earliest possible end of any (active schedules).
  void add_candidates(const BeamState& from, std::size_t parent) {
    const std::size_t first = candidates_.size();
    double horizon = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < problem_.classes.size(); ++i) {
      if (from.remaining[i] == 0) continue;
      for (const std::size_t sender : problem_.classes[i].senders) {
        const double start = model_.earliest_start(from, i, sender);
        horizon = std::min(horizon, start + model_.size(i));
        if (start < horizon) candidates_.push_back({parent, i, sender, start, 0, 0});
      }
    }
    std::vector<std::pair<double, double>> idle;  // penalties by start
    const auto is_pruned = [&](Candidate& each) {
      if (each.start >= horizon) return true;
      auto known = std::find_if(idle.begin(), idle.end(),
                                [&](const auto& other) { return other.first == each.start; });
      if (known == idle.end()) {
        idle.emplace_back(each.start, model_.idle_penalty(from, each.start, exponent_));
        known = idle.end() - 1;
      }
      each.hash = from.hash + model_.hash(each.number);
      each.penalty = model_.penalty_after(from, each.number, each.sender, each.start, known->second,
                                          exponent_, upper_bound_);
      return std::isinf(each.penalty);
    };
    std::size_t kept = first;
    for (std::size_t i = first; i < candidates_.size(); ++i) {
      if (!is_pruned(candidates_[i])) candidates_[kept++] = candidates_[i];
    }
    candidates_.resize(kept);
  }

  /// Keeps the `width` candidates of least penalty, without duplicates.
  void select(std::size_t width) {
    const auto rank = [](const Candidate& each) {
      return std::tie(each.penalty, each.hash, each.parent, each.number, each.sender);
    };
    const auto less = [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); };
    const std::size_t some = std::min(candidates_.size(), kOversampling * width);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(some);
    std::partial_sort(candidates_.begin(), end, candidates_.end(), less);
    candidates_.resize(some);
    const auto equal = [](const Candidate& a, const Candidate& b) {
      return a.penalty == b.penalty && a.hash == b.hash;
    };
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), equal),
                      candidates_.end());
    candidates_.resize(std::min(candidates_.size(), width));
  }

  const SchedulingProblem& problem_;
  double upper_bound_;
  const double target_;
  const Limits& limits_;
  const ResourceModel model_;
  std::size_t tasks_ = 0;
  std::size_t expansions_left_ = 0;
  int exponent_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<Step> steps_;  // 0 is a sentinel
  StartSequence best_;
};

}  // namespace

StartSequence beam_search(const SchedulingProblem& problem, std::int64_t upper_bound,
                          std::int64_t target, const Limits& limits) {
  return Beam(problem, upper_bound, target, limits).run();
}

}  // namespace p2
