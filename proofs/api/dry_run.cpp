#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/files.h"
#include "engine/execution/plan.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/symbolic/all_sizes.h"
#include "p2/bytes.h"
#include "proofs/api/run_jobs.h"

/// `run --dry-run`: the plan of a run by classes of ranks. Programs of instructions are judged and
/// planned by patterns; of the others the calls of every rank are made.
namespace p2 {
namespace {

using execution::PlanSummary;

/// The most memory for the plan of a program whose ranks are listed, unless limits say less.
constexpr std::uint64_t kMaxListedBytes = std::uint64_t{2} << 30U;

/// A program of a request and its plan.
struct PlannedProgram {
  std::string file;  ///< empty for a program of an instance
  std::string text;
  std::string placement;  ///< empty without an instance
  CollectiveSet collectives;
  std::string refused;    ///< why the rules refuse it; empty if they do not
  std::string undecided;  ///< the limit that was reached; empty if none was
  std::optional<PlanSummary> plan;

  std::string_view verdict() const {
    return !undecided.empty() ? "unknown" : refused.empty() ? "valid" : "invalid";
  }
  const std::string& reason() const { return undecided.empty() ? refused : undecided; }
};

/// Makes the calls of every rank, unless their chunks after every step would not fit.
void plan_by_ranks(const Program& program, const Limits& limits, PlannedProgram& result) {
  const std::uint64_t bytes = std::uint64_t{program.devices} * program.chunks() *
                              (program.steps.size() + 2) * sizeof(std::uint32_t);
  if (bytes <= limits.memory_bytes.value_or(kMaxListedBytes)) {
    result.plan = execution::summary_of(execution::plan_of(program), program.steps);
  } else {
    result.undecided = fmt::format(
        "the calls of every rank would take {} MiB, expected fewer devices or "
        "instructions of built-in collectives, which are planned by patterns",
        bytes >> 20U);
  }
}

std::optional<PlanSummary> plan_by_patterns(const Program& program, const Instance* instance) {
  const bool shapes = std::ranges::all_of(program.steps, [](const Step& step) {
    return step.shape.has_value() && is_built_in(step.collective);
  });
  if (!shapes || instance == nullptr || program.beginning.chunks_per_device != 1) {
    return std::nullopt;
  }
  return execution::summary_by_patterns(program.steps, program.beginning.start, *instance);
}

PlannedProgram head_of(const std::string& file, const Program& program, const Instance* instance) {
  const CollectiveSet& collectives = program.terms.collectives;
  return {file,
          to_string(program.steps, instance, collectives),
          instance == nullptr ? std::string() : to_string(instance->grid.placement()),
          collectives,
          {},
          {},
          {}};
}

/// A program whose groups are known.
PlannedProgram planned(const ProgramJobs::Source& source, const RunRequest& request,
                       const Limits& limits) {
  const Program& program = source.read.program;
  PlannedProgram result = head_of(source.file, program, source.instance());
  StateTable states(program.chunks());
  const ProgramDecision decision = check(program, source.read.dialect, states, limits);
  if (decision.outcome == Outcome::Undecided) {
    result.undecided = "a limit was reached before the program was decided";
    return result;
  }
  if (decision.violation) {
    result.refused = explain(*decision.violation, program, source.instance());
    if (!request.force) return result;
  } else {
    result.plan = plan_by_patterns(program, source.instance());
  }
  if (!result.plan) plan_by_ranks(program, limits, result);
  return result;
}

/// A file that is valid whatever the sizes, without its groups.
std::optional<PlannedProgram> planned_without_sizes(const std::string& file,
                                                    const GivenInstance& given) {
  const std::optional<ProgramFile> read = read_unlowered(file, read_file(file), given);
  if (!read || !read->program.terms.of_paper()) return std::nullopt;
  const NamedProblem named = make_problem(*read->instance, read->dialect);
  const auto moves = moves_of(named, read->program.steps);
  if (!moves || !accepting_engine(named.problem, read->program.terms, *moves, {})) {
    return std::nullopt;
  }
  PlannedProgram result = head_of(file, read->program, &*read->instance);
  result.plan = plan_by_patterns(read->program, &*read->instance);
  if (!result.plan) return std::nullopt;
  return result;
}

std::vector<PlannedProgram> programs_of_request(const RunRequest& request,
                                                const GivenInstance& given,
                                                const Options& options) {
  std::vector<PlannedProgram> all;
  const auto add_lowered = [&](const RunRequest& part) {
    for (const ProgramJobs::Source& source : read_jobs(part, given, options).programs) {
      all.push_back(planned(source, request, options.limits));
    }
  };
  for (const std::string& file : request.files) {
    if (auto quick = planned_without_sizes(file, given)) {
      all.push_back(std::move(*quick));
      continue;
    }
    RunRequest part = request;
    part.files = {file};
    add_lowered(part);
  }
  if (!request.files.empty()) return all;
  if (given.terms.collectives.extended()) {
    add_lowered(request);
    return all;
  }
  for (const PlacementPrograms& found : programs_of_instance(request, given, options)) {
    found.for_each([&](const std::vector<Step>& steps) {
      Program program = found.program(steps);
      PlannedProgram result = head_of({}, program, &found.instance());
      result.plan = plan_by_patterns(program, &found.instance());
      if (!result.plan) {
        for (Step& step : program.steps) {
          step = lower(found.instance().grid, *step.shape, step.collective);
        }
        plan_by_ranks(program, options.limits, result);
      }
      all.push_back(std::move(result));
    });
  }
  return all;
}

/// A plan with buffers of one size.
class SizedPlan {
 public:
  SizedPlan(const PlanSummary& plan, std::uint64_t bytes, const ProgramJobs& settings)
      : plan_(plan), element_(size_of(settings.type)) {
    const std::uint64_t per_chunk = plan.chunks * element_;
    chunk_elements_ = (bytes + per_chunk - 1) / per_chunk;
  }

