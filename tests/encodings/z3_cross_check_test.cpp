#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "encodings/z3/synthesis.h"
#include "encodings/z3/validity.h"
#include "engine/program/derivation.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"
#include "engine/synthesis/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;

namespace {

/// Both engines judge the program; they must agree on verdict, step and rule.
void compare(const Program& program, const Instance* instance, Dialect dialect) {
  StateTable states(program.devices);
  const Verdict verdict = check(program, dialect, states);
  z3_encoding::ValidityQuery query;
  query.program = &program;
  query.instance = instance;
  query.dialect = dialect;
  const z3_encoding::Judgement judgement = z3_encoding::judge(query);
  CAPTURE(to_string(program.steps, instance));
  REQUIRE(judgement.kind != z3_encoding::Judgement::Kind::Unknown);
  const bool valid = judgement.kind == z3_encoding::Judgement::Kind::Valid;
  REQUIRE(valid == (verdict.kind == Verdict::Kind::Valid));
  if (valid) return;
  CHECK(judgement.step == verdict.refutation->step);
  CHECK(judgement.rule == rule_name(*verdict.refutation));
}

/// Drops, doubles or swaps a step, or gives one another collective.
void mutate(Program& program, std::mt19937& random) {
  if (program.steps.empty()) return;
  const auto any = [&] { return random() % program.steps.size(); };
  const std::size_t step = any();
  switch (random() % 4) {
    case 0:
      program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(step));
      break;
    case 1:
      program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(step),
                           Step(program.steps[step]));
      break;
    case 2:
      std::swap(program.steps[step], program.steps[any()]);
      break;
    default:
      program.steps[step].collective = kCollectives[random() % kCollectives.size()];
  }
}

Program random_program(std::mt19937& random) {
  Program program;
  program.devices = 2 + static_cast<std::uint32_t>(random() % 5);
  Group everyone(program.devices);
  std::iota(everyone.begin(), everyone.end(), 0U);
  program.classes = {everyone};
  const std::size_t steps = 1 + random() % 4;
  for (std::size_t i = 0; i < steps; ++i) {
    Group order = everyone;
    std::shuffle(order.begin(), order.end(), random);
    const auto cut = static_cast<std::ptrdiff_t>(1 + random() % order.size());
    std::vector<Group> groups{{order.begin(), order.begin() + cut}};
    if (cut < static_cast<std::ptrdiff_t>(order.size()))
      groups.emplace_back(order.begin() + cut, order.end());
    normalise_groups(groups, program.devices, {"random"});
    program.steps.push_back({kCollectives[random() % kCollectives.size()], groups, {}});
  }
  return program;
}

}  // namespace

TEST_CASE("Z3 and the explicit engine agree on valid programs and on their mutants") {
  std::mt19937 random(7);
  std::size_t compared = 0;
  for (const HierarchyKind kind : {HierarchyKind::Collapsed, HierarchyKind::Rows}) {
    const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", kind);
    for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
      SynthesisOptions options;
      options.dialect = dialect;
      options.size = 3;
      synthesise({instance}, options)[0].for_each_lowered([&](const Program& program) {
        compare(program, &instance, dialect);
        for (int i = 0; i < 4; ++i) {
          Program mutant = program;
          mutate(mutant, random);
          compare(mutant, &instance, dialect);
          compare(mutant, &instance, Dialect::Published);
        }
        ++compared;
      });
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("Z3 and the explicit engine agree on random programs of bare groups") {
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) compare(random_program(random), nullptr, Dialect::Published);
}

TEST_CASE("Z3 and the enumerator find the same programs: all systems of 2 to 4 devices, size 3") {
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      SynthesisOptions options;
      options.dialect = dialect;
      options.size = 3;
      std::set<std::string> expected;
      synthesise({instance}, options)[0].for_each_lowered(
          [&](const Program& program) { expected.insert(to_string(program.steps, nullptr)); });
      z3_encoding::SynthesisQuery query;
      query.instance = &instance;
      query.dialect = dialect;
      query.size = 3;
      const z3_encoding::SynthesisAnswer answer = z3_encoding::enumerate(query);
      CHECK(answer.complete);
      std::set<std::string> found;
      for (const z3_encoding::Choices& choices : answer.programs) {
        std::vector<Step> steps;
        for (const std::uint32_t choice : choices) {
          const z3_encoding::Instruction& instruction = answer.instructions[choice];
          steps.push_back({kCollectives[instruction.rule], instruction.groups, {}});
        }
        CHECK(found.insert(to_string(steps, nullptr)).second);
      }
      CHECK(found == expected);
    });
  }
}
