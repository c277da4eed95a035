#include "p2/pipeline.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/limits.h"
#include "engine/base/plot.h"
#include "engine/pipeline/schedule.h"
#include "p2/bytes.h"
#include "p2/version.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

constexpr std::uint64_t kMaxWork = 4'000'000;     // forwards and backwards of all stages
constexpr std::uint64_t kMaxTriedWork = 100'000;  // where all delays are tried
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

void require(bool holds, const char* flag, const std::string& message) {
  if (!holds) throw InputError({flag}, message);
}

void check_request(const PipelineRequest& request) {
  const auto [stages, microbatches] = request.size;
  const auto in_range = [](std::int64_t value, std::int64_t low, std::int64_t high,
                           const char* flag) {
    require(low <= value && value <= high, flag,
            fmt::format("found {}, expected a whole number from {} to {}", value, low, high));
  };
  in_range(stages, 1, kMaxPipelineStages, "--stages");
  in_range(microbatches, 1, kMaxMicrobatches, "--microbatches");
  in_range(request.times.forward, 1, kMaxPipelineTime, "--forward");
  in_range(request.times.backward, 1, kMaxPipelineTime, "--backward");
  in_range(request.times.latency, 0, kMaxPipelineTime, "--latency");
  in_range(request.times.weight, 0, kMaxPipelineTime, "--split-backward");
  require(std::uint64_t{2} * stages * microbatches <= kMaxWork, "--microbatches",
          fmt::format("{} on {} stages are too many, expected at most {} forwards and backwards of "
                      "all stages together",
                      microbatches, stages, kMaxWork));
  require(
      request.weight_delay || std::uint64_t{stages} * microbatches * microbatches <= kMaxTriedWork,
      "--delay-weights", "too many stages and microbatches to try all delays, expected a number");
  require(request.activation_bytes || request.weight_bytes == 0, "--weight-bytes",
          "given alone, expected --activation-bytes as well");
  require(request.activation_bytes.value_or(0) <= kMaxBytes / microbatches, "--activation-bytes",
          "all microbatches together are beyond 2^60 bytes");
  if (!request.least_memory) {
    require(!request.certify, "--certify", "nothing to certify, expected --least-memory");
    return;
  }
  const char* const all_orders =
      "given with --least-memory, which looks at all orders of forwards and backwards, expected "
      "only one of both";
  require(!request.split_backward, "--split-backward", all_orders);
  require(!request.plot, "--plot", all_orders);
  require(request.link == PipelineLink::Delay, "--link",
          "given with --least-memory, expected delay");
}

std::uint64_t memory_bytes(const PipelineRequest& request, std::uint32_t activations) {
  return request.weight_bytes + activations * *request.activation_bytes;
}

/// `F0 F1 B0 …`.
std::string order_text(const std::vector<TimedWork>& stage) {
  std::string text;
  for (const TimedWork& each : stage) {
    if (!text.empty()) text += ' ';
    text += to_string(each.work);
  }
  return text;
}

Json orders_json(const PipelineAnswer& answer) {
  return Json::array_of(answer.stages, [](const auto& stage) {
    return Json::array_of(stage, [](const TimedWork& each) { return to_string(each.work); });
  });
}

Json starts_json(const PipelineAnswer& answer) {
  return Json::array_of(answer.stages, [](const auto& stage) {
    return Json::array_of(stage, [](const TimedWork& each) { return each.start; });
  });
}

/// The members `order`, `starts`, … of the schedule found, and null for what was not asked.
Json bytes_json(const PipelineRequest& request, const PipelineAnswer& answer) {
  return request.activation_bytes ? Json::array_of(answer.peak_memory_bytes) : Json();
}

void set_peaks(const PipelineRequest& request, std::vector<std::uint32_t> peaks,
               PipelineAnswer& answer) {
  answer.peak_activations = std::move(peaks);
  if (!request.activation_bytes) return;
  for (const std::uint32_t peak : answer.peak_activations) {
    answer.peak_memory_bytes.push_back(memory_bytes(request, peak));
  }
}

// Simulation.

Timeline::Bar bar(std::size_t lane, const TimedWork& each) {
  return {lane, static_cast<double>(each.start), static_cast<double>(each.end),
          static_cast<std::size_t>(each.work.kind), std::to_string(each.work.microbatch)};
}

