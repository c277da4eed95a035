#include "encodings/z3/validity.h"

#include <chrono>
#include <map>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/encodings/programs.h"
#include "tests/program/instances.h"

using namespace p2;
using z3_encoding::ValidityQuery;

namespace {

/// Several classes and one, all kinds of hierarchies.
std::vector<Instance> instances() {
  std::vector<Instance> all;
  for (const HierarchyKind kind : kHierarchyKinds) {
    all.push_back(instance_of("2,3", "3,2", "0", "[[1 3] [2 1]]", kind));
    all.push_back(instance_of("2,2", "4", "0", "[[2 2]]", kind));
  }
  for (const HierarchyKind kind : {HierarchyKind::Collapsed, HierarchyKind::Rows}) {
    all.push_back(instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", kind));
  }
  return all;
}

std::vector<Program> valid_programs(const Instance& instance, Dialect dialect) {
  const bool large = instance.grid.devices() > 6;
  SynthesisOptions options;
  options.dialect = dialect;
  options.size = large ? 3 : 4;
  options.jobs = 1;
  std::vector<Program> all;
  synthesise({instance}, options)[0].for_each_lowered(
      [&](const Program& program) { all.push_back(program); });
  return all;
}

/// Compares the verdicts on a program; `rules` counts what they were.
void compare(const Program& program, const Instance* instance, Dialect dialect,
             std::map<std::string, int>& rules) {
  ValidityQuery query;
  query.program = &program;
  query.instance = instance;
  query.dialect = dialect;
  const std::string expected = explicit_verdict(program, dialect);
  CHECK_MESSAGE(solver_verdict(query) == expected, to_string(program.steps, nullptr));
  ++rules[expected.substr(expected.rfind(' ') + 1)];
}

}  // namespace

TEST_CASE("random programs get the verdict and the rule of the explicit engine") {
  RandomPrograms random(1);
  std::map<std::string, int> rules;
  for (std::size_t i = 0; i < 3000; ++i) {
    const Program program = random.program(1 + random.below(6), 1 + i % 2);
    compare(program, nullptr, Dialect::Published, rules);
  }
  CHECK(rules.size() >= 8);
}

TEST_CASE("mutations of valid programs get the verdict and the rule of the explicit engine") {
  RandomPrograms random(2);
  std::map<std::string, int> rules;
  for (const Instance& instance : instances()) {
    // Held to `published` what is valid in `printed` may break the rule for Master.
    for (Program& program : valid_programs(instance, Dialect::Printed)) {
      compare(program, &instance, Dialect::Printed, rules);
      compare(program, &instance, Dialect::Published, rules);
      for (int i = 0; i < 4; ++i) {
        random.mutate(program);
        compare(program, &instance, Dialect::Printed, rules);
        compare(program, &instance, Dialect::Published, rules);
      }
    }
  }
  CHECK(rules["valid"] > 50);
  for (const char* rule : {"valid", "same-chunks", "disjoint", "disjoint-chunks", "equal-count",
                           "contained", "informative", "master", "empty-group", "goal-lacks"}) {
    CHECK_MESSAGE(rules[rule] > 0, rule);
  }
}

TEST_CASE("the groups of a step with a shape are the solver's own") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  Program program{4, instance.classes(), {}};
  program.steps.push_back(
      lower(instance.grid, all_shapes(instance.hierarchy)[0], Collective::AllReduce));
  program.steps[0].groups = {{0, 3}};
  ValidityQuery query;
  query.program = &program;
  query.instance = &instance;
  CHECK(solver_verdict(query) == "valid");
}

TEST_CASE("programs on 64 devices are judged") {
  const Instance instance = instance_of("node=4,gpu=16", "64", "0", "[[4 16]]");
  const auto shape = [&](std::uint32_t slice, Form form) {
    return linear_shape(instance.hierarchy, slice, form, 0);
  };
  const GroupShape inner = shape(1, Form::InsideGroup);
  const GroupShape outer = shape(1, Form::Parallel);
  Program program{64, instance.classes(), {}};
  program.steps = {lower(instance.grid, inner, Collective::ReduceScatter),
                   lower(instance.grid, outer, Collective::ReduceScatter),
                   lower(instance.grid, outer, Collective::AllGather),
                   lower(instance.grid, inner, Collective::Reduce),
                   lower(instance.grid, inner, Collective::Broadcast)};
  ValidityQuery query;
  query.program = &program;
  query.instance = &instance;
  CHECK(solver_verdict(query) == explicit_verdict(program, Dialect::Published));
  program.steps[3].collective = Collective::AllGather;
  program.steps.pop_back();
  CHECK(solver_verdict(query) == "valid");
  program.steps[3].shape.reset();
  program.steps[3].groups.erase(program.steps[3].groups.begin());
  CHECK(solver_verdict(query) == "step 4 goal-lacks");
}

TEST_CASE("the text of a query is accepted by the solver's parser and has the same answer") {
  RandomPrograms random(3);
  int valid = 0;
  const auto compare_text = [&](const Program& program, const Instance* instance) {
    ValidityQuery query;
    query.program = &program;
    query.instance = instance;
    const std::string text = smt_lib(query);
    CHECK(text.rfind("; query validity", 0) == 0);
    const bool holds = solver_verdict(query) == "valid";
    CHECK(answer_to(text) == (holds ? z3::unsat : z3::sat));
    valid += holds ? 1 : 0;
  };
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  for (const Program& program : valid_programs(instance, Dialect::Published)) {
    compare_text(program, &instance);
  }
  for (int i = 0; i < 200; ++i) compare_text(random.program(1 + random.below(4)), nullptr);
  CHECK(valid > 40);
}

TEST_CASE("a limit leaves a program undecided, neither valid nor refuted") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  const std::vector<Program> programs = valid_programs(instance, Dialect::Published);
  ValidityQuery query;
  query.program = &programs.back();
  query.instance = &instance;
  query.budget.timeout = std::chrono::milliseconds(0);
  CHECK(z3_encoding::judge(query).kind == Judgement::Kind::Unknown);
  query.budget = {};
  query.budget.rlimit = 1;
  CHECK(z3_encoding::judge(query).kind == Judgement::Kind::Unknown);
  query.budget.rlimit = 1'000'000'000;
  CHECK(z3_encoding::judge(query).kind == Judgement::Kind::Valid);
}

TEST_CASE(
    "a definition that is given instead of the built-in one is what the program is judged by") {
  std::vector<language::Definition> wrong = language::built_in_definitions();
  wrong[0].premises.pop_back();
  const Program program{2,
                        {{0, 1}},
                        {{Collective::AllReduce, {{0, 1}}, std::nullopt},
                         {Collective::AllReduce, {{0, 1}}, std::nullopt}}};
  ValidityQuery query;
  query.program = &program;
  CHECK(solver_verdict(query) == "step 2 disjoint");
  query.definitions = wrong;
  CHECK(solver_verdict(query) == "valid");
}
