#include <chrono>
#include <map>

#include <doctest/doctest.h>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
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
  find_programs({instance}, options)[0].for_each_lowered(
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
  query.limits.deadline = std::chrono::steady_clock::now();
  CHECK(z3_encoding::judge(query).outcome == Outcome::Undecided);
  query.limits = {};
  query.limits.work = 1;
  CHECK(z3_encoding::judge(query).outcome == Outcome::Undecided);
  query.limits.work = 1'000'000'000;
  CHECK(z3_encoding::judge(query).outcome == Outcome::Established);
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

using namespace p2;

namespace {

std::string by_clauses(const Program& program, const Instance* instance, Dialect dialect) {
  return clause_verdict({&program, instance, dialect});
}

void compare_clauses(const Program& program, const Instance* instance, Dialect dialect,
                     std::map<std::string, int>& rules) {
  const std::string expected = explicit_verdict(program, dialect);
  CHECK_MESSAGE(by_clauses(program, instance, dialect) == expected,
                to_string(program.steps, instance));
  ++rules[expected.substr(expected.rfind(' ') + 1)];
}

/// Programs on 64 devices that form one class, and what they are.
struct Large {
  const char* name;
  std::vector<std::pair<Collective, bool>> steps;  ///< across the nodes or inside them
  const char* verdict;
};

const Large kLarge[] = {
    {"blueconnect",
     {{Collective::ReduceScatter, false},
      {Collective::ReduceScatter, true},
      {Collective::AllGather, true},
      {Collective::AllGather, false}},
     "valid"},
    {"scattered and gathered in the wrong order",
     {{Collective::ReduceScatter, false},
      {Collective::ReduceScatter, true},
      {Collective::AllGather, false},
      {Collective::AllGather, false}},
     "step 4 disjoint-chunks"},
    {"rooted", {{Collective::Reduce, false}, {Collective::AllReduce, true}}, "step 2 empty-group"},
    {"unfinished", {{Collective::AllReduce, true}}, "step 1 goal-lacks"},
};

}  // namespace

TEST_CASE("clauses give random programs the verdict and the rule of the explicit engine") {
  RandomPrograms random(4);
  std::map<std::string, int> rules;
  for (int i = 0; i < 1500; ++i) {
    Program program = random.program(1 + random.below(6));
    compare_clauses(program, nullptr, Dialect::Published, rules);
  }
  CHECK(rules.size() >= 8);
}

TEST_CASE(
    "clauses give mutants of valid programs the verdict and the rule of the explicit engine") {
  RandomPrograms random(5);
  std::map<std::string, int> rules;
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance = instance_of("2,3", "3,2", "0", "[[1 3] [2 1]]", kind);
    const Instance whole = instance_of("2,2", "4", "0", "[[2 2]]", kind);
    for (const Instance* each : {&instance, &whole}) {
      SynthesisOptions options;
      options.dialect = Dialect::Printed;
      options.size = 3;
      find_programs({*each}, options)[0].for_each_lowered([&](Program program) {
        compare_clauses(program, each, Dialect::Printed, rules);
        compare_clauses(program, each, Dialect::Published, rules);
        for (int i = 0; i < 3; ++i) {
          random.mutate(program);
          compare_clauses(program, each, Dialect::Printed, rules);
        }
      });
    }
  }
  for (const char* rule : {"valid", "same-chunks", "disjoint", "disjoint-chunks", "equal-count",
                           "contained", "informative", "master", "empty-group", "goal-lacks"}) {
    CHECK_MESSAGE(rules[rule] > 0, rule);
  }
}

TEST_CASE("the groups of a step with a shape are those of the clauses' own coordinates") {
  const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]");
  Program program{8, instance.classes(), {}};
  program.steps.push_back(
      lower(instance.grid, all_shapes(instance.hierarchy)[0], Collective::AllReduce));
  program.steps[0].groups = {{0, 3}};
  CHECK(by_clauses(program, &instance, Dialect::Published) == "valid");
}

TEST_CASE("one class stands for all only where all go through the same") {
  const Group evens{0, 2, 4, 6};
  const Group odds{1, 3, 5, 7};
  std::map<std::string, int> rules;
  const auto judged = [&](std::vector<Step> steps) {
    compare_clauses({8, {evens, odds}, std::move(steps)}, nullptr, Dialect::Published, rules);
  };
  const auto step = [](Collective collective, std::vector<Group> groups) {
    return Step{collective, std::move(groups), std::nullopt};
  };
  judged({step(Collective::AllReduce, {evens, odds})});
  judged({step(Collective::AllReduce, {evens})});
  judged({step(Collective::AllReduce, {{0, 1}, {2, 3}, {4, 5}, {6, 7}})});
  judged({step(Collective::Reduce, {evens, odds}), step(Collective::Broadcast, {odds, evens})});
  judged({step(Collective::Reduce, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}),
          step(Collective::AllReduce, {{0, 2}, {4, 6}, {5, 7}, {1, 3}})});
  judged({step(Collective::AllReduce, {evens}), step(Collective::AllReduce, {odds})});
  CHECK(rules["valid"] == 3);
}

TEST_CASE("clauses judge programs on 64 devices in one class") {
  const Instance instance = instance_of("node=4,gpu=16", "64", "0", "[[4 16]]");
  for (const Large& large : kLarge) {
    Program program{64, instance.classes(), {}};
    for (const auto& [collective, across] : large.steps) {
      const GroupShape shape =
          linear_shape(instance.hierarchy, 1, across ? Form::Parallel : Form::InsideGroup, 0);
      program.steps.push_back(lower(instance.grid, shape, collective));
    }
    CAPTURE(large.name);
    CHECK(explicit_verdict(program, Dialect::Published) == large.verdict);
    CHECK(by_clauses(program, &instance, Dialect::Published) == large.verdict);
  }
}

TEST_CASE("beyond its size and beyond a limit the query is undecided") {
  Program program{65, {{}}, {}};
  for (std::uint32_t d = 0; d < 65; ++d) program.classes[0].push_back(d);
  CHECK(by_clauses(program, nullptr, Dialect::Published) == "unknown");
  program = {2, {{0, 1}}, {{Collective::AllReduce, {{0, 1}}, std::nullopt}}};
  cnf::ValidityQuery query{&program, nullptr, Dialect::Published, {}};
  query.limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(cnf::judge(query).outcome == Outcome::Undecided);
  query.limits = {};
  query.limits.memory_bytes = 1;
  CHECK(cnf::judge(query).outcome == Outcome::Undecided);
  query.limits = {};
  query.limits.work = 1000;
  CHECK(cnf::judge(query).outcome == Outcome::Established);
}
