#include "engine/pipeline/least_memory.h"

#include <algorithm>
#include <numeric>

#include "engine/invariant.h"

namespace p2 {
namespace {

using Kind = OverlapSearch::Kind;

/// A limit was met.
struct Stopped {};

OverlapSearch::Answer settled(OverlapSearch& search, const std::vector<std::uint32_t>& most) {
  OverlapSearch::Answer answer = search.search(most);
  if (answer.kind == Kind::Unknown) throw Stopped{};
  return answer;
}

/// The fewest that `stage` can hold if the others hold as many as they like.
std::uint32_t least_of(OverlapSearch& search, PipelineSize size, std::uint32_t stage) {
  std::vector<std::uint32_t> most(size.stages, size.microbatches);
  for (most[stage] = 1; most[stage] < size.microbatches; ++most[stage]) {
    if (settled(search, most).kind == Kind::Exists) break;
  }
  return most[stage];
}

/// Adds `more` in all ways over the stages from `stage` on, until one is enough.
bool raise(OverlapSearch& search, std::uint32_t more, std::size_t stage, LeastMemory& least) {
  if (stage + 1 == least.peaks.size()) {
    least.peaks[stage] += more;
    OverlapSearch::Answer answer = settled(search, least.peaks);
    if (answer.kind == Kind::Exists) {
      least.run = std::move(answer.run);
      return true;
    }
    least.peaks[stage] -= more;
    return false;
  }
  for (std::uint32_t here = 0; here <= more; ++here) {
    least.peaks[stage] += here;
    if (raise(search, more - here, stage + 1, least)) return true;
    least.peaks[stage] -= here;
  }
  return false;
}

}  // namespace

std::int64_t full_overlap(PipelineSize size, const PipelineTimes& times) {
  const std::int64_t both = times.forward + times.backward;
  return (std::int64_t{size.microbatches} + size.stages - 1) * both +
         2 * (std::int64_t{size.stages} - 1) * times.latency;
}

std::optional<LeastMemory> least_memory(PipelineSize size, const PipelineTimes& times,
                                        const Limits& limits) try {
  OverlapSearch search(size, times, limits);
  LeastMemory least;
  for (std::uint32_t stage = 0; stage < size.stages; ++stage) {
    least.each.push_back(least_of(search, size, stage));
  }
  least.peaks = least.each;
  for (std::uint32_t more = 0; !raise(search, more, 0, least); ++more) {
    invariant(more <= size.stages * size.microbatches, "no pipeline overlaps fully");
  }
  least.states = search.states();
  return least;
} catch (const Stopped&) {
  return std::nullopt;
}

}  // namespace p2
