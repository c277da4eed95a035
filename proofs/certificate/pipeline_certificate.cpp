#include "proofs/certificate/pipeline_certificate.h"

#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2 {
namespace {

constexpr std::int64_t kTimeEnd = std::int64_t{1} << 40;  // of times that p2-check reads
constexpr std::uint32_t kMostWork = 1U << 13U;            // forwards and backwards

/// Of every stage the starts of its forwards, or of its backwards, by microbatch.
std::string starts_of(WorkKind kind, const PipelineRun& run) {
  std::string text;
  for (const std::vector<TimedWork>& stage : run.stages) {
    std::vector<std::int64_t> starts;
    for (const TimedWork& each : stage) {
      if (each.work.kind == kind) starts.push_back(each.start);
    }
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(starts, ","));
  }
  return "[" + text + "]";
}

std::string text_of(const std::vector<OverlapCase>& cases) {
  std::string text;
  for (const OverlapCase& each : cases) {
    text += fmt::format("{}[{},{},{}]", text.empty() ? "" : ",", each.stage, each.forward,
                        each.backward);
  }
  return "[" + text + "]";
}

}  // namespace

CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const LeastMemory& least, const Provenance& provenance) {
  if (least.each != least.peaks) {
    throw std::length_error(
        "stages stand in each other's way, and that they do rests on the search alone");
  }
  const std::uint32_t work = 2 * size.stages * size.microbatches;
  if (least.run.makespan >= kTimeEnd || work > kMostWork) {
    throw std::length_error(
        fmt::format("{} forwards and backwards until {} are more than p2-check reads", work,
                    least.run.makespan));
  }
  std::string all;
  for (const auto& cases : least.cases) all += (all.empty() ? "" : ",\n") + text_of(cases);
  CertificateFiles files;
  files["pipeline.json"] = fmt::format(
      "{{\"stages\":{},\"microbatches\":{},\"forward\":{},\"backward\":{},\"latency\":{},"
      "\"makespan\":{},\n\"forwards\":{},\n\"backwards\":{}}}\n",
      size.stages, size.microbatches, times.forward, times.backward, times.latency,
      least.run.makespan, starts_of(WorkKind::Forward, least.run),
      starts_of(WorkKind::Backward, least.run));
  files["cases.json"] = fmt::format("{{\"cases\":[{}]}}\n", all);
  add_manifest("pipeline-memory", provenance, files);
  return files;
}

}  // namespace p2