  const PlanSummary& plan() const { return plan_; }
  std::uint64_t chunk_elements() const { return chunk_elements_; }
  std::uint64_t elements(std::uint64_t rows) const { return rows * chunk_elements_; }
  std::uint64_t bytes(std::uint64_t rows) const { return elements(rows) * element_; }
  /// Of a rank: one that it reads and one that it writes.
  std::uint64_t buffer_bytes() const { return 2 * bytes(plan_.max_rows); }
  std::uint64_t memory_bytes() const { return buffer_bytes() * plan_.devices; }

 private:
  const PlanSummary& plan_;
  std::uint64_t element_;
  std::uint64_t chunk_elements_ = 0;
};

Json json_of(const PlannedProgram& program, const SizedPlan& sized) {
  const PlanSummary& plan = sized.plan();
  return Json::object(
      {{"bytes", sized.bytes(plan.chunks)},
       {"elements", sized.elements(plan.chunks)},
       {"devices", plan.devices},
       {"chunks", plan.chunks},
       {"steps", Json::array_of(plan.steps,
                                [&](const PlanSummary::StepCalls& step) {
                                  return Json::object(
                                      {{"collective", program.collectives.name_of(step.collective)},
                                       {"groups", step.groups},
                                       {"ranks", step.ranks},
                                       {"count", sized.elements(step.rows)},
                                       {"bytes", sized.bytes(step.buffer_rows)},
                                       {"communicator",
                                        step.communicator ? Json(*step.communicator) : Json()}});
                                })},
       {"classes",
        Json::array_of(plan.classes,
                       [&](const PlanSummary::RankClass& each) {
                         return Json::object(
                             {{"first", each.first},
                              {"ranks", each.ranks},
                              {"calls", Json::array_of(each.calls,
                                                       [&](const PlanSummary::RankCall& call) {
                                                         return Json::object(
                                                             {{"step", call.step},
                                                              {"ranks", call.ranks},
                                                              {"count", sized.elements(call.rows)},
                                                              {"root", call.root}});
                                                       })},
                              {"begins_with", sized.bytes(each.begins_with)},
                              {"ends_with", sized.bytes(each.ends_with)}});
                       })},
       {"communicators", plan.communicators},
       {"buffer_bytes", sized.buffer_bytes()},
       {"memory_bytes", sized.memory_bytes()}});
}

void add_text(const PlannedProgram& program, const SizedPlan& sized, const RunRequest& request,
              Document& document) {
  const PlanSummary& plan = sized.plan();
  document.line(fmt::format("{} bytes per rank: {} chunks of {} elements", sized.bytes(plan.chunks),
                            plan.chunks, sized.chunk_elements()));
  Table steps{{"step", "groups", "ranks", "count", "bytes", "communicator", "collective"}, {}, 6};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanSummary::StepCalls& step = plan.steps[i];
    steps.rows.push_back({std::to_string(i + 1), std::to_string(step.groups),
                          std::to_string(step.ranks), std::to_string(sized.elements(step.rows)),
                          std::to_string(sized.bytes(step.buffer_rows)),
                          step.communicator ? std::to_string(*step.communicator) : "-",
                          std::string(program.collectives.name_of(step.collective))});
  }
  document.add(std::move(steps)).line("");
  Table classes{{"ranks", "first", "begin with", "end with", "calls of steps"}, {}, 4};
  for (const PlanSummary::RankClass& each : plan.classes) {
    std::vector<std::string> calls;
    for (const PlanSummary::RankCall& call : each.calls) {
      calls.push_back(fmt::format("{}{}", call.step, call.root ? " as root" : ""));
    }
    classes.rows.push_back({std::to_string(each.ranks), std::to_string(each.first),
                            bytes_to_string(sized.bytes(each.begins_with)),
                            bytes_to_string(sized.bytes(each.ends_with)),
                            calls.empty() ? "none" : fmt::format("{}", fmt::join(calls, ", "))});
  }
  document.add(std::move(classes)).line("");
  document.line(fmt::format("buffers: {} bytes on each rank, {} on all {}; communicators: {}",
                            bytes_to_string(sized.buffer_bytes()),
                            bytes_to_string(sized.memory_bytes()), plan.devices,
                            plan.communicators));
  const std::uint32_t most = max_ranks(request.backend);
  if (plan.devices > most) {
    document.line(fmt::format("too many ranks to run: backend {} takes at most {}",
                              backend_name(request.backend), most));
  }
}

/// Throws InputError for what only a run has.
void require_no_run(const RunRequest& request) {
  const std::pair<const char*, bool> flags[] = {{"check", request.check.has_value()},
                                                {"inputs", request.inputs.has_value()},
                                                {"top", request.top.has_value()},
                                                {"record", request.record.has_value()},
                                                {"fault", request.fault.has_value()}};
  for (const auto& [name, given] : flags) {
    if (!given) continue;
    throw InputError({"--dry-run"}, fmt::format("nothing runs, expected no --{}", name));
  }
}

}  // namespace

