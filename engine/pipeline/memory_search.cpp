#include "engine/pipeline/schedule.h"

#include <algorithm>
#include <optional>

#include "engine/base/invariant.h"
#include "p2/error.h"

namespace p2 {
namespace {

using Starts = std::vector<std::int64_t>;  // by work

constexpr std::size_t kCasesPerLimitCheck = 64;

/// An arc of the disjunctive graph: `second` starts at least `distance` after `first` starts.
struct Precedence {
  std::size_t first = 0;
  std::size_t second = 0;
  std::int64_t distance = 0;
};

/// Work is numbered: all forwards by stage and microbatch, then all backwards likewise.
class OverlapSearch {
 public:
  OverlapSearch(PipelineSize size, const PipelineTimes& times,
                const std::vector<std::uint32_t>& peaks, const Limits& limits,
                OverlapProgress* progress)
      : size_(size),
        times_(times),
        end_(full_overlap(size, times)),
        limits_(limits),
        progress_(progress) {
    for (std::uint32_t k = 0; k < size.microbatches; ++k) add_microbatch(k);
    for (std::uint32_t i = 0; i < size.stages; ++i) limit_activations(i, peaks[i]);
  }

  OverlapAnswer run() && {
    OverlapAnswer answer{branch(Starts(2 * backward(0, 0), 0)), {}, {}};
    if (answer.outcome == Outcome::Established) answer.run = run_of(found_);
    if (answer.outcome == Outcome::Refuted) answer.cases = std::move(cases_);
    return answer;
  }

 private:
  std::size_t forward(std::uint32_t stage, std::uint32_t k) const {
    return std::size_t{stage} * size_.microbatches + k;
  }
  std::size_t backward(std::uint32_t stage, std::uint32_t k) const {
    return (std::size_t{size_.stages} + stage) * size_.microbatches + k;
  }
  std::int64_t length(std::size_t work) const {
    return work < backward(0, 0) ? times_.forward : times_.backward;
  }

  void add_microbatch(std::uint32_t k) {
    for (std::uint32_t i = 0; i < size_.stages; ++i) {
      if (k > 0) precedences_.push_back({forward(i, k - 1), forward(i, k), times_.forward});
      if (i > 0) {
        precedences_.push_back({forward(i - 1, k), forward(i, k), times_.forward + times_.latency});
      }
    }
    for (std::uint32_t i = size_.stages; i-- > 0;) {
      if (k > 0) precedences_.push_back({backward(i, k - 1), backward(i, k), times_.backward});
      precedences_.push_back(
          i + 1 == size_.stages
              ? Precedence{forward(i, k), backward(i, k), times_.forward}
              : Precedence{backward(i + 1, k), backward(i, k), times_.backward + times_.latency});
    }
  }

  /// A forward needs the backward that frees an activation.
  void limit_activations(std::uint32_t stage, std::uint32_t peak) {
    for (std::uint32_t k = peak; k < size_.microbatches; ++k) {
      precedences_.push_back({backward(stage, k - peak), forward(stage, k), times_.backward});
    }
  }

  /// Raises `early` to the earliest starts; false if some work ends after the makespan.
  bool propagate(Starts& early) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Precedence& precedence : precedences_) {
        const std::int64_t least = early[precedence.first] + precedence.distance;
        if (early[precedence.second] >= least) continue;
        early[precedence.second] = least;
        changed = true;
        if (least + length(precedence.second) > end_) return false;
      }
    }
    return true;
  }

  /// The latest starts; the precedences are satisfiable.
  Starts latest_starts() const {
    Starts late(2 * backward(0, 0));
    for (std::size_t work = 0; work < late.size(); ++work) late[work] = end_ - length(work);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto precedence = precedences_.rbegin(); precedence != precedences_.rend();
           ++precedence) {
        const std::int64_t bound = late[precedence->second] - precedence->distance;
        if (late[precedence->first] <= bound) continue;
        late[precedence->first] = bound;
        changed = true;
      }
    }
    return late;
  }

  /// A pair of which one order is infeasible and the earliest starts do not have the other one;
  /// else the first pair that overlaps in the earliest starts; nothing if none does.
  std::optional<OverlapCase> choose_case(const Starts& early) const {
    const Starts late = latest_starts();
    std::optional<OverlapCase> overlap;
    std::int64_t first = 0;
    for (std::uint32_t stage = 0; stage < size_.stages; ++stage) {
      for (std::uint32_t k = 1; k < size_.microbatches; ++k) {
        for (std::uint32_t l = 0; l < k; ++l) {
          const std::size_t f = forward(stage, k);
          const std::size_t b = backward(stage, l);
          const std::int64_t f_end = early[f] + times_.forward;
          const std::int64_t b_end = early[b] + times_.backward;
          const bool f_is_first = f_end <= early[b];
          const bool b_is_first = b_end <= early[f];
          if (f_end > late[b] && !b_is_first) return OverlapCase{stage, k, l};
          if (b_end > late[f] && !f_is_first) return OverlapCase{stage, k, l};
          const std::int64_t at = std::max(early[f], early[b]);
          if (f_is_first || b_is_first || (overlap && at >= first)) continue;
          overlap = {stage, k, l};
          first = at;
        }
      }
    }
    return overlap;
  }

  Outcome branch(Starts early) {
    if (!propagate(early)) return Outcome::Refuted;
    const std::size_t bytes = cases_.size() * sizeof(OverlapCase);
    if (cases_.size() % kCasesPerLimitCheck == 0 && limits_.exceeded(bytes))
      return Outcome::Undecided;
    const auto decision = choose_case(early);
    if (!decision) {
      found_ = std::move(early);
      return Outcome::Established;
    }
    cases_.push_back(*decision);
    if (progress_ != nullptr) ++progress_->cases;
    const std::size_t f = forward(decision->stage, decision->forward);
    const std::size_t b = backward(decision->stage, decision->backward);
    for (const Precedence& precedence :
         {Precedence{f, b, times_.forward}, Precedence{b, f, times_.backward}}) {
      precedences_.push_back(precedence);
      const Outcome outcome = branch(early);
      precedences_.pop_back();
      if (outcome != Outcome::Refuted) return outcome;
    }
    return Outcome::Refuted;
  }

  PipelineRun run_of(const Starts& starts) const {
    PipelineRun run;
    run.makespan = end_;
    for (std::uint32_t i = 0; i < size_.stages; ++i) {
      auto& stage = run.stages.emplace_back();
      for (std::uint32_t k = 0; k < size_.microbatches; ++k) {
        const std::int64_t f = starts[forward(i, k)];
        const std::int64_t b = starts[backward(i, k)];
        stage.push_back({{WorkKind::Forward, k}, f, f + times_.forward});
        stage.push_back({{WorkKind::Backward, k}, b, b + times_.backward});
      }
      std::sort(stage.begin(), stage.end(),
                [](const TimedWork& a, const TimedWork& b) { return a.start < b.start; });
    }
    return run;
  }

  const PipelineSize size_;
  const PipelineTimes times_;
  const std::int64_t end_;
  const Limits& limits_;
  OverlapProgress* const progress_;
  std::vector<Precedence> precedences_;
  std::vector<OverlapCase> cases_;
  Starts found_;
};

}  // namespace

