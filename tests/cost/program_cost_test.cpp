#include <algorithm>

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <nlohmann/json.hpp>

#include "engine/cost/pricing.h"
#include "engine/cost/program_cost.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "tests/cost/systems.h"
#include "tests/synthesis/appendix.h"

using namespace p2;

namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

/// The paper's systems at 1 GB per device: seconds, by hand.
struct ByHand {
  const char* system;
  const char* axes;
  const char* placement;
  const char* reduce;
  Algorithm algorithm;
  Rational seconds;
};

Rational allreduce_seconds(const ByHand& row) {
  const System system = shipped_system(row.system);
  const Instance instance = placed(system, row.axes, row.reduce, row.placement);
  return step_seconds(system, row.algorithm, Collective::AllReduce, instance.classes(),
                      Rational(kGiga));
}

}  // namespace

TEST_CASE("AllReduce on the paper's systems takes what is worked out by hand") {
  const Algorithm ring = Algorithm::Ring;
  const Algorithm tree = Algorithm::Tree;
  const ByHand rows[] = {
      // One ring over all: 2 · 31/32 through the NIC of 8 GB/s.
      {"a100-2nodes", "32", "[[2 16]]", "0", ring, Rational(2 * 31, 32 * 8)},
      // 16 pairs share the NIC, each sends all its data.
      {"a100-2nodes", "2,16", "[[2 1] [1 16]]", "0", ring, Rational(16, 8)},
      {"a100-2nodes", "2,16", "[[2 1] [1 16]]", "0", tree, Rational(16, 8)},
      // Inside a node: 2 · 15/16 through a port of 270 GB/s; a chain sends everything both ways.
      {"a100-2nodes", "2,16", "[[2 1] [1 16]]", "1", ring, Rational(2 * 15, 16 * 270)},
      {"a100-2nodes", "2,16", "[[2 1] [1 16]]", "1", tree, Rational(2, 270)},
      // Two trees over 4 nodes: an inner node of one sends 3 halves for it and 1 as a leaf.
      {"a100-4nodes", "64", "[[4 16]]", "0", tree, Rational(4, 2 * 8)},
      {"a100-4nodes", "64", "[[4 16]]", "0", ring, Rational(2 * 63, 64 * 8)},
      // V100: the whole NVLink ring, half of it each way round, on half of the 135 GB/s each.
      {"v100-2nodes", "2,8", "[[2 1] [1 8]]", "1", ring, Rational(7 * 2, 8 * 135)},
      // Pairs of neighbours reach each other on half of the port.
      {"v100-2nodes", "8,2", "[[2 4] [1 2]]", "1", ring, Rational(2, 135)},
      // Half a ring is no ring: the edge that closes it goes through the memory of the CPU.
      {"v100-2nodes", "4,4", "[[2 2] [1 4]]", "1", ring, Rational(2 * 3, 4 * 8)},
      {"v100-2nodes", "4,4", "[[2 2] [1 4]]", "1", tree, Rational(2, 135)},
      // Every second GPU: all 4 edges of 2 groups, 2 edges leave through each CPU per group.
      {"v100-2nodes", "4,4", "[[1 4] [2 2]]", "0", ring, Rational(4 * 2 * 3, 4 * 8)},
      // 4 pairs across the CPUs.
      {"v100-2nodes", "2,8", "[[1 2] [2 4]]", "0", ring, Rational(4, 8)},
      // 4 groups of {0,4 | 8,12}: up and down a chain across the CPUs, and the NIC's share too.
      {"v100-2nodes", "4,4", "[[2 2] [1 4]]", "0", tree, Rational(4 * 2, 8)},
  };
  for (const ByHand& row : rows) {
    CAPTURE(row.system);
    CAPTURE(row.placement);
    CAPTURE(to_string(row.algorithm));
    CHECK(allreduce_seconds(row) == row.seconds);
  }
}

