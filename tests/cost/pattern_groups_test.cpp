// One group of a pattern priced for all against every group priced, and prices without states
// against those of the derivation.
#include <random>

#include <doctest/doctest.h>

#include "engine/cost/program_cost.h"
#include "engine/program/synthesis.h"
#include "tests/cost/systems.h"

using namespace p2;

namespace {

std::uint32_t below(std::uint32_t bound, std::mt19937& random) {
  return static_cast<std::uint32_t>(random() % bound);
}

std::uint32_t one_of(std::mt19937& random, std::initializer_list<std::uint32_t> values) {
  return *(values.begin() + random() % values.size());
}

/// Levels of 2 to 6, with a switch around every level, and NICs, rings and media of any span.
System random_system(std::mt19937& random) {
  const std::size_t levels = 1 + random() % 4;
  std::vector<Level> sizes;
  std::uint32_t devices = 1;
  for (std::size_t i = 0; i < levels; ++i) {
    const std::uint32_t size = one_of(random, {2, 2, 3, 4, 5, 6});
    if (devices * size > 48) break;
    devices *= size;
    sizes.push_back({"l" + std::to_string(i), size});
  }
  std::vector<Interconnect> links;
  const auto add = [&](InterconnectKind kind, const Level& level, std::uint32_t span) {
    links.push_back({"i" + std::to_string(links.size()), kind, level.name, span,
                     std::int64_t{1'000'000'000} * one_of(random, {1, 3, 8, 50}),
                     one_of(random, {0, 700, 1000}),
                     random() % 3 == 0 ? Duplex::Half : Duplex::Full});
  };
  for (const Level& level : sizes) {
    const auto divisor = [&] {
      std::uint32_t span = 1 + below(level.size, random);
      while (level.size % span != 0) ++span;
      return span;
    };
    add(random() % 4 == 0 ? InterconnectKind::SharedMedium : InterconnectKind::Switch, level,
        level.size);
    if (random() % 2 == 0) add(InterconnectKind::SharedNic, level, divisor());
    if (random() % 3 == 0) add(InterconnectKind::SharedMedium, level, divisor());
    if (random() % 3 == 0) {
      const std::uint32_t span = divisor();
      if (span > 1) add(InterconnectKind::Ring, level, span);
    }
  }
  std::shuffle(links.begin(), links.end(), random);
  return {"test", Hierarchy(sizes, {"test"}), std::move(links)};
}

/// One to three axes of these devices.
Axes random_axes(std::mt19937& random, std::uint32_t devices) {
  std::vector<Axis> axes;
  for (std::uint32_t left = devices; left > 1;) {
    std::uint32_t size = axes.size() == 2 ? left : 2 + below(left - 1, random);
    while (left % size != 0) ++size;
    axes.push_back({"a" + std::to_string(axes.size()), size});
    left /= size;
  }
  return Axes(axes, {"test"});
}

void check_equal(const StepCost& found, const StepCost& expected) {
  CHECK(found.latency == expected.latency);
  CHECK(found.seconds_per_byte == expected.seconds_per_byte);
  CHECK(found.bottleneck == expected.bottleneck);
  REQUIRE(found.busiest.size() == expected.busiest.size());
  for (std::size_t i = 0; i < found.busiest.size(); ++i) {
    CHECK(found.busiest[i].link == expected.busiest[i].link);
    CHECK(found.busiest[i].seconds_per_byte == expected.busiest[i].seconds_per_byte);
  }
  REQUIRE(found.shapes.size() == expected.shapes.size());
  for (std::size_t i = 0; i < found.shapes.size(); ++i) {
    REQUIRE(found.shapes[i].size() == expected.shapes[i].size());
    for (std::size_t k = 0; k < found.shapes[i].size(); ++k) {
      const NcclTime& a = found.shapes[i][k];
      const NcclTime& b = expected.shapes[i][k];
      CHECK(std::tie(a.latency, a.seconds_per_byte) == std::tie(b.latency, b.seconds_per_byte));
      CHECK(std::tie(a.algorithm, a.protocol, a.interconnect) ==
            std::tie(b.algorithm, b.protocol, b.interconnect));
    }
  }
}

/// Every pattern of the digits, with every collective.
void compare_steps(const DeviceGrid& grid, StepPricer& alike, StepPricer& all,
                   std::mt19937& random) {
  const std::uint32_t chunks = grid.devices();
  for (FactorSet reduced = 1; reduced <= grid.all_factors(); ++reduced) {
    const FactorSet pinned = below(grid.all_factors() + 1, random) & ~reduced;
    for (const Collective collective :
         {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
          Collective::Reduce, Collective::Broadcast}) {
      const std::uint32_t rows = 1 + below(chunks, random);
      const Step step{collective, grid.groups(reduced, pinned), std::nullopt};
      const PatternGroups groups(grid, {reduced, pinned});
      CHECK(groups.all() == step.groups);
      CAPTURE(to_string(step, nullptr));
      check_equal(alike.price(collective, groups, rows, chunks),
                  all.price(step, std::vector(step.groups.size(), rows), chunks));
    }
  }
}

/// All programs of an instance, by the derivation and without states.
std::size_t compare_programs(const Instance& instance, Dialect dialect, const Goal& goal,
                             std::uint32_t size, StepPricer& alike, StepPricer& all) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.terms.goal = goal;
  options.size = size;
  const auto found = find_programs({instance}, options);
  ProgramPricer pricer(all);
  std::size_t programs = 0;
  found[0].for_each([&](const std::vector<Step>& steps) {
    if (programs > 400) return;
    Program program = found[0].program(steps);
    for (Step& step : program.steps) step = lower(instance.grid, *step.shape, step.collective);
    const PricedProgram expected = pricer.price(program, dialect);
    REQUIRE(expected.decision.outcome == Outcome::Established);
    const auto cost = price_by_counts(steps, instance, found[0].beginning().start, alike);
    CAPTURE(to_string(steps, &instance));
    if (!cost) {  // an AllGather with Master leaves groups that send unequal amounts
      CHECK(dialect == Dialect::Printed);
      CHECK(!goal.is_allreduce());
      return;
    }
    ++programs;
    CHECK(cost->latency == expected.cost.latency);
    CHECK(cost->seconds_per_byte == expected.cost.seconds_per_byte);
    REQUIRE(cost->steps.size() == expected.cost.steps.size());
    for (std::size_t i = 0; i < cost->steps.size(); ++i) {
      check_equal(*cost->steps[i], *expected.cost.steps[i]);
    }
  });
  const Start start = found[0].beginning().start;
  const std::uint32_t chunks = instance.grid.devices();
  check_equal(*price_single(goal.collective, start, instance, chunks, alike).steps[0],
              *price_single(goal.collective, start, instance.classes(), chunks, all).steps[0]);
  return programs;
}

}  // namespace

