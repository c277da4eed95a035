// Export of valid programs. Every text is parsed again and checked before it is given out.

#include "p2/export.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/limits.h"
#include "engine/export/class_lowering.h"
#include "engine/export/module_lowering.h"
#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "engine/onesided/judge.h"
#include "engine/onesided/plan.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/terms.h"

namespace p2 {
namespace {

constexpr const char* kIndex = "index.json";
constexpr const char* kSchema = "p2-verify-export/1";
constexpr const char* kReadBack = "the exported text";

/// A text, and what checking it gave.
struct CheckedText {
  std::string text;
  std::string summary;
  std::optional<std::size_t> reduction_class = {};
  Outcome outcome = Outcome::Established;
  std::string reason = {};  ///< if not established, without a full stop
};

// MSCCL

msccl::Protocol protocol_of(ExportProtocol protocol) {
  switch (protocol) {
    case ExportProtocol::Simple:
      return msccl::Protocol::Simple;
    case ExportProtocol::LL:
      return msccl::Protocol::LL;
    case ExportProtocol::LL128:
      return msccl::Protocol::LL128;
  }
  return msccl::Protocol::Simple;
}

std::string summary_of(const msccl::Algorithm& algorithm) {
  std::size_t blocks = 0;
  for (const msccl::Gpu& gpu : algorithm.gpus) blocks = std::max(blocks, gpu.blocks.size());
  std::string text = fmt::format(
      "{} of {} chunk{} on {} GPU{}: {} channel{}, at most {} thread block{} on a GPU, {} steps",
      algorithm.collective, algorithm.chunks, algorithm.chunks == 1 ? "" : "s",
      algorithm.gpus.size(), algorithm.gpus.size() == 1 ? "" : "s", algorithm.channels,
      algorithm.channels == 1 ? "" : "s", blocks, blocks == 1 ? "" : "s", algorithm.steps().size());
  for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) {
    if (limit.met()) continue;
    text += fmt::format("; loaders refuse it: {} is {}, at most {}", limit.name, limit.found,
                        limit.allowed);
  }
  return text;
}

bool loaders_accept(const msccl::Algorithm& algorithm) {
  const std::vector<msccl::LoaderLimit> limits = loader_limits(algorithm);
  return std::all_of(limits.begin(), limits.end(),
                     [](const msccl::LoaderLimit& limit) { return limit.met(); });
}

/// With steps that are safe for messages of any size, unless only longer ones meet the limits of
/// loaders.
msccl::Algorithm lower(const Program& program, std::size_t class_index, msccl::Protocol protocol,
                       const SourcePosition& where) {
  using msccl::TransferOptions;
  msccl::Algorithm safe = lower_class(program, class_index, TransferOptions::safe(protocol), where);
  if (loaders_accept(safe)) return safe;
  msccl::Algorithm fast = lower_class(program, class_index, TransferOptions::fast(protocol), where);
  return loaders_accept(fast) ? fast : safe;
}

std::vector<CheckedText> to_msccl(const ProgramFile& file, ExportProtocol protocol,
                                  const std::string& name, const SourcePosition& where,
                                  const Limits& limits) {
  std::vector<CheckedText> all;
  for (std::size_t i = 0; i < file.program.classes.size(); ++i) {
    msccl::Algorithm algorithm = lower(file.program, i, protocol_of(protocol), where);
    algorithm.name = name;
    CheckedText checked{to_xml(algorithm), summary_of(algorithm)};
    if (file.program.classes.size() > 1) checked.reduction_class = i + 1;
    const auto decision = msccl::judge(msccl::read_algorithm(kReadBack, checked.text), limits);
    checked.outcome = decision.outcome;
    checked.reason = decision.violation ? decision.violation->reason : decision.reason;
    if (decision.safe_sizes && decision.safe_sizes->max_bytes) {
      checked.summary +=
          fmt::format("; for messages of up to {} bytes", *decision.safe_sizes->max_bytes);
    }
    all.push_back(std::move(checked));
  }
  return all;
}

// One-sided plans

onesided::PlanDecision judge_plan_text(const std::string& text, bool is_json,
                                       const Limits& limits) {
  if (!is_json) return judge(onesided::read_text_plan(kReadBack, text), kReadBack, limits);
  auto read = onesided::read_plan(kReadBack, text);
  if (const auto* const plan = std::get_if<onesided::Plan>(&read)) {
    return judge(*plan, kReadBack, limits);
  }
  onesided::PlanDecision decision;
  decision.outcome = Outcome::Refuted;
  decision.violation = std::move(std::get<onesided::Violation>(read));
  return decision;
}

std::vector<CheckedText> to_plans(const ProgramFile& file, bool is_json, const std::string& name,
                                  const SourcePosition& where, const Limits& limits) {
  std::vector<CheckedText> all;
  for (std::size_t i = 0; i < file.program.classes.size(); ++i) {
    onesided::Plan plan = onesided::lower_class(file.program, i, where);
    plan.name = name;
    std::size_t ops = 0;
    for (const onesided::Gpu& gpu : plan.gpus) ops += gpu.blocks.front().ops.size();
    CheckedText checked{
        is_json ? onesided::to_json(plan) : onesided::to_text(plan),
        fmt::format("{} on {} GPUs, {} ops", plan.collective, plan.gpus.size(), ops)};
    if (file.program.classes.size() > 1) checked.reduction_class = i + 1;
    const auto decision = judge_plan_text(checked.text, is_json, limits);
    if (decision.violation && decision.violation->rule == onesided::Rule::ExecutorLimit) {
      throw InputError(where, fmt::format("is too large for the executor: {} Expected a smaller "
                                          "program, or --to onesided-text",
                                          decision.violation->reason));
    }
    checked.outcome = decision.outcome;
    checked.reason = decision.violation ? decision.violation->reason : decision.reason;
    if (checked.reason.ends_with('.')) checked.reason.pop_back();
    all.push_back(std::move(checked));
  }
  return all;
}

// Program JSON

std::string json_text(const ProgramFile& file) {
  return to_json(file.program, file.instance ? &*file.instance : nullptr, file.dialect) + "\n";
}

CheckedText to_program_json(const ProgramFile& file, const SourcePosition& where,
                            const Limits& limits) {
  if (!goal_called(file.program.terms.goal.name)) {
    throw InputError(
        where,
        "has a goal of the user's own, expected one with a name: program JSON does not "
        "carry definitions");
  }
  CheckedText checked{json_text(file), {}};
  const ProgramFile again = read_program(kReadBack, checked.text, {});
  checked.summary =
      fmt::format("{} devices, {} steps", again.program.devices, again.program.steps.size());
  if (json_text(again) != checked.text) {
    checked.outcome = Outcome::Refuted;
    checked.reason = "it is read back as another program";
    return checked;
  }
  StateTable states(again.program.chunks());
  checked.outcome = check(again.program, again.dialect, states, limits).outcome;
  checked.reason = "it does not reach its goal";
  return checked;
}

// Modules of XLA and StableHLO

CheckedText to_module(const ProgramFile& file, ExportFormat format, const SourcePosition& where,
                      const Limits& limits) {
  const hlo::Module module = hlo::lower_to_module(file.program, where);
  CheckedText checked{format == ExportFormat::Hlo ? to_hlo(module) : to_stablehlo(module), {}};
  const hlo::ModuleDecision decision =
      hlo::check_all_reduce(kReadBack, checked.text, file.program.classes, limits);
  checked.outcome = decision.outcome;
  checked.reason = decision.violation ? decision.violation->explanation : decision.reason;
  if (checked.reason.ends_with('.')) checked.reason.pop_back();
  const auto& instructions = module.entry_computation().instructions;
  const auto collectives =
      std::count_if(instructions.begin(), instructions.end(),
                    [](const hlo::Instruction& each) { return each.attributes.has_channel; });
  checked.summary = fmt::format("f32[{}] on {} partitions, {} collective{}", file.program.chunks(),
                                file.program.devices, collectives, collectives == 1 ? "" : "s");
  return checked;
}

std::vector<CheckedText> texts_of(const SourceProgram& source, const ExportRequest& request,
                                  const Limits& limits) {
  const SourcePosition where{source.name};
  switch (request.format) {
    case ExportFormat::Msccl:
      return to_msccl(source.read, request.protocol,
                      std::filesystem::path(request.file).stem().string(), where, limits);
    case ExportFormat::Json:
      return {to_program_json(source.read, where, limits)};
    case ExportFormat::Onesided:
    case ExportFormat::OnesidedText:
      return to_plans(source.read, request.format == ExportFormat::Onesided,
                      std::filesystem::path(request.file).stem().string(), where, limits);
    case ExportFormat::Hlo:
    case ExportFormat::StableHlo:
      return {to_module(source.read, request.format, where, limits)};
  }
  return {};
}

const char* extension_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::Msccl:
      return "xml";
    case ExportFormat::Json:
    case ExportFormat::Onesided:
      return "json";
    case ExportFormat::OnesidedText:
      return "plan";
    case ExportFormat::Hlo:
      return "hlo";
    case ExportFormat::StableHlo:
      return "mlir";
  }
  return "";
}