/// A lane per stage and, where transfers take time, one per link direction.
std::string draw_timeline(const PipelineRequest& request, const PipelineRun& run) {
  Timeline line{fmt::format("{}, {} microbatches: makespan {}", to_string(request.schedule),
                            request.size.microbatches, run.makespan),
                "time (units of --forward and --backward)"};
  const bool transfers = request.times.latency > 0;
  const std::size_t lanes_each = transfers ? 3 : 1;
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
  if (request.split_backward) {
    line.legend = {"forward", "gradient of activations", "gradient of weights"};
  }
  return svg_document(line);
}

Document simulation_document(const PipelineRequest& request, std::uint32_t delay,
                             const PipelineAnswer& answer) {
  const PipelineTimes& times = request.times;
  const std::string backward =
      request.split_backward
          ? fmt::format("{}+{} with weights {} later", times.backward, times.weight, delay)
          : std::to_string(times.backward);
  Document document;
  document.title = "p2-verify pipeline";
  document.line(
      fmt::format("{}: {} stages, {} microbatches   forward {}, backward {}, latency {}, link {}",
                  to_string(request.schedule), request.size.stages, request.size.microbatches,
                  times.forward, backward, times.latency, to_string(request.link)));
  document.line("");
  document.line(
      fmt::format("makespan {}, bubble {:.1f} %", answer.makespan, 100 * answer.bubble_share));
  document.line("");
  Table table;
  table.header = {"stage", "peak activations"};
  if (request.activation_bytes) table.header.push_back("peak memory");
  table.right_aligned = table.header.size();
  table.header.push_back("order");
  for (std::size_t i = 0; i < answer.stages.size(); ++i) {
    auto& row = table.rows.emplace_back();
    row = {std::to_string(i), std::to_string(answer.peak_activations[i])};
    if (request.activation_bytes) row.push_back(bytes_to_string(answer.peak_memory_bytes[i]));
    row.push_back(order_text(answer.stages[i]));
  }
  document.add(std::move(table));
  if (request.plot) document.add(Drawing{"Timeline", answer.plot});
  if (!request.json) return document;
  document.json = Json::object(
      {{"schedule", to_string(request.schedule)},
       {"stages", request.size.stages},
       {"microbatches", request.size.microbatches},
       {"forward", times.forward},
       {"backward", times.backward + times.weight},
       {"split_backward", request.split_backward ? Json::object({{"activation", times.backward},
                                                                 {"weight", times.weight},
                                                                 {"delay", delay}})
                                                 : Json()},
       {"latency", times.latency},
       {"link", to_string(request.link)},
       {"order", orders_json(answer)},
       {"starts", starts_json(answer)},
       {"makespan", answer.makespan},
       {"bubble_share", answer.bubble_share},
       {"peak_activations", Json::array_of(answer.peak_activations)},
       {"peak_memory_bytes", bytes_json(request, answer)}});
  return document;
}

PipelineAnswer simulate_schedule(const PipelineRequest& request) {
  std::uint32_t delay = 0;
  if (request.split_backward) {
    delay = request.weight_delay
                ? *request.weight_delay
                : least_delay(request.schedule, request.size, request.times, request.link);
  }
  PipelineRun run =
      request.split_backward
          ? simulate_split(request.schedule, request.size, request.times, request.link, delay)
          : simulate(request.schedule, request.size, request.times, request.link);
  PipelineAnswer answer;
  answer.makespan = run.makespan;
  const std::int64_t busy = request.size.microbatches *
                            (request.times.forward + request.times.backward + request.times.weight);
  answer.bubble_share =
      static_cast<double>(run.makespan - busy) / static_cast<double>(run.makespan);
  std::vector<std::uint32_t> peaks;
  for (const auto& stage : run.stages) {
    std::vector<Work> order;
    for (const TimedWork& each : stage) order.push_back(each.work);
    peaks.push_back(peak_activations(order));
  }
  set_peaks(request, std::move(peaks), answer);
  if (request.plot) answer.plot = draw_timeline(request, run);
  answer.stages = std::move(run.stages);
  answer.results.push_back({.subject = std::string(to_string(request.schedule)),
                            .outcome = Outcome::Established,
                            .model = fmt::format("link {}", to_string(request.link))});
  answer.document = simulation_document(request, delay, answer);
  return answer;
}

// Least memory.

