#include "engine/pipeline/least_memory.h"

#include "engine/base/invariant.h"

namespace p2 {
namespace {

using Kind = OverlapAnswer::Kind;

/// A limit was met.
struct Stopped {};

class Search {
 public:
  Search(PipelineSize size, const PipelineTimes& times, const Limits& limits,
         OverlapProgress* progress)
      : size_(size), times_(times), limits_(limits), progress_(progress) {}

  LeastMemory run() && {
    for (std::uint32_t stage = 0; stage < size_.stages; ++stage) find_least_of(stage);
    least_.peaks = least_.each;
    for (std::uint32_t more = 0; !raise(more, 0); ++more) {
      invariant(more <= size_.stages * size_.microbatches, "no pipeline overlaps fully");
    }
    return std::move(least_);
  }

 private:
  OverlapAnswer settled(const std::vector<std::uint32_t>& most) const {
    OverlapAnswer answer = search_overlap(size_, times_, most, limits_, progress_);
    if (answer.kind == Kind::Unknown) throw Stopped{};
    return answer;
  }

  /// The others hold as many as they like.
  void find_least_of(std::uint32_t stage) {
    std::vector<std::uint32_t> most(size_.stages, size_.microbatches);
    auto& cases = least_.cases.emplace_back();
    for (most[stage] = 1; most[stage] < size_.microbatches; ++most[stage]) {
      OverlapAnswer answer = settled(most);
      if (answer.kind == Kind::Exists) break;
      cases = std::move(answer.cases);
    }
    least_.each.push_back(most[stage]);
  }

  /// Adds `more` in all ways over the stages from `stage` on, until one is enough.
  bool raise(std::uint32_t more, std::size_t stage) {
    std::uint32_t& peak = least_.peaks[stage];
    if (stage + 1 == least_.peaks.size()) {
      peak += more;
      OverlapAnswer answer = settled(least_.peaks);
      least_.run = std::move(answer.run);
      if (answer.kind == Kind::Exists) return true;
      peak -= more;
      return false;
    }
    for (std::uint32_t here = 0; here <= more; ++here) {
      peak += here;
      if (raise(more - here, stage + 1)) return true;
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
  return Search(size, times, limits, progress).run();
} catch (const Stopped&) {
  return std::nullopt;
}

}  // namespace p2
