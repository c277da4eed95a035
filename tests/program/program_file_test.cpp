#include <numeric>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "tests/base/complaint.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

std::vector<Step> parse(const std::string& text, std::uint32_t devices,
                        const Instance* instance = nullptr) {
  TextCursor cursor("program", text);
  return parse_steps(cursor, devices, instance);
}

/// Random disjoint groups over `devices` devices: a shuffled prefix cut into runs.
std::vector<Group> random_groups(std::uint32_t devices) {
  Group order(devices);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = devices - 1; i > 0; --i) {
    std::swap(order[i], order[*rc::gen::inRange<std::uint32_t>(0, i + 1)]);
  }
  std::vector<Group> groups;
  std::uint32_t used = 0;
  do {
    const auto size = *rc::gen::inRange<std::uint32_t>(1, devices - used + 1);
    groups.emplace_back(order.begin() + used, order.begin() + used + size);
    used += size;
  } while (used < devices && *rc::gen::arbitrary<bool>());
  normalise_groups(groups, devices, {"random"});
  return groups;
}

}  // namespace

TEST_CASE("every instruction of every hierarchy is read back from its printed form") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance =
        instance_of("node=2,gpu=8", "data=4,shard=4", "data", "[[2 2] [1 4]]", kind);
    std::vector<Step> steps;
    for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
      for (const Collective collective : kCollectives) {
        steps.push_back(lower(instance.grid, shape, collective));
      }
    }
    const std::string text = to_string(steps, &instance);
    const std::vector<Step> again = parse(text, 16, &instance);
    REQUIRE(again.size() == steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      CHECK(again[i].collective == steps[i].collective);
      CHECK(again[i].groups == steps[i].groups);
      CHECK(again[i].shape->pattern == steps[i].shape->pattern);
    }
    CHECK(to_string(again, &instance) == text);
  }
}

TEST_CASE("programs of random bare groups are read back from their printed form") {
  CHECK(rc::check("bare groups round-trip", [] {
    const auto devices = *rc::gen::inRange<std::uint32_t>(1, 12);
    const auto count = *rc::gen::inRange<std::size_t>(0, 5);
    std::vector<Step> steps;
    for (std::size_t i = 0; i < count; ++i) {
      steps.push_back(
          {kCollectives[*rc::gen::inRange<std::size_t>(0, 5)], random_groups(devices), {}});
    }
    const std::string text = to_string(steps, nullptr);
    const std::vector<Step> again = parse(text, devices);
    RC_ASSERT(again.size() == steps.size());
    for (std::size_t i = 0; i < count; ++i) {
      RC_ASSERT(again[i].collective == steps[i].collective);
      RC_ASSERT(again[i].groups == steps[i].groups);
    }
  }));
}

TEST_CASE("the notation's own examples are read") {
  const Instance instance = instance_of("node=4,gpu=16", "data=64", "data", "[[4 16]]");
  const std::string program =
      "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
      "AllGather(node, InsideGroup)";
  CHECK(to_string(parse(program, 64, &instance), &instance) == program);
  CHECK(to_string(parse("AllReduce{6,0,2,4},{1,3,5,7};Broadcast{0,4};", 8), nullptr) ==
        "AllReduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}");
  CHECK(parse("skip", 4).empty());
  CHECK(to_string(std::vector<Step>{}, nullptr) == "skip");
}

