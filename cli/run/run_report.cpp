#include "cli/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "cli/run/run_ranking.h"
#include "engine/program/json_text.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

using execution::Measurement;
using execution::WrongElement;

constexpr std::string_view kBackends[] = {"in-process", "mpi", "nccl"};

std::string_view backend_name(const RunRequest& request) {
  return kBackends[static_cast<std::size_t>(request.backend)];
}

std::string title(const RunAnswer& answer, std::size_t number, std::size_t count) {
  const RunProgram& program = *answer.program;
  std::string text =
      program.file.empty() ? fmt::format("program {} of {}", number, count) : program.file;
  if (const Instance* instance = program.instance()) {
    text += "   " + to_string(instance->grid.placement());
  }
  return fmt::format("# {}   {} devices\n# {}\n", text, program.read.program.devices,
                     to_string(program.read.program.steps, program.instance()));
}

bool adds(Collective collective) {
  return collective != Collective::AllGather && collective != Collective::Broadcast;
}

bool has_root(Collective collective) {
  return collective == Collective::Reduce || collective == Collective::Broadcast;
}

std::string row(const Measurement& measured, const RunRequest& request, const std::string& what) {
  return fmt::format(
      "{:>13} {:>13} {:>9} {:>6} {:>5} {:>10.2f} {:>8.3f} {:>8.3f} {:>7}  {}\n", measured.bytes,
      measured.count, to_string(request.type), adds(measured.collective) ? "sum" : "none",
      has_root(measured.collective) ? 0 : -1, measured.seconds * 1e6, measured.algbw(),
      measured.busbw(), measured.wrong ? std::to_string(*measured.wrong) : "N/A", what);
}

std::string to_text(const WrongElement& wrong) {
  const std::string when =
      wrong.step == 0 ? "at the end" : fmt::format("after step {}", wrong.step);
  const std::string got = wrong.missing ? "nothing" : fmt::format("{}", wrong.got);
  return fmt::format("wrong {}: rank {}, element {}: got {}, expected {}\n", when, wrong.rank,
                     wrong.element, got, wrong.expected);
}

void print_size(const RunMeasurement& size, const RunAnswer& answer, const RunRequest& request,
                std::ostream& out) {
  const std::vector<Step>& steps = answer.program->read.program.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    fmt::print(out, "{}",
               row(size.steps[i], request,
                   fmt::format("step {}: {}", i + 1, to_string(steps[i].collective))));
  }
  fmt::print(out, "{}", row(size.total, request, "whole program"));
  fmt::print(out, "{}", row(size.allreduce, request, "AllReduce alone"));
  for (const WrongElement& wrong : size.shown) fmt::print(out, "{}", to_text(wrong));
  if (!size.strayed.empty()) {
    fmt::print(out, "ranks that issued other calls than planned: {}\n",
               fmt::join(size.strayed, ", "));
  }
}

std::string to_json(const Measurement& measured) {
  return fmt::format(
      "\"bytes\":{},\"count\":{},\"time_us\":{:.3f},\"algbw\":{:.6f},\"busbw\":{:.6f},"
      "\"wrong\":{}",
      measured.bytes, measured.count, measured.seconds * 1e6, measured.algbw(), measured.busbw(),
      measured.wrong ? std::to_string(*measured.wrong) : "null");
}

/// JSON has no word for what is not a number.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string to_json(const WrongElement& wrong) {
  return fmt::format("{{\"rank\":{},\"step\":{},\"element\":{},\"got\":{},\"expected\":{}}}",
                     wrong.rank, wrong.step == 0 ? "null" : std::to_string(wrong.step),
                     wrong.element, wrong.missing ? "null" : json_number(wrong.got),
                     json_number(wrong.expected));
}

std::string to_json(const RunMeasurement& size, const std::vector<Step>& steps) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rows.push_back(fmt::format("{{\"collective\":\"{}\",{}}}", to_string(steps[i].collective),
                               to_json(size.steps[i])));
  }
  std::vector<std::string> wrong;
  for (const WrongElement& each : size.shown) wrong.push_back(to_json(each));
  return fmt::format(
      ",\"bytes\":{},\"elements\":{},\"steps\":[{}],\"total\":{{{}}},"
      "\"allreduce\":{{{}}},\"wrong\":{},\"wrong_elements\":[{}],\"strayed\":[{}]",
      size.bytes, size.elements, fmt::join(rows, ","), to_json(size.total), to_json(size.allreduce),
      size.wrong, fmt::join(wrong, ","), fmt::join(size.strayed, ","));
}

