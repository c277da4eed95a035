#include <doctest/doctest.h>

#include "engine/execution/plans/in_process.h"
#include "tests/reshard_plans/plans.h"

using p2::Decomposition;
namespace execution = p2::execution;
using namespace p2::reshard;

namespace {

Operation send(std::uint32_t peer, Buffer of, Box box) { return {true, of, peer, std::move(box)}; }
Operation receive(std::uint32_t peer, Box box) {
  return {false, Buffer::Destination, peer, std::move(box)};
}

const Box kAll{{0}, {4}};

/// Device 0 has four elements that devices 1 and 2 need.
Plan chain() {
  const Case one{"", {4}, "1x1:R", "2x1:R"};
  Plan plan{one.problem(), "", {{}, {}, {}}};
  plan.programs = {{{send(1, Buffer::Source, kAll)}},
                   {{receive(0, kAll)}, {send(2, Buffer::Destination, kAll)}},
                   {{receive(1, kAll)}}};
  return plan;
}

std::string rule_of(const Plan& plan) {
  const auto fault = judge(plan).fault;
  return fault ? std::string(to_string(fault->rule)) : "right";
}

std::string why(const Plan& plan) {
  const auto fault = judge(plan).fault;
  return fault ? fault->explanation : "right";
}

std::uint64_t wrong_elements(const Plan& plan) {
  std::uint64_t wrong = 0;
  for (const DeviceResult& each : PlanInProcess().run({plan, 1, 1, 2})) wrong += each.wrong;
  return wrong;
}

}  // namespace