RunAnswer plan_programs(const RunRequest& request, const GivenInstance& given,
                        const Options& options) {
  require_no_run(request);
  const ProgramJobs settings = read_settings(request);
  const std::vector<PlannedProgram> programs = programs_of_request(request, given, options);
  RunAnswer answer;
  Document& document = answer.document;
  document.title = "p2-verify run --dry-run";
  document.line(fmt::format("dry run, backend {}, {}: nothing runs", backend_name(request.backend),
                            to_string(settings.type)));
  Json results = Json::array();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const PlannedProgram& program = programs[i];
    std::string title = program.file.empty()
                            ? fmt::format("program {} of {}", i + 1, programs.size())
                            : program.file;
    if (!program.placement.empty()) title += "   " + program.placement;
    document.line("").line(title).line(program.text);
    Outcome outcome = Outcome::Established;
    if (!program.refused.empty() && !request.force) outcome = Outcome::Refuted;
    if (!program.undecided.empty()) outcome = Outcome::Undecided;
    answer.results.push_back({program.file, outcome});
    answer.outcome = worst(answer.outcome, outcome);
    if (!program.refused.empty()) document.line("refused: " + program.refused);
    if (!program.undecided.empty()) {
      document.line("undecided: " + program.undecided);
      answer.diagnostics.push_back({Diagnostic::Kind::Undecided, title + ": " + program.undecided});
    }
    Json head =
        Json::object({{"file", program.file.empty() ? Json() : Json(program.file)},
                      {"verdict", program.verdict()},
                      {"reason", program.reason().empty() ? Json() : Json(program.reason())},
                      {"text", program.text},
                      {"placement", program.placement.empty() ? Json() : Json(program.placement)}});
    Json plans = Json::array();
    if (program.plan) {
      for (const std::uint64_t bytes : settings.sizes) {
        const SizedPlan sized(*program.plan, bytes, settings);
        plans.push_back(json_of(program, sized));
        add_text(program, sized, request, document);
      }
    }
    results.push_back(head.add("plans", std::move(plans)));
  }
  document.json = Json::object({{"backend", backend_name(request.backend)},
                                {"type", to_string(settings.type)},
                                {"max_ranks", max_ranks(request.backend)},
                                {"results", std::move(results)}});
  return answer;
}

}  // namespace p2