std::string name_of(std::size_t program, const std::optional<std::size_t>& reduction_class,
                    ExportFormat format) {
  return fmt::format("program{:04}{}.{}", program,
                     reduction_class ? fmt::format("-class{}", *reduction_class) : "",
                     extension_of(format));
}

// Answers

/// Whether a program is valid, as a result.
Result check_program(const SourceProgram& source, const Limits& limits) {
  const ProgramFile& read = source.read;
  StateTable states(read.program.chunks());
  const ProgramDecision decision = check(read.program, read.dialect, states, limits);
  Result result;
  result.subject = source.name;
  result.outcome = decision.outcome;
  EngineAnswer explicit_engine{"explicit", decision.outcome, 0, {}};
  if (decision.violation) {
    const std::size_t step = decision.violation->step;
    SourcePosition where{source.name};
    if (step > 0 && step <= read.step_positions.size()) where = read.step_positions[step - 1];
    explicit_engine.step = step;
    explicit_engine.rule = rule_name(*decision.violation);
    result.counterexample = Counterexample{
        explicit_engine.rule, where,
        explain(*decision.violation, read.program, read.instance ? &*read.instance : nullptr),
        Json::object({{"step", step}})};
  }
  if (decision.outcome == Outcome::Undecided) {
    explicit_engine.step = decision.legal_steps;
    result.undecided =
        Undecided{Undecided::Reason::Limit, "a limit was reached before it was known to be valid"};
  }
  result.engines = {explicit_engine};
  return result;
}

