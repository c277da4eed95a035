#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/synthesis/appendix.h"

using namespace p2;

namespace {

struct Question {
  const char* hierarchy;
  const char* axes;
  const char* reduce;
  HierarchyKind kind = HierarchyKind::Collapsed;
  Dialect dialect = Dialect::Published;
  std::uint32_t size = 5;
};

std::uint64_t count(const Question& question) {
  const Hierarchy hierarchy = parse_hierarchy("h", question.hierarchy);
  const Axes axes = parse_axes("a", question.axes);
  std::vector<Instance> instances;
  for (const Placement& placement : enumerate_placements(hierarchy, axes, {"a"})) {
    instances.emplace_back(DeviceGrid(hierarchy, axes, placement),
                           parse_reduction("r", question.reduce, axes), question.kind);
  }
  SynthesisOptions options;
  options.dialect = question.dialect;
  options.size = question.size;
  std::uint64_t total = 0;
  for (const auto& found : synthesise(std::move(instances), options)) total += found.list().count();
  return total;
}

}  // namespace

TEST_CASE("dialect published reproduces the program counts of all rows of the paper's appendix") {
  for (const AppendixRow& row : kAppendix) {
    CAPTURE(row.hierarchy);
    CAPTURE(row.axes);
    CAPTURE(row.reduce);
    CHECK(count({row.hierarchy, row.axes, row.reduce}) == row.total_programs);
  }
}

TEST_CASE("one level above 1 has 3 programs and two have 47 or 93, whatever the sizes") {
  for (const char* one : {"2", "3", "16", "1,5", "6,1"}) {
    const std::string size = std::to_string(parse_hierarchy("h", one).devices());
    CHECK(count({one, size.c_str(), "0"}) == 3);
    CHECK(count({one, size.c_str(), "0", HierarchyKind::Collapsed, Dialect::Printed}) == 3);
  }
  for (const char* two : {"2,2", "2,3", "3,2", "4,16", "5,3", "2,1,7"}) {
    const std::string size = std::to_string(parse_hierarchy("h", two).devices());
    CHECK(count({two, size.c_str(), "0"}) == 47);
    CHECK(count({two, size.c_str(), "0", HierarchyKind::Collapsed, Dialect::Printed}) == 93);
    CHECK(count({two, size.c_str(), "0", HierarchyKind::Lattice}) == 55);
    CHECK(count({two, size.c_str(), "0", HierarchyKind::Lattice, Dialect::Printed}) == 225);
  }
}

TEST_CASE("three levels above 1, size limits 1 to 6, in both dialects") {
  constexpr std::uint64_t printed[] = {1, 7, 66, 385, 1635, 4576};
  constexpr std::uint64_t published[] = {1, 7, 57, 262, 825, 1362};
  for (const char* three : {"2,2,2", "2,3,4"}) {
    const std::string devices = std::to_string(parse_hierarchy("h", three).devices());
    for (std::uint32_t size = 1; size <= 6; ++size) {
      CHECK(count({three, devices.c_str(), "0", HierarchyKind::Reduction, Dialect::Printed,
                   size}) == printed[size - 1]);
      CHECK(count({three, devices.c_str(), "0", HierarchyKind::Reduction, Dialect::Published,
                   size}) == published[size - 1]);
    }
  }
}

TEST_CASE("a reduction class of one device needs no steps: the empty program is the only one") {
  CHECK(count({"2,2", "4,1", "1"}) == 1);
  CHECK(count({"1", "1", "0", HierarchyKind::Collapsed, Dialect::Printed, 3}) == 1);
}
