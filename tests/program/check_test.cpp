#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/drawing.h"
#include "engine/program/explanation.h"
#include "engine/program/program_file.h"

using namespace p2;

namespace {

/// The verdict on a `.p2` text and, where it is refuted, the rule and the explanation.
struct Judged {
  ProgramFile file;
  Verdict verdict;
  std::string rule;
  std::string reason;
};

Judged judge(const std::string& text) {
  Judged judged{read_program("f", text, {}), {}, {}, {}};
  StateTable states(judged.file.program.devices);
  judged.verdict = check(judged.file.program, judged.file.dialect, states);
  if (judged.verdict.refutation) {
    const Instance* instance = judged.file.instance ? &*judged.file.instance : nullptr;
    judged.rule = rule_name(*judged.verdict.refutation);
    judged.reason = explain(*judged.verdict.refutation, judged.file.program, instance);
  }
  return judged;
}

bool valid(const std::string& text) { return judge(text).verdict.kind == Verdict::Kind::Valid; }

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
            .verdict.kind == Verdict::Kind::Valid);
  CHECK(judge("devices 6\nclasses {0,1,2,3},{4,5}\nReduceScatter{0,1},{2,3}; AllReduce{0,2}; "
              "AllGather{0,1},{2,3}; AllReduce{0,2}")
            .rule == "disjoint");
}

TEST_CASE("a limit leaves a program undecided, neither valid nor refuted") {
  const ProgramFile file = read_program("f", "devices 2\nAllReduce{0,1}", {});
  Limits limits;
  limits.memory_bytes = 0;
  StateTable states(2);
  const Verdict verdict = check(file.program, file.dialect, states, limits);
  CHECK(verdict.kind == Verdict::Kind::Unknown);
  CHECK(!verdict.refutation.has_value());
}