/// The line about a program that is not exported.
Diagnostic refusal(const Result& result) {
  if (result.outcome == Outcome::Undecided) {
    return {Diagnostic::Kind::Undecided,
            fmt::format("{}: {}", result.subject, result.undecided->explanation)};
  }
  return {Diagnostic::Kind::Note, fmt::format("{}: only valid programs are exported. {}",
                                              result.subject, result.counterexample->explanation)};
}

/// Adds the texts of a valid program to `answer`; the outcome of `result` becomes that of the
/// texts.
void export_program(const SourceProgram& source, const ExportRequest& request, const Limits& limits,
                    Result& result, ExportAnswer& answer) {
  std::vector<CheckedText> texts;
  try {
    texts = texts_of(source, request, limits);
  } catch (const LimitReached& limit) {
    texts = {{{}, {}, {}, Outcome::Undecided, limit.what()}};
  }
  for (CheckedText& each : texts) {
    if (each.outcome == Outcome::Established) {
      answer.texts.push_back({source.number, each.reduction_class,
                              name_of(source.number, each.reduction_class, request.format),
                              std::move(each.text), std::move(each.summary)});
      continue;
    }
    const bool undecided = each.outcome == Outcome::Undecided;
    result.outcome = undecided ? Outcome::Undecided : Outcome::Disagreement;
    result.undecided = Undecided{Undecided::Reason::Limit, each.reason};
    result.engines.push_back({"exported text", each.outcome, 0, {}});
    answer.diagnostics.push_back(
        {undecided ? Diagnostic::Kind::Undecided : Diagnostic::Kind::Note,
         fmt::format("{}: {}: {}. Nothing is written.", source.name,
                     undecided ? "the exported text could not be verified"
                               : "internal error, please report: the program is valid, the "
                                 "exported text is not",
                     each.reason)});
    return;
  }
}

