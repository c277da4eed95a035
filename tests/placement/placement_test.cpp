#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "engine/placement/placement.h"
#include "tests/base/complaint.h"

using namespace p2;

TEST_CASE("axes are read with and without names and printed back") {
  CHECK(to_string(parse_axes("--axes", "8,4")) == "a0=8,a1=4");
  const Axes named = parse_axes("--axes", "data=8, shard=4");
  CHECK(to_string(named) == "data=8,shard=4");
  CHECK(parse_axes("--axes", to_string(named)) == named);
}

TEST_CASE("reduction axes are a set of indices or names") {
  const Axes axes = parse_axes("--axes", "data=2,pipe=2,shard=4");
  CHECK(parse_reduction("--reduce", "2,0", axes) == ReductionAxes{0, 2});
  CHECK(parse_reduction("--reduce", "shard,data", axes) == ReductionAxes{0, 2});
  CHECK(parse_reduction("--reduce", "1", axes) == ReductionAxes{1});
}

TEST_CASE("wrong axes are refused where they stand") {
  const Axes axes = parse_axes("--axes", "data=2,shard=4");
  CHECK(complaint([] { parse_axes("--axes", "8,0"); }) ==
        "--axes:1:3: found 0, expected the size of an axis from 1 to 1048576");
  CHECK(complaint([] { parse_axes("--axes", "a=2,a=4"); }) ==
        "--axes:1:1: two axes are called a, expected distinct names");
  CHECK(complaint([] { parse_axes("--axes", "a.b=2"); }) ==
        "--axes:1:1: \"a.b\" cannot name an axis, expected letters, digits, '_' and '-', starting "
        "with a letter or '_'");
  CHECK(complaint([&] { parse_reduction("--reduce", "0,data", axes); }) ==
        "--reduce:1:3: axis data is listed twice, expected each axis once");
  CHECK(complaint([&] { parse_reduction("--reduce", "2", axes); }) ==
        "--reduce:1:1: found 2, expected the index of a reduction axis from 0 to 1");
  CHECK(complaint([&] { parse_reduction("--reduce", "batch", axes); }) ==
        "--reduce:1:1: no axis is called 'batch', expected one of data=2,shard=4");
}

using namespace p2;

namespace {

std::vector<std::string> placements(const char* hierarchy, const char* axes) {
  std::vector<std::string> texts;
  for (const Placement& placement :
       enumerate_placements(parse_hierarchy("h", hierarchy), parse_axes("a", axes), {"--axes"})) {
    texts.push_back(to_string(placement));
  }
  return texts;
}

/// All matrices over the divisors of the level sizes that pass check_placement, by brute force.
std::size_t count_by_brute_force(const Hierarchy& hierarchy, const Axes& axes) {
  const std::size_t cells = hierarchy.levels().size() * axes.count();
  Placement matrix;
  matrix.factors.assign(axes.count(), std::vector<std::uint32_t>(hierarchy.levels().size(), 1));
  std::size_t count = 0;
  const auto fill = [&](const auto& self, std::size_t cell) -> void {
    if (cell == cells) {
      try {
        check_placement(matrix, hierarchy, axes, {"x"});
        ++count;
      } catch (const InputError&) {
      }
      return;
    }
    const std::size_t row = cell / hierarchy.levels().size();
    const std::size_t column = cell % hierarchy.levels().size();
    for (std::uint32_t factor = 1; factor <= hierarchy.levels()[column].size; ++factor) {
      if (hierarchy.levels()[column].size % factor != 0) continue;
      matrix.factors[row][column] = factor;
      self(self, cell + 1);
    }
  };
  fill(fill, 0);
  return count;
}

}  // namespace

TEST_CASE("placements come in ascending order of their rows: table 3 of the paper") {
  CHECK(placements("4,16", "8,8") ==
        std::vector<std::string>{"[[1 8] [4 2]]", "[[2 4] [2 4]]", "[[4 2] [1 8]]"});
  CHECK(placements("4,16", "2,32") == std::vector<std::string>{"[[1 2] [4 8]]", "[[2 1] [2 16]]"});
}

