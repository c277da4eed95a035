#include <algorithm>
#include <chrono>
#include <set>

#include <doctest/doctest.h>

#include "encodings/cnf/stage.h"
#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "tests/encodings/programs.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using z3_encoding::SynthesisAnswer;
using z3_encoding::SynthesisQuery;

namespace {

SynthesisQuery query_for(const Instance& instance, Dialect dialect, std::uint32_t size) {
  SynthesisQuery query;
  query.instance = &instance;
  query.dialect = dialect;
  query.size = size;
  return query;
}

std::vector<brute_force::Program> sorted_programs(const SynthesisAnswer& answer) {
  std::vector<brute_force::Program> all;
  for (const z3_encoding::Choices& choices : answer.programs) {
    auto& program = all.emplace_back();
    for (const std::uint32_t choice : choices) {
      const z3_encoding::Instruction& instruction = answer.instructions[choice];
      program.push_back({instruction.groups, kCollectives[instruction.rule]});
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<brute_force::Program> listed_programs(const Instance& instance, Dialect dialect,
                                                  std::uint32_t size) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.size = size;
  options.jobs = 1;
  std::vector<brute_force::Program> all;
  find_programs({instance}, options)[0].for_each_lowered([&](const Program& listed) {
    auto& program = all.emplace_back();
    for (const Step& step : listed.steps) program.push_back({step.groups, step.collective});
  });
  std::sort(all.begin(), all.end());
  return all;
}

void compare(const Instance& instance, Dialect dialect, std::uint32_t size) {
  const SynthesisAnswer answer = enumerate(query_for(instance, dialect, size));
  const std::vector<brute_force::Program> found = sorted_programs(answer);
  auto expected = brute_force::programs(instance, dialect, size);
  std::sort(expected.begin(), expected.end());
  const std::string question = to_string(instance.hierarchy) + " " +
                               to_string(instance.grid.placement()) + " " +
                               std::string(to_string(dialect));
  // The programs stand in order, so that one found twice would differ as well.
  const bool as_brute_force = found == expected;
  CHECK_MESSAGE(as_brute_force, question, ": ", found.size(), " programs, brute force finds ",
                expected.size());
  const bool as_listed = found == listed_programs(instance, dialect, size);
  CHECK_MESSAGE(as_listed, question, ": the list of the enumerator differs");
  CHECK(answer.complete);
  CHECK(answer.settled == size);
}

std::vector<Step> steps_of(const z3_encoding::Choices& choices,
                           const std::vector<z3_encoding::Instruction>& instructions) {
  std::vector<Step> steps;
  for (const std::uint32_t choice : choices) {
    steps.push_back({kCollectives[instructions[choice].rule], instructions[choice].groups, {}});
  }
  return steps;
}

/// Whether an instruction's collective is called so.
auto called(const char* name) {
  return [name](const z3_encoding::Instruction&, const language::Definition& rule) {
    return rule.name == name;
  };
}

}  // namespace

TEST_CASE(
    "the solver's list is brute force's and the enumerator's: all systems of 2 to 4 devices") {
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for_each_question(
        devices, [&](const Instance& instance, Dialect dialect) { compare(instance, dialect, 3); });
  }
}

TEST_CASE("two levels, size 5: the counts of the semantics, complete") {
  const auto count = [](const Instance& instance, Dialect dialect) {
    const SynthesisAnswer answer = enumerate(query_for(instance, dialect, 5));
    CHECK(answer.complete);
    return answer.programs.size();
  };
  CHECK(count(instance_of("2,2", "4", "0", "[[2 2]]"), Dialect::Published) == 47);
  CHECK(count(instance_of("2,2", "4", "0", "[[2 2]]"), Dialect::Printed) == 93);
  CHECK(count(instance_of("2,3", "6", "0", "[[2 3]]"), Dialect::Published) == 47);
  const Instance lattice = instance_of("2,2", "4", "0", "[[2 2]]", HierarchyKind::Lattice);
  CHECK(count(lattice, Dialect::Published) == 55);
  // One class of two stands for all, with the chunks of the whole system.
  CHECK(count(instance_of("3,2", "2,3", "0", "[[1 2] [3 1]]"), Dialect::Published) == 3);
}

TEST_CASE("does a program with a property exist?") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  SynthesisQuery query = query_for(instance, Dialect::Published, 2);
  query.property = {called("Broadcast"), true};
  const z3_encoding::ExistenceAnswer found = find_one(query);
  REQUIRE(found.outcome == Outcome::Established);
  REQUIRE(found.witness.size() == 2);
  CHECK(kCollectives[found.instructions[found.witness[0]].rule] == Collective::Reduce);
  CHECK(kCollectives[found.instructions[found.witness[1]].rule] == Collective::Broadcast);
  query.size = 1;
  CHECK(find_one(query).outcome == Outcome::Refuted);

  query.size = 2;
  query.property = {called("AllReduce"), false};
  const SynthesisAnswer without = enumerate(query);
  CHECK(without.complete);
  query.property = {called("AllReduce"), true};
  const SynthesisAnswer with = enumerate(query);
  query.property.reset();
  CHECK(with.programs.size() + without.programs.size() == enumerate(query).programs.size());
}

