#include "proofs/claims/small_pipelines.h"

#include <fmt/format.h>

namespace p2::claims {
namespace {

template <typename Visit>
bool for_each_time(PipelineSize size, const PipelineRange& range, Visit visit) {
  for (std::int64_t f = 1; f <= range.longest; ++f) {
    for (std::int64_t b = 1; b <= range.longest; ++b) {
      for (std::int64_t c = 0; c <= (range.latencies ? f + b : 0); ++c) {
        if (range.half_only && 2 * c != f + b) continue;
        if (!visit(PipelineCase{size, {f, b, c}})) return false;
      }
    }
  }
  return true;
}

std::string words(const PipelineCase& here) {
  return fmt::format("{} stages, {} microbatches, forward {}, backward {}, latency {}",
                     here.size.stages, here.size.microbatches, here.times.forward,
                     here.times.backward, here.times.latency);
}

std::string command(const PipelineCase& here) {
  return fmt::format(
      "pipeline --schedule eager-1f1b --stages {} --microbatches {} --forward {} --backward {} "
      "--latency {}",
      here.size.stages, here.size.microbatches, here.times.forward, here.times.backward,
      here.times.latency);
}

}  // namespace

std::string words(const PipelineRange& range) {
  std::string text =
      fmt::format("{} to {} stages, {} to {} microbatches", range.fewest_stages, range.most_stages,
                  range.fewest_microbatches, range.most_microbatches);
  if (range.longest > 1) text += fmt::format(", forward and backward 1 to {}", range.longest);
  if (range.half_only) return text + ", latency half of both together";
  if (range.latencies) text += ", latency up to both together";
  return text;
}

ScheduleAnswer settle(const PipelineRange& range, PipelineJudge judge, const Limits& limits) try {
  ScheduleAnswer answer;
  const auto look = [&](const PipelineCase& here) {
    if (limits.exceeded(0)) throw PipelineUndecided{};
    ++answer.cases;
    const std::string wrong = judge(here, limits);
    if (wrong.empty()) return true;
    answer.verdict = Outcome::Refuted;
    answer.counterexample = words(here) + ": " + wrong;
    answer.command = command(here);
    return false;
  };
  for (std::uint32_t s = range.fewest_stages; s <= range.most_stages; ++s) {
    for (std::uint32_t m = range.fewest_microbatches; m <= range.most_microbatches; ++m) {
      if (!for_each_time({s, m}, range, look)) return answer;
    }
  }
  answer.verdict = Outcome::Holds;
  return answer;
} catch (const PipelineUndecided&) {
  return {};
}

}  // namespace p2::claims
