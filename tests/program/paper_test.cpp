#include <algorithm>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"
#include "engine/program/program_file.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

/// Figure 2d: 16 GPUs A0…D3 = devices 0…15, reduction along the parameter shards.
const std::string kFigure2d =
    "hierarchy rack=1,server=2,cpu=2,gpu=4\naxes data=4,shard=4\nreduce shard\n"
    "placement [[1 1 2 2] [1 2 1 2]]\n";

std::string rule_that_refuses(const std::string& text) {
  const ProgramFile file = read_program("f", text, {});
  StateTable states(file.program.devices);
  const Verdict verdict = check(file.program, file.dialect, states);
  return verdict.refutation ? std::string(rule_name(*verdict.refutation)) : "none";
}

/// Whether some instruction of the hierarchy forms exactly these groups.
bool forms(const Instance& instance, std::vector<Group> groups) {
  std::sort(groups.begin(), groups.end());
  const auto shapes = all_shapes(instance.hierarchy);
  return std::any_of(shapes.begin(), shapes.end(), [&](const GroupShape& shape) {
    return lower(instance.grid, shape, Collective::AllReduce).groups == groups;
  });
}

}  // namespace

TEST_CASE("figure 3: the three example strategies are valid") {
  CHECK(rule_that_refuses(kFigure2d + "AllReduce(root, InsideGroup)") == "none");
  CHECK(rule_that_refuses(kFigure2d +
                          "AllReduce(server, InsideGroup); AllReduce(server, Parallel(root))") ==
        "none");
  CHECK(rule_that_refuses(kFigure2d +
                          "Reduce(server, InsideGroup); AllReduce(server, Master(root)); "
                          "Broadcast(server, InsideGroup)") == "none");
}

TEST_CASE("figure 10: both common optimal programs are valid") {
  const std::string header = "hierarchy node=2,gpu=8\naxes 16\nreduce 0\n";
  CHECK(rule_that_refuses(header + "Reduce(node, InsideGroup); AllReduce(node, Master(root)); "
                                   "Broadcast(node, InsideGroup)") == "none");
  CHECK(rule_that_refuses(header +
                          "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
                          "AllGather(node, InsideGroup)") == "none");
}

TEST_CASE("figure 4a: reducing different chunks is refused because the chunks differ") {
  // Reduces, among others, A0 and A1, and then A0 and A1 again.
  CHECK(rule_that_refuses(kFigure2d +
                          "ReduceScatter(server, InsideGroup); AllReduce(server, InsideGroup)") ==
        "same-chunks");
}

TEST_CASE("figure 4b: reducing A0 and C0 twice is refused because they would count twice") {
  CHECK(rule_that_refuses(kFigure2d +
                          "AllReduce(root, InsideGroup); AllReduce(server, Parallel(root))") ==
        "disjoint");
}

TEST_CASE("theorem 3.2 fails in dialect printed: (c) has a valid program with a step (d) lacks") {
  const auto instance = [](HierarchyKind kind) {
    return instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", kind);
  };
  CHECK(rule_that_refuses("devices 8\nclasses {0,2,4,6},{1,3,5,7}\n"
                          "Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}; "
                          "Broadcast{0,2,4,6},{1,3,5,7}") == "none");
  CHECK(forms(instance(HierarchyKind::Rows), {{0, 4}}));
  CHECK(!forms(instance(HierarchyKind::Reduction), {{0, 4}}));
}

TEST_CASE("lemma B.7, case 3, fails: a Master of (b) that (c) cannot form") {
  const auto instance = [](HierarchyKind kind) {
    return instance_of("2,2,2", "4,2", "0", "[[1 2 2] [2 1 1]]", kind);
  };
  CHECK(forms(instance(HierarchyKind::Columns), {{0, 2}, {4, 6}}));
  CHECK(!forms(instance(HierarchyKind::Rows), {{0, 2}, {4, 6}}));
  // The Master belongs to a program that is valid in both dialects.
  const std::string header =
      "hierarchy 2,2,2\naxes 4,2\nreduce 0\nplacement [[1 2 2] [2 1 1]]\nsynthesis-hierarchy b\n";
  CHECK(rule_that_refuses(header + "Reduce(l1.a0, InsideGroup); AllReduce(l1.a0, Master(l0.a1)); "
                                   "Broadcast(l1.a0, InsideGroup)") == "none");
}

TEST_CASE("with several reduction axes (c) and (d) miss groups that (b) and (a) form") {
  const auto instance = [](HierarchyKind kind) {
    return instance_of("4,4", "4,4", "0,1", "[[2 2] [2 2]]", kind);
  };
  const std::vector<Group> nodes = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
  CHECK(forms(instance(HierarchyKind::Hardware), nodes));
  CHECK(forms(instance(HierarchyKind::Columns), nodes));
  CHECK(!forms(instance(HierarchyKind::Rows), nodes));
  CHECK(!forms(instance(HierarchyKind::Reduction), nodes));
  CHECK(forms(instance(HierarchyKind::Collapsed), nodes));
  CHECK(forms(instance(HierarchyKind::Lattice), nodes));
}

TEST_CASE("lemma B.3 fails for arbitrary groups: a valid program whose steps mix classes") {
  CHECK(rule_that_refuses("devices 4\nclasses {0,1},{2,3}\n"
                          "Reduce{2,3}; Broadcast{1,3}; Reduce{0,3}; Broadcast{0,1},{2,3}") ==
        "none");
}