TEST_CASE("the text of a query is accepted by the solver's parser and has the same answer") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  SynthesisQuery query = query_for(instance, Dialect::Published, 3);
  const SynthesisAnswer answer = enumerate(query);
  const auto known = [&](std::uint32_t shortest) {
    std::vector<std::vector<Step>> programs;
    for (const z3_encoding::Choices& program : answer.programs) {
      if (program.size() >= shortest) programs.push_back(steps_of(program, answer.instructions));
    }
    return programs;
  };
  for (std::uint32_t length = 1; length <= 3; ++length) {
    query.known = known(0);
    const std::string all = smt_lib(query, length);
    CHECK(all.rfind("; query synthesis, dialect published", 0) == 0);
    CHECK(answer_to(all) == z3::unsat);
    query.known = known(length);
    query.known.erase(query.known.begin());
    CHECK(answer_to(smt_lib(query, length)) == z3::sat);
  }
  query.known.clear();
  query.property = {called("Broadcast"), true};
  CHECK(smt_lib(query, 1).rfind("; query existence", 0) == 0);
  CHECK(answer_to(smt_lib(query, 1)) == z3::unsat);
  CHECK(answer_to(smt_lib(query, 2)) == z3::sat);
}

TEST_CASE("of all programs but the known ones the one that is left out is found") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  SynthesisQuery query = query_for(instance, Dialect::Printed, 4);
  const SynthesisAnswer answer = enumerate(query);
  for (const z3_encoding::Choices& program : answer.programs) {
    query.known.push_back(steps_of(program, answer.instructions));
  }
  CHECK(find_one(query).outcome == Outcome::Refuted);
  for (std::size_t left_out = 0; left_out < answer.programs.size(); left_out += 7) {
    const std::vector<Step> steps = query.known[left_out];
    query.known[left_out] = {};
    const z3_encoding::ExistenceAnswer found = find_one(query);
    REQUIRE(found.outcome == Outcome::Established);
    CHECK(found.witness == answer.programs[left_out]);
    query.known[left_out] = steps;
  }
}

TEST_CASE("a limit leaves a list incomplete, with what was found so far") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  SynthesisQuery query = query_for(instance, Dialect::Published, 5);
  query.limits.deadline = std::chrono::steady_clock::now();
  SynthesisAnswer answer = enumerate(query);
  CHECK_FALSE(answer.complete);
  CHECK_FALSE(answer.settled.has_value());
  query.limits = {};
  query.limits.work = 300'000;
  answer = enumerate(query);
  CHECK_FALSE(answer.complete);
  CHECK(answer.programs.size() > 0);
  CHECK(answer.programs.size() < 47);
  const std::size_t found = answer.programs.size();
  CHECK(enumerate(query).programs.size() == found);
}

TEST_CASE("a definition that is not built in takes part in synthesis") {
  std::vector<language::Definition> wrong = {language::built_in("AllReduce")};
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  SynthesisQuery query = query_for(instance, Dialect::Published, 3);
  query.definitions = wrong;
  const std::size_t right = enumerate(query).programs.size();
  wrong[0].premises.pop_back();
  query.definitions = wrong;
  CHECK(enumerate(query).programs.size() > right);
}

using namespace p2;

namespace {

std::set<std::string> by_clauses(const Instance& instance, Dialect dialect, std::uint32_t size) {
  const cnf::Enumerated found = cnf::enumerate_programs(instance, dialect, size);
  CHECK(found.complete);
  std::set<std::string> texts;
  for (const auto& steps : found.programs) {
    CHECK(texts.insert(to_string(steps, &instance)).second);
  }
  return texts;
}

std::set<std::string> by_enumerator(const Instance& instance, Dialect dialect, std::uint32_t size) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.size = size;
  std::set<std::string> texts;
  find_programs({instance}, options)[0].for_each(
      [&](const std::vector<Step>& steps) { texts.insert(to_string(steps, &instance)); });
  return texts;
}

}  // namespace

TEST_CASE("the clauses' own groups are those of the lowering, shape by shape") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance = instance_of("2,1,4", "2,4", "0,1", "[[2 1 1] [1 1 4]]", kind);
    std::set<std::pair<std::vector<Group>, bool>> by_coordinates;
    for (const auto& distinct : cnf::Coordinates(instance).distinct_shapes()) {
      CHECK(by_coordinates.emplace(distinct.groups, distinct.master).second);
    }
    std::set<std::pair<std::vector<Group>, bool>> by_lowering;
    for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
      by_lowering.emplace(lower(instance.grid, shape, Collective::Reduce).groups,
                          shape.pattern.pinned != 0);
    }
    CHECK(by_coordinates == by_lowering);
  }
}

TEST_CASE("clauses and enumerator find the same programs: all systems of 2 to 4 devices, size 3") {
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      CHECK(by_clauses(instance, dialect, 3) == by_enumerator(instance, dialect, 3));
    });
  }
}

TEST_CASE(
    "clauses and enumerator find the same programs: unequal levels, several classes, size 5") {
  const Instance two = instance_of("2,3", "6", "0", "[[2 3]]");
  CHECK(by_clauses(two, Dialect::Published, 5) == by_enumerator(two, Dialect::Published, 5));
  const Instance classes = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]");
  CHECK(by_clauses(classes, Dialect::Printed, 5).size() == 93);
  const Instance rows = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows);
  CHECK(by_clauses(rows, Dialect::Printed, 3) == by_enumerator(rows, Dialect::Printed, 3));
}

TEST_CASE("a limit leaves what was settled and says so") {
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto found = cnf::enumerate_programs(instance_of("2,2,2", "8", "0", "[[2 2 2]]"),
                                             Dialect::Published, 5, limits);
  CHECK(!found.complete);
  CHECK(found.settled < 5);
}