TEST_CASE("runs that translations permute end at a digit or divide one") {
  const Hierarchy hierarchy = parse_hierarchy("h", "3,4");
  const Axes axes = parse_axes("a", "12");
  const DeviceGrid grid(hierarchy, axes, parse_placement("p", "[[3 4]]", hierarchy, axes));
  const PatternGroups rows(grid, {2, 0});
  for (const std::uint32_t run : {1U, 2U, 4U, 12U}) CHECK(rows.respects_runs(run));
  for (const std::uint32_t run : {3U, 6U}) CHECK(!rows.respects_runs(run));
  CHECK(rows.first() == Group{0, 1, 2, 3});
  CHECK(rows.groups_in_run(4) == 1);
  CHECK(rows.groups_in_run(12) == 3);
  const PatternGroups columns(grid, {1, 0});
  CHECK(columns.groups_in_run(1) == 1);
  CHECK(columns.groups_in_run(2) == 2);
  CHECK(columns.groups_in_run(4) == 4);
  CHECK(PatternGroups(grid, {1, 2}).groups_in_run(4) == 1);
}

TEST_CASE("steps on random systems: one group for all, and all groups, cost the same") {
  std::mt19937 random(1);
  std::size_t symmetric = 0;
  std::size_t skewed = 0;
  for (int i = 0; i < 2000; ++i) {
    const System system = random_system(random);
    const Network network(system, {"test"});
    const Axes axes = random_axes(random, system.hierarchy.devices());
    const std::vector<Placement> placements =
        enumerate_placements(system.hierarchy, axes, {"test"});
    const DeviceGrid grid(system.hierarchy, axes, placements[random() % placements.size()]);
    CAPTURE(to_json(system));
    CAPTURE(to_string(grid.placement()));
    const Algorithm algorithm = random() % 2 == 0 ? Algorithm::Ring : Algorithm::Tree;
    StepPricer alike(network, algorithm);
    StepPricer all(network, algorithm);
    compare_steps(grid, alike, all, random);
    ++(network.is_symmetric_for(PatternGroups(grid, {1, 0})) ? symmetric : skewed);
  }
  CHECK(symmetric > 500);
  CHECK(skewed > 20);
}

