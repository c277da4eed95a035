#include "proofs/api/subject_check.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/msccl/algorithm.h"
#include "p2/version.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

using msccl::AlgorithmDecision;
using msccl::Fault;
using msccl::StepPlace;

constexpr std::size_t kMaxStepsShown = 24;
constexpr const char* kAssumption =
    "one transmission per step holds while the chunks of every step fit into one transmission "
    "with the default buffer sizes of NCCL; larger messages are looked at chunk by chunk";

// JSON

Json step_json(const msccl::Algorithm& algorithm, StepPlace place) {
  const msccl::Step& step = algorithm.step(place);
  return Json::object({{"gpu", place.gpu},
                       {"tb", algorithm.block(place).id},
                       {"step", step.number},
                       {"type", to_string(step.type)},
                       {"line", step.line}});
}

Json steps_json(const msccl::Algorithm& algorithm, const std::vector<StepPlace>& steps) {
  return Json::array_of(steps, [&](StepPlace place) { return step_json(algorithm, place); });
}

Json cell_json(const Fault& fault) {
  if (!fault.cell) return {};
  return Json::object({{"gpu", fault.cell->gpu},
                       {"buffer", std::string(1, letter(fault.cell->buffer))},
                       {"index", fault.cell->index}});
}

Json counterexample_json(const msccl::Algorithm& algorithm, const Fault& fault) {
  Json json = Json::object({{"rule", to_string(fault.kind)},
                            {"in_place", fault.in_place},
                            {"steps", steps_json(algorithm, fault.steps)},
                            {"cell", cell_json(fault)}});
  json.add("schedule", steps_json(algorithm, fault.schedule));
  json.add("cycle", Json::array_of(fault.cycle, [&](const msccl::Wait& wait) {
             Json step = step_json(algorithm, wait.step);
             step.add("before_the_next_by", to_string(wait.before));
             return step;
           }));
  return json;
}

Json limits_json(const msccl::Algorithm& algorithm) {
  Json json = Json::object();
  for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) {
    json.add(
        limit.name,
        Json::object({{"allowed", limit.allowed}, {"found", limit.found}, {"met", limit.met()}}));
  }
  const std::vector<StepPlace> overruns = find_unnoticed_overruns(algorithm);
  json.add("offset_plus_count",
           Json::object({{"met", overruns.empty()},
                         {"not_noticed_by_loaders", steps_json(algorithm, overruns)}}));
  return json;
}

Json bytes_json(const std::optional<std::uint64_t>& bytes) { return bytes ? Json(*bytes) : Json(); }

Json safe_bytes_json(const msccl::Algorithm& algorithm, const AlgorithmDecision& decision) {
  if (!decision.safe_sizes) return {};
  const msccl::SafeSizes& sizes = *decision.safe_sizes;
  Json above;
  if (sizes.above) {
    above.add("reason", sizes.above->reason);
    above.add("counterexample", counterexample_json(algorithm, *sizes.above));
  }
  return Json::object({{"min", 0},
                       {"max", bytes_json(sizes.max_bytes)},
                       {"declared", Json::object({{"min", algorithm.min_bytes},
                                                  {"max", bytes_json(algorithm.max_bytes)}})},
                       {"covers_declared", sizes.cover(algorithm)},
                       {"above", std::move(above)},
                       {"assumption", kAssumption}});
}

const std::string& reason_of(const AlgorithmDecision& decision) {
  return decision.violation ? decision.violation->reason : decision.reason;
}

