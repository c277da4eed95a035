#include "cli/pipeline_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/table.h"
#include "engine/plot/timeline.h"

namespace p2 {
namespace {

constexpr double kPlotWidth = 1000;

std::vector<Work> order_of(const std::vector<TimedWork>& stage) {
  std::vector<Work> order;
  for (const TimedWork& each : stage) order.push_back(each.work);
  return order;
}

/// The share of all stages' time until the makespan in which they do not compute.
double bubble_share(const PipelineQuestion& question, const PipelineRun& run) {
  const std::int64_t busy =
      question.size.microbatches * (question.times.forward + question.times.backward);
  return static_cast<double>(run.makespan - busy) / static_cast<double>(run.makespan);
}

std::vector<std::uint32_t> peaks(const PipelineRun& run) {
  std::vector<std::uint32_t> all;
  for (const auto& stage : run.stages) all.push_back(peak_activations(order_of(stage)));
  return all;
}

/// `F0 F1 B0 …`, each in quotes where `quote` is one.
std::string words(const std::vector<TimedWork>& stage, std::string_view quote,
                  std::string_view separator) {
  std::string text;
  for (const TimedWork& each : stage) {
    text +=
        fmt::format("{}{}{}{}", text.empty() ? "" : separator, quote, to_string(each.work), quote);
  }
  return text;
}

std::string starts(const std::vector<TimedWork>& stage) {
  std::string text;
  for (const TimedWork& each : stage) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", each.start);
  }
  return text;
}

}  // namespace

void print_pipeline_text(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out) {
  fmt::print(out,
             "{}: {} stages, {} microbatches   forward {}, backward {}, latency {}, link {}\n\n"
             "makespan {}, bubble {:.1f} %\n\n",
             to_string(question.schedule), question.size.stages, question.size.microbatches,
             question.times.forward, question.times.backward, question.times.latency,
             to_string(question.link), run.makespan, 100 * bubble_share(question, run));
  TableRows rows{{"stage", "peak activations", "order"}};
  const auto held = peaks(run);
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    rows.push_back({std::to_string(i), std::to_string(held[i]), words(run.stages[i], "", " ")});
  }
  print_table(rows, 2, out);
}

void print_pipeline_json(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out) {
  fmt::print(out,
             "{{\"schedule\":\"{}\",\"stages\":{},\"microbatches\":{},\"forward\":{},"
             "\"backward\":{},\"latency\":{},\"link\":\"{}\",\"order\":[",
             to_string(question.schedule), question.size.stages, question.size.microbatches,
             question.times.forward, question.times.backward, question.times.latency,
             to_string(question.link));
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    fmt::print(out, "{}[{}]", i == 0 ? "\n" : ",\n", words(run.stages[i], "\"", ","));
  }
  out << "\n],\"starts\":[";
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    fmt::print(out, "{}[{}]", i == 0 ? "\n" : ",\n", starts(run.stages[i]));
  }
  fmt::print(out, "\n],\"makespan\":{},\"bubble_share\":{},\"peak_activations\":[{}]}}\n",
             run.makespan, bubble_share(question, run), fmt::join(peaks(run), ","));
}

std::string pipeline_plot(const PipelineQuestion& question, const PipelineRun& run) {
  Timeline line{fmt::format("{}, {} microbatches: makespan {}", to_string(question.schedule),
                            question.size.microbatches, run.makespan),
                "time"};
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    line.lanes.push_back(fmt::format("stage {}", i));
    for (const TimedWork& each : run.stages[i]) {
      line.bars.push_back({i, static_cast<double>(each.start), static_cast<double>(each.end),
                           std::size_t{each.work.backward ? 1U : 0U}});
    }
  }
  line.legend = {"forward", "backward"};
  Svg svg(kPlotWidth, height_of(line));
  draw(svg, line, 0, 0, kPlotWidth);
  return svg.document();
}

}  // namespace p2
