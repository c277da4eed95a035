#include <algorithm>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

/// The verdict on a `.p2` text and, where it is refuted, the rule and the explanation.
struct Judged {
  ProgramFile file;
  ProgramDecision verdict;
  std::string rule;
  std::string reason;
};

Judged judge(const std::string& text) {
  Judged judged{read_program("f", text, {}), {}, {}, {}};
  StateTable states(judged.file.program.devices);
  judged.verdict = check(judged.file.program, judged.file.dialect, states);
  if (judged.verdict.violation) {
    const Instance* instance = judged.file.instance ? &*judged.file.instance : nullptr;
    judged.rule = rule_name(*judged.verdict.violation);
    judged.reason = explain(*judged.verdict.violation, judged.file.program, instance);
  }
  return judged;
}

bool valid(const std::string& text) { return judge(text).verdict.outcome == Outcome::Established; }

}  // namespace

TEST_CASE("bare groups may differ in size and leave devices out") {
  CHECK(valid("devices 3\nReduce{0,1}; AllReduce{0,2}; Broadcast{0,1}"));
  CHECK(valid("devices 5\nAllReduce{0,1},{2,3,4}; AllReduce{0,2},{1,3}; Reduce{0,4}") == false);
}

TEST_CASE("every premise is named with step, group, devices, chunk and contributor") {
  CHECK(
      judge("devices 3\nReduce{0,1}; AllReduce{0,1,2}").reason ==
      "Step 2, AllReduce on group {0,1,2}, is refused by premise same-chunks: all devices of the "
      "group must hold the same chunks, but device 0 holds chunk 0 and device 1 does not (3 and 0 "
      "chunks held), so different chunks would be mixed.");
  CHECK(
      judge("devices 3\nAllReduce{0,1}; AllReduce{0,1,2}").reason ==
      "Step 2, AllReduce on group {0,1,2}, is refused by premise disjoint: no contribution may be "
      "counted twice, but devices 0 and 1 both hold the contribution of device 0 in chunk 0.");
  CHECK(
      judge("devices 3\nReduceScatter{0,1}").reason ==
      "Step 1, ReduceScatter on group {0,1}, is refused by premise divisible: the number of chunks "
      "held must be divisible by the group size, but the sum has 3 chunks for 2 devices (device 0 "
      "is the first).");
  CHECK(
      judge("devices 2\nAllGather{0,1}").reason ==
      "Step 1, AllGather on group {0,1}, is refused by premise disjoint-chunks: no two devices may "
      "hold the same chunk, but devices 0 and 1 both hold chunk 0.");
  CHECK(
      judge("devices 2\nReduce{0,1}; AllGather{0,1}").reason ==
      "Step 2, AllGather on group {0,1}, is refused by premise equal-count: all devices must hold "
      "equally many chunks, but device 0 holds 2 and device 1 holds 0.");
  CHECK(
      judge("devices 2\nBroadcast{0,1}").reason ==
      "Step 1, Broadcast on group {0,1}, is refused by premise contained: the first device must "
      "hold whatever the others hold, but device 0 lacks the contribution of device 1 in chunk 0, "
      "which device 1 would lose.");
  CHECK(
      judge("devices 2\nAllReduce{0,1}; Broadcast{0,1}").reason ==
      "Step 2, Broadcast on group {0,1}, is refused by premise informative: some device must learn "
      "something, but all devices already hold what device 0 holds.");
}

TEST_CASE(
    "a legal program that misses the goal is refused by what a device lacks or has too much") {
  const Judged lacks = judge("devices 4\nAllReduce{0,1},{2,3}");
  CHECK(lacks.rule == "goal-lacks");
  CHECK(lacks.reason ==
        "The step is legal, but the program does not end in the goal: device 0 lacks the "
        "contribution "
        "of device 2, which is in its reduction class, in chunk 0.");
  const Judged excess =
      judge("devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}; AllReduce{0,2}");
  CHECK(excess.rule == "goal-excess");
  CHECK(excess.reason ==
        "All 2 steps are legal, but the program does not end in the goal: device 0 has the "
        "contribution of device 2, which is not in its reduction class, in chunk 0.");
  CHECK(judge("devices 2\nskip").reason.rfind("The program has no steps, but", 0) == 0);
  CHECK(valid("devices 2\nclasses {0},{1}\nskip"));
}