/// Whether a folder holds an earlier export and nothing else, so that it may be replaced.
bool holds_export(const std::filesystem::path& folder) {
  const nlohmann::json index = index_of(folder, kIndex, kSchema);
  if (index.is_null()) return false;
  std::set<std::string> names = names_in(index.value("files", nlohmann::json()), {"file"});
  names.insert(kIndex);
  return holds_only(folder, names);
}

Json class_json(const ExportedText& text) {
  return text.reduction_class ? Json(*text.reduction_class) : Json();
}

void write_export_folder(const std::vector<ExportedText>& texts, const std::string& folder) {
  FolderFiles files;
  Json list = Json::array();
  for (const ExportedText& each : texts) {
    files[each.name] = each.text;
    list.push_back(Json::object({{"file", each.name},
                                 {"program", each.program},
                                 {"class", class_json(each)},
                                 {"summary", each.summary}}));
  }
  files[kIndex] = Json::object({{"schema", kSchema}, {"files", std::move(list)}}).document();
  write_whole_folder(folder, files, "export", holds_export);
}

Document document_of(const std::vector<ExportedText>& texts,
                     const std::optional<std::string>& output) {
  Document document;
  document.title = "p2-verify export";
  Json results = Json::array();
  for (const ExportedText& each : texts) {
    if (!output) {
      document.add(Preformatted{each.text});
      continue;
    }
    const std::string file = texts.size() == 1 ? *output : *output + "/" + each.name;
    document.line(fmt::format("{}: {}, verified", file, each.summary));
    results.push_back(Json::object({{"file", file},
                                    {"program", each.program},
                                    {"class", class_json(each)},
                                    {"verdict", to_string(Outcome::Established)}}));
  }
  document.json.add("results", std::move(results));
  return document;
}

}  // namespace

ExportAnswer export_programs(const ExportRequest& request, const Options& options) {
  GivenInstance given = given_instance(request.instance);
  const Soundness soundness = read_terms(request.instance, options, given);
  ExportAnswer answer;
  answer.document = document_of({}, request.output);
  answer.diagnostics = soundness.diagnostics;
  answer.outcome = soundness.outcome;
  if (soundness.outcome != Outcome::Established) return answer;
  std::vector<SourceProgram> programs = programs_in(request.file, given, request.program);
  const ProgressReporter progress(
      options.progress, [&] { return fmt::format("{} programs to export", programs.size()); });
  for (SourceProgram& source : programs) {
    Result result = check_program(source, options.limits);
    if (result.outcome == Outcome::Established) {
      if (source.read.program.terms.collectives.extended()) {
        SoundSteps(options.limits).require(source.name, source.read.program);
        source.read.program = require_built_in(source.name, source.read.program, "one that is");
      }
      export_program(source, request, options.limits, result, answer);
    } else {
      answer.diagnostics.push_back(refusal(result));
    }
    answer.outcome = result.outcome;
    answer.results.push_back(std::move(result));
    if (answer.outcome != Outcome::Established) {
      answer.texts.clear();
      return answer;
    }
  }
  if (answer.texts.empty()) {
    throw InputError({request.file}, "has no program, expected at least one");
  }
  if (answer.texts.size() > 1) {
    if (!request.output) {
      throw InputError({request.file},
                       fmt::format("becomes {} files, one for every program and class, expected "
                                   "--output FOLDER",
                                   answer.texts.size()));
    }
    write_export_folder(answer.texts, *request.output);
  }
  answer.document = document_of(answer.texts, request.output);
  return answer;
}

}  // namespace p2
