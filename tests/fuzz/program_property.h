#pragma once

#include <cstddef>
#include <string>

#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "tests/fuzz/property.h"

namespace p2 {

inline const Instance* instance_of(const ProgramFile& file) {
  return file.instance ? &*file.instance : nullptr;
}

/// Whatever a refutation points at exists, and it can be told.
inline void check_refutation(const ProgramFile& file, const Refutation& refutation) {
  const Program& program = file.program;
  promise(refutation.step <= program.steps.size(), "a refutation points behind the program");
  if (refutation.rule == Refutation::Rule::Premise) {
    promise(refutation.refusal.first < refutation.group.size() &&
                refutation.refusal.second < refutation.group.size(),
            "a refutation points outside its group");
  }
  promise(refutation.device < program.devices && refutation.chunk < program.devices &&
              refutation.contributor < program.devices,
          "a refutation points at a device that does not exist");
  promise(!rule_name(refutation).empty(), "a refutation rests on no rule");
  const std::string story = explain(refutation, program, instance_of(file));
  promise(!story.empty() && story.find('\n') == std::string::npos, "no one paragraph: " + story);
}

/// A small program is judged, and the judgement can be drawn. Returns the verdict.
inline Outcome check_judgement(const ProgramFile& file) {
  StateTable states(file.program.devices);
  const ProgramDecision verdict = check(file.program, file.dialect, states);
  promise(verdict.outcome != Outcome::Undecided, "no verdict, though nothing limits the check");
  promise((verdict.outcome == Outcome::Refuted) == verdict.violation.has_value(),
          "a verdict does not go with its refutation");
  promise(verdict.legal_steps <= file.program.steps.size(), "more legal steps than steps");
  if (verdict.violation) check_refutation(file, *verdict.violation);
  const std::string drawing = draw_derivation(file.program, file.dialect, instance_of(file));
  promise(!drawing.empty() && drawing.back() == '\n', "a drawing does not end its last line");
  return verdict.outcome;
}

/// JSON and the notation of the steps are read back to the same program, which is returned.
inline ProgramFile check_round_trips(const ProgramFile& file, const GivenInstance& given) {
  const std::string json = to_json(file.program, instance_of(file), file.dialect);
  ProgramFile again =
      read_back("a program's JSON", [&] { return read_program("again", json, given); });
  const std::string json_again = to_json(again.program, instance_of(again), again.dialect);
  promise(json_again == json, "a program changes on its way through JSON: " + json + json_again);

  const std::string text = to_string(file.program.steps, instance_of(file));
  TextCursor cursor("again", text);
  const std::vector<Step> steps = read_back("a program's notation", [&] {
    return parse_steps(cursor, file.program.devices, instance_of(file));
  });
  const Program reread{file.program.devices, file.program.classes, steps};
  promise(to_json(reread, instance_of(file), file.dialect) == json,
          "the notation means other steps: " + text);
  return again;
}

inline bool check_program_file(const std::string& text, const GivenInstance& given) {
  // What is beyond these is read only: judging or printing it would take too long for fuzzing.
  constexpr std::size_t kMostPrinted = 1U << 14U;
  constexpr std::uint32_t kMostJudgedDevices = 64;
  constexpr std::size_t kMostJudgedSteps = 16;

  const auto file = accepted([&] { return read_program(kFuzzedSource, text, given); });
  if (!file) return false;
  const Program& program = file->program;
  if (program.devices * (program.steps.size() + 1) > kMostPrinted) return true;
  ProgramFile again = check_round_trips(*file, given);
  if (program.devices > kMostJudgedDevices || program.steps.size() > kMostJudgedSteps) return true;
  again.dialect = file->dialect;
  promise(check_judgement(*file) == check_judgement(again), "JSON changes the verdict of " + text);
  return true;
}

/// A program's promises, without an instance on the command line and with one. Returns whether
/// `text` is a program in either case.
inline bool check_program_text(const std::string& text) {
  GivenInstance given;
  given.hierarchy = parse_hierarchy("--hierarchy", "node=2,gpu=4");
  given.axes = parse_axes("--axes", "data=4,shard=2");
  given.reduction = parse_reduction("--reduce", "data", *given.axes);
  given.placement = parse_placement("--placement", "[[2,2],[1,2]]", *given.hierarchy, *given.axes);
  const bool alone = check_program_file(text, {});
  return check_program_file(text, given) || alone;
}

}  // namespace p2