TEST_CASE("instructions are held to the dialect, the same groups without a form are not") {
  const std::string header = "hierarchy 2,2\naxes 4\nreduce 0\n";
  const std::string program =
      "Reduce(l0, InsideGroup); Reduce(l0, Master(root)); "
      "Broadcast(root, InsideGroup)";
  const Judged published = judge(header + program);
  CHECK(published.rule == "master");
  CHECK(
      published.reason ==
      "Step 2 (Reduce(l0, Master(root))) is refused: dialect published allows only AllReduce with "
      "Master, not Reduce (dialect printed allows all collectives).");
  CHECK(valid(header + "dialect printed\n" + program));
  CHECK(valid("devices 4\nReduce{0,1},{2,3}; Reduce{0,2}; Broadcast{0,1,2,3}"));
}

TEST_CASE("an instruction may not form a group without data, bare groups may") {
  const std::string header = "hierarchy 2,2\naxes 4\nreduce 0\n";
  const Judged empty = judge(header + "Reduce(l0, InsideGroup); AllReduce(l0, Parallel(root))");
  CHECK(empty.rule == "empty-group");
  CHECK(
      empty.reason ==
      "Step 2 (AllReduce(l0, Parallel(root))), AllReduce on group {1,3}, is refused: no device of "
      "the group holds anything, and an instruction may not form such a group.");
  CHECK(valid("devices 4\nReduce{0,1},{2,3}; AllReduce{0,2},{1,3}; Broadcast{0,1},{2,3}"));
}

TEST_CASE("the states are drawn as in figures 7 and 8") {
  const ProgramFile file = read_program("f", "devices 2\nReduceScatter{0,1}; AllGather{0,1}", {});
  CHECK(draw_derivation(file.program, file.dialect, nullptr) ==
        "start\n"
        "   d0  d1\n"
        "   █·  ·█\n"
        "   █·  ·█\n"
        "after step 1: ReduceScatter{0,1}\n"
        "   d0  d1\n"
        "   ██  ··\n"
        "   ··  ██\n"
        "after step 2: AllGather{0,1}\n"
        "   d0  d1\n"
        "   ██  ██\n"
        "   ██  ██\n");
}

TEST_CASE("larger systems are drawn as a line per device and content of the first class") {
  const ProgramFile file = read_program("f",
                                        "hierarchy 3,4\naxes 3,4\nreduce 0\nplacement [[3 1] [1 "
                                        "4]]\nReduceScatter(root, InsideGroup)",
                                        {});
  CHECK(draw_derivation(file.program, file.dialect, &*file.instance)
            .find("after step 1: ReduceScatter(root, InsideGroup)\n"
                  "   d0     chunks 0–3          from 0,4,8\n"
                  "   d4     chunks 4–7          from 0,4,8\n"
                  "   d8     chunks 8–11         from 0,4,8\n"
                  "   … and 9 more devices\n") != std::string::npos);
}

TEST_CASE("steps after the goal and groups of one device are judged by the rules like any other") {
  CHECK(valid("devices 2\nAllReduce{0,1}; AllReduce{0}"));
  CHECK(judge("devices 2\nAllReduce{0,1}; Broadcast{0}").rule == "informative");
  CHECK(judge("devices 2\nAllReduce{0,1}; AllReduce{0,1}").rule == "disjoint");
}

TEST_CASE("sums of states with several contents are formed block by block") {
  // Device 0 and 1 hold chunks 0–3 from both; 2 and 3 two contents each after a gather of halves.
  CHECK(judge("devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}")
            .verdict.outcome == Outcome::Established);
  CHECK(judge("devices 6\nclasses {0,1,2,3},{4,5}\nReduceScatter{0,1},{2,3}; AllReduce{0,2}; "
              "AllGather{0,1},{2,3}; AllReduce{0,2}")
            .rule == "disjoint");
}

TEST_CASE("a limit leaves a program undecided, neither valid nor refuted") {
  const ProgramFile file = read_program("f", "devices 2\nAllReduce{0,1}", {});
  Limits limits;
  limits.memory_bytes = 0;
  StateTable states(2);
  const ProgramDecision verdict = check(file.program, file.dialect, states, limits);
  CHECK(verdict.outcome == Outcome::Undecided);
  CHECK(!verdict.violation.has_value());
}

using namespace p2;

namespace {

/// Figure 2d: 16 GPUs A0…D3 = devices 0…15, reduction along the parameter shards.
const std::string kFigure2d =
    "hierarchy rack=1,server=2,cpu=2,gpu=4\naxes data=4,shard=4\nreduce shard\n"
    "placement [[1 1 2 2] [1 2 1 2]]\n";

std::string rule_that_refuses(const std::string& text) {
  const ProgramFile file = read_program("f", text, {});
  StateTable states(file.program.devices);
  const ProgramDecision verdict = check(file.program, file.dialect, states);
  return verdict.violation ? std::string(rule_name(*verdict.violation)) : "none";
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