Json json_of(const std::string& file, const AlgorithmCheckQuestion& question,
             const AlgorithmCheckAnswer& answer) {
  const msccl::Algorithm& algorithm = answer.algorithm;
  const auto& fault = answer.decision.violation;
  const std::string_view outcome = to_string(answer.decision.outcome);
  Json json = Json::object({{"file", file},
                            {"format", "msccl"},
                            {"algorithm", algorithm.name},
                            {"collective", algorithm.collective},
                            {"ranks", algorithm.gpus.size()},
                            {"chunks", algorithm.chunks},
                            {"protocol", to_string(algorithm.protocol)},
                            {"in_place", algorithm.in_place},
                            {"out_of_place", algorithm.out_of_place},
                            {"verdict", outcome},
                            {"engines", Json::object({{"explicit", outcome}})}});
  if (question.solvers) json.add("not_asked", Json::array({"z3", "cnf"}));
  const bool has_step = fault && !fault->steps.empty();
  add_certificate(answer.results.front().evidence, json);
  json.add("step", has_step ? Json(algorithm.step(fault->steps.back()).number) : Json());
  json.add("reason", reason_of(answer.decision).empty() ? Json() : reason_of(answer.decision));
  json.add("counterexample", fault ? counterexample_json(algorithm, *fault) : Json());
  json.add("limits", limits_json(algorithm));
  json.add("safe_bytes", safe_bytes_json(algorithm, answer.decision));
  return json;
}

// Text

std::string steps_text(const msccl::Algorithm& algorithm, const char* title,
                       const std::vector<StepPlace>& steps) {
  std::string text = steps.empty() ? "" : fmt::format("{}\n", title);
  for (std::size_t i = 0; i < steps.size() && i < kMaxStepsShown; ++i) {
    text += fmt::format("    {}\n", describe(algorithm, steps[i]));
  }
  if (steps.size() > kMaxStepsShown) {
    text +=
        fmt::format("    … and {} more: --format json has all\n", steps.size() - kMaxStepsShown);
  }
  return text;
}

/// What led to a fault, apart from its reason.
std::string trace_text(const msccl::Algorithm& algorithm, const Fault& fault) {
  if (fault.kind == Fault::Kind::DataRace) {
    return steps_text(algorithm, "Both can run at once after", fault.schedule);
  }
  return fault.cell ? steps_text(algorithm, "It was made by", fault.steps) : "";
}

std::string sizes_text(const msccl::Algorithm& algorithm, const msccl::SafeSizes& sizes) {
  if (!sizes.max_bytes) return "messages of any size are safe\n";
  return fmt::format(
      "messages of up to {} bytes are safe{}; above that steps are split: {}\n", *sizes.max_bytes,
      sizes.cover(algorithm) ? ", which is all the file is for" : "", sizes.above->reason);
}

std::string limits_text(const msccl::Algorithm& algorithm) {
  std::string text;
  for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) {
    if (limit.met()) continue;
    text += fmt::format("loaders refuse it: {} is {}, at most {}\n", limit.name, limit.found,
                        limit.allowed);
  }
  return text + steps_text(algorithm, "loaders do not notice that these end past a buffer:",
                           find_unnoticed_overruns(algorithm));
}

const char* in_place_text(const msccl::Algorithm& algorithm) {
  if (algorithm.in_place && algorithm.out_of_place) return "in place or not";
  return algorithm.in_place ? "in place" : "out of place";
}

std::string text_of(const std::string& file, const AlgorithmCheckQuestion& question,
                    const AlgorithmCheckAnswer& answer) {
  const msccl::Algorithm& algorithm = answer.algorithm;
  const AlgorithmDecision& decision = answer.decision;
  const auto& fault = decision.violation;
  std::string text = fmt::format(
      "{}: {}{} ({} of {} chunk{} on {} GPU{}, {}, {})\n", printable(file),
      to_string(decision.outcome), fault ? fmt::format(", {}", to_string(fault->kind)) : "",
      algorithm.collective, algorithm.chunks, algorithm.chunks == 1 ? "" : "s",
      algorithm.gpus.size(), algorithm.gpus.size() == 1 ? "" : "s", to_string(algorithm.protocol),
      in_place_text(algorithm));
  if (!reason_of(decision).empty()) text += reason_of(decision) + "\n";
  if (fault) text += trace_text(algorithm, *fault);
  if (decision.safe_sizes) text += sizes_text(algorithm, *decision.safe_sizes);
  text += limits_text(algorithm);
  text += certificate_text(answer.results.front().evidence);
  if (question.solvers) text += "z3, cnf: not asked, they know programs of collectives\n";
  return text;
}

// Results and reports

SourcePosition position_of(const std::string& file, const msccl::Algorithm& algorithm,
                           const Fault& fault) {
  if (fault.steps.empty()) return {file};
  const msccl::Step& step = algorithm.step(fault.steps.back());
  return {file, step.line, step.column};
}

