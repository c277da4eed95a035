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
                                      const PipelineRun& run,
                                      const std::vector<std::vector<OverlapCase>>& cases,
                                      const Provenance& provenance) {
  if (run.makespan >= kTimeEnd || 2 * size.stages * size.microbatches > kMostWork) {
    throw std::length_error(
        fmt::format("{} forwards and backwards until {} are more than p2-check "
                    "reads",
                    2 * size.stages * size.microbatches, run.makespan));
  }
  std::string all;
  for (const auto& each : cases) all += (all.empty() ? "" : ",\n") + text_of(each);
  CertificateFiles files;
  files["pipeline.json"] = fmt::format(
      "{{\"stages\":{},\"microbatches\":{},\"forward\":{},\"backward\":{},\"latency\":{},"
      "\"makespan\":{},\n\"forwards\":{},\n\"backwards\":{}}}\n",
      size.stages, size.microbatches, times.forward, times.backward, times.latency, run.makespan,
      starts_of(WorkKind::Forward, run), starts_of(WorkKind::Backward, run));
  files["cases.json"] = fmt::format("{{\"cases\":[{}]}}\n", all);
  add_manifest("pipeline-memory", provenance, files);
  return files;
}

}  // namespace p2
