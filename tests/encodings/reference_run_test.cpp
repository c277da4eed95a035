#include "proofs/api/reference_run.h"

#include <chrono>
#include <set>

#include <doctest/doctest.h>

#include "engine/collective/language/built_in.h"
#include "engine/program/synthesis.h"
#include "tests/encodings/programs.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

/// The reference run comes to the explicit engine's end and shows its counterexample.
void confirm(const Program& program, Dialect dialect, std::set<std::string>& rules) {
  StateTable states(program.devices);
  const Verdict verdict = check(program, dialect, states);
  CHECK_MESSAGE(reference_finding(program, dialect, verdict, {}) == finding_of(verdict),
                to_string(program.steps, nullptr));
  rules.insert(finding_of(verdict).rule);
}

Program one_all_reduce(std::uint32_t devices) {
  Program program{devices, {{}}, {{Collective::AllReduce, {{}}, std::nullopt}}};
  for (std::uint32_t d = 0; d < devices; ++d) program.classes[0].push_back(d);
  program.steps[0].groups = program.classes;
  return program;
}

std::string verdict_on(const Program& program, const Limits& limits) {
  return ReferenceRun(program, Dialect::Published, language::built_in_definitions(), limits)
      .finding()
      .verdict;
}

}  // namespace

TEST_CASE("the reference run confirms verdicts and counterexamples of the explicit engine") {
  RandomPrograms random(30);
  std::set<std::string> rules;
  for (int i = 0; i < 3000; ++i) {
    confirm(random.program(1 + random.below(6)), Dialect::Published, rules);
  }
  const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows);
  SynthesisOptions options;
  options.dialect = Dialect::Printed;
  options.size = 3;
  synthesise({instance}, options)[0].for_each_lowered([&](const Program& program) {
    confirm(program, Dialect::Published, rules);
    for (int i = 0; i < 20; ++i) {
      Program mutant = program;
      random.mutate(mutant);
      confirm(mutant, Dialect::Printed, rules);
    }
  });
  CHECK(rules == std::set<std::string>{"", "same-chunks", "disjoint", "divisible",
                                       "disjoint-chunks", "equal-count", "contained", "informative",
                                       "master", "empty-group", "goal-lacks", "goal-excess"});
}

TEST_CASE("the reference run says nothing of what is too large for it or beyond a limit") {
  CHECK(verdict_on(one_all_reduce(16), {}) == "valid");
  CHECK(verdict_on(one_all_reduce(256), {}) == "unknown");
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(verdict_on(one_all_reduce(16), limits) == "unknown");
}