TEST_CASE("mistakes in a program are named with line, column and what was expected") {
  const Instance linear = instance_of("node=4,gpu=16", "data=64", "data", "[[4 16]]");
  const Instance lattice =
      instance_of("node=4,gpu=16", "data=64", "data", "[[4 16]]", HierarchyKind::Lattice);
  const auto refused = [](const char* text, const Instance* instance = nullptr) {
    return complaint([&] { parse(text, 64, instance); });
  };
  CHECK(refused("Reduce{0,1}; Gossip{0,1}") ==
        "program:1:14: no collective is called 'Gossip', expected AllReduce, ReduceScatter, "
        "AllGather, Reduce or Broadcast, or one that a file of --collectives defines");
  CHECK(refused("Reduce{0,64}") ==
        "program:1:1: device 64 does not exist, expected devices from 0 to 63");
  CHECK(refused("Reduce{0,1},{1,2}") ==
        "program:1:1: device 1 occurs twice in one step, expected disjoint groups");
  CHECK(refused("Reduce{}") == "program:1:1: an empty group, expected at least one device");
  CHECK(refused("Reduce{0,1") ==
        "program:1:11: found the end, expected '}' after the devices of a group");
  CHECK(refused("Reduce{0,1}\n Reduce{0,1}") ==
        "program:2:2: unexpected 'R' after the program, expected the end");
  CHECK(
      refused("Reduce(node, InsideGroup)") ==
      "program:1:7: an instruction without an instance, expected hierarchy, axes and reduce to be "
      "given, or bare groups like {0,1},{2,3}");
  CHECK(refused("Reduce(cpu, InsideGroup)", &linear) ==
        "program:1:8: no level is called 'cpu', expected one of root 1 > node 4 > gpu 16; did you "
        "mean 'gpu'?");
  CHECK(refused("Reduce(node, Inside)", &linear) ==
        "program:1:14: no form is called 'Inside', expected InsideGroup, Parallel or Master; did "
        "you mean 'InsideGroup'?");
  CHECK(refused("Reduce(node, Parallel(gpu))", &linear) ==
        "program:1:23: level gpu is not an ancestor of node, expected a level above it");
  CHECK(refused("Reduce(gpu, InsideGroup)", &linear) ==
        "program:1:7: (gpu, InsideGroup) forms only groups of one device, expected groups of at "
        "least "
        "two");
  CHECK(refused("Reduce({gpu.data}, Master({gpu.data}))", &lattice) ==
        "program:1:20: factor gpu.data is both reduced and pinned, expected one of the two");
  CHECK(refused("Reduce({gpu.data}, InsideGroup)", &lattice) ==
        "program:1:20: InsideGroup over the lattice, expected Parallel or Master");
  CHECK(refused("Reduce({root}, Parallel)", &lattice) ==
        "program:1:9: no level is called 'root', expected one of {node.data 4, gpu.data 16}");
}

TEST_CASE("an overlong program is refused at the first step too many") {
  std::string text;
  for (std::size_t i = 0; i <= Program::kMaxSteps; ++i) text += "Reduce{0,1};";
  CHECK(complaint([&] { parse(text, 2); }) ==
        "program:1:49153: more than 4096 steps, expected a shorter program");
}

using namespace p2;

namespace {

ProgramFile read(const std::string& text, const GivenInstance& given = {}) {
  return read_program("f", text, given);
}

std::string refused(const std::string& text) {
  return complaint([&] { read(text); });
}

const std::string kHeader =
    "hierarchy node=2,gpu=4   # comment\naxes data=4,shard=2\nreduce data\n"
    "placement [[2,2],[1,2]]\n";

}  // namespace

TEST_CASE("a .p2 file is headers and then a program over several lines") {
  const ProgramFile file = read(
      kHeader +
      "dialect printed\n\nReduce(node, InsideGroup);\n  # then\nBroadcast(node, InsideGroup)\n");
  REQUIRE(file.instance.has_value());
  CHECK(file.dialect == Dialect::Printed);
  CHECK(file.program.devices == 8);
  CHECK(to_string(file.program.classes) == "{0,2,4,6},{1,3,5,7}");
  CHECK(to_string(file.program.steps, &*file.instance) ==
        "Reduce(node, InsideGroup); Broadcast(node, InsideGroup)");
}

TEST_CASE("a .p2 file of bare groups names devices and classes; without classes all are one") {
  const ProgramFile file = read("devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2,3}");
  CHECK(file.program.classes.size() == 2);
  CHECK(!file.instance.has_value());
  CHECK(read("devices 4\nskip").program.classes == std::vector<Group>{{0, 1, 2, 3}});
}

