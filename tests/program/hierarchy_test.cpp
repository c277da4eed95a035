#include <set>

#include <doctest/doctest.h>

#include "engine/program/program.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

std::vector<std::uint32_t> sizes(const SynthesisHierarchy& hierarchy) {
  std::vector<std::uint32_t> sizes;
  for (const SynthesisLevel& level : hierarchy.levels()) sizes.push_back(level.size);
  return sizes;
}

std::string groups_of(const Instance& instance, const char* slice, const char* form) {
  TextCursor slice_cursor("slice", slice);
  TextCursor form_cursor("form", form);
  const GroupShape shape = parse_shape(slice_cursor, form_cursor, instance);
  return to_string(lower(instance.grid, shape, Collective::AllReduce).groups);
}

}  // namespace

TEST_CASE("table 1: the synthesis hierarchies of both examples") {
  const auto first = [](HierarchyKind kind) {
    return sizes(instance_of("1,2,2,4", "4,4", "1", "[[1 1 2 2] [1 2 1 2]]", kind).hierarchy);
  };
  using Sizes = std::vector<std::uint32_t>;
  CHECK(first(HierarchyKind::Hardware) == Sizes{1, 1, 2, 2, 4});
  CHECK(first(HierarchyKind::Columns) == Sizes{1, 1, 1, 1, 2, 2, 1, 2, 2});
  CHECK(first(HierarchyKind::Rows) == Sizes{1, 1, 1, 2, 2, 1, 2, 1, 2});
  CHECK(first(HierarchyKind::Reduction) == Sizes{1, 1, 2, 1, 2});
  CHECK(first(HierarchyKind::Collapsed) == Sizes{1, 1, 2, 1, 2});

  const auto second = [](HierarchyKind kind) {
    return sizes(
        instance_of("28,80,162", "6,120,504", "0,2", "[[1 2 3] [4 5 6] [7 8 9]]", kind).hierarchy);
  };
  CHECK(second(HierarchyKind::Columns) == Sizes{1, 1, 4, 7, 2, 5, 8, 3, 6, 9});
  CHECK(second(HierarchyKind::Rows) == Sizes{1, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(second(HierarchyKind::Reduction) == Sizes{1, 1, 2, 3, 7, 8, 9});
  CHECK(second(HierarchyKind::Collapsed) == Sizes{1, 7, 16, 27});
}

TEST_CASE("table 2: the communication patterns of figure 2a") {
  // A0…A3 are devices 0…3, B 4…7, C 8…11, D 12…15.
  const Instance rack =
      instance_of("rack=1,server=2,CPU=2,GPU=4", "16", "0", "[[1 2 2 4]]", HierarchyKind::Hardware);
  CHECK(groups_of(rack, "CPU", "InsideGroup") == "{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}");
  CHECK(groups_of(rack, "CPU", "Parallel(server)") ==
        "{0,4},{1,5},{2,6},{3,7},{8,12},{9,13},{10,14},{11,15}");
  CHECK(groups_of(rack, "CPU", "Parallel(rack)") ==
        "{0,4,8,12},{1,5,9,13},{2,6,10,14},{3,7,11,15}");
  CHECK(groups_of(rack, "CPU", "Master(rack)") == "{0,4,8,12}");
  CHECK(groups_of(rack, "server", "InsideGroup") == "{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15}");
  CHECK(groups_of(rack, "server", "Parallel(rack)") ==
        "{0,8},{1,9},{2,10},{3,11},{4,12},{5,13},{6,14},{7,15}");
  CHECK(groups_of(rack, "rack", "InsideGroup") == "{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}");
}

TEST_CASE("every shape forms other groups than the ones before it, of at least two devices") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance = instance_of("2,4", "2,4", "0,1", "[[2 1] [1 4]]", kind);
    std::set<std::vector<Group>> seen;
    for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
      const auto groups = lower(instance.grid, shape, Collective::AllReduce).groups;
      CHECK(seen.insert(groups).second);
      CHECK(groups.front().size() >= 2);
      CHECK((shape.form == Form::Master) == (shape.pattern.pinned != 0));
    }
  }
}

TEST_CASE(
    "a linear hierarchy of n levels above 1 has n InsideGroup, n(n-1)/2 new Parallel and as many "
    "Master shapes") {
  const auto shapes = [](const char* hierarchy, const char* axes, const char* placement) {
    return all_shapes(instance_of(hierarchy, axes, "0", placement).hierarchy).size();
  };
  CHECK(shapes("4", "4", "[[4]]") == 1);
  CHECK(shapes("1,4", "4", "[[1 4]]") == 1);
  CHECK(shapes("2,2", "4", "[[2 2]]") == 2 + 1 + 1);
  CHECK(shapes("2,2,2", "8", "[[2 2 2]]") == 3 + 3 + 3);
  CHECK(shapes("2,3,2,4", "48", "[[2 3 2 4]]") == 4 + 6 + 6);
}

TEST_CASE("the lattice contains the patterns of (d) and of collapsed") {
  const auto patterns = [](HierarchyKind kind) {
    std::set<std::pair<FactorSet, FactorSet>> all;
    const Instance instance = instance_of("4,4", "4,2,2", "0,1", "[[2 2] [2 1] [1 2]]", kind);
    for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
      all.emplace(shape.pattern.reduced, shape.pattern.pinned);
    }
    return all;
  };
  const auto lattice = patterns(HierarchyKind::Lattice);
  CHECK(lattice.size() == 19);  // 3^3 ways to reduce, pin or leave three factors, 8 reduce nothing
  for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
    for (const auto& pattern : patterns(kind)) CHECK(lattice.contains(pattern));
  }
}

TEST_CASE("dialect published allows only AllReduce with Master, printed allows all five") {
  const Pattern parallel{1, 0};
  const Pattern master{1, 2};
  for (const Collective collective : kCollectives) {
    CHECK(allows(Dialect::Published, parallel, collective));
    CHECK(allows(Dialect::Printed, master, collective));
    CHECK(allows(Dialect::Published, master, collective) == (collective == Collective::AllReduce));
  }
}