std::string program_json(const RunAnswer& answer) {
  const ProgramFile& read = answer.program->read;
  return fmt::format("\"file\":{},\"verdict\":\"{}\",\"reason\":{},\"program\":{}",
                     answer.program->file.empty() ? "null" : json_string(answer.program->file),
                     answer.refused.empty() ? "valid" : "invalid",
                     answer.refused.empty() ? "null" : json_string(answer.refused),
                     to_json(read.program, answer.program->instance(), read.dialect));
}

}  // namespace

std::uint64_t RunReport::wrong() const {
  std::uint64_t wrong = 0;
  for (const RunAnswer& answer : programs) {
    for (const RunMeasurement& size : answer.sizes) wrong += size.wrong;
  }
  return wrong;
}

bool RunReport::any_skipped() const {
  return std::any_of(programs.begin(), programs.end(),
                     [](const RunAnswer& answer) { return answer.skipped; });
}

bool RunReport::any_strayed() const {
  return std::any_of(programs.begin(), programs.end(), [](const RunAnswer& answer) {
    return std::any_of(answer.sizes.begin(), answer.sizes.end(),
                       [](const RunMeasurement& size) { return !size.strayed.empty(); });
  });
}

void print_text(const RunReport& report, const RunRequest& request, std::ostream& out) {
  fmt::print(out, "# backend {}, {}, {} timed runs after {}, seed {}\n", backend_name(request),
             to_string(request.type), request.iterations, request.warmup, request.common.seed);
  std::size_t run = 0;
  for (const RunAnswer& answer : report.programs) {
    const auto number = static_cast<std::size_t>(&answer - report.programs.data()) + 1;
    if (!request.top || !answer.refused.empty()) {
      fmt::print(out, "#\n{}", title(answer, number, request.programs.size()));
    }
    if (!answer.refused.empty()) fmt::print(out, "# refused: {}\n", answer.refused);
    if (answer.sizes.empty()) continue;
    ++run;
    if (request.top) continue;
    fmt::print(out, "# {:>11} {:>13} {:>9} {:>6} {:>5} {:>10} {:>8} {:>8} {:>7}\n", "size", "count",
               "type", "redop", "root", "time", "algbw", "busbw", "#wrong");
    fmt::print(out, "# {:>11} {:>13} {:>9} {:>6} {:>5} {:>10} {:>8} {:>8}\n", "(B)", "(elements)",
               "", "", "", "(us)", "(GB/s)", "(GB/s)");
    for (const RunMeasurement& size : answer.sizes) print_size(size, answer, request, out);
  }
  if (request.top) print_ranking(report, request, out);
  fmt::print(out, "#\n# {} of {} programs run, {} wrong elements\n", run, request.programs.size(),
             request.check == execution::Check::Nothing ? "N/A" : std::to_string(report.wrong()));
}

void print_json(const RunReport& report, const RunRequest& request, std::ostream& out) {
  fmt::print(out,
             "{{\"backend\":\"{}\",\"type\":\"{}\",\"iterations\":{},\"warmup\":{},\"seed\":{},"
             "\"results\":[",
             backend_name(request), to_string(request.type), request.iterations, request.warmup,
             request.common.seed);
  const char* separator = "\n";
  for (const RunAnswer& answer : report.programs) {
    const std::string head = program_json(answer);
    if (answer.sizes.empty()) {
      fmt::print(out, "{}{{{},\"steps\":[],\"total\":null}}", std::exchange(separator, ",\n"),
                 head);
    }
    for (const RunMeasurement& size : answer.sizes) {
      fmt::print(out, "{}{{{}{}}}", std::exchange(separator, ",\n"), head,
                 to_json(size, answer.program->read.program.steps));
    }
  }
  fmt::print(out, "\n],\"wrong\":{},\"complete\":{}}}\n",
             request.check == execution::Check::Nothing ? "null" : std::to_string(report.wrong()),
             report.interrupted.empty());
}

}  // namespace p2
