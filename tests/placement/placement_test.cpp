#include "engine/placement/placement.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/base/complaint.h"

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
