#include "proofs/api/terms.h"

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/collective/language/definition.h"
#include "engine/program/program.h"
#include "p2/error.h"
#include "proofs/definition/examination.h"

namespace p2 {
namespace {

using language::Definition;

constexpr std::string_view kExtension = ".p2c";

CollectiveSet read_collectives(const InstanceSpec& spec, const Options& options,
                               Soundness& soundness) {
  const std::vector<std::string>& files = spec.collectives;
  for (const std::string& file : files) {
    if (!file.ends_with(kExtension)) {
      throw InputError({"--collectives"}, fmt::format("found '{}', expected files *.p2c", file));
    }
  }
  if (files.size() > CollectiveSet::kMaxDefined) {
    throw InputError({"--collectives"}, fmt::format("{} definitions, expected at most {}",
                                                    files.size(), CollectiveSet::kMaxDefined));
  }
  std::vector<Definition> defined;
  for (const std::string& file : files) {
    Definition definition = read_sound_definition(file, spec.max_group, options, soundness);
    if (CollectiveSet(defined).called(definition.name)) {
      throw InputError({file}, fmt::format("there is a collective {} already, expected another "
                                           "name",
                                           definition.name));
    }
    defined.push_back(std::move(definition));
  }
  return CollectiveSet(defined);
}

Goal read_goal(const InstanceSpec& spec, const Options& options, Soundness& soundness) {
  const std::string& text = *spec.goal;
  if (text.ends_with(kExtension)) {
    return Goal::of(read_sound_definition(text, spec.max_group, options, soundness));
  }
  const std::optional<Goal> goal = goal_called(text);
  if (!goal) {
    throw InputError({"--goal"}, fmt::format("unknown '{}', expected {}, or a file *.p2c{}", text,
                                             kGoals, suggestion(text, kGoals)));
  }
  return *goal;
}

}  // namespace

Soundness read_terms(const InstanceSpec& spec, const Options& options, GivenInstance& given) {
  if (spec.max_group < definition::kMinGroup || spec.max_group > definition::kMaxGroup) {
    throw InputError({"--max-group"}, fmt::format("{}, expected {} to {}", spec.max_group,
                                                  definition::kMinGroup, definition::kMaxGroup));
  }
  Soundness soundness;
  given.terms.collectives = read_collectives(spec, options, soundness);
  given.goal_overrides_file = spec.goal.has_value();
  if (spec.goal) given.terms.goal = read_goal(spec, options, soundness);
  return soundness;
}

Definition read_sound_definition(const std::string& file, std::uint32_t max_group,
                                 const Options& options, Soundness& soundness) {
  Definition definition = language::parse_definition(file, read_file(file));
  definition::Scope scope;
  scope.max_group = max_group;
  scope.seed = options.seed;
  scope.jobs = options.jobs;
  scope.limits = options.limits;
  const definition::Findings findings = definition::examine(definition, {}, scope);
  const Outcome outcome = findings.outcome();
  if (outcome == Outcome::Refuted) {
    throw InputError({file}, fmt::format("{} is not sound, {} refuted, expected a sound definition "
                                         "(see p2-verify define {})",
                                         definition.name, findings.refuted_checks(), file));
  }
  if (outcome == Outcome::Undecided) {
    soundness.diagnostics.push_back(
        {Diagnostic::Kind::Undecided, fmt::format("{}: {} is not known to be sound: {}", file,
                                                  definition.name, findings.undecided_text())});
  }
  if (outcome == Outcome::Disagreement) {
    soundness.diagnostics.push_back(
        {Diagnostic::Kind::Note,
         fmt::format("{}: the engines disagree on whether {} is sound; p2-verify define {} shows "
                     "both answers",
                     file, definition.name, file)});
  }
  soundness.outcome = worst(soundness.outcome, outcome);
  return definition;
}

std::string goal_text(const Goal& goal, const Beginning& beginning) {
  if (goal.is_allreduce()) return {};
  std::string text = ", goal " + goal.name;
  if (beginning.start != Start::Contributions) {
    text += fmt::format(" from {}", to_string(beginning.start));
  }
  if (beginning.chunks_per_device > 1) {
    text += fmt::format(", {} chunks per device", beginning.chunks_per_device);
  }
  return text;
}

void require_paper(const std::string& flag, const Terms& terms) {
  if (terms.of_paper()) return;
  throw InputError({flag},
                   "certificates cover the five collectives and the goal allreduce, expected "
                   "neither other collectives nor another goal");
}

Program require_built_in(const std::string& file, const Program& program,
                         const std::string& expected) {
  BuiltInProgram found = built_in_program(program);
  if (!found.missing) return std::move(found.program);
  const Step& step = program.steps[*found.missing];
  throw InputError(
      {file}, fmt::format("step {}: {} is not a sequence of built-in collectives there, "
                          "expected {}",
                          *found.missing + 1, program.terms.collectives.name_of(step.collective),
                          expected));
}

}  // namespace p2
