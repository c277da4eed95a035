#pragma once

#include <string>

#include "engine/pipeline/simulation.h"
#include "proofs/claims/schedule_claim.h"

namespace p2::claims {

struct PipelineCase {
  PipelineSize size;
  PipelineTimes times;
};

/// How far pipelines are enumerated: fewest stages first, then fewest microbatches, then times.
struct PipelineRange {
  std::uint32_t fewest_stages = 1, most_stages = 6;
  std::uint32_t fewest_microbatches = 1, most_microbatches = 10;
  std::int64_t longest = 4;  ///< forward and backward
  bool latencies = true;     ///< up to forward and backward together; else none
  bool half_only = false;    ///< only half of forward and backward together
};

/// In words.
std::string words(const PipelineRange& range);

/// Thrown by a judge that meets a limit.
struct PipelineUndecided {};

/// What is wrong with a statement there; empty where it holds.
using PipelineJudge = std::string (*)(const PipelineCase& here, const Limits& limits);

ScheduleAnswer settle(const PipelineRange& range, PipelineJudge judge, const Limits& limits);

}  // namespace p2::claims
