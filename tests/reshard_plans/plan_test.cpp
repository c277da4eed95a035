#include <random>

#include <doctest/doctest.h>

#include "engine/execution/in_process.h"
#include "engine/execution/region.h"
#include "engine/execution/workloads.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/plans/plan_check.h"
#include "p2/error.h"
#include "tests/reshard_plans/plans.h"

namespace execution = p2::execution;
using namespace p2::reshard;
using p2::Decomposition;
using p2::TransferStrategy;

namespace {

Box random_box(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> pick(0, 4);
  Box box{{0, 0}, {0, 0}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t a = pick(random);
    const std::int64_t b = pick(random);
    box.low[i] = std::min(a, b);
    box.high[i] = std::max(a, b) + 1;
  }
  return box;
}

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
  const auto fault = judge(plan).violation;
  return fault ? std::string(to_string(fault->rule)) : "right";
}

std::string why(const Plan& plan) {
  const auto fault = judge(plan).violation;
  return fault ? fault->explanation : "right";
}

std::uint64_t wrong_elements(const Plan& plan) {
  std::uint64_t wrong = 0;
  const execution::PlanRun run(plan);
  for (const execution::RankResult& each : execution::InProcess().run({run, 1, 1, 2})) {
    wrong += each.audits.back().wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("what boxes leave uncovered, element by element") {
  std::mt19937 random(1);
  std::size_t uncovered = 0;
  for (int i = 0; i < 2000; ++i) {
    const Box box = random_box(random);
    std::vector<Box> cover;
    for (int k = 0; k < i % 7; ++k) cover.push_back(random_box(random));
    const auto is_covered = [&](const Element& at) {
      return std::any_of(cover.begin(), cover.end(), [&](const Box& c) { return c.contains(at); });
    };
    bool all = true;
    for (std::int64_t a = box.low[0]; a < box.high[0]; ++a) {
      for (std::int64_t b = box.low[1]; b < box.high[1]; ++b) all = all && is_covered({a, b});
    }
    const auto rest = first_uncovered(box, cover);
    REQUIRE(rest.has_value() != all);
    if (!rest) continue;
    ++uncovered;
    CHECK(box.contains(*rest));
    CHECK(rest->elements() > 0);
    for (const Box& each : cover) CHECK(!overlap(*rest, each));
  }
  CHECK(uncovered > 500);
  CHECK(uncovered < 1900);
}

TEST_CASE("elements are counted as far as anybody has to know") {
  const std::int64_t long_side = std::int64_t{1} << 32U;
  CHECK(Box{{0, 0}, {3, 5}}.elements() == 15);
  CHECK(Box{{0, 7}, {3, 2}}.elements() == 0);
  CHECK(Box{{0}, {long_side}}.elements() == long_side);
  CHECK(Box{{0, 0}, {long_side, long_side}}.elements() == kMaxCountedElements);
  CHECK(Box{{0, 0, 0}, {long_side, long_side / 8, 1}}.elements() == kMaxCountedElements);
  CHECK(Box{{0, 0, 0}, {long_side, long_side / 8 - 1, 1}}.elements() ==
        kMaxCountedElements - long_side);
  CHECK(Box{{0, 0, 4}, {long_side, long_side, 4}}.elements() == 0);
  const Element far(16, 2'000'000'000'000);
  CHECK(Box{Element(16, -1'000'000'000'000), far}.elements() == kMaxCountedElements);
}

TEST_CASE("split: as many parts as asked for, as equal as can be, nothing lost") {
  CHECK(split({{0, 0}, {4, 6}}, 2) == std::vector<Box>{{{0, 0}, {2, 6}}, {{2, 0}, {4, 6}}});
  CHECK(split({{0, 0}, {2, 6}}, 3).size() == 3);
  CHECK(split({{0, 0}, {2, 3}}, 5).size() == 5);
  CHECK(split({{0, 0}, {2, 3}}, 50).size() == 6);
  CHECK(split({{1}, {1}}, 3).empty());
  for (std::int64_t parts = 1; parts < 40; ++parts) {
    const Box whole{{1, 2, 0}, {4, 5, 3}};
    const auto all = split(whole, parts);
    CHECK(all.size() == std::min<std::size_t>(static_cast<std::size_t>(parts), 27));
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(whole.contains(all[i]));
      elements += all[i].elements();
      for (std::size_t j = 0; j < i; ++j) CHECK(!overlap(all[i], all[j]));
    }
    CHECK(elements == 27);
  }
}

TEST_CASE("a message is the box in row-major order, unpacked to its coordinates") {
  const Box region{{1, 0, 0}, {3, 2, 3}};
  std::vector<Word> buffer;
  for (Word i = 1; i <= 12; ++i) buffer.push_back(i);
  CHECK(packed(buffer.data(), region, {{1, 0, 1}, {3, 1, 3}}) == std::vector<Word>{2, 3, 8, 9});
  CHECK(packed(buffer.data(), region, {{2, 0, 0}, {3, 2, 3}}) ==
        std::vector<Word>{7, 8, 9, 10, 11, 12});
  // What is outside the buffer is nothing.
  CHECK(packed(buffer.data(), region, {{0, 0, 2}, {2, 1, 4}}) == std::vector<Word>{0, 0, 3, 0});
  std::vector<Word> other(12, 0);
  unpack(std::vector<Word>{5, 6, 7}, {{1, 0, 1}, {3, 1, 3}}, other.data(), region);
  CHECK(other == std::vector<Word>{0, 5, 6, 0, 0, 0, 0, 7, 0, 0, 0, 0});
  copy_box(buffer.data(), region, other.data(), region, {{2, 1, 0}, {3, 2, 3}});
  CHECK(other == std::vector<Word>{0, 5, 6, 0, 0, 0, 0, 7, 0, 10, 11, 12});
  CHECK(value_of({2, 3}, {1, 2}) == 6);
}

TEST_CASE("plans are written and read again, and mistakes in the text are named") {
  for (const Case& each : odd_cases()) {
    const Plan plan = plan_for(each, TransferStrategy::LocalAllGather, Decomposition::Source);
    const std::string text = to_json(plan);
    REQUIRE(is_plan(text));
    const Plan again = read_plan("plan.json", text);
    CHECK(again.programs == plan.programs);
    CHECK(again.problem.hosts == plan.problem.hosts);
    CHECK(again.problem.regions(again.problem.to) == plan.problem.regions(plan.problem.to));
    CHECK(to_json(again) == text);
    CHECK(to_json(read_plan("plan.json", plan_json(plan).dump())) == text);
  }
  Plan quoted = plan_for(odd_cases().front(), TransferStrategy::SendRecv, Decomposition::Source);
  quoted.strategy = "by \"hand\"";
  CHECK(read_plan("plan.json", to_json(quoted)).strategy == quoted.strategy);
  CHECK(read_plan("plan.json", plan_json(quoted).document()).strategy == quoted.strategy);
  const auto complaint = [](const std::string& part, const std::string& other) {
    std::string text =
        R"({"format":"reshard-plan/1","shape":[4],"hosts":[0,1],"from":{"mesh":[[0]],"spec":["R"]},
"to":{"mesh":[[1]],"spec":["R"]},"programs":[[[{"send":1,"of":"source","low":[0],"high":[4]}]],
[[{"receive":0,"low":[0],"high":[4]}]]]})";
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    try {
      read_plan("p", text.replace(at, part.size(), other));
    } catch (const p2::InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(complaint("[4]", "[4]") == "none");
  CHECK(complaint("plan/1", "plan/2").starts_with("p:1:11: "));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[2]]").starts_with("p:2:16: "));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[1,1]]").starts_with("p:2:18: a duplicate device"));
  CHECK(complaint("\"mesh\":[[1]]", "\"mesh\":[[0],[]]").starts_with("p:2:19: "));
  CHECK(complaint("\"spec\":[\"R\"]", "\"spec\":[\"T\"]").starts_with("p:1:82: 'T' is no"));
  CHECK(complaint("\"send\":1", "\"send\":2").starts_with("p:2:56: "));
  CHECK(complaint("\"source\"", "\"sauce\"").starts_with("p:2:63: "));
  CHECK(complaint("\"high\":[4]", "\"high\":[1000000000001]")
            .starts_with("p:2:48: a box of more elements than a tensor may have"));
  CHECK(complaint("\"low\":[0]", "\"low\":[0,0]").starts_with("p:2:78: 2 coordinates"));
  CHECK(complaint("\"hosts\":[0,1]", "\"hosts\":[0,1,1]").find("2 programs") != std::string::npos);
}

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
    for (const TransferStrategy strategy : kStrategies) {
      for (const Decomposition decomposition : kDecompositions) {
        const Plan plan = plan_for(each, strategy, decomposition);
        CAPTURE(each.name);
        CAPTURE(to_string(strategy));
        const PlanDecision decision = judge(plan);
        REQUIRE_MESSAGE(!decision.violation, decision.violation->explanation);
        CHECK(decision.completes_buffered);
        CHECK(decision.received_twice == 0);
        if (each.shape[0] < 12) CHECK(ends_right_element_by_element(plan));
        CHECK(wrong_elements(plan) == 0);
      }
    }
  }
}