TEST_CASE("a step names its busiest link, the first of equal ones, one per interconnect") {
  const System a100 = shipped_system("a100-2nodes");
  const Network network(a100, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const Step step{Collective::AllReduce, {{1, 17}, {2, 18}}, std::nullopt};
  const StepCost& cost = pricer.price(step, {32, 32}, 32);
  CHECK(network.name(cost.bottleneck) == "NIC of node 0, out");
  CHECK(cost.seconds_per_byte == Rational(2, 8 * kGiga));
  REQUIRE(cost.busiest.size() == 3);
  CHECK(network.name(cost.busiest[0].link) == "NVSwitch of node 0 gpu 1, out");
  CHECK(cost.busiest[0].seconds_per_byte == Rational(1, 270 * kGiga));
  CHECK(network.name(cost.busiest[2].link) == "data-center network of node 0, out");
  CHECK(&pricer.price(step, {32, 32}, 32) == &cost);
}

TEST_CASE("groups of different size add up on a shared link; single devices cost nothing") {
  const System system = system_from(
      "node=2,gpu=4", {{"N", InterconnectKind::SharedNic, "gpu", 4, kGiga, 0, Duplex::Full},
                       {"D", InterconnectKind::Switch, "node", 2, 100 * kGiga, 0, Duplex::Full},
                       {"S", InterconnectKind::Switch, "gpu", 4, 100 * kGiga, 0, Duplex::Full}});
  // {0,4}: one edge each way, 1 in all. {1,2,5}: of its ring 2->5 and 5->1 cross, both ways round
  // 4/3 together.
  CHECK(step_seconds(system, Algorithm::Ring, Collective::AllReduce, {{0, 4}, {1, 2, 5}, {3}},
                     Rational(kGiga)) == Rational(1) + Rational(4, 3));
  CHECK(step_seconds(system, Algorithm::Ring, Collective::AllReduce, {{0}, {3}}, Rational(kGiga)) ==
        0);
}

TEST_CASE("a half-duplex NIC takes twice as long; a shared medium counts every byte both ways") {
  System system =
      system_from("node=2,gpu=2",
                  {{"N", InterconnectKind::SharedNic, "gpu", 2, kGiga, 0, Duplex::Full},
                   {"D", InterconnectKind::Switch, "node", 2, 100 * kGiga, 0, Duplex::Full},
                   {"M", InterconnectKind::SharedMedium, "gpu", 2, 4 * kGiga, 0, Duplex::Full}});
  const auto seconds = [&](const Group& group) {
    return step_seconds(system, Algorithm::Ring, Collective::AllReduce, {group}, Rational(kGiga));
  };
  CHECK(seconds({0, 2}) == 1);
  CHECK(seconds({0, 1}) == Rational(2, 4));
  system.interconnects[0].duplex = Duplex::Half;
  system.interconnects[2].duplex = Duplex::Half;
  CHECK(seconds({0, 2}) == 2);
  CHECK(seconds({0, 1}) == 1);
}

TEST_CASE(
    "latency: a ring waits for every round, a tree for its depth, steps for the slowest group") {
  const System rack = shipped_system("figure2a-rack");
  const auto latency = [&](Algorithm algorithm, Collective collective, std::vector<Group> groups) {
    return step_seconds(rack, algorithm, collective, groups, 0) * 1'000'000;
  };
  const Rational inside = 1;                     // microseconds: S0
  const Rational across = Rational(5, 2);        // S0 and S1
  const Rational between = inside + across + 4;  // S0, S1 and S2
  CHECK(latency(Algorithm::Ring, Collective::AllReduce, {{0, 1, 2, 3}}) == 6 * inside);
  CHECK(latency(Algorithm::Ring, Collective::ReduceScatter, {{0, 1}, {2, 4}}) == across);
  CHECK(latency(Algorithm::Ring, Collective::Broadcast, {{0, 1, 8}}) == 2 * between);
  CHECK(latency(Algorithm::Tree, Collective::AllReduce, {{0, 1, 2, 8}}) ==
        4 * inside + 2 * between);
}

TEST_CASE("times scale with bandwidths and bytes, exactly") {
  rc::check([] {
    System system = shipped_system(*rc::gen::element<std::string>("a100-2nodes", "v100-2nodes"));
    const auto algorithm = *rc::gen::element(Algorithm::Ring, Algorithm::Tree);
    const auto collective =
        *rc::gen::elementOf(std::vector<Collective>(kCollectives.begin(), kCollectives.end()));
    const std::uint32_t devices = system.hierarchy.devices();
    Group all(devices);
    for (std::uint32_t i = 0; i < devices; ++i) all[i] = i;
    const auto cut = *rc::gen::inRange<std::uint32_t>(1, devices);
    const std::vector<Group> groups{Group(all.begin(), all.begin() + cut),
                                    Group(all.begin() + cut, all.end())};
    const auto factor = *rc::gen::inRange<std::int64_t>(1, 1000);
    const auto bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
    const Rational before = step_seconds(system, algorithm, collective, groups, bytes);
    for (Interconnect& each : system.interconnects) each.bytes_per_second *= factor;
    const Rational after = step_seconds(system, algorithm, collective, groups, bytes);
    RC_ASSERT(after * factor == before);
    RC_ASSERT(step_seconds(system, algorithm, collective, groups, bytes * 3) == after * 3);
    RC_ASSERT(step_seconds(system, algorithm, collective, groups, bytes + 1) >= after);
  });
}

TEST_CASE("under ring, exchanging whole nodes changes no time") {
  rc::check([] {
    const System system =
        shipped_system(*rc::gen::element<std::string>("a100-4nodes", "v100-4nodes"));
    const std::uint32_t size = system.hierarchy.levels()[1].size;
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    for (std::uint32_t i = 3; i > 0; --i) {
      std::swap(order[i], order[*rc::gen::inRange<std::uint32_t>(0, i + 1)]);
    }
    // Groups that have equal parts in every node, so that ids still follow the hardware.
    const auto width = *rc::gen::element<std::uint32_t>(1, 2, 4);
    const auto chosen = *rc::gen::inRange<std::uint32_t>(2, 5);
    std::vector<Group> here;
    std::vector<Group> there;
    for (std::uint32_t first = 0; first < size; first += width) {
      Group a;
      Group b;
      for (std::uint32_t node = 0; node < chosen; ++node) {
        for (std::uint32_t i = 0; i < width; ++i) {
          a.push_back(node * size + first + i);
          b.push_back(order[node] * size + first + i);
        }
      }
      std::sort(b.begin(), b.end());
      here.push_back(a);
      there.push_back(b);
    }
    for (const Collective collective : kCollectives) {
      RC_ASSERT(step_seconds(system, Algorithm::Ring, collective, here, 1) ==
                step_seconds(system, Algorithm::Ring, collective, there, 1));
    }
  });
}

namespace {

/// The seconds of every step of a program at 1 GB per device.
std::vector<Rational> step_times(const System& system, const std::string& text) {
  const ProgramFile file = read_program("test", text, {});
  const Network network(system, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const PricedProgram priced = ProgramPricer(pricer).price(file.program, file.dialect);
  REQUIRE(priced.decision.outcome == Outcome::Established);
  std::vector<Rational> times;
  Rational sum = 0;
  for (const StepCost* step : priced.cost.steps) {
    times.push_back(step->seconds(Rational(kGiga)));
    sum += times.back();
  }
  CHECK(priced.cost.seconds(Rational(kGiga)) == sum);
  return times;
}

ProgramCost line(const Rational& latency, const Rational& slope) { return {{}, latency, slope}; }

}  // namespace

TEST_CASE("after ReduceScatter a device sends only what it still holds") {
  const std::string header = "hierarchy node=2,gpu=16\naxes 32\nreduce 0\n";
  const System a100 = shipped_system("a100-2nodes");
  CHECK(
      step_times(a100, header +
                           "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
                           "AllGather(node, InsideGroup)") ==
      std::vector<Rational>{Rational(15, 16 * 270), Rational(16, 16 * 8), Rational(15, 16 * 270)});
  // The masters alone exchange everything.
  CHECK(step_times(a100, header + "Reduce(node, InsideGroup); AllReduce(node, Master(root)); "
                                  "Broadcast(node, InsideGroup)") ==
        std::vector<Rational>{Rational(1, 270), Rational(1, 8), Rational(1, 270)});
}

TEST_CASE("a program that is not valid has its refutation and no more steps than legal ones") {
  const ProgramFile file = read_program(
      "test", "devices 4\nAllReduce{0,1},{2,3}; AllReduce{0,1},{2,3}; AllReduce{0,2},{1,3}", {});
  const System system =
      system_from("gpu=4", {{"S", InterconnectKind::Switch, "gpu", 4, kGiga, 0, {}}});
  const Network network(system, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const PricedProgram priced = ProgramPricer(pricer).price(file.program, file.dialect);
  CHECK(priced.decision.outcome == Outcome::Refuted);
  CHECK(priced.decision.violation->step == 2);
}

TEST_CASE(
    "all programs of all 42 rows of the appendix are priced, and no ranking has a tie broken "
    "by chance") {
  for (const AppendixRow& row : kAppendix) {
    CAPTURE(row.hierarchy);
    CAPTURE(row.axes);
    const std::string machine = std::string(row.hierarchy).ends_with("16") ? "a100-" : "v100-";
    const System system = shipped_system(machine + row.hierarchy[0] + "nodes");
    const Axes axes = parse_axes("test", row.axes);
    std::vector<Instance> instances;
    for (const Placement& placement : enumerate_placements(system.hierarchy, axes, {"test"})) {
      instances.push_back(placed(system, row.axes, row.reduce, to_string(placement)));
    }
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
      const Network network(system, {"test"});
      StepPricer pricer(network, algorithm);
      std::vector<ProgramCost> costs;
      for (const PlacementPrograms& found : find_programs(instances, {})) {
        ProgramPricer programs(pricer);
        const ProgramCost allreduce =
            price_allreduce(found.instance().classes(), system.hierarchy.devices(), pricer);
        bool first = true;
        found.for_each_lowered([&](const Program& program) {
          const PricedProgram priced = programs.price(program, Dialect::Published);
          REQUIRE(priced.decision.outcome == Outcome::Established);
          CHECK(priced.cost.steps.size() == program.steps.size());
          CHECK(priced.cost.seconds_per_byte > 0);
          // The shortest program of every placement is the single AllReduce.
          if (first) CHECK(priced.cost.seconds_per_byte == allreduce.seconds_per_byte);
          first = false;
          costs.push_back(priced.cost);
        });
      }
      CHECK(costs.size() == row.total_programs);
      std::vector<const ProgramCost*> all;
      for (const ProgramCost& cost : costs) all.push_back(&cost);
      const std::vector<std::size_t> order = ranking(all, 1);
      for (std::size_t i = 1; i < order.size(); ++i) {
        const Rational& before = costs[order[i - 1]].seconds_per_byte;
        const Rational& after = costs[order[i]].seconds_per_byte;
        CHECK((before < after || (before == after && order[i - 1] < order[i])));
      }
    }
  }
}

TEST_CASE("who is the fastest at which size is what asking at every size says") {
  rc::check([] {
    std::vector<ProgramCost> costs;
    const auto count = *rc::gen::inRange(1, 6);
    for (int i = 0; i < count; ++i) {
      costs.push_back(
          line(Rational(*rc::gen::inRange(0, 60), 7), Rational(*rc::gen::inRange(0, 9), 5)));
    }
    std::vector<const ProgramCost*> all;
    for (const ProgramCost& cost : costs) all.push_back(&cost);
    const Rational low = *rc::gen::inRange(1, 20);
    const Rational high = low + *rc::gen::inRange(0, 60);
    Rational at = low;
    std::size_t before = costs.size();
    for (const FastestRange& range : fastest_ranges(all, low, high)) {
      RC_ASSERT(range.from == at);
      RC_ASSERT(range.program != before);
      before = range.program;
      for (; at <= range.to; at += 1)
        RC_ASSERT(ranking(all, Rational(at)).front() == range.program);
    }
    RC_ASSERT(at == high + 1);
  });
}

TEST_CASE(
    "placements that are priced one by one rank as all at once, and forged prices are refused") {
  CostRequest request;
  request.instance.system = std::string(P2_SOURCE_DIR) + "/examples/systems/dgx-h100-4nodes.json";
  request.instance.axes = "8,4";
  request.instance.reduce = "0";
  request.max_steps = 3;
  const System system = system_of(request.instance);
  for (const bool by_nccl : {false, true}) {
    CostQuestion question{request, given_instance(request.instance), system};
    if (by_nccl) question.nccl.emplace(system, SourcePosition{"test"});
    question.bytes = 1 << 20;
    PlacementPricing placements(question, {});
    REQUIRE(placements.count() > 1);
    for (std::size_t i = placements.count(); i-- > 0;) {
      placements.record(i, nlohmann::ordered_json::parse(placements.price(i, {}).json));
    }
    const Pricing all = price_programs(question, {});
    const Pricing joined = placements.take(std::vector<bool>(placements.count(), true));
    CHECK(joined.complete);
    REQUIRE(joined.ranked.size() == all.ranked.size());
    for (std::size_t i = 0; i < all.ranked.size(); ++i) {
      const CostCandidate& one = all.ranked[i];
      const CostCandidate& other = joined.ranked[i];
      CHECK(one.text() == other.text());
      CHECK(one.source->name == other.source->name);
      CHECK(one.cost.seconds(3) == other.cost.seconds(3));
      CHECK(one.speedup(3) == other.speedup(3));
    }
    // Every number of an answer out of range, every text replaced.
    const auto answer = nlohmann::ordered_json::parse(placements.price(0, {}).json);
    std::size_t refused = 0;
    const auto leaves = answer.flatten();
    for (const auto& [path, value] : leaves.items()) {
      const bool is_flag = path.starts_with("/programs/") && path.ends_with("/2") &&
                           std::ranges::count(path, '/') == 3;
      if (value.is_boolean() || is_flag) continue;
      auto forged = answer;
      const nlohmann::json::json_pointer at(path);
      if (value.is_number()) {
        forged[at] = 1'000'000'000;
      } else if (value.is_string()) {
        forged[at] = "1/0";
      } else {
        continue;
      }
      bool thrown = false;
      try {
        placements.record(0, forged);
      } catch (const InputError&) {
        thrown = true;
      } catch (const nlohmann::json::exception&) {
        thrown = true;
      }
      CHECK_MESSAGE(thrown, path);
      ++refused;
    }
    CHECK(refused > 30);
  }
}
