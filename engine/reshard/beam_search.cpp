#include "engine/reshard/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "engine/reshard/pressed_schedule.h"

namespace p2 {
namespace {

constexpr std::size_t kMostTries = 1'500'000;
constexpr std::size_t kTriesPerPair = 500;  // of tasks
constexpr std::size_t kWider = 4;
constexpr int kSteepness[] = {7, 6, 9};  // found by trial
constexpr std::size_t kSpare = 4;        // candidates per place, before equal ones are left out

/// A task that could start next in one of the partial schedules.
struct Candidate {
  std::size_t parent = 0;
  std::size_t number = 0;  // of the class
  std::size_t sender = 0;
  double start = 0;
  double score = 0;
  std::uint64_t key = 0;
};

/// One task started, after others.
struct Step {
  std::size_t before = 0;
  std::size_t number = 0;
  std::size_t sender = 0;
};

class Beam {
 public:
  Beam(const SchedulingProblem& problem, std::int64_t most, std::int64_t enough,
       const Limits& limits)
      : problem_(problem),
        most_(static_cast<double>(most)),
        enough_(static_cast<double>(enough)),
        limits_(limits),
        pressure_(problem, enough_) {
    for (const TaskClass& each : problem.classes) tasks_ += each.tasks.size();
    tries_left_ = std::min(kMostTries, kTriesPerPair * tasks_ * tasks_);
  }

  StartSequence run() {
    for (std::size_t width = 1;; width *= kWider) {
      for (const int steepness : kSteepness) {
        steepness_ = steepness;
        if (most_ <= enough_ || !go(width)) return best_;
      }
    }
  }

 private:
  /// False where a limit was met.
  bool go(std::size_t width) {
    steps_.assign(1, {});
    std::vector<PressedSchedule> beam{pressure_.nothing_started()};
    for (std::size_t started = 0; started < tasks_; ++started) {
      candidates_.clear();
      for (std::size_t i = 0; i < beam.size(); ++i) add_candidates(beam[i], i);
      if (candidates_.size() > tries_left_ || limits_.exceeded(0)) return false;
      tries_left_ -= candidates_.size();
      keep_best(width);
      std::vector<PressedSchedule> next;
      for (const Candidate& each : candidates_) {
        next.push_back(beam[each.parent]);
        pressure_.start(next.back(), each.number, each.sender);
        steps_.push_back({next.back().step, each.number, each.sender});
        next.back().step = steps_.size() - 1;
      }
      beam = std::move(next);
    }
    for (const PressedSchedule& whole : beam) keep(whole);
    return true;
  }

  void keep(const PressedSchedule& whole) {
    if (whole.end >= most_) return;
    most_ = whole.end;
    best_.clear();
    for (std::size_t at = whole.step; at != 0; at = steps_[at].before) {
      best_.emplace_back(steps_[at].number, steps_[at].sender);
    }
    std::reverse(best_.begin(), best_.end());
  }

  /// What can start before anything that could start would end.
  void add_candidates(const PressedSchedule& from, std::size_t parent) {
    const std::size_t first = candidates_.size();
    double horizon = std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < problem_.classes.size(); ++i) {
      if (from.left[i] == 0) continue;
      for (const std::size_t sender : problem_.classes[i].senders) {
        const double start = pressure_.earliest(from, i, sender);
        horizon = std::min(horizon, start + pressure_.size(i));
        if (start < horizon) candidates_.push_back({parent, i, sender, start, 0, 0});
      }
    }
    std::vector<std::pair<double, double>> waiting;  // by start
    const auto hopeless = [&](Candidate& each) {
      if (each.start >= horizon) return true;
      auto known = std::find_if(waiting.begin(), waiting.end(),
                                [&](const auto& other) { return other.first == each.start; });
      if (known == waiting.end()) {
        waiting.emplace_back(each.start, pressure_.waiting(from, each.start, steepness_));
        known = waiting.end() - 1;
      }
      each.key = from.key + pressure_.key(each.number);
      each.score = pressure_.started(from, each.number, each.sender, each.start, known->second,
                                     steepness_, most_);
      return std::isinf(each.score);
    };
    std::size_t kept = first;
    for (std::size_t i = first; i < candidates_.size(); ++i) {
      if (!hopeless(candidates_[i])) candidates_[kept++] = candidates_[i];
    }
    candidates_.resize(kept);
  }

  /// Of equal ones, one.
  void keep_best(std::size_t width) {
    const auto rank = [](const Candidate& each) {
      return std::tie(each.score, each.key, each.parent, each.number, each.sender);
    };
    const auto less = [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); };
    const std::size_t some = std::min(candidates_.size(), kSpare * width);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(some);
    std::partial_sort(candidates_.begin(), end, candidates_.end(), less);
    candidates_.resize(some);
    const auto equal = [](const Candidate& a, const Candidate& b) {
      return a.score == b.score && a.key == b.key;
    };
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), equal),
                      candidates_.end());
    candidates_.resize(std::min(candidates_.size(), width));
  }

  const SchedulingProblem& problem_;
  double most_;
  const double enough_;
  const Limits& limits_;
  const Pressure pressure_;
  std::size_t tasks_ = 0;
  std::size_t tries_left_ = 0;
  int steepness_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<Step> steps_;  // the first one is none
  StartSequence best_;
};

}  // namespace

StartSequence beam_search(const SchedulingProblem& problem, std::int64_t most, std::int64_t enough,
                          const Limits& limits) {
  return Beam(problem, most, enough, limits).run();
}

}  // namespace p2