TEST_CASE("what a file does not say of its instance is taken from the command line") {
  GivenInstance given;
  given.hierarchy = parse_hierarchy("h", "node=2,gpu=2");
  given.axes = parse_axes("a", "4");
  given.reduction = ReductionAxes{0};
  given.dialect = Dialect::Printed;
  const ProgramFile file = read("AllReduce(root, InsideGroup)", given);
  CHECK(file.program.devices == 4);
  CHECK(file.dialect == Dialect::Printed);
  CHECK(read("dialect published\nAllReduce(root, InsideGroup)", given).dialect ==
        Dialect::Published);
  CHECK(read("devices 8\nskip", given).program.devices == 8);
  CHECK(read(R"({"devices":3,"classes":[[0,1,2]],"steps":[]})", given).program.devices == 3);
}

TEST_CASE("a file may name its goal, and the command line's goes first where it names one") {
  const std::string text = "devices 4\nclasses {0,1},{2,3}\ngoal allgather\nskip";
  const ProgramFile file = read(text);
  CHECK(file.program.terms.goal.name == "allgather");
  CHECK(file.program.beginning == Beginning{Start::Shards, 1});
  const std::string json = to_json(file.program, nullptr, file.dialect);
  CHECK(read(json).program.terms.goal.name == "allgather");
  CHECK(read(json).program.beginning == file.program.beginning);
  GivenInstance given;
  given.terms.goal = *goal_called("reduce");
  CHECK(read(text, given).program.terms.goal.name == "allgather");
  given.goal_overrides_file = true;
  CHECK(read(text, given).program.terms.goal.name == "reduce");
  CHECK(read(json, given).program.beginning == Beginning{});
  CHECK(refused("devices 4\ngoal gather\nskip") ==
        "f:2:6: unknown 'gather', expected allreduce, reducescatter, allgather, reduce, broadcast "
        "or alltoall, or --goal; did you mean 'allgather'?");
  CHECK(refused("devices 5\nclasses {0,1},{2,3,4}\ngoal reducescatter\nskip")
            .starts_with("f: goal reducescatter: premise divisible refuses the class of device 0"));
}

TEST_CASE("AllToAll of all devices begins with enough chunks to move some") {
  CHECK(read("devices 4\nclasses {0,1},{2,3}\ngoal alltoall\nskip").program.chunks() == 4);
  CHECK(read("devices 4\ngoal alltoall\nskip").program.chunks() == 16);
  CHECK(read("devices 1\ngoal alltoall\nskip").program.beginning == Beginning{});
}

TEST_CASE("a program is read back from its JSON, with and without an instance") {
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance =
        instance_of("node=2,gpu=4", "data=4,shard=2", "data", "[[2 2] [1 2]]", kind);
    Program program{8, instance.classes(), {}};
    for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
      program.steps.push_back(lower(instance.grid, shape, Collective::Broadcast));
    }
    const std::string json = to_json(program, &instance, Dialect::Printed);
    const ProgramFile again = read(json);
    REQUIRE(again.instance.has_value());
    CHECK(to_json(again.program, &*again.instance, again.dialect) == json);
    const std::string bare = to_json(program, nullptr, Dialect::Printed);
    CHECK(to_json(read(bare).program, nullptr, read(bare).dialect) == bare);
  }
}

TEST_CASE("JSON steps may be given by slice and form alone, or must agree with their groups") {
  const std::string start =
      R"({"hierarchy":[2,2],"axes":[4],"reduce":[0],"steps":[{"collective":"Reduce","slice":"l0","form":"InsideGroup")";
  CHECK(to_string(read(start + "}]}").program.steps[0].groups) == "{0,1},{2,3}");
  CHECK(read(start + R"(,"groups":[[3,2],[0,1]]}]})").program.steps.size() == 1);
  CHECK(refused(start + R"(,"groups":[[0,2],[1,3]]}]})") ==
        "f:1:119: the groups are not those of Reduce(l0, InsideGroup), expected {0,1},{2,3}");
}

