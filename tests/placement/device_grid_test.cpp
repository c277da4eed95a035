#include "engine/placement/device_grid.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/placement/drawing.h"

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
