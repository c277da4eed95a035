#include "proofs/api/run_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/execution/region.h"
#include "engine/program/program.h"
#include "p2/bytes.h"

namespace p2 {
namespace {

using Source = ProgramJobs::Source;

/// A number with so many decimals, as a JSON literal; null for what is not finite.
Json rounded(double value, int decimals) {
  return std::isfinite(value) ? Json::number(fmt::format("{:.{}f}", value, decimals)) : Json();
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::uint64_t wrong_elements(const RunAnswer& answer) {
  std::uint64_t wrong = 0;
  for (const ProgramTimes& program : answer.programs) {
    for (const SizeTimes& size : program.sizes) wrong += size.wrong;
  }
  return wrong;
}

std::string count_or(const std::optional<std::uint64_t>& count) {
  return count ? std::to_string(*count) : "N/A";
}

/// The text of an answer about programs.
class ProgramText {
 public:
  ProgramText(const RunAnswer& answer, const ProgramJobs& jobs, const RunRequest& request,
              Document& document)
      : answer_(answer), jobs_(jobs), request_(request), document_(document) {}

  void write(std::uint64_t seed) {
    document_.line(fmt::format("# backend {}, {}, {} timed runs after {}, seed {}",
                               backend_name(request_.backend), to_string(jobs_.type),
                               request_.iterations, request_.warmup, seed));
    std::size_t ran = 0;
    for (std::size_t i = 0; i < answer_.programs.size(); ++i) {
      const ProgramTimes& program = answer_.programs[i];
      if (!request_.top || !program.refused.empty()) write_title(i);
      if (!program.refused.empty()) document_.line("# refused: " + program.refused);
      if (program.sizes.empty()) continue;
      ++ran;
      if (request_.top) continue;
      document_.line(fmt::format("# {:>11} {:>13} {:>9} {:>6} {:>5} {:>10} {:>8} {:>8} {:>7}",
                                 "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                                 "#wrong"));
      document_.line(fmt::format("# {:>11} {:>13} {:>9} {:>6} {:>5} {:>10} {:>8} {:>8}", "(B)",
                                 "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)"));
      for (const SizeTimes& size : program.sizes) write_size(size);
    }
    if (request_.top) write_rankings();
    const bool unchecked = jobs_.check == execution::Check::Nothing;
    document_.line("#").line(
        fmt::format("# {} of {} programs run, {} wrong elements", ran, jobs_.programs.size(),
                    unchecked ? "N/A" : std::to_string(wrong_elements(answer_))));
  }

 private:
  void write_title(std::size_t index) {
    const Source& source = jobs_.programs[index];
    std::string text = source.file.empty()
                           ? fmt::format("program {} of {}", index + 1, jobs_.programs.size())
                           : source.file;
    if (const Instance* instance = source.instance()) {
      text += "   " + to_string(instance->grid.placement());
    }
    document_.line("#")
        .line(fmt::format("# {}   {} devices", text, source.read.program.devices))
        .line("# " + to_string(source.read.program.steps, source.instance(),
                               source.read.program.terms.collectives));
  }

  void write_row(const RunTime& time, const std::string& what) {
    const bool adds = time.collective != "AllGather" && time.collective != "Broadcast";
    const bool rooted = time.collective == "Reduce" || time.collective == "Broadcast";
    document_.line(fmt::format(
        "{:>13} {:>13} {:>9} {:>6} {:>5} {:>10.2f} {:>8.3f} {:>8.3f} {:>7}  {}", time.bytes,
        time.count, to_string(jobs_.type), adds ? "sum" : "none", rooted ? 0 : -1,
        time.seconds * 1e6, time.algbw, time.busbw, count_or(time.wrong), what));
  }

  void write_size(const SizeTimes& size) {
    for (std::size_t i = 0; i < size.steps.size(); ++i) {
      write_row(size.steps[i], fmt::format("step {}: {}", i + 1, size.steps[i].collective));
    }
    write_row(size.total, "whole program");
    if (std::isfinite(size.allreduce.seconds)) {
      write_row(size.allreduce, size.allreduce.collective + " alone");
    }
    for (const WrongValue& wrong : size.wrong_elements) {
      document_.line(fmt::format(
          "wrong {}: rank {}, element {}: got {}, expected {}",
          wrong.step == 0 ? "at the end" : fmt::format("after step {}", wrong.step), wrong.rank,
          wrong.element, wrong.got ? fmt::format("{}", *wrong.got) : "nothing", wrong.expected));
    }
    if (!size.strayed.empty()) {
      document_.line(
          fmt::format("ranks whose calls differ from the plan: {}", fmt::join(size.strayed, ", ")));
    }
  }

  /// For every size the fastest programs, with the speedup over the single AllReduce.
  void write_rankings() {
    std::vector<std::size_t> ran;
    for (std::size_t i = 0; i < answer_.programs.size(); ++i) {
      if (answer_.programs[i].sizes.size() == jobs_.sizes.size()) ran.push_back(i);
    }
    for (std::size_t size = 0; size < jobs_.sizes.size(); ++size) {
      const auto times = [&](std::size_t program) -> const SizeTimes& {
        return answer_.programs[program].sizes[size];
      };
      std::stable_sort(ran.begin(), ran.end(), [&](std::size_t a, std::size_t b) {
        return times(a).total.seconds < times(b).total.seconds;
      });
      document_.line("#").line(fmt::format("# {} per device", bytes_to_string(jobs_.sizes[size])));
      document_.line(fmt::format("#{:>5} {:>12} {:>9} {:>9} {:>8}  program", "rank", "time (us)",
                                 "busbw", "speedup", "#wrong"));
      const std::size_t shown = std::min<std::size_t>(ran.size(), *request_.top);
      for (std::size_t rank = 0; rank < shown; ++rank) {
        const SizeTimes& measured = times(ran[rank]);
        document_.line(fmt::format(
            "{:>6} {:>12.2f} {:>9.3f} {:>8.2f}x {:>8}  {}", rank + 1, measured.total.seconds * 1e6,
            measured.total.busbw, measured.allreduce.seconds / measured.total.seconds,
            count_or(measured.total.wrong), name_of(jobs_.programs[ran[rank]])));
      }
      if (shown < ran.size()) document_.line(fmt::format("# … and {} more", ran.size() - shown));
    }
  }

  static std::string name_of(const Source& source) {
    const Instance* instance = source.instance();
    const std::string steps =
        to_string(source.read.program.steps, instance, source.read.program.terms.collectives);
    if (!source.file.empty()) return source.file + ": " + steps;
    return instance == nullptr ? steps : to_string(instance->grid.placement()) + "  " + steps;
  }

  const RunAnswer& answer_;
  const ProgramJobs& jobs_;
  const RunRequest& request_;
  Document& document_;
};

void add_time(Json& json, const RunTime& time) {
  json.add("bytes", time.bytes)
      .add("count", time.count)
      .add("time_us", rounded(time.seconds * 1e6, 3))
      .add("algbw", rounded(time.algbw, 6))
      .add("busbw", rounded(time.busbw, 6))
      .add("wrong", or_null(time.wrong));
}

Json time_json(const RunTime& time) {
  Json json = Json::object();
  add_time(json, time);
  return json;
}

void add_size(Json& json, const SizeTimes& size) {
  Json steps = Json::array();
  for (const RunTime& step : size.steps) {
    Json row = Json::object({{"collective", step.collective}});
    add_time(row, step);
    steps.push_back(std::move(row));
  }
  Json wrong = Json::array();
  for (const WrongValue& each : size.wrong_elements) {
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    wrong.push_back(Json::object({{"rank", each.rank},
                                  {"step", each.step == 0 ? Json() : Json(each.step)},
                                  {"element", each.element},
                                  {"got", each.got ? number(*each.got) : Json()},
                                  {"expected", number(each.expected)}}));
  }
  json.add("bytes", size.bytes)
      .add("elements", size.elements)
      .add("steps", std::move(steps))
      .add("total", time_json(size.total))
      .add("allreduce", time_json(size.allreduce))
      .add("wrong", size.wrong)
      .add("wrong_elements", std::move(wrong))
      .add("strayed", Json::array_of(size.strayed));
}

std::uint64_t bytes_of(const reshard::Plan& plan) {
  std::uint64_t elements = 1;
  for (const std::int64_t length : plan.problem.shape) {
    elements *= static_cast<std::uint64_t>(length);
  }
  return elements * sizeof(reshard::Word);
}

double bandwidth(const reshard::Plan& plan, const PlanTimes& times) {
  return times.seconds > 0 ? static_cast<double>(bytes_of(plan)) / times.seconds / 1e9 : 0;
}

}  // namespace

std::string_view backend_name(RunBackend backend) {
  constexpr std::array<std::string_view, 3> kBackends = {"in-process", "mpi", "nccl"};
  return kBackends[static_cast<std::size_t>(backend)];
}

Document program_report(const RunAnswer& answer, const ProgramJobs& jobs, const RunRequest& request,
                        std::uint64_t seed, bool complete) {
  Document document;
  document.title = "p2-verify run";
  ProgramText(answer, jobs, request, document).write(seed);
  Json results = Json::array();
  for (std::size_t i = 0; i < answer.programs.size(); ++i) {
    const ProgramTimes& program = answer.programs[i];
    const Source& source = jobs.programs[i];
    const Json head = Json::object(
        {{"file", text_or_null(source.file)},
         {"verdict", program.refused.empty() ? "valid" : "invalid"},
         {"reason", text_or_null(program.refused)},
         {"program", program_json(source.read.program, source.instance(), source.read.dialect)}});
    if (program.sizes.empty()) {
      Json row = head;
      results.push_back(row.add("steps", Json::array()).add("total", Json()));
    }
    for (const SizeTimes& size : program.sizes) {
      Json row = head;
      add_size(row, size);
      results.push_back(std::move(row));
    }
  }
  const bool unchecked = jobs.check == execution::Check::Nothing;
  document.json = Json::object({{"backend", backend_name(request.backend)},
                                {"type", to_string(jobs.type)},
                                {"iterations", request.iterations},
                                {"warmup", request.warmup},
                                {"seed", seed},
                                {"results", std::move(results)},
                                {"wrong", unchecked ? Json() : Json(wrong_elements(answer))},
                                {"complete", complete}});
  return document;
}

Document plan_report(const RunAnswer& answer, const std::vector<PlanSource>& plans,
                     const RunRequest& request) {
  Document document;
  document.title = "p2-verify run";
  document.line(fmt::format("# {} timed runs after {}", request.iterations, request.warmup));
  document.line(fmt::format("# {:>11} {:>8} {:>10} {:>10} {:>8} {:>7}  plan", "size", "devices",
                            "transfers", "time", "algbw", "#wrong"));
  document.line(
      fmt::format("# {:>11} {:>8} {:>10} {:>10} {:>8} {:>7}", "(B)", "", "", "(us)", "(GB/s)", ""));
  Json results = Json::array();
  std::size_t ran = 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < answer.plans.size(); ++i) {
    const PlanTimes& times = answer.plans[i];
    const reshard::Plan& plan = plans[i].plan;
    const std::string name =
        fmt::format("{}{}{}", times.file, times.file.empty() ? "" : " ", plan.strategy);
    if (!times.refused.empty())
      document.line(fmt::format("# refused: {}: {}", name, times.refused));
    wrong += times.wrong;
    if (times.ran) {
      ++ran;
      document.line(fmt::format("  {:>11} {:>8} {:>10} {:>10.2f} {:>8.2f} {:>7}  {}",
                                bytes_of(plan), plan.problem.devices(), plan.transfers(),
                                times.seconds * 1e6, bandwidth(plan, times), times.wrong, name));
      if (times.wrong > 0) document.line("# wrong at the end: " + times.first_wrong);
    }
    results.push_back(
        Json::object({{"file", text_or_null(times.file)},
                      {"strategy", plan.strategy},
                      {"bytes", bytes_of(plan)},
                      {"devices", plan.problem.devices()},
                      {"transfers", plan.transfers()},
                      {"refused", text_or_null(times.refused)},
                      {"time_us", times.ran ? rounded(times.seconds * 1e6, 2) : Json()},
                      {"algbw", times.ran ? rounded(bandwidth(plan, times), 3) : Json()},
                      {"wrong", times.ran ? Json(times.wrong) : Json()}}));
  }
  document.line("#").line(
      fmt::format("# {} of {} plans run, {} wrong elements", ran, plans.size(), wrong));
  const bool complete = answer.plans.size() == plans.size() &&
                        std::ranges::all_of(answer.plans, [&](const PlanTimes& times) {
                          return times.ran || (!request.force && !times.refused.empty());
                        });
  document.json = Json::object({{"iterations", request.iterations},
                                {"warmup", request.warmup},
                                {"results", std::move(results)},
                                {"wrong", wrong},
                                {"complete", complete}});
  return document;
}

}  // namespace p2
