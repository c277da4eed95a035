#include "engine/pipeline/overlap_search.h"

#include <algorithm>
#include <map>
#include <optional>

namespace p2 {
namespace {

constexpr std::uint64_t kStatesPerGlance = 4096;  // at the clock
constexpr std::size_t kBytesPerState = 160;       // remembered, about

/// Work in the order in which it starts. The state of a stage: how many forwards and backwards it
/// has done, and when they end.
class Explorer {
 public:
  Explorer(PipelineSize size, const PipelineTimes& times, const std::vector<std::uint32_t>& most,
           const Limits& limits, std::uint64_t& states)
      : size_(size),
        times_(times),
        most_(most),
        limits_(limits),
        states_(states),
        end_(full_overlap(size, times)),
        stages_(size.stages) {}

  OverlapSearch::Kind run() {
    const bool found = explore(0, 0);
    if (stopped_) return OverlapSearch::Kind::Unknown;
    return found ? OverlapSearch::Kind::Exists : OverlapSearch::Kind::None;
  }

  PipelineRun result() const {
    PipelineRun made;
    made.makespan = end_;
    for (const Stage& stage : stages_) made.stages.push_back(stage.done);
    return made;
  }

 private:
  struct Stage {
    std::vector<std::int64_t> forward_ends;
    std::vector<std::int64_t> backward_ends;
    std::vector<TimedWork> done;
    std::int64_t free() const { return done.empty() ? 0 : done.back().end; }
  };

  /// What comes next starts at `now` or later, at `now` on no stage before `stage`. Of work that
  /// starts at once on several stages the first stage is the first.
  bool explore(std::int64_t now, std::size_t stage) {
    if (++states_ % kStatesPerGlance == 0 && limits_.exceeded(seen_.size() * kBytesPerState)) {
      stopped_ = true;
    }
    if (stopped_) return false;
    if (done_ == std::size_t{2} * size_.stages * size_.microbatches) return true;
    if (too_late() || covered(now, stage)) return false;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      for (const WorkKind kind : {WorkKind::Backward, WorkKind::Forward}) {
        const auto start = start_of(i, kind);
        if (!start || *start < now || (*start == now && i < stage)) continue;
        if (try_work(i, kind, *start)) return true;
      }
    }
    return false;
  }

  bool try_work(std::size_t i, WorkKind kind, std::int64_t start) {
    Stage& stage = stages_[i];
    auto& ends = kind == WorkKind::Forward ? stage.forward_ends : stage.backward_ends;
    const std::int64_t end = start + times_.of(kind);
    stage.done.push_back({{kind, static_cast<std::uint32_t>(ends.size())}, start, end});
    ends.push_back(end);
    ++done_;
    if (explore(start, i)) return true;
    --done_;
    ends.pop_back();
    stage.done.pop_back();
    return false;
  }

  /// When a stage could do its next forward or backward; nothing while what that needs is not done,
  /// or where it would have to hold too much.
  std::optional<std::int64_t> start_of(std::size_t i, WorkKind kind) const {
    const Stage& stage = stages_[i];
    const bool forward = kind == WorkKind::Forward;
    const std::size_t next = forward ? stage.forward_ends.size() : stage.backward_ends.size();
    if (next == size_.microbatches) return std::nullopt;
    if (forward && next - stage.backward_ends.size() == most_[i]) return std::nullopt;
    if (!forward && stage.forward_ends.size() == next) return std::nullopt;
    const bool first = i == (forward ? 0 : stages_.size() - 1);
    if (first) return stage.free();
    const auto& before = forward ? stages_[i - 1].forward_ends : stages_[i + 1].backward_ends;
    if (before.size() <= next) return std::nullopt;
    return std::max(stage.free(), before[next] + times_.latency);
  }

  /// Whether some stage cannot be done in time, with what it has left and the way back to stage 0.
  bool too_late() const {
    const std::int64_t back = times_.backward + times_.latency;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const Stage& stage = stages_[i];
      const auto left = static_cast<std::int64_t>(size_.microbatches);
      const std::int64_t work = (left - std::ssize(stage.forward_ends)) * times_.forward +
                                (left - std::ssize(stage.backward_ends)) * times_.backward;
      const std::int64_t begin =
          std::max(stage.free(), static_cast<std::int64_t>(i) * (times_.forward + times_.latency));
      if (begin + work + static_cast<std::int64_t>(i) * back > end_ && work > 0) return true;
    }
    return false;
  }

  /// Whether a state as far on was seen in which everything ended as early. Ends that no work that
  /// is left waits for do not matter.
  bool covered(std::int64_t now, std::size_t stage) {
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> ends{now, static_cast<std::int64_t>(stage)};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const Stage& each = stages_[i];
      counts.push_back(static_cast<std::uint32_t>(each.forward_ends.size()));
      counts.push_back(static_cast<std::uint32_t>(each.backward_ends.size()));
      ends.push_back(std::max(now, each.free()));
      if (i + 1 < stages_.size()) {
        pending(each.forward_ends, stages_[i + 1].forward_ends.size(), now, ends);
      }
      if (i > 0) pending(each.backward_ends, stages_[i - 1].backward_ends.size(), now, ends);
    }
    auto& known = seen_[counts];
    const auto no_later = [](const std::vector<std::int64_t>& a,
                             const std::vector<std::int64_t>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
    };
    if (std::any_of(known.begin(), known.end(),
                    [&](const auto& other) { return no_later(other, ends); })) {
      return true;
    }
    std::erase_if(known, [&](const auto& other) { return no_later(ends, other); });
    known.push_back(std::move(ends));
    return false;
  }

  void pending(const std::vector<std::int64_t>& sent, std::size_t taken, std::int64_t now,
               std::vector<std::int64_t>& ends) const {
    for (std::size_t j = taken; j < sent.size(); ++j) {
      ends.push_back(std::max(now, sent[j] + times_.latency));
    }
  }

  const PipelineSize size_;
  const PipelineTimes times_;
  const std::vector<std::uint32_t>& most_;
  const Limits& limits_;
  std::uint64_t& states_;
  const std::int64_t end_;
  std::vector<Stage> stages_;
  std::size_t done_ = 0;
  bool stopped_ = false;
  std::map<std::vector<std::uint32_t>, std::vector<std::vector<std::int64_t>>> seen_;
};

}  // namespace

OverlapSearch::OverlapSearch(PipelineSize size, const PipelineTimes& times, const Limits& limits)
    : size_(size), times_(times), limits_(limits) {}

OverlapSearch::Answer OverlapSearch::search(const std::vector<std::uint32_t>& most) {
  Explorer explorer(size_, times_, most, limits_, states_);
  Answer answer{explorer.run(), {}};
  if (answer.kind == Kind::Exists) answer.run = explorer.result();
  return answer;
}

}  // namespace p2