TEST_CASE("the placements of figure 2 are among those of its rack") {
  const auto all = placements("1,2,2,4", "4,4");
  for (const char* drawn :
       {"[[1 2 2 1] [1 1 1 4]]", "[[1 2 1 2] [1 1 2 2]]", "[[1 1 2 2] [1 2 1 2]]"}) {
    CHECK(std::count(all.begin(), all.end(), drawn) == 1);
  }
}

TEST_CASE("the enumeration finds every matrix once and no other") {
  CHECK(rc::check("placements of random systems", [] {
    const auto size = rc::gen::inRange<std::uint32_t>(1, 7);
    const auto levels =
        *rc::gen::container<std::vector<std::uint32_t>>(*rc::gen::inRange(1, 4), size);
    std::vector<Level> named;
    std::vector<Axis> axes{{"a", 1}, {"b", 1}};
    for (const std::uint32_t level : levels) {
      named.push_back({"l" + std::to_string(named.size()), level});
      const std::uint32_t part = *rc::gen::suchThat(rc::gen::inRange<std::uint32_t>(1, level + 1),
                                                    [&](auto p) { return level % p == 0; });
      axes[0].size *= part;
      axes[1].size *= level / part;
    }
    const Hierarchy hierarchy(named, {"h"});
    const Axes both(axes, {"a"});
    const auto found = enumerate_placements(hierarchy, both, {"--axes"});
    for (const Placement& placement : found) check_placement(placement, hierarchy, both, {"x"});
    RC_ASSERT(std::is_sorted(found.begin(), found.end()));
    RC_ASSERT(std::set<Placement>(found.begin(), found.end()).size() == found.size());
    RC_ASSERT(found.size() == count_by_brute_force(hierarchy, both));
  }));
}

TEST_CASE("a placement is read back from its printed form") {
  const Hierarchy hierarchy = parse_hierarchy("h", "4,16");
  const Axes axes = parse_axes("a", "8,8");
  const Placement placement = parse_placement("--placement", "[[2,4],[2,4]]", hierarchy, axes);
  CHECK(to_string(placement) == "[[2 4] [2 4]]");
  CHECK(parse_placement("--placement", to_string(placement), hierarchy, axes) == placement);
}

TEST_CASE("a matrix that is no placement is refused with the row or column at fault") {
  const Hierarchy hierarchy = parse_hierarchy("h", "node=4,gpu=16");
  const Axes axes = parse_axes("a", "data=8,shard=8");
  const auto refused = [&](const char* text) {
    return complaint([&] { parse_placement("--placement", text, hierarchy, axes); });
  };
  CHECK(refused("[[2,4]]") ==
        "--placement:1:1: the placement has 1 rows, expected 2: one per axis");
  CHECK(refused("[[2,4],[2]]") ==
        "--placement:1:1: row 1 of the placement has 1 entries, expected "
        "2: one per hierarchy level");
  CHECK(refused("[[2,4],[2,2]]") ==
        "--placement:1:1: row 1 of the placement multiplies to 4, "
        "expected 8: the size of axis shard");
  CHECK(refused("[[1,8],[1,8]]") ==
        "--placement:1:1: column 0 of the placement multiplies to 1, "
        "expected 4: the size of level node");
  CHECK(refused("[[2,4],[2,x]]") ==
        "--placement:1:11: found 'x', expected a parallelism factor from 1 to 1048576");
  CHECK(refused("[[2,4],[2,4]] 7") ==
        "--placement:1:15: unexpected '7' after the placement, expected the end");
}

TEST_CASE("axes that do not factor the system are refused, and so are too many placements") {
  const auto refused = [](const char* hierarchy, const char* axes, std::size_t most) {
    return complaint([&] {
      enumerate_placements(parse_hierarchy("h", hierarchy), parse_axes("a", axes), {"--axes"},
                           most);
    });
  };
  CHECK(refused("4,16", "8,4", 10) ==
        "--axes: the axes a0=8,a1=4 multiply to 32, expected 64: the "
        "number of devices of l0=4,l1=16");
  CHECK(refused("4,16", "8,8", 2) ==
        "--axes: more than 2 placements, expected fewer: name one with --placement");
}

