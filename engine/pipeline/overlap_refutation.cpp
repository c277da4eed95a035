#include "engine/pipeline/overlap_refutation.h"

#include <algorithm>

namespace p2 {
namespace {

constexpr std::size_t kMostCases = 200'000;
constexpr std::size_t kDeepest = 2000;        // that p2-check follows
constexpr std::size_t kCasesPerGlance = 256;  // at the clock

/// No refutation was found.
struct Stopped {};

class Refutation {
 public:
  Refutation(PipelineSize size, const PipelineTimes& times, std::int64_t makespan,
             const Limits& limits)
      : size_(size), times_(times), makespan_(makespan), limits_(limits) {
    for (std::uint32_t k = 0; k < size.microbatches; ++k) add_microbatch(k);
  }

  /// A stage that holds at most so many does a forward after the backward that makes room.
  void hold_at_most(std::uint32_t stage, std::uint32_t most) {
    for (std::uint32_t k = most; k < size_.microbatches; ++k) {
      rules_.push_back({backward(stage, k - most), forward(stage, k), times_.backward});
    }
  }

  std::vector<OverlapCase> run() && {
    refute(std::vector<std::int64_t>(2 * std::size_t{size_.stages} * size_.microbatches, 0), 0);
    return std::move(cases_);
  }

 private:
  using Starts = std::vector<std::int64_t>;  // by work

  /// `second` starts at least `apart` after `first` starts.
  struct After {
    std::size_t first = 0;
    std::size_t second = 0;
    std::int64_t apart = 0;
  };

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

  /// The earliest starts that obey the rules, from earlier ones; false if some work ends too late.
  bool settle(Starts& early) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const After& rule : rules_) {
        const std::int64_t least = early[rule.first] + rule.apart;
        if (early[rule.second] >= least) continue;
        early[rule.second] = least;
        changed = true;
        if (least + length(rule.second) > makespan_) return false;
      }
    }
    return true;
  }

  /// The latest starts; of rules that can be obeyed.
  Starts latest() const {
    Starts late(2 * std::size_t{size_.stages} * size_.microbatches);
    for (std::size_t work = 0; work < late.size(); ++work) late[work] = makespan_ - length(work);
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

  /// A forward and a backward that cannot be in one of the two orders and not yet are in the other,
  /// or else the first that overlap in the earliest starts.
  OverlapCase next_case(const Starts& early) const {
    const Starts late = latest();
    std::optional<OverlapCase> overlap;
    std::int64_t first = 0;
    for (std::uint32_t stage = 0; stage < size_.stages; ++stage) {
      for (std::uint32_t k = 1; k < size_.microbatches; ++k) {
        for (std::uint32_t l = 0; l < k; ++l) {
          const std::size_t f = forward(stage, k);
          const std::size_t b = backward(stage, l);
          const bool f_is_first = early[f] + times_.forward <= early[b];
          const bool b_is_first = early[b] + times_.backward <= early[f];
          const bool f_may = early[f] + times_.forward <= late[b];
          const bool b_may = early[b] + times_.backward <= late[f];
          if ((!f_may && !b_is_first) || (!b_may && !f_is_first)) return {stage, k, l};
          if (f_is_first || b_is_first) continue;
          const std::int64_t at = std::max(early[f], early[b]);
          if (!overlap || at < first) {
            overlap = {stage, k, l};
            first = at;
          }
        }
      }
    }
    if (!overlap) throw Stopped{};  // these are the starts of a pipeline
    return *overlap;
  }

  void refute(Starts early, std::size_t depth) {
    if (!settle(early)) return;
    const bool look = cases_.size() % kCasesPerGlance == 0;
    if (cases_.size() == kMostCases || depth == kDeepest || (look && limits_.exceeded(0))) {
      throw Stopped{};
    }
    const OverlapCase apart = next_case(early);
    cases_.push_back(apart);
    const std::size_t f = forward(apart.stage, apart.forward);
    const std::size_t b = backward(apart.stage, apart.backward);
    for (const After& rule : {After{f, b, times_.forward}, After{b, f, times_.backward}}) {
      rules_.push_back(rule);
      refute(early, depth + 1);
      rules_.pop_back();
    }
  }

  const PipelineSize size_;
  const PipelineTimes times_;
  const std::int64_t makespan_;
  const Limits& limits_;
  std::vector<After> rules_;
  std::vector<OverlapCase> cases_;
};

}  // namespace

std::optional<std::vector<OverlapCase>> refute_overlap(PipelineSize size,
                                                       const PipelineTimes& times,
                                                       std::int64_t makespan, std::uint32_t stage,
                                                       std::uint32_t most,
                                                       const Limits& limits) try {
  Refutation refutation(size, times, makespan, limits);
  refutation.hold_at_most(stage, most);
  return std::move(refutation).run();
} catch (const Stopped&) {
  return std::nullopt;
}

}  // namespace p2