TEST_CASE("what each strategy sends between hosts") {
  // One device to two hosts of two devices: 4, 2, 1 + the ring's share and 2 times the tensor.
  const Case one{"", {8, 2}, "1x1:R,R", "2x2:R,R"};
  const auto between_hosts = [&](TransferStrategy strategy) {
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
  CHECK(between_hosts(TransferStrategy::SendRecv) == 64);
  CHECK(between_hosts(TransferStrategy::LocalAllGather) == 32);
  CHECK(between_hosts(TransferStrategy::GlobalAllGather) == 16 + 2 * 3 * 4);
  CHECK(between_hosts(TransferStrategy::Broadcast) == 32);
  // K chunks over a chain of four devices take K + 3 steps in all.
  const Plan plan = plan_for(one, TransferStrategy::Broadcast, Decomposition::Intersection, 4);
  CHECK(plan.programs[0].size() == 4);
  CHECK(plan.programs[1].size() == 5);
  CHECK(plan.transfers() == 16);
}

TEST_CASE("a message that no memory holds ends the run of a wrong plan, not the program") {
  Plan plan = chain();
  plan.programs[0][0][0].box = {{0}, {INT64_MAX}};
  CHECK(rule_of(plan) == "out-of-bounds");
  CHECK_THROWS_WITH_AS(wrong_elements(plan), "a message is too large for the memory",
                       execution::Interrupted);
}

TEST_CASE("each rule, by the smallest plan that breaks it") {
  CHECK(rule_of(chain()) == "right");
  Plan plan = chain();
  SUBCASE("a box outside the buffer") {
    plan.programs[0][0][0].box = plan.programs[1][0][0].box = {{1}, {5}};
    CHECK(why(plan) ==
          "In step 1, device 0 sends to device 1 elements [1:5], but its source buffer holds "
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
          "In step 2, device 1 sends to device 2 elements [0:4], but device 2 has no matching "
          "receive.");
    plan = chain();
    plan.programs[2][0][0].box = {{0}, {3}};
    CHECK(
        why(plan) ==
        "In step 1, device 2 receives from device 1 elements [0:3], but the matching send (device "
        "1, step 2) has [0:4].");
  }
  SUBCASE("devices that wait for each other, with or without buffers") {
    // 1 and 2 get a half each and exchange them, sending first.
    const Box low{{0}, {2}};
    const Box high{{2}, {4}};
    plan.programs = {{{send(1, Buffer::Source, low), send(2, Buffer::Source, high)}},
                     {{receive(0, low)}, {send(2, Buffer::Destination, low)}, {receive(2, high)}},
                     {{receive(0, high)}, {send(1, Buffer::Destination, high)}, {receive(1, low)}}};
    const PlanDecision decision = judge(plan);
    REQUIRE(decision.violation);
    CHECK(decision.violation->rule == PlanRule::Deadlock);
    CHECK(decision.completes_buffered);
    CHECK(
        decision.violation->explanation ==
        "Device 1 cannot end its step 2, where it sends to device 2 [0:2], before device 2 begins "
        "its step 3, device 2 cannot end its step 2, where it sends to device 1 [2:4], before "
        "device 1 begins its step 3: each waits for the next, the last for the first. It would "
        "complete if sends were buffered.");
    CHECK_THROWS_AS(wrong_elements(plan), execution::Interrupted);
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
          "2: their order is undefined.");
  }
  SUBCASE("a send before the receive") {
    std::swap(plan.programs[1][0], plan.programs[1][1]);
    CHECK(
        why(plan) ==
        "In step 1, device 1 sends to device 2 elements [0:4] of its destination buffer, which it "
        "does not hold yet: it receives [0:4] of them from device 0 only in step 2.");
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
