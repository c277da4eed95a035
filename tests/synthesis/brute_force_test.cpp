#include "tests/synthesis/brute_force.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;

namespace {

std::vector<brute_force::Program> synthesised(const Instance& instance, Dialect dialect,
                                              std::uint32_t size, bool explicit_only) {
  SynthesisOptions options;
  options.explicit_only = explicit_only;
  options.dialect = dialect;
  options.size = size;
  options.jobs = 1;
  std::vector<brute_force::Program> all;
  find_programs({instance}, options)[0].for_each_lowered([&](const Program& program) {
    auto& lowered = all.emplace_back();
    for (const Step& step : program.steps) lowered.push_back({step.groups, step.collective});
  });
  return all;
}

void compare(std::uint32_t devices, std::uint32_t size) {
  std::size_t programs = 0;
  for_each_instance(devices, [&](const Hierarchy& hierarchy, const Axes& axes,
                                 const ReductionAxes& reduction, const Placement& placement) {
    for (const HierarchyKind kind : kHierarchyKinds) {
      const Instance instance(DeviceGrid(hierarchy, axes, placement), reduction, kind);
      for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
        auto expected = brute_force::programs(instance, dialect, size);
        std::sort(expected.begin(), expected.end());
        for (const bool explicit_only : {true, false}) {
          auto found = synthesised(instance, dialect, size, explicit_only);
          std::sort(found.begin(), found.end());
          const bool equal = found == expected;
          CHECK_MESSAGE(equal, to_string(hierarchy), " ", to_string(axes), " ",
                        to_string(placement), " hierarchy ", to_string(kind), " ",
                        to_string(dialect), ": ", found.size(), " programs, brute force finds ",
                        expected.size());
        }
        programs += expected.size();
      }
    }
  });
  CHECK(programs > 0);
}

}  // namespace

TEST_CASE(
    "the enumerator finds exactly the programs of brute force: all systems of 2 to 6 devices") {
  for (std::uint32_t devices = 2; devices <= 6; ++devices) compare(devices, 4);
}

TEST_CASE("the enumerator finds exactly the programs of brute force: all systems of 8 devices") {
  compare(8, 3);
}

TEST_CASE("the enumerator finds exactly the programs of brute force: unequal levels, 12 devices") {
  const Instance instance = instance_of("3,4", "6,2", "0", "[[3 2] [1 2]]");
  const auto expected = brute_force::programs(instance, Dialect::Printed, 5);
  CHECK(expected.size() == 93);
  auto found = synthesised(instance, Dialect::Printed, 5, true);
  std::sort(found.begin(), found.end());
  auto sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  CHECK(found == sorted);
}
