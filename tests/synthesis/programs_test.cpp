#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/notation.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"

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
      for (const auto& found : synthesise(all_placements("2,4", "4,2", "0", kind), options)) {
        std::set<std::string> seen;
        std::size_t size = 0;
        found.for_each_lowered([&](const Program& program) {
          StateTable states(program.devices);
          CHECK(check(program, dialect, states).kind == Verdict::Kind::Valid);
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
      synthesise(all_placements("4,16", "4,2,8", "0,2", HierarchyKind::Collapsed), one);
  const auto together =
      synthesise(all_placements("4,16", "4,2,8", "0,2", HierarchyKind::Collapsed), four);
  REQUIRE(alone.size() == together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(texts(alone[i]) == texts(together[i]));
}

TEST_CASE("instances searched together have the programs that they have alone") {
  // Equal sizes and moves, but other reduction factors: these must not share a search.
  const std::vector<Instance> together = {
      instance_of("2,2", "2,2", "0", "[[2 1] [1 2]]", HierarchyKind::Hardware),
      instance_of("2,2", "2,2", "0", "[[1 2] [2 1]]", HierarchyKind::Hardware),
      instance_of("2,2", "2,2", "0,1", "[[2 1] [1 2]]", HierarchyKind::Hardware)};
  const auto found = synthesise(together, {});
  std::set<std::vector<std::string>> distinct;
  for (std::size_t i = 0; i < together.size(); ++i) {
    CHECK(texts(found[i]) == texts(synthesise({together[i]}, {})[0]));
    distinct.insert(texts(found[i]));
  }
  CHECK(distinct.size() == together.size());
}

TEST_CASE("figures 3 and 10: the paper's strategies are among the programs found") {
  SynthesisOptions options;
  const auto figure3 =
      texts(synthesise({instance_of("rack=1,server=2,cpu=2,gpu=4", "data=4,shard=4", "shard",
                                    "[[1 1 2 2] [1 2 1 2]]")},
                       options)[0]);
  const auto figure10 =
      texts(synthesise({instance_of("node=2,gpu=8", "16", "0", "[[2 8]]")}, options)[0]);
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
    const auto programs =
        synthesise({instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows)}, options);
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
  const auto large = synthesise({instance_of("8,8,8,8", "4096", "0", "[[8 8 8 8]]")}, options);
  const auto small = synthesise({instance_of("2,2,2,2", "16", "0", "[[2 2 2 2]]")}, options);
  CHECK(large[0].list().count() == small[0].list().count());
  CHECK(large[0].list().states() == small[0].list().states());
  CHECK(texts(large[0]) == texts(small[0]));
}
