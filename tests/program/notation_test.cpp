#include "engine/program/notation.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

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
  CHECK(to_string(parse("Reduce{6,0,2,4},{1,3,5,7};Broadcast{0,4};", 8), nullptr) ==
        "Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}");
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
        "AllGather, "
        "Reduce or Broadcast");
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
        "program:1:8: no level is called 'cpu', expected one of root 1 > node 4 > gpu 16");
  CHECK(refused("Reduce(node, Inside)", &linear) ==
        "program:1:14: no form is called 'Inside', expected InsideGroup, Parallel or Master");
  CHECK(refused("Reduce(node, Parallel(gpu))", &linear) ==
        "program:1:23: level gpu is no ancestor of node, expected a level above it");
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
  for (std::size_t i = 0; i <= Program::kMostSteps; ++i) text += "Reduce{0,1};";
  CHECK(complaint([&] { parse(text, 2); }) ==
        "program:1:49153: more than 4096 steps, expected a shorter program");
}
