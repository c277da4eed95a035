#include <algorithm>
#include <chrono>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
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
  for (const auto& found : find_programs(std::move(instances), options))
    total += found.list().count();
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

using namespace p2;

namespace {

std::vector<Instance> all_placements(const char* hierarchy, const char* axes, const char* reduce,
                                     HierarchyKind kind) {
  const Hierarchy levels = parse_hierarchy("h", hierarchy);
  const Axes named = parse_axes("a", axes);
  std::vector<Instance> instances;
  for (const Placement& placement : enumerate_placements(levels, named, {"a"})) {
    instances.emplace_back(DeviceGrid(levels, named, placement),
                           parse_reduction("r", reduce, named), kind);
  }
  return instances;
}

std::vector<std::string> texts(const PlacementPrograms& found) {
  std::vector<std::string> all;
  found.for_each(
      [&](const std::vector<Step>& steps) { all.push_back(to_string(steps, &found.instance())); });
  return all;
}

}  // namespace

TEST_CASE("every listed program is judged valid, is listed once, and sizes never fall") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
      SynthesisOptions options;
      options.dialect = dialect;
      options.size = 4;
      for (const auto& found : find_programs(all_placements("2,4", "4,2", "0", kind), options)) {
        std::set<std::string> seen;
        std::size_t size = 0;
        found.for_each_lowered([&](const Program& program) {
          StateTable states(program.devices);
          CHECK(check(program, dialect, states).outcome == Outcome::Established);
          CHECK(seen.insert(to_string(program.steps, nullptr)).second);
          CHECK(program.steps.size() >= size);
          size = program.steps.size();
        });
        CHECK(seen.size() == found.list().count());
      }
    }
  }
}

TEST_CASE("the list does not depend on the number of threads") {
  SynthesisOptions one;
  one.jobs = 1;
  SynthesisOptions four;
  four.jobs = 4;
  const auto alone =
      find_programs(all_placements("4,16", "4,2,8", "0,2", HierarchyKind::Collapsed), one);
  const auto together =
      find_programs(all_placements("4,16", "4,2,8", "0,2", HierarchyKind::Collapsed), four);
  REQUIRE(alone.size() == together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(texts(alone[i]) == texts(together[i]));
}

TEST_CASE("instances searched together have the programs that they have alone") {
  // Equal sizes and moves, but other reduction factors: these must not share a search.
  const std::vector<Instance> together = {
      instance_of("2,2", "2,2", "0", "[[2 1] [1 2]]", HierarchyKind::Hardware),
      instance_of("2,2", "2,2", "0", "[[1 2] [2 1]]", HierarchyKind::Hardware),
      instance_of("2,2", "2,2", "0,1", "[[2 1] [1 2]]", HierarchyKind::Hardware)};
  const auto found = find_programs(together, {});
  std::set<std::vector<std::string>> distinct;
  for (std::size_t i = 0; i < together.size(); ++i) {
    CHECK(texts(found[i]) == texts(find_programs({together[i]}, {})[0]));
    distinct.insert(texts(found[i]));
  }
  CHECK(distinct.size() == together.size());
}

TEST_CASE("figures 3 and 10: the paper's strategies are among the programs found") {
  SynthesisOptions options;
  const auto figure3 =
      texts(find_programs({instance_of("rack=1,server=2,cpu=2,gpu=4", "data=4,shard=4", "shard",
                                       "[[1 1 2 2] [1 2 1 2]]")},
                          options)[0]);
  const auto figure10 =
      texts(find_programs({instance_of("node=2,gpu=8", "16", "0", "[[2 8]]")}, options)[0]);
  const auto lists = [](const std::vector<std::string>& programs, const char* wanted) {
    return std::count(programs.begin(), programs.end(), wanted) == 1;
  };
  CHECK(lists(figure3, "AllReduce(root, InsideGroup)"));
  CHECK(lists(figure3, "AllReduce(server, InsideGroup); AllReduce(server, Parallel(root))"));
  CHECK(lists(figure3,
              "Reduce(server, InsideGroup); AllReduce(server, Master(root)); "
              "Broadcast(server, InsideGroup)"));
  CHECK(lists(
      figure10,
      "Reduce(node, InsideGroup); AllReduce(node, Master(root)); Broadcast(node, InsideGroup)"));
  CHECK(lists(figure10,
              "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
              "AllGather(node, InsideGroup)"));
}

TEST_CASE(
    "theorem 3.2's counterexample is found over (c) in dialect printed and not in published") {
  const auto found = [](Dialect dialect) {
    SynthesisOptions options;
    options.dialect = dialect;
    options.size = 3;
    const auto programs = find_programs(
        {instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows)}, options);
    bool listed = false;
    programs[0].for_each_lowered([&](const Program& program) {
      listed =
          listed || to_string(program.steps, nullptr) ==
                        "Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}; Broadcast{0,2,4,6},{1,3,5,7}";
    });
    return listed;
  };
  CHECK(found(Dialect::Printed));
  CHECK(!found(Dialect::Published));
}

TEST_CASE("4096 devices cost no more states than 16") {
  SynthesisOptions options;
  options.size = 3;
  const auto large = find_programs({instance_of("8,8,8,8", "4096", "0", "[[8 8 8 8]]")}, options);
  const auto small = find_programs({instance_of("2,2,2,2", "16", "0", "[[2 2 2 2]]")}, options);
  CHECK(large[0].list().count() == small[0].list().count());
  CHECK(large[0].list().states() == small[0].list().states());
  CHECK(texts(large[0]) == texts(small[0]));
}

using namespace p2;

TEST_CASE("a search that meets a limit keeps what it has settled and no more") {
  const Instance instance = instance_of("4,4,4,4", "256", "0", "[[4 4 4 4]]");
  SynthesisOptions options;
  options.size = 6;
  options.explicit_only = true;
  options.limits.memory_bytes = resident_memory() + (std::size_t{1} << 20);
  const auto found = find_programs({instance}, options);
  const ProgramList& stopped = found[0].list();
  REQUIRE(stopped.settled() < options.size);
  options.size = stopped.settled();
  options.limits = {};
  const auto whole = find_programs({instance}, options);
  CHECK(stopped.count() == whole[0].list().count());
  CHECK(stopped.count() > 0);
}

TEST_CASE("a deadline in the past settles only the empty program") {
  SynthesisOptions options;
  options.limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto found = find_programs({instance_of("2,2", "4", "0", "[[2 2]]")}, options);
  CHECK(found[0].list().settled() == 0);
  CHECK(found[0].list().count() == 0);
}

TEST_CASE("progress counts every search and the states it expanded") {
  SearchProgress progress;
  SynthesisOptions options;
  options.progress = &progress;
  find_programs({instance_of("2,2", "4", "0", "[[2 2]]"), instance_of("4,1", "4", "0", "[[4 1]]")},
                options);
  CHECK(progress.searches == 2);
  CHECK(progress.searches_done == 2);
  CHECK(progress.states > 10);
}
