#include "engine/cost/program_cost.h"

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "tests/cost/systems.h"
#include "tests/synthesis/appendix.h"

using namespace p2;

namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

/// The seconds of every step of a program at 1 GB per device.
std::vector<Rational> step_times(const System& system, const std::string& text) {
  const ProgramFile file = read_program("test", text, {});
  const Network network(system, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  const PricedProgram priced = ProgramPricer(pricer).price(file.program, file.dialect);
  REQUIRE(priced.verdict.kind == Verdict::Kind::Valid);
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
  CHECK(priced.verdict.kind == Verdict::Kind::Invalid);
  CHECK(priced.verdict.refutation->step == 2);
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
      for (const PlacementPrograms& found : synthesise(instances, {})) {
        ProgramPricer programs(pricer);
        const ProgramCost allreduce =
            price_allreduce(found.instance().classes(), system.hierarchy.devices(), pricer);
        bool first = true;
        found.for_each_lowered([&](const Program& program) {
          const PricedProgram priced = programs.price(program, Dialect::Published);
          REQUIRE(priced.verdict.kind == Verdict::Kind::Valid);
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
    const Integer low = *rc::gen::inRange(1, 20);
    const Integer high = low + *rc::gen::inRange(0, 60);
    Integer at = low;
    std::size_t before = costs.size();
    for (const Reign& reign : reigns(all, low, high)) {
      RC_ASSERT(reign.from == at);
      RC_ASSERT(reign.program != before);
      before = reign.program;
      for (; at <= reign.to; ++at) RC_ASSERT(ranking(all, Rational(at)).front() == reign.program);
    }
    RC_ASSERT(at == high + 1);
  });
}