using namespace p2;

namespace {

DeviceGrid grid_of(const char* hierarchy, const char* axes, const char* placement) {
  const Hierarchy levels = parse_hierarchy("h", hierarchy);
  const Axes named = parse_axes("a", axes);
  return {levels, named, parse_placement("p", placement, levels, named)};
}

}  // namespace

TEST_CASE("figure 2b: every CPU is one data replica and its GPUs are the shards") {
  const DeviceGrid grid =
      grid_of("rack=1,server=2,cpu=2,gpu=4", "data=4,shard=4", "[[1 2 2 1] [1 1 1 4]]");
  CHECK(draw_placement(grid) ==
        "server 0 0/0 0/1 0/2 0/3 | 1/0 1/1 1/2 1/3\n"
        "server 1 2/0 2/1 2/2 2/3 | 3/0 3/1 3/2 3/3\n");
}

TEST_CASE("figure 2d: both axes are split over servers, CPUs and GPUs") {
  const DeviceGrid grid =
      grid_of("rack=1,server=2,cpu=2,gpu=4", "data=4,shard=4", "[[1 1 2 2] [1 2 1 2]]");
  CHECK(draw_placement(grid) ==
        "server 0 0/0 0/1 1/0 1/1 | 2/0 2/1 3/0 3/1\n"
        "server 1 0/2 0/3 1/2 1/3 | 2/2 2/3 3/2 3/3\n");
  CHECK(draw_matrix(grid) ==
        "        rack  server    cpu    gpu\n"
        "data       1       1      2      2\n"
        "shard      1       2      1      2\n");
}

TEST_CASE("a drawing of two levels has one line per outer instance, and large systems have none") {
  CHECK(draw_placement(grid_of("node=2,gpu=2", "data=2,shard=2", "[[2 1] [1 2]]")) ==
        "node 0 0/0 0/1\nnode 1 1/0 1/1\n");
  CHECK(draw_placement(grid_of("gpu=4", "data=4", "[[4]]")) == " 0 1 2 3\n");
  CHECK(draw_placement(grid_of("node=16,gpu=8", "data=128", "[[16 8]]")).empty());
}

TEST_CASE("device ids are row-major over levels and, inside one, over the axes") {
  const DeviceGrid grid = grid_of("2,4", "4,2", "[[2 2] [1 2]]");
  REQUIRE(grid.factors().size() == 3);
  for (std::uint32_t device = 0; device < 8; ++device) {
    CHECK(grid.coordinate(device, 0) == device / 4 * 2 + device / 2 % 2);
    CHECK(grid.coordinate(device, 1) == device % 2);
  }
  CHECK(grid.groups(grid.factors_of({0}), 0) == std::vector<Group>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(grid.groups(grid.factors_of({1}), 0) == std::vector<Group>{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(grid.groups(grid.factor_at(0, 0), grid.factor_at(0, 1) | grid.factor_at(1, 1)) ==
        std::vector<Group>{{0, 4}});
}

TEST_CASE("the devices of a class agree on every axis that is not reduced") {
  const DeviceGrid grid = grid_of("1,2,2,4", "2,4,2", "[[1 1 2 1] [1 2 1 2] [1 1 1 2]]");
  const auto classes = grid.groups(grid.factors_of({0, 2}), 0);
  std::uint32_t devices = 0;
  for (const Group& members : classes) {
    CHECK(members.size() == 4);
    CHECK(std::is_sorted(members.begin(), members.end()));
    for (const std::uint32_t device : members) {
      CHECK(grid.coordinate(device, 1) == grid.coordinate(members[0], 1));
      ++devices;
    }
  }
  CHECK(devices == grid.devices());
}