std::int64_t full_overlap(PipelineSize size, const PipelineTimes& times) {
  const std::int64_t both = times.forward + times.backward;
  return (std::int64_t{size.microbatches} + size.stages - 1) * both +
         2 * (std::int64_t{size.stages} - 1) * times.latency;
}

OverlapAnswer search_overlap(PipelineSize size, const PipelineTimes& times,
                             const std::vector<std::uint32_t>& peaks, const Limits& limits,
                             OverlapProgress* progress) {
  return OverlapSearch(size, times, peaks, limits, progress).run();
}

namespace {

class PeakMinimizer {
 public:
  PeakMinimizer(PipelineSize size, const PipelineTimes& times, const Limits& limits,
                OverlapProgress* progress)
      : size_(size), times_(times), limits_(limits), progress_(progress) {}

  LeastMemory run() && {
    for (std::uint32_t stage = 0; stage < size_.stages; ++stage) find_least_of(stage);
    least_.peaks = least_.each;
    for (std::uint32_t more = 0; !distribute(more, 0); ++more) {
      invariant(more <= size_.stages * size_.microbatches, "GPipe overlaps fully");
    }
    return std::move(least_);
  }

 private:
  OverlapAnswer search(const std::vector<std::uint32_t>& peaks) const {
    OverlapAnswer answer = search_overlap(size_, times_, peaks, limits_, progress_);
    if (answer.outcome == Outcome::Undecided) {
      throw LimitReached(LimitReached::Kind::Time, "search for orders with full overlap");
    }
    return answer;
  }

  /// The other stages are unlimited.
  void find_least_of(std::uint32_t stage) {
    std::vector<std::uint32_t> peaks(size_.stages, size_.microbatches);
    auto& cases = least_.cases.emplace_back();
    for (peaks[stage] = 1; peaks[stage] < size_.microbatches; ++peaks[stage]) {
      OverlapAnswer answer = search(peaks);
      if (answer.outcome == Outcome::Established) break;
      cases = std::move(answer.cases);
    }
    least_.each.push_back(peaks[stage]);
  }

  /// Tries all ways to distribute `more` activations over the stages from `stage` on.
  bool distribute(std::uint32_t more, std::size_t stage) {
    std::uint32_t& peak = least_.peaks[stage];
    if (stage + 1 == least_.peaks.size()) {
      peak += more;
      OverlapAnswer answer = search(least_.peaks);
      least_.run = std::move(answer.run);
      if (answer.outcome == Outcome::Established) return true;
      peak -= more;
      return false;
    }
    for (std::uint32_t here = 0; here <= more; ++here) {
      peak += here;
      if (distribute(more - here, stage + 1)) return true;
      peak -= here;
    }
    return false;
  }

  const PipelineSize size_;
  const PipelineTimes times_;
  const Limits& limits_;
  OverlapProgress* const progress_;
  LeastMemory least_;
};

}  // namespace

std::optional<LeastMemory> least_memory(PipelineSize size, const PipelineTimes& times,
                                        const Limits& limits, OverlapProgress* progress) try {
  return PeakMinimizer(size, times, limits, progress).run();
} catch (const LimitReached&) {
  return std::nullopt;
}

}  // namespace p2