TEST_CASE("wrong program JSON is refused where it is wrong") {
  const std::string good = R"({"devices":4,"classes":[[0,1],[2,3]],"steps":[)";
  CHECK(refused(R"({"devices":4,"steps":[]})") == "f:1:1: a program lacks the key \"classes\"");
  CHECK(refused(R"({"devices":"4","classes":[],"steps":[]})").rfind("f:1:12: ", 0) == 0);
  CHECK(refused(R"({"devices":1000000000000,"classes":[],"steps":[]})").rfind("f:1:12: ", 0) == 0);
  CHECK(refused(R"({"devices":4,"classes":[[0,1]],"steps":[]})") ==
        "f:1:24: device 2 is in no class, expected every device in exactly one class");
  CHECK(refused(R"({"devices":4,"classes":[[0,1],[1,2,3]],"steps":[]})") ==
        "f:1:24: device 1 is in the classes twice, expected every device in exactly one class");
  CHECK(refused(good + R"({"collective":"Reduce","groups":[[0,4]]}]})") ==
        "f:1:79: device 4 does not exist, expected devices from 0 to 3");
  CHECK(refused(good + R"({"collective":"Reduce","groups":[[0,1],[1,2]]}]})") ==
        "f:1:79: device 1 occurs twice in one step, expected disjoint groups");
  CHECK(refused(good + R"({"collective":"Reduce","groups":[[]]}]})") ==
        "f:1:79: an empty group, expected at least one device");
  CHECK(refused(good + R"({"collective":"Reduce","groups":[]}]})") ==
        "f:1:79: a step without groups, expected at least one");
  CHECK(refused(good + R"({"collective":"Gossip","groups":[[0,1]]}]})") ==
        "f:1:61: unknown 'Gossip', expected AllReduce, ReduceScatter, AllGather, Reduce or "
        "Broadcast");
  CHECK(refused(good + R"({"collective":"Reduce","groups":[[0,-1]]}]})").rfind("f:1:83: ", 0) == 0);
  CHECK(refused(good + R"({"collective":"Reduce","groups":[[0,1]],"root":1}]})")
            .rfind("f:1:87: ", 0) == 0);
}

TEST_CASE("bare groups of Reduce and Broadcast begin with their root, the smallest id") {
  CHECK(refused("devices 4\nReduce{0,1},{3,2}; skip") ==
        "f:2:13: the group {3,2} of Reduce is not in ascending order, expected {2,3}: the root is "
        "the device with the smallest id");
  CHECK(refused("devices 4\nAllReduce{0,1};\n  Broadcast{1,0}") ==
        "f:3:12: the group {1,0} of Broadcast is not in ascending order, expected {0,1}: the root "
        "is the device with the smallest id");
  CHECK(refused("devices 4\nReduce{0,3,2}").starts_with("f:2:7: the group {0,3,2} of Reduce"));
  const std::string json = R"({"devices":4,"classes":[[0,1,2,3]],"steps":[)";
  CHECK(refused(json + R"({"collective":"Broadcast","groups":[[0,1],[3,2]]}]})") ==
        "f:1:87: the group {3,2} of Broadcast is not in ascending order, expected {2,3}: the root "
        "is the device with the smallest id");
  // The others have no root: their groups are sets, and read as sorted.
  for (const char* name : {"AllReduce", "ReduceScatter", "AllGather"}) {
    const ProgramFile file = read(std::string("devices 2\n") + name + "{1,0}");
    CHECK(file.program.steps[0].groups == std::vector<Group>{{0, 1}});
  }
}

TEST_CASE("a file says either an instance or devices, and the instance whole") {
  CHECK(refused("devices 5\nhierarchy 2,2\nskip") ==
        "f:1:1: both an instance and devices, expected one of the two");
  CHECK(refused(R"({"devices":5,"hierarchy":[2,2],"classes":[[0,1,2,3,4]],"steps":[]})") ==
        "f:1:1: an incomplete instance, expected hierarchy, axes and reduce, or none of them");
}

TEST_CASE("hostile programs end in an error in bounded time and memory") {
  std::string ones = "1";
  for (int i = 1; i < 1900; ++i) ones += ",1";
  CHECK(refused("hierarchy " + ones + "\naxes 1\nreduce 0\nskip") ==
        "f:1:11: 1900 levels, expected at most 64");
  const std::string twos = "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2";
  CHECK(refused("hierarchy " + twos + "\naxes " + twos + "\nreduce 0\nskip") ==
        "f:1:1: several placements are possible, expected a placement to be given");
  std::string many = "hierarchy 524288,2\naxes 1048576\nreduce 0\n";
  for (int i = 0; i < 4000; ++i) many += "Reduce(l0,InsideGroup);";
  CHECK(
      refused(many) ==
      "f:4:369: more than 16777216 devices in the groups of all steps, expected a shorter program");
}

