#include "cli/meshes/pipeline_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/byte_size.h"
#include "cli/table.h"
#include "engine/base/plot.h"

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
      question.size.microbatches *
      (question.times.forward + question.times.backward + question.times.weight);
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

/// `split A,W delayed by N` where backwards are split.
std::string backward_text(const PipelineQuestion& question) {
  if (!question.split) return std::to_string(question.times.backward);
  return fmt::format("{}+{} with weights {} later", question.times.backward, question.times.weight,
                     question.delay);
}

std::string split_json(const PipelineQuestion& question) {
  if (!question.split) return "null";
  return fmt::format("{{\"activation\":{},\"weight\":{},\"delay\":{}}}", question.times.backward,
                     question.times.weight, question.delay);
}

Timeline::Bar bar(std::size_t lane, const TimedWork& each) {
  return {lane, static_cast<double>(each.start), static_cast<double>(each.end),
          static_cast<std::size_t>(each.work.kind), std::to_string(each.work.microbatch)};
}

template <typename Text>
std::string lists_json(const PipelineRun& run, Text text) {
  std::string all;
  for (const auto& stage : run.stages) {
    all += fmt::format("{}[{}]", all.empty() ? "\n" : ",\n", text(stage));
  }
  return "[" + all + "\n]";
}

}  // namespace

std::string order_text(const std::vector<TimedWork>& stage) { return words(stage, "", " "); }

std::string orders_json(const PipelineRun& run) {
  return lists_json(run, [](const auto& stage) { return words(stage, "\"", ","); });
}

std::string starts_json(const PipelineRun& run) {
  return lists_json(run, [](const auto& stage) {
    std::string text;
    for (const TimedWork& each : stage) {
      text += fmt::format("{}{}", text.empty() ? "" : ",", each.start);
    }
    return text;
  });
}

std::uint64_t memory_of(const PipelineQuestion& question, std::uint32_t activations) {
  if (!question.activation_bytes) return 0;
  return question.weight_bytes + activations * *question.activation_bytes;
}

void print_pipeline_text(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out) {
  fmt::print(out,
             "{}: {} stages, {} microbatches   forward {}, backward {}, latency {}, link {}\n\n"
             "makespan {}, bubble {:.1f} %\n\n",
             to_string(question.schedule), question.size.stages, question.size.microbatches,
             question.times.forward, backward_text(question), question.times.latency,
             to_string(question.link), run.makespan, 100 * bubble_share(question, run));
  const bool bytes = question.activation_bytes.has_value();
  TableRows rows{{"stage", "peak activations"}};
  if (bytes) rows[0].push_back("peak memory");
  rows[0].push_back("order");
  const auto held = peaks(run);
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    auto& row = rows.emplace_back();
    row = {std::to_string(i), std::to_string(held[i])};
    if (bytes) row.push_back(bytes_to_string(memory_of(question, held[i])));
    row.push_back(order_text(run.stages[i]));
  }
  print_table(rows, bytes ? 3 : 2, out);
}

void print_pipeline_json(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out) {
  std::vector<std::uint64_t> bytes;
  for (const std::uint32_t peak : peaks(run)) bytes.push_back(memory_of(question, peak));
  fmt::print(out,
             "{{\"schedule\":\"{}\",\"stages\":{},\"microbatches\":{},\"forward\":{},"
             "\"backward\":{},\"split_backward\":{},\"latency\":{},\"link\":\"{}\","
             "\"order\":{},\"starts\":{},\"makespan\":{},\"bubble_share\":{},"
             "\"peak_activations\":[{}],\"peak_memory_bytes\":{}}}\n",
             to_string(question.schedule), question.size.stages, question.size.microbatches,
             question.times.forward, question.times.backward + question.times.weight,
             split_json(question), question.times.latency, to_string(question.link),
             orders_json(run), starts_json(run), run.makespan, bubble_share(question, run),
             fmt::join(peaks(run), ","),
             question.activation_bytes ? fmt::format("[{}]", fmt::join(bytes, ",")) : "null");
}

std::string pipeline_plot(const PipelineQuestion& question, const PipelineRun& run) {
  Timeline line{fmt::format("{}, {} microbatches: makespan {}", to_string(question.schedule),
                            question.size.microbatches, run.makespan),
                "time"};
  const bool transfers = question.times.latency > 0;
  const std::size_t lanes_each = transfers ? 3 : 1;  // between stages, one for each direction
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    line.lanes.push_back(fmt::format("stage {}", i));
    for (const TimedWork& each : run.stages[i]) line.bars.push_back(bar(i * lanes_each, each));
    if (!transfers || i + 1 == run.stages.size()) continue;
    line.lanes.push_back(fmt::format("{} to {}", i, i + 1));
    line.lanes.push_back(fmt::format("{} to {}", i + 1, i));
  }
  for (const TimedTransfer& each : run.transfers) {
    if (!transfers) break;
    const bool forward = each.sent.work.kind == WorkKind::Forward;
    line.bars.push_back(bar(forward ? 3 * each.from + 1 : 3 * each.from - 1, each.sent));
  }
  line.legend = {"forward", "backward"};
  if (question.split) line.legend = {"forward", "gradient of activations", "gradient of weights"};
  Svg svg(kPlotWidth, height_of(line));
  draw(svg, line, 0, 0, kPlotWidth);
  return svg.document();
}

}  // namespace p2