TEST_CASE("programs on random systems: without states they cost what their derivations say") {
  std::mt19937 random(2);
  std::size_t programs = 0;
  for (int i = 0; i < 500; ++i) {
    const System system = random_system(random);
    const Network network(system, {"test"});
    const Axes axes = random_axes(random, system.hierarchy.devices());
    const std::vector<Placement> placements =
        enumerate_placements(system.hierarchy, axes, {"test"});
    const Algorithm algorithm = random() % 2 == 0 ? Algorithm::Ring : Algorithm::Tree;
    StepPricer alike(network, algorithm);
    StepPricer all(network, algorithm);
    ReductionAxes reduction{below(static_cast<std::uint32_t>(axes.count()), random)};
    if (axes.count() == 3 && random() % 2 == 0) reduction = {0, 2};
    const Instance instance(
        DeviceGrid(system.hierarchy, axes, placements[random() % placements.size()]), reduction,
        kHierarchyKinds[random() % 6]);
    CAPTURE(to_json(system));
    CAPTURE(to_string(instance.grid.placement()));
    const Dialect dialect = random() % 2 == 0 ? Dialect::Printed : Dialect::Published;
    const std::string goal =
        std::array{"allreduce", "reducescatter", "allgather", "reduce", "broadcast"}[random() % 5];
    CAPTURE(goal);
    programs += compare_programs(instance, dialect, *goal_called(goal), 4, alike, all);
  }
  CHECK(programs > 10000);
}

TEST_CASE("by the model of NCCL one group for all gives the same lines") {
  std::mt19937 random(3);
  std::size_t programs = 0;
  for (const char* name : {"dgx-h100-4nodes", "aws-p4d-4nodes", "dgx-1v-2nodes", "mi300x-4nodes",
                           "perlmutter-4nodes"}) {
    const System system = shipped_system(name);
    REQUIRE(NcclSystem::describes(system));
    const Network network(system, {"test"});
    const NcclSystem nccl(system, {"test"});
    for (int i = 0; i < 6; ++i) {
      const Axes axes = random_axes(random, system.hierarchy.devices());
      for (const Placement& placement : enumerate_placements(system.hierarchy, axes, {"test"})) {
        CAPTURE(name);
        CAPTURE(to_string(placement));
        StepPricer alike(network, nccl, {});
        StepPricer all(network, nccl, {});
        const Instance instance(DeviceGrid(system.hierarchy, axes, placement), {0},
                                HierarchyKind::Reduction);
        const Dialect dialect = random() % 2 == 0 ? Dialect::Printed : Dialect::Published;
        programs += compare_programs(instance, dialect, {}, 3, alike, all);
        compare_steps(instance.grid, alike, all, random);
      }
    }
  }
  CHECK(programs > 300);
}
