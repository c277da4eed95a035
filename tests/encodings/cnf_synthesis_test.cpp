#include <chrono>
#include <set>

#include <doctest/doctest.h>

#include "encodings/cnf/coordinates.h"
#include "encodings/cnf/synthesis.h"
#include "engine/program/notation.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

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
  synthesise({instance}, options)[0].for_each(
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