Result result_of(const std::string& file, const AlgorithmCheckAnswer& answer) {
  const msccl::Algorithm& algorithm = answer.algorithm;
  const AlgorithmDecision& decision = answer.decision;
  Result result;
  result.subject = file;
  result.outcome = decision.outcome;
  EngineAnswer& engine = result.engines.emplace_back();
  engine.engine = "explicit";
  engine.outcome = decision.outcome;
  if (const auto& fault = decision.violation) {
    engine.rule = to_string(fault->kind);
    if (!fault->steps.empty()) engine.step = algorithm.step(fault->steps.back()).number;
    result.counterexample =
        Counterexample{engine.rule, position_of(file, algorithm, *fault), fault->reason,
                       Json::object({{"in_place", fault->in_place},
                                     {"steps", steps_json(algorithm, fault->steps)},
                                     {"cell", cell_json(*fault)}}),
                       trace_text(algorithm, *fault)};
  }
  if (decision.outcome == Outcome::Undecided) {
    const bool unsupported =
        decision.open == msccl::Property::Result && decision.reason != msccl::kLimitReached;
    result.undecided = Undecided{
        unsupported ? Undecided::Reason::Unsupported : Undecided::Reason::Limit, decision.reason};
  }
  result.model = fmt::format("{}, {}, all interleavings, one transmission per step",
                             to_string(algorithm.protocol), in_place_text(algorithm));
  return result;
}

FileReport report_of(const std::string& file, const AlgorithmCheckAnswer& answer) {
  constexpr std::array<const char*, 5> kNames = {"bounds", "connections", "deadlocks", "races",
                                                 "result"};
  const AlgorithmDecision& decision = answer.decision;
  const auto& fault = decision.violation;
  // The properties before the one that is refuted or undecided are established.
  std::size_t settled = kNames.size();
  if (fault) settled = static_cast<std::size_t>(msccl::property_of(fault->kind));
  if (decision.outcome == Outcome::Undecided) settled = static_cast<std::size_t>(decision.open);
  FileReport report{file, "msccl", {}, 0};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    Property& property = report.properties.emplace_back();
    property.name = kNames[i];
    if (i > settled) property.status = Property::Status::NotExamined;
    if (i != settled) continue;
    property.status = fault ? Property::Status::Refuted : Property::Status::Undecided;
    property.message = reason_of(decision);
    if (!fault) continue;
    property.rule = to_string(fault->kind);
    property.message = fault->reason.substr(0, fault->reason.find('\n'));
    const SourcePosition where = position_of(file, answer.algorithm, *fault);
    property.line = where.line;
    property.column = where.column;
  }
  return report;
}

/// Writes the certificate asked for; why there is none is said in the evidence.
Evidence certify(const std::string& text, const AlgorithmCheckQuestion& question, Outcome outcome,
                 std::vector<Diagnostic>& diagnostics) {
  const Provenance provenance{
      {{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, question.seed};
  return evidence_of(algorithm_certificate(text, outcome == Outcome::Established, provenance),
                     *question.certificate, diagnostics);
}

}  // namespace

AlgorithmCheckAnswer check_algorithm(const std::string& file, const std::string& text,
                                     const AlgorithmCheckQuestion& question, const Limits& limits) {
  if (!question.inapplicable_options.empty()) {
    throw InputError({file}, fmt::format("is MSCCL XML, to which --{} does not apply, expected "
                                         "the check without it",
                                         question.inapplicable_options.front()));
  }
  AlgorithmCheckAnswer answer;
  answer.algorithm = msccl::read_algorithm(file, text);
  answer.decision =
      question.decide ? question.decide(answer.algorithm) : msccl::judge(answer.algorithm, limits);
  answer.results.push_back(result_of(file, answer));
  answer.outcome = answer.decision.outcome;
  if (question.certificate && answer.outcome != Outcome::Undecided) {
    answer.results.front().evidence = certify(text, question, answer.outcome, answer.diagnostics);
  }
  answer.document.add(Preformatted{text_of(file, question, answer)});
  answer.document.json = json_of(file, question, answer);
  answer.document.reports.push_back(report_of(file, answer));
  return answer;
}

}  // namespace p2