TEST_CASE("wrong .p2 headers are refused where they are wrong") {
  CHECK(refused("AllReduce{0,1}") ==
        "f:1:1: no instance and no devices, expected hierarchy, axes and "
        "reduce, or devices and classes");
  CHECK(refused("devices 4\ndevices 4\nskip") == "f:2:1: devices is given twice, expected once");
  CHECK(refused("devices 4\nclasses {0,1}\nskip") ==
        "f:2:9: device 2 is in no class, expected every device in exactly one class");
  CHECK(refused("hierarchy 2,0\naxes 2\nreduce 0\nskip").rfind("f:1:13: ", 0) == 0);
  CHECK(refused("hierarchy 2,2\nreduce 0\nskip") ==
        "f:2:8: missing axes, expected headers or flags that give them");
  CHECK(refused("hierarchy 4,4\naxes 4,4\nreduce 0\nskip") ==
        "f:1:1: several placements are possible, expected a placement to be given");
  CHECK(refused(kHeader + "dialect spoken\nskip") ==
        "f:5:9: unknown 'spoken', expected printed or published");
  CHECK(refused(kHeader + "AllReduce(cpu, InsideGroup)") ==
        "f:5:11: no level is called 'cpu', expected one of root 1 > node 2 > gpu 2; did you mean "
        "'gpu'?");
  CHECK(refused("devices 4\nclases {0,1},{2,3}\nskip") ==
        "f:2:1: unknown header 'clases', expected one of hierarchy, axes, reduce, placement, "
        "synthesis-hierarchy, dialect, goal, devices, classes; did you mean 'classes'?");
}

TEST_CASE("the classes of a .p2 file may stand in any order and beside an instance") {
  const ProgramFile file = read("devices 4\nclasses {3,2},{1,0}\nskip");
  CHECK(to_string(file.program.classes) == "{0,1},{2,3}");
  CHECK(read(kHeader + "classes {1,3,5,7},{0,2,4,6}\nskip").program.classes.size() == 2);
  CHECK(refused(kHeader + "classes {0,1,2,3,4,5,6,7}\nskip") ==
        "f:5:9: the classes are not those of the placement, expected none or the same ones");
}

TEST_CASE("programs are read without their devices in both formats, or not at all") {
  const std::string steps =
      "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, "
      "InsideGroup)";
  for (const std::string goal : {"", "goal allgather\n", "goal broadcast\n"}) {
    const ProgramFile whole = read(kHeader + goal + steps);
    const std::string json =
        program_pattern_json(whole.program, *whole.instance, whole.dialect).dump();
    for (const std::string& text : {kHeader + goal + steps, json, "\xef\xbb\xbf " + json}) {
      CAPTURE(text);
      const auto file = read_unlowered("f", text, {});
      REQUIRE(file.has_value());
      CHECK(file->program.devices == whole.program.devices);
      CHECK(file->program.beginning == whole.program.beginning);
      CHECK(file->program.terms.goal.name == whole.program.terms.goal.name);
      CHECK(file->step_positions.size() == 3);
      CHECK(file->program.classes.empty());
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(file->program.steps[i].groups.empty());
        CHECK(file->program.steps[i].collective == whole.program.steps[i].collective);
        CHECK(file->program.steps[i].shape->pattern == whole.program.steps[i].shape->pattern);
      }
    }
  }
  const ProgramFile whole = read(kHeader + steps);
  for (const std::string& text :
       {kHeader + "AllReduce{0,1}", kHeader + "classes {0,2,4,6},{1,3,5,7}\n" + steps,
        kHeader + "AllReduce(cpu, InsideGroup)", std::string("devices 2\nAllReduce{0,1}"),
        std::string("{\"devices\":2,\"classes\":[[0,1]],\"steps\":[]}"),
        to_json(whole.program, &*whole.instance, whole.dialect), std::string("[]")}) {
    CAPTURE(text);
    CHECK(!read_unlowered("f", text, {}));
  }
}
