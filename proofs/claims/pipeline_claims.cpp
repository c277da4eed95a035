// Section 4 of "On Optimizing the Communication of Model Parallelism" (MLSys 2023): 1F1B and
// eager-1F1B pipelines across meshes, settled by simulation of every case of a range.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "engine/pipeline/schedule.h"
#include "p2/error.h"
#include "proofs/claims/claim.h"

namespace p2::claims {
namespace {

struct PipelineCase {
  PipelineSize size;
  PipelineTimes times;
};

/// The cases of a claim, in order of stages, then microbatches, then times.
struct PipelineRange {
  std::uint32_t fewest_stages = 1, most_stages = 6;
  std::uint32_t fewest_microbatches = 1, most_microbatches = 10;
  std::int64_t longest = 4;  ///< forward and backward
  bool latencies = true;     ///< up to forward and backward together; else none
  bool half_only = false;    ///< only half of forward and backward together
};

/// Why a statement fails for a case; empty if it holds. Throws LimitReached.
using FindFault = std::string (*)(const PipelineCase& here, const Limits& limits);

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

/// The range in words.
std::string words(const PipelineRange& range) {
  std::string text =
      fmt::format("{} to {} stages, {} to {} microbatches", range.fewest_stages, range.most_stages,
                  range.fewest_microbatches, range.most_microbatches);
  if (range.longest > 1) text += fmt::format(", forward and backward 1 to {}", range.longest);
  if (range.half_only) return text + ", latency half of both together";
  if (range.latencies) text += ", latency up to both together";
  return text;
}

ScheduleSettlement settle(const PipelineRange& range, FindFault find_fault,
                          const Limits& limits) try {
  ScheduleSettlement answer;
  const auto try_case = [&](const PipelineCase& here) {
    limits.require(0, "trying the cases");
    ++answer.cases;
    const std::string wrong = find_fault(here, limits);
    if (wrong.empty()) return true;
    answer.outcome = Outcome::Refuted;
    answer.counterexample = words(here) + ": " + wrong;
    answer.command = command(here);
    return false;
  };
  for (std::uint32_t s = range.fewest_stages; s <= range.most_stages; ++s) {
    for (std::uint32_t m = range.fewest_microbatches; m <= range.most_microbatches; ++m) {
      if (!for_each_time({s, m}, range, try_case)) return answer;
    }
  }
  answer.outcome = Outcome::Established;
  return answer;
} catch (const LimitReached&) {
  return {};
}

constexpr auto k1F1B = PipelineSchedule::OneForwardOneBackward;
constexpr auto kEager = PipelineSchedule::Eager;

std::int64_t makespan(PipelineSchedule schedule, const PipelineCase& here, std::int64_t latency) {
  PipelineTimes times = here.times;
  times.latency = latency;
  return simulate(schedule, here.size, times, PipelineLink::Delay).makespan;
}

std::string hides_exactly(const PipelineCase& here, const Limits&) {
  const PipelineTimes& times = here.times;
  const std::int64_t with = makespan(kEager, here, times.latency);
  const std::int64_t ends = 2 * (std::int64_t{here.size.stages} - 1) * times.latency;
  const std::int64_t hidden = makespan(kEager, here, 0) + ends;
  if ((with == hidden) == (2 * times.latency <= times.forward + times.backward)) return {};
  return fmt::format("makespan {}, and {} if only the two ends show the latency", with, hidden);
}

std::string same_without_latency(const PipelineCase& here, const Limits&) {
  const std::int64_t usual = makespan(k1F1B, here, 0);
  const std::int64_t eager = makespan(kEager, here, 0);
  if (usual == eager) return {};
  return fmt::format("1F1B takes {}, eager-1F1B {}", usual, eager);
}

std::uint32_t peak(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage) {
  return peak_activations(stage_order(schedule, size, stage));
}

std::string peaks_as_said(const PipelineCase& here, const Limits&) {
  const std::uint32_t s = here.size.stages;
  const std::uint32_t m = here.size.microbatches;
  for (std::uint32_t i = 1; i <= s; ++i) {
    const bool right = peak(PipelineSchedule::GPipe, here.size, i - 1) == m &&
                       peak(k1F1B, here.size, i - 1) == std::min(m, s - i + 1) &&
                       peak(kEager, here.size, i - 1) == std::min(m, 2 * (s - i) + 1);
    if (!right) return fmt::format("different peak on stage {}", i);
  }
  return {};
}

std::string little_more_memory(const PipelineCase& here, const Limits&) {
  for (std::uint32_t i = 0; i < here.size.stages; ++i) {
    if (peak(kEager, here.size, i) > peak(k1F1B, here.size, i) + here.size.stages) {
      return fmt::format("more on stage {}", i + 1);
    }
  }
  return {};
}

std::string eager_holds_the_least(const PipelineCase& here, const Limits& limits) {
  const auto least = least_memory(here.size, here.times, limits);
  if (!least) {
    throw LimitReached(LimitReached::Kind::Time, "the search of all orders reached a limit");
  }
  for (std::uint32_t i = 0; i < here.size.stages; ++i) {
    const std::uint32_t held = peak(kEager, here.size, i);
    if (least->each[i] == held) continue;
    return fmt::format("stage {} can hold {}, eager-1F1B holds {}", i + 1, least->each[i], held);
  }
  return {};
}

std::string no_delay_is_faster(const PipelineCase& here, const Limits&) {
  for (const PipelineLink link :
       {PipelineLink::Delay, PipelineLink::Link, PipelineLink::Blocking}) {
    for (const PipelineSchedule schedule : {PipelineSchedule::GPipe, k1F1B, kEager}) {
      for (std::int64_t weight = 1; weight <= here.times.backward; ++weight) {
        PipelineTimes times = here.times;
        times.weight = weight;
        const std::uint32_t delay = least_delay(schedule, here.size, times, link);
        if (delay == 0) continue;
        return fmt::format("{}, link {}, gradients of weights {}: {} later is faster",
                           to_string(schedule), to_string(link), weight, delay);
      }
    }
  }
  return {};
}

constexpr PipelineRange kSplit{2, 4, 1, 6, 3, true, false};
constexpr PipelineRange kSteady{2, 6, 4, 10, 4, true, false};
constexpr PipelineRange kAll{2, 6, 1, 10, 4, true, false};
constexpr PipelineRange kNoLatency{1, 8, 1, 12, 4, false, false};
constexpr PipelineRange kSizes{1, 12, 1, 30, 1, false, false};
constexpr PipelineRange kHalf{2, 4, 1, 6, 3, true, true};

}  // namespace

void append_claims_about_pipelines(std::vector<ScheduleClaim>& claims) {
  const std::string simulated = "simulation, link model delay (explicit)";
  claims.push_back(
      {"pipeline-eager-hides",
       "With at least four microbatches eager-1F1B hides the latency between stages, but for the "
       "way there and back once, exactly if it is at most half of a forward and a backward.",
       "makespan(c) = makespan(0) + 2 (stages - 1) c  <=>  c <= (f + b) / 2", "4", words(kSteady),
       simulated, [](const Limits& limits) { return settle(kSteady, hides_exactly, limits); }});
  claims.push_back({"pipeline-eager-hides-always", "The same with any number of microbatches.",
                    "makespan(c) = makespan(0) + 2 (stages - 1) c  <=>  c <= (f + b) / 2", "4",
                    words(kAll), simulated,
                    [](const Limits& limits) { return settle(kAll, hides_exactly, limits); }});
  claims.push_back(
      {"pipeline-same-without-latency", "Without latency 1F1B and eager-1F1B take the same time.",
       "makespan of 1F1B = makespan of eager-1F1B if c = 0", "4", words(kNoLatency), simulated,
       [](const Limits& limits) { return settle(kNoLatency, same_without_latency, limits); }});
  claims.push_back(
      {"pipeline-peaks",
       "At its peak stage i of s holds the activations of so many of m microbatches with GPipe, "
       "1F1B and eager-1F1B.",
       "m; min(m, s - i + 1); min(m, 2 (s - i) + 1)", "4", words(kSizes), "enumeration (explicit)",
       [](const Limits& limits) { return settle(kSizes, peaks_as_said, limits); }});
  claims.push_back(
      {"pipeline-eager-memory",
       "Eager-1F1B holds at most as many activations more than 1F1B as there are stages.",
       "peak of eager-1F1B <= peak of 1F1B + stages, on every stage", "4", words(kSizes),
       "enumeration (explicit)",
       [](const Limits& limits) { return settle(kSizes, little_more_memory, limits); }});
  claims.push_back(
      {"pipeline-split-enough",
       "Where backwards are split, and gradients of activations are sent before those of weights "
       "are computed, no delay of these by a fixed number of backwards makes a pipeline faster.",
       "makespan with gradients of weights right after those of activations = min over delays", "4",
       words(kSplit) + ", gradients of weights no longer than those of activations, every schedule",
       "simulation, every link model (explicit)",
       [](const Limits& limits) { return settle(kSplit, no_delay_is_faster, limits); }});
  claims.push_back(
      {"pipeline-eager-least-memory",
       "At the largest latency that eager-1F1B hides no stage can hold fewer activations in any "
       "order that hides it, whatever the others hold.",
       "c = (f + b) / 2 and makespan = (m + s - 1) (f + b) + 2 (s - 1) c  =>  peaks >= those of "
       "eager-1F1B",
       "4", words(kHalf), "search of all orders, link model delay (explicit)",
       [](const Limits& limits) { return settle(kHalf, eager_holds_the_least, limits); }});
}

}  // namespace p2::claims