TEST_CASE("meshes over hosts, disjoint and overlapping") {
  const Reshard apart = Case{"", {6}, "2x3:R", "3x2:R"}.problem();
  CHECK(apart.hosts == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(apart.to.devices == std::vector<std::uint32_t>{6, 7, 8, 9, 10, 11});
  const Reshard shared = Case{"", {6}, "2x2:S01", "2x3:S0", 1}.problem();
  CHECK(shared.hosts == std::vector<std::uint32_t>{0, 0, 1, 1, 1, 2, 2, 2});
  CHECK(shared.from.devices == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(shared.to.devices == std::vector<std::uint32_t>{2, 3, 4, 5, 6, 7});
  CHECK(shared.regions(shared.from)[3] == Box{{6}, {6}});  // 2, 2, 2 and nothing
  CHECK(shared.regions(shared.to)[6] == Box{{3}, {6}});
  CHECK(shared.regions(shared.to)[0].elements() == 0);
}

TEST_CASE("every strategy of every case: right by boxes, by single elements, and on real data") {
  std::vector<Case> cases = table2({12, 24, 8});
  for (const Case& uneven : table2({7, 5, 3})) cases.push_back(uneven);
  for (const Case& odd : odd_cases()) cases.push_back(odd);
  for (const Case& each : cases) {
    for (const PlanStrategy strategy : kStrategies) {
      for (const Decomposition decomposition : kDecompositions) {
        const Plan plan = plan_for(each, strategy, decomposition);
        CAPTURE(each.name);
        CAPTURE(to_string(strategy));
        const PlanVerdict verdict = judge(plan);
        REQUIRE_MESSAGE(!verdict.fault, verdict.fault->explanation);
        CHECK(verdict.completes_buffered);
        CHECK(verdict.received_twice == 0);
        if (each.shape[0] < 12) CHECK(ends_right_element_by_element(plan));
        CHECK(wrong_elements(plan) == 0);
      }
    }
  }
}

TEST_CASE("what each strategy sends between hosts") {
  // One device to two hosts of two devices: 4, 2, 1 + the ring's share and 2 times the tensor.
  const Case one{"", {8, 2}, "1x1:R,R", "2x2:R,R"};
  const auto between_hosts = [&](PlanStrategy strategy) {
    const Plan plan = plan_for(one, strategy, Decomposition::Intersection, 4);
    std::int64_t elements = 0;
    for (std::uint32_t d = 0; d < plan.programs.size(); ++d) {
      for (const Step& step : plan.programs[d]) {
        for (const Operation& each : step) {
          const bool out = plan.problem.hosts[each.peer] != plan.problem.hosts[d];
          if (each.sends && out) elements += each.box.elements();
        }
      }
    }
    return elements;
  };
  CHECK(between_hosts(PlanStrategy::SendRecv) == 64);
  CHECK(between_hosts(PlanStrategy::LocalAllGather) == 32);
  CHECK(between_hosts(PlanStrategy::GlobalAllGather) == 16 + 2 * 3 * 4);
  CHECK(between_hosts(PlanStrategy::Broadcast) == 32);
  // K chunks over a chain of four devices take K + 3 steps in all.
  const Plan plan = plan_for(one, PlanStrategy::Broadcast, Decomposition::Intersection, 4);
  CHECK(plan.programs[0].size() == 4);
  CHECK(plan.programs[1].size() == 5);
  CHECK(plan.transfers() == 16);
}

TEST_CASE("a message that no memory holds ends the run of a wrong plan, not the program") {
  Plan plan = chain();
  plan.programs[0][0][0].box = {{0}, {INT64_MAX}};
  CHECK(rule_of(plan) == "out-of-bounds");
  CHECK_THROWS_WITH_AS(PlanInProcess().run({plan, 1, 1, 2}),
                       "a message is too large for the memory", execution::Interrupted);
}

TEST_CASE("each rule, by the smallest plan that breaks it") {
  CHECK(rule_of(chain()) == "right");
  Plan plan = chain();
  SUBCASE("a box outside the buffer") {
    plan.programs[0][0][0].box = plan.programs[1][0][0].box = {{1}, {5}};
    CHECK(why(plan) ==
          "In step 1, device 0 sends to device 1 elements [1:5], but its source buffer is for "
          "[0:4].");
    plan.programs[0][0][0].box = {{2}, {2}};
    CHECK(rule_of(plan) == "out-of-bounds");
    plan = chain();
    plan.programs[0][0][0].buffer = Buffer::Destination;
    CHECK(why(plan) ==
          "In step 1, device 0 sends to device 1 elements [0:4], but has no destination buffer.");
  }
  SUBCASE("halves without the other") {
    plan.programs[2].clear();
    CHECK(why(plan) ==
          "In step 2, device 1 sends to device 2 elements [0:4], but device 2 has no receive left "
          "for that.");
    plan = chain();
    plan.programs[2][0][0].box = {{0}, {3}};
    CHECK(why(plan) ==
          "In step 1, device 2 receives from device 1 elements [0:3], but what that is for (device "
          "1, step 2) is of [0:4].");
  }
  SUBCASE("devices that wait for each other, with or without buffers") {
    // 1 and 2 get a half each and exchange them, sending first.
    const Box low{{0}, {2}};
    const Box high{{2}, {4}};
    plan.programs = {{{send(1, Buffer::Source, low), send(2, Buffer::Source, high)}},
                     {{receive(0, low)}, {send(2, Buffer::Destination, low)}, {receive(2, high)}},
                     {{receive(0, high)}, {send(1, Buffer::Destination, high)}, {receive(1, low)}}};
    const PlanVerdict verdict = judge(plan);
    REQUIRE(verdict.fault);
    CHECK(verdict.fault->rule == PlanRule::Deadlock);
    CHECK(verdict.completes_buffered);
    CHECK(verdict.fault->explanation ==
          "Device 1 cannot end its step 2, where it sends to device 2 [0:2], before device 2 comes "
          "to its step 3, device 2 cannot end its step 2, where it sends to device 1 [2:4], before "
          "device 1 comes to its step 3: each waits for the next, the last for the first. It would "
          "end if sends did not wait for their receives.");
    CHECK_THROWS_AS(PlanInProcess().run({plan}), execution::Interrupted);
    std::swap(plan.programs[1][1], plan.programs[1][2]);
    CHECK(rule_of(plan) == "right");
    std::swap(plan.programs[2][1], plan.programs[2][2]);
    CHECK(!judge(plan).completes_buffered);
    CHECK(rule_of(plan) == "deadlock");
  }
  SUBCASE("a receive beside what it overwrites") {
    plan.programs[1] = {{receive(0, kAll), send(2, Buffer::Destination, kAll)}};
    CHECK(why(plan) ==
          "In step 1, device 1 receives elements [0:4] from device 0 while it sends them to device "
          "2: which is first is left open.");
  }
  SUBCASE("a send before the receive") {
    std::swap(plan.programs[1][0], plan.programs[1][1]);
    CHECK(
        why(plan) ==
        "In step 1, device 1 sends to device 2 elements [0:4] of its destination buffer, which it "
        "does not have by then: it receives [0:4] of them from device 0 only in step 2.");
  }
  SUBCASE("elements that never come") {
    const Box some{{0}, {3}};
    for (auto& program : plan.programs) {
      for (auto& step : program) step[0].box = some;
    }
    CHECK(why(plan) == "Device 1 is to end with elements [0:4], but never receives [3:4].");
    CHECK(wrong_elements(plan) == 2);
  }
}
