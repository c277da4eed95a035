#include "cli/export/exported_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/export/hlo/judgement.h"
#include "engine/export/hlo/lowering.h"
#include "engine/export/hlo/module_writer.h"
#include "engine/msccl/algorithm_file.h"
#include "engine/msccl/algorithm_writer.h"
#include "engine/msccl/loader_limits.h"
#include "engine/export/msccl/lowering.h"
#include "engine/program/derivation.h"

namespace p2 {
namespace {

constexpr const char* kReadBack = "the exported text";

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

bool loaders_take(const msccl::Algorithm& algorithm) {
  const std::vector<msccl::LoaderLimit> limits = loader_limits(algorithm);
  return std::all_of(limits.begin(), limits.end(),
                     [](const msccl::LoaderLimit& limit) { return limit.met(); });
}

/// In steps that are safe for messages of any size, unless loaders take only longer ones.
msccl::Algorithm lowered(const Program& program, std::size_t class_index, msccl::Protocol protocol,
                         const SourcePosition& where) {
  using msccl::Travel;
  msccl::Algorithm safe = lower_class(program, class_index, Travel::safe(protocol), where);
  if (loaders_take(safe)) return safe;
  msccl::Algorithm quick = lower_class(program, class_index, Travel::quick(protocol), where);
  return loaders_take(quick) ? quick : safe;
}

/// Reads the text back and judges it.
void judge_again(Exported& exported, const Limits& limits) {
  const msccl::Algorithm again = msccl::read_algorithm(kReadBack, exported.text);
  const msccl::Verdict verdict = msccl::judge(again, limits);
  exported.verdict = to_string(verdict.kind);
  exported.reason = verdict.fault ? verdict.fault->reason : verdict.reason;
  if (verdict.safe_sizes && verdict.safe_sizes->most_bytes) {
    exported.summary +=
        fmt::format("; for messages of up to {} bytes", *verdict.safe_sizes->most_bytes);
  }
}

}  // namespace

std::vector<Exported> as_msccl(const ProgramFile& file, msccl::Protocol protocol,
                               const std::string& name, const SourcePosition& where,
                               const Limits& limits) {
  std::vector<Exported> all;
  for (std::size_t i = 0; i < file.program.classes.size(); ++i) {
    msccl::Algorithm algorithm = lowered(file.program, i, protocol, where);
    algorithm.name = name;
    Exported exported;
    exported.text = to_xml(algorithm);
    exported.summary = summary_of(algorithm);
    exported.of_class = file.program.classes.size() == 1 ? 0 : i + 1;
    judge_again(exported, limits);
    all.push_back(std::move(exported));
  }
  return all;
}

Exported as_json(const ProgramFile& file, const SourcePosition& where, const Limits& limits) {
  if (file.program.terms.collectives.extended() || !goal_called(file.program.terms.goal.name)) {
    throw InputError(where,
                     "uses definitions of the user's own, expected the five collectives and a goal "
                     "with a name: program JSON does not carry definitions");
  }
  Exported exported;
  const auto text_of = [](const ProgramFile& each) {
    return to_json(each.program, each.instance ? &*each.instance : nullptr, each.dialect) + "\n";
  };
  exported.text = text_of(file);
  const ProgramFile again = read_program(kReadBack, exported.text, {});
  StateTable states(again.program.chunks());
  const Verdict verdict = check(again.program, again.dialect, states, limits);
  const bool same = text_of(again) == exported.text;
  exported.verdict = same ? to_string(verdict.kind) : "invalid";
  exported.reason = same ? "it does not reach its goal" : "it is read back as another program";
  exported.summary =
      fmt::format("{} devices, {} steps", again.program.devices, again.program.steps.size());
  return exported;
}

Exported as_module(const ProgramFile& file, ModuleText language, const SourcePosition& where,
                   const Limits& limits) {
  const hlo::Module module = hlo::lowered(file.program, where);
  Exported exported;
  exported.text = language == ModuleText::Hlo ? to_hlo(module) : to_stablehlo(module);
  const hlo::Verdict verdict =
      hlo::judge_all_reduce(kReadBack, exported.text, file.program.classes, limits);
  exported.verdict = to_string(verdict.kind);
  exported.reason = verdict.reason;
  if (!exported.reason.empty() && exported.reason.back() == '.') exported.reason.pop_back();
  const auto& instructions = module.entry_computation().instructions;
  const auto collectives =
      std::count_if(instructions.begin(), instructions.end(),
                    [](const hlo::Instruction& each) { return each.attributes.has_channel; });
  exported.summary = fmt::format("f32[{}] on {} partitions, {} collective{}", file.program.chunks(),
                                 file.program.devices, collectives, collectives == 1 ? "" : "s");
  return exported;
}

}  // namespace p2
