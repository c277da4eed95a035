#include "cli/meshes/pipeline_memory.h"

#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/byte_size.h"
#include "cli/certificate_writing.h"
#include "cli/meshes/pipeline_report.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "engine/pipeline/least_memory.h"
#include "proofs/certificate/pipeline_certificate.h"
#include "p2/version.h"

namespace p2 {
namespace {

std::uint32_t peak_of(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage) {
  return peak_activations(stage_order(schedule, size, stage));
}

void print_text(const PipelineQuestion& question, const LeastMemory& least, std::ostream& out) {
  TableRows rows{{"stage", "least", "1f1b", "eager-1f1b", "gpipe"}};
  if (question.activation_bytes) rows[0].push_back("least memory");
  rows[0].push_back("order");
  for (std::uint32_t i = 0; i < question.size.stages; ++i) {
    auto& row = rows.emplace_back();
    row = {std::to_string(i), std::to_string(least.peaks[i])};
    for (const PipelineSchedule schedule : {PipelineSchedule::OneForwardOneBackward,
                                            PipelineSchedule::Eager, PipelineSchedule::GPipe}) {
      row.push_back(std::to_string(peak_of(schedule, question.size, i)));
    }
    if (question.activation_bytes) {
      row.push_back(bytes_to_string(memory_of(question, least.peaks[i])));
    }
    row.push_back(order_text(least.run.stages[i]));
  }
  fmt::print(out, "peak activations, the fewest with full overlap{}\n\n",
             least.each == least.peaks ? ": each stage could hold no fewer whatever the others hold"
                                       : fmt::format(" together; alone, stages could hold {}",
                                                     fmt::join(least.each, ", ")));
  print_table(rows, question.activation_bytes ? 6 : 5, out);
}

void print_json(const PipelineQuestion& question, const LeastMemory& least, std::ostream& out) {
  std::vector<std::uint64_t> bytes;
  for (const std::uint32_t peak : least.peaks) bytes.push_back(memory_of(question, peak));
  fmt::print(out,
             "\"least_peaks\":[{}],\"least_of_each\":[{}],\"peak_memory_bytes\":{},\"order\":{},"
             "\"starts\":{}",
             fmt::join(least.peaks, ","), fmt::join(least.each, ","),
             question.activation_bytes ? fmt::format("[{}]", fmt::join(bytes, ",")) : "null",
             orders_json(least.run), starts_json(least.run));
}

ExitCode certify_least(const PipelineQuestion& question, const LeastMemory& least,
                       const CommonOptions& common, std::ostream& err) {
  const auto write = [&] {
    write_folder(*question.certify,
                 pipeline_certificate(question.size, question.times, least,
                                      {{{"p2-verify", build_info().version}}, {}, common.seed}));
  };
  return code_of_writing(*question.certify, write, err);
}

std::optional<LeastMemory> watched_search(const PipelineQuestion& question,
                                          const CommonOptions& common, std::ostream& err) {
  OverlapProgress progress;
  const ProgressLine line(common.progress, err, [&] {
    return fmt::format("pipeline: {} cases of what a stage does first told apart",
                       progress.cases.load());
  });
  return least_memory(question.size, question.times, common.limits, &progress);
}

}  // namespace

ExitCode print_least_memory(const PipelineQuestion& question, const CommonOptions& common,
                            std::ostream& out, std::ostream& err) {
  const PipelineTimes& times = question.times;
  const std::int64_t makespan = full_overlap(question.size, times);
  const auto least = watched_search(question, common, err);
  ExitCode code = least ? kEstablished : kUndecided;
  if (least && question.certify) code = certify_least(question, *least, common, err);
  const bool certified = question.certify && code == kEstablished;
  const std::string evidence = certified ? fmt::format("certificate: {}", *question.certify)
                               : least
                                   ? "solver-only: all orders were searched"
                                   : "undecided: a limit was met before all orders were searched";
  if (common.format == Format::Json) {
    fmt::print(out,
               "{{\"stages\":{},\"microbatches\":{},\"forward\":{},\"backward\":{},\"latency\":{},"
               "\"link\":\"delay\",\"makespan\":{},\"settled\":{}{}",
               question.size.stages, question.size.microbatches, times.forward, times.backward,
               times.latency, makespan, least.has_value(), least ? "," : "");
    if (least) print_json(question, *least, out);
    fmt::print(out, ",\"evidence\":\"{}\"}}\n", evidence);
    return code;
  }
  fmt::print(out,
             "{} stages, {} microbatches   forward {}, backward {}, latency {}, link delay\n\n"
             "makespan {}, which no order is below\n",
             question.size.stages, question.size.microbatches, times.forward, times.backward,
             times.latency, makespan);
  if (least) print_text(question, *least, out);
  fmt::print(out, "{}{}\n", least ? "\n" : "", evidence);
  return code;
}

}  // namespace p2