Table peaks_table(const PipelineRequest& request, const PipelineAnswer& answer) {
  Table table;
  table.header = {"stage", "least", "1f1b", "eager-1f1b", "gpipe"};
  if (request.activation_bytes) table.header.push_back("least memory");
  table.right_aligned = table.header.size();
  table.header.push_back("order");
  for (std::uint32_t i = 0; i < request.size.stages; ++i) {
    auto& row = table.rows.emplace_back();
    row = {std::to_string(i), std::to_string(answer.peak_activations[i])};
    for (const PipelineSchedule schedule : {PipelineSchedule::OneForwardOneBackward,
                                            PipelineSchedule::Eager, PipelineSchedule::GPipe}) {
      row.push_back(std::to_string(peak_activations(stage_order(schedule, request.size, i))));
    }
    if (request.activation_bytes) row.push_back(bytes_to_string(answer.peak_memory_bytes[i]));
    row.push_back(order_text(answer.stages[i]));
  }
  return table;
}

std::string evidence_text(const PipelineAnswer& answer) {
  const Result& result = answer.results[0];
  if (result.evidence.kind == Evidence::Kind::Certificate) {
    return certificate_line(result.evidence);
  }
  return result.outcome == Outcome::Established
             ? "solver-only: all orders were searched"
             : "undecided: a limit was reached before all orders were searched";
}

Document memory_document(const PipelineRequest& request, const PipelineAnswer& answer) {
  const PipelineTimes& times = request.times;
  const bool settled = answer.results[0].outcome == Outcome::Established;
  Document document;
  document.title = "p2-verify pipeline";
  document.line(
      fmt::format("{} stages, {} microbatches   forward {}, backward {}, latency {}, link delay",
                  request.size.stages, request.size.microbatches, times.forward, times.backward,
                  times.latency));
  document.line("");
  document.line(fmt::format("makespan {}, a lower bound of all orders", answer.makespan));
  Json::Object members = {
      {"stages", request.size.stages}, {"microbatches", request.size.microbatches},
      {"forward", times.forward},      {"backward", times.backward},
      {"latency", times.latency},      {"link", "delay"},
      {"makespan", answer.makespan},   {"settled", settled}};
  if (settled) {
    document.line(fmt::format("peak activations, the fewest with full overlap{}",
                              answer.least_of_each == answer.peak_activations
                                  ? ": each stage could hold no fewer whatever the others hold"
                                  : fmt::format(" together; alone, stages could hold {}",
                                                fmt::join(answer.least_of_each, ", "))));
    document.line("");
    document.add(peaks_table(request, answer));
    document.line("");
    members.insert(members.end(), {{"least_peaks", Json::array_of(answer.peak_activations)},
                                   {"least_of_each", Json::array_of(answer.least_of_each)},
                                   {"peak_memory_bytes", bytes_json(request, answer)},
                                   {"order", orders_json(answer)},
                                   {"starts", starts_json(answer)}});
  }
  const std::string evidence = evidence_text(answer);
  document.line(evidence);
  members.emplace_back("evidence", evidence);
  document.json = Json(std::move(members));
  return document;
}

PipelineAnswer minimise_memory(const PipelineRequest& request, const Options& options) {
  PipelineAnswer answer;
  answer.makespan = full_overlap(request.size, request.times);
  OverlapProgress progress;
  std::optional<LeastMemory> least;
  {
    const ProgressReporter reporter(options.progress, [&] {
      return fmt::format("pipeline: {} branching decisions", progress.cases.load());
    });
    least = least_memory(request.size, request.times, options.limits, &progress);
  }
  Result& result = answer.results.emplace_back();
  result.subject = "peak activations";
  result.model = "link delay, full overlap";
  answer.outcome = result.outcome = least ? Outcome::Established : Outcome::Undecided;
  result.evidence.kind = Evidence::Kind::SolverOnly;
  if (!least) {
    result.undecided =
        Undecided{Undecided::Reason::Limit, "a limit was reached before all orders were searched"};
  } else {
    answer.least_of_each = least->each;
    set_peaks(request, least->peaks, answer);
    answer.stages = least->run.stages;
    if (request.certify) {
      const auto make = [&] {
        return pipeline_certificate(request.size, request.times, *least,
                                    {{{"p2-verify", build_info().version}}, {}, options.seed});
      };
      result.evidence = written_evidence(*request.certify, make, answer.diagnostics);
    }
  }
  answer.document = memory_document(request, answer);
  return answer;
}

}  // namespace

PipelineAnswer pipeline(const PipelineRequest& request, const Options& options) {
  check_request(request);
  return request.least_memory ? minimise_memory(request, options) : simulate_schedule(request);
}

}  // namespace p2
