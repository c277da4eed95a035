#include "engine/pipeline/overlap_search.h"

#include <algorithm>
#include <optional>

namespace p2 {
namespace {

using Kind = OverlapAnswer::Kind;
using Starts = std::vector<std::int64_t>;  // by work

constexpr std::size_t kCasesPerGlance = 64;  // at the clock

/// `second` starts at least `apart` after `first` starts.
struct After {
  std::size_t first = 0;
  std::size_t second = 0;
  std::int64_t apart = 0;
};

/// Cases of what a stage does first. Work is numbered: all forwards, those of stage 0 first, and
/// then all backwards likewise.
class Cases {
 public:
  Cases(PipelineSize size, const PipelineTimes& times, const std::vector<std::uint32_t>& most,
        const Limits& limits, OverlapProgress* progress)
      : size_(size),
        times_(times),
        end_(full_overlap(size, times)),
        limits_(limits),
        progress_(progress) {
    for (std::uint32_t k = 0; k < size.microbatches; ++k) add_microbatch(k);
    for (std::uint32_t i = 0; i < size.stages; ++i) hold_at_most(i, most[i]);
  }

  OverlapAnswer run() && {
    OverlapAnswer answer{tell_apart(Starts(2 * backward(0, 0), 0)), {}, {}};
    if (answer.kind == Kind::Exists) answer.run = run_of(found_);
    if (answer.kind == Kind::None) answer.cases = std::move(cases_);
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
      if (k > 0) rules_.push_back({forward(i, k - 1), forward(i, k), times_.forward});
      if (i > 0) {
        rules_.push_back({forward(i - 1, k), forward(i, k), times_.forward + times_.latency});
      }
    }
    for (std::uint32_t i = size_.stages; i-- > 0;) {
      if (k > 0) rules_.push_back({backward(i, k - 1), backward(i, k), times_.backward});
      rules_.push_back(i + 1 == size_.stages ? After{forward(i, k), backward(i, k), times_.forward}
                                             : After{backward(i + 1, k), backward(i, k),
                                                     times_.backward + times_.latency});
    }
  }

  /// A forward comes after the backward that makes room for it.
  void hold_at_most(std::uint32_t stage, std::uint32_t most) {
    for (std::uint32_t k = most; k < size_.microbatches; ++k) {
      rules_.push_back({backward(stage, k - most), forward(stage, k), times_.backward});
    }
  }

  /// The earliest starts that obey the rules, from earlier ones; false if some work ends too late.
  bool settle(Starts& early) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const After& rule : rules_) {
        const std::int64_t least = early[rule.first] + rule.apart;
        if (early[rule.second] >= least) continue;
        early[rule.second] = least;
        changed = true;
        if (least + length(rule.second) > end_) return false;
      }
    }
    return true;
  }

  /// The latest starts, by rules that can be obeyed.
  Starts latest() const {
    Starts late(2 * backward(0, 0));
    for (std::size_t work = 0; work < late.size(); ++work) late[work] = end_ - length(work);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
        const std::int64_t most = late[rule->second] - rule->apart;
        if (late[rule->first] <= most) continue;
        late[rule->first] = most;
        changed = true;
      }
    }
    return late;
  }

  /// A forward and a backward that cannot come in one of the two orders, and in the earliest starts
  /// do not come in the other; or else the first that overlap in these; or nothing.
  std::optional<OverlapCase> next_case(const Starts& early) const {
    const Starts late = latest();
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

  Kind tell_apart(Starts early) {
    if (!settle(early)) return Kind::None;
    const std::size_t bytes = cases_.size() * sizeof(OverlapCase);
    if (cases_.size() % kCasesPerGlance == 0 && limits_.exceeded(bytes)) return Kind::Unknown;
    const auto apart = next_case(early);
    if (!apart) {
      found_ = std::move(early);
      return Kind::Exists;
    }
    cases_.push_back(*apart);
    if (progress_ != nullptr) ++progress_->cases;
    const std::size_t f = forward(apart->stage, apart->forward);
    const std::size_t b = backward(apart->stage, apart->backward);
    for (const After& rule : {After{f, b, times_.forward}, After{b, f, times_.backward}}) {
      rules_.push_back(rule);
      const Kind kind = tell_apart(early);
      rules_.pop_back();
      if (kind != Kind::None) return kind;
    }
    return Kind::None;
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
  std::vector<After> rules_;
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
                             const std::vector<std::uint32_t>& most, const Limits& limits,
                             OverlapProgress* progress) {
  return Cases(size, times, most, limits, progress).run();
}

}  // namespace p2
