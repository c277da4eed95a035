#include <doctest/doctest.h>

#include "engine/reshard/plan_simulation.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/scheduling.h"
#include "engine/topology/system.h"
#include "tests/reshard_plans/plans.h"

using namespace p2::reshard;
using p2::Decomposition;
using p2::TransferStrategy;

namespace {

/// Nodes of two devices; a byte takes a second between nodes and a thousandth inside.
p2::Network network() {
  return {p2::parse_system("test", R"({"name":"test",
    "hierarchy":[{"name":"node","size":4},{"name":"gpu","size":2}],
    "interconnects":[
      {"name":"inside","kind":"switch","level":"gpu","span":2,"bandwidth":"1 KB/s"},
      {"name":"NIC","kind":"shared-nic","level":"gpu","span":2,"bandwidth":"1 B/s",
       "latency":"0 ns"},
      {"name":"between","kind":"switch","level":"node","bandwidth":"1 B/s"}]})"),
          {"test"}};
}

p2::UnitTasks tasks_of(const Case& of) {
  const Reshard problem = of.problem();
  return p2::decompose(of.shape, problem.from.sharding, problem.to.sharding,
                       Decomposition::Intersection, "shape");
}

double formula(const Case& of, TransferStrategy strategy, std::int64_t chunks = 1) {
  const p2::UnitTasks tasks = tasks_of(of);
  const FormulaTime time =
      time_by_formula(of.problem(), tasks, {strategy, Decomposition::Intersection, chunks},
                      p2::load_balanced_schedule(tasks));
  return static_cast<double>(time.time) / static_cast<double>(time.parts);
}

double simulated(const Case& of, TransferStrategy strategy, std::int64_t chunks = 1) {
  const Plan plan = plan_for(of, strategy, Decomposition::Intersection, chunks);
  const p2::Network on = network();
  return simulated_time(plan, on, devices_on(on, plan.problem, "test"), 1).seconds;
}

/// One device sends 600 bytes to `nodes` nodes of two devices.
Case to_nodes(int nodes) { return {"", {600}, "1x1:R", std::to_string(nodes) + "x2:R"}; }

}  // namespace

TEST_CASE("the formulas of section 3.1, and the same by simulation but for what is inside hosts") {
  for (int a = 1; a <= 3; ++a) {
    CAPTURE(a);
    const Case of = to_nodes(a);
    CHECK(formula(of, TransferStrategy::SendRecv) == 1200 * a);
    CHECK(formula(of, TransferStrategy::LocalAllGather) == 600 * a);
    CHECK(formula(of, TransferStrategy::GlobalAllGather) == 600 * std::min(a, 2));
    CHECK(formula(of, TransferStrategy::Broadcast, 10) == 60 * (10 + a - 1));
    CHECK(simulated(of, TransferStrategy::SendRecv) == doctest::Approx(1200 * a));
    CHECK(simulated(of, TransferStrategy::LocalAllGather) ==
          doctest::Approx(600 * a).epsilon(0.01));
    // The ring: 2A − 1 rounds of 600 / 2A.
    const double ring = a == 1 ? 0 : 600.0 * (2 * a - 1) / (2 * a);
    CHECK(simulated(of, TransferStrategy::GlobalAllGather) ==
          doctest::Approx(600 + ring).epsilon(0.01));
    CHECK(simulated(of, TransferStrategy::Broadcast, 10) ==
          doctest::Approx(60 * (10 + a - 1)).epsilon(0.01));
  }
}

TEST_CASE("transfers share links, and tasks of different hosts do not wait for each other") {
  // Two senders of one node for one receiver each: they share the NIC.
  CHECK(simulated({"", {600}, "1x2:S1", "2x1:S0"}, TransferStrategy::SendRecv) ==
        doctest::Approx(600));
  // From two nodes to two nodes, a half each.
  CHECK(simulated({"", {600}, "2x1:S0", "2x1:S0"}, TransferStrategy::SendRecv) ==
        doctest::Approx(300));
  CHECK(formula({"", {600}, "2x1:S0", "2x1:S0"}, TransferStrategy::SendRecv) == 300);
  // What a device has already it copies in no time.
  const Case in_place{"", {600}, "2x2:S0", "2x2:S0", 0};
  CHECK(simulated(in_place, TransferStrategy::Broadcast) == 0);
  CHECK(formula(in_place, TransferStrategy::Broadcast) == 0);
}

TEST_CASE("a plan for more nodes or devices than there are has no place on the system") {
  const p2::Network on = network();
  for (const char* to : {"4x2:R", "1x3:R"}) {
    const Case large{"", {6}, "1x1:R", to};
    CHECK_THROWS_AS(devices_on(on, large.problem(), "test"), p2::InputError);
  }
}
