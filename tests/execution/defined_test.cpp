// Programs with user-defined collectives and goals other than AllReduce on real data.

#include <doctest/doctest.h>

#include "engine/base/files.h"
#include "engine/program/goal.h"
#include "engine/program/program.h"
#include "tests/cost/systems.h"
#include "tests/execution/ran.h"

using namespace p2;
using namespace p2::execution;

namespace {

/// All definitions of examples/collectives/sound.
CollectiveSet sound_examples() {
  std::vector<language::Definition> defined;
  for (const char* name : {"alltoall", "gather", "quantised-allgather", "quantised-allreduce",
                           "quantised-reducescatter", "ring-reducescatter", "scatter"}) {
    const std::string path =
        std::string(P2_SOURCE_DIR) + "/examples/collectives/sound/" + name + ".p2c";
    defined.push_back(language::parse_definition(path, read_file(path)));
  }
  return CollectiveSet(defined);
}

std::vector<Program> programs_for(const Instance& instance, const std::string& goal,
                                  std::uint32_t size) {
  SynthesisOptions options;
  options.size = size;
  options.jobs = 1;
  options.terms = {sound_examples(), *goal_called(goal)};
  std::vector<Program> programs;
  find_programs({instance}, options)[0].for_each_lowered(
      [&](const Program& program) { programs.push_back(program); });
  return programs;
}

const char* const kGoalNames[] = {"allreduce", "reducescatter", "allgather",
                                  "reduce",    "broadcast",     "alltoall"};

bool uses_defined(const Program& program) {
  return std::ranges::any_of(program.steps,
                             [](const Step& step) { return !is_built_in(step.collective); });
}

}  // namespace

TEST_CASE("valid programs with user-defined collectives, for every goal, pass through right data") {
  const Instance instances[] = {instance_of("2,2", "4", "0", "[[2 2]]"),
                                instance_of("2,2", "2,2", "0", "[[1 2] [2 1]]"),
                                instance_of("2,3", "6", "0", "[[2 3]]")};
  std::size_t defined = 0;
  for (const Instance& instance : instances) {
    for (const char* goal : kGoalNames) {
      for (const Program& program : programs_for(instance, goal, 3)) {
        const Ran ran = run_in_process(program, Dialect::Published);
        REQUIRE(ran.verdict.outcome == Outcome::Established);
        CHECK(ran.compared > 0);
        CHECK(ran.wrong == 0);
        CHECK(ran.wrong_in_steps == 0);
        defined += uses_defined(program) ? 1 : 0;
      }
    }
  }
  CHECK(defined > 100);
}

TEST_CASE("a program that misses its goal by a user-defined step has wrong data") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  std::size_t wrong = 0;
  std::size_t refuted = 0;
  for (const Program& program : programs_for(instance, "reducescatter", 2)) {
    if (!uses_defined(program)) continue;
    Program shorter = program;
    shorter.steps.pop_back();
    const Ran ran = run_in_process(shorter, Dialect::Published);
    REQUIRE(ran.verdict.outcome == Outcome::Refuted);
    ++refuted;
    wrong += ran.wrong > 0 ? 1 : 0;
  }
  CHECK(refuted > 0);
  CHECK(wrong == refuted);
}

TEST_CASE(
    "a step of a user-defined collective that is refused, and those after it, have no calls") {
  Program program{4, {{0, 1, 2, 3}}, {}, {sound_examples(), {}}};
  const Collective scatter = *program.terms.collectives.called("Scatter");
  program.steps = {{scatter, {{0, 1, 2, 3}}, {}},
                   {Collective::AllReduce, {{0, 1, 2, 3}}, {}},
                   {scatter, {{0, 1, 2, 3}}, {}}};
  const Plan plan = plan_of(program);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CHECK_FALSE(plan.steps[0][rank].call);
    CHECK(plan.steps[1][rank].call);
    CHECK_FALSE(plan.steps[2][rank].call);
  }
}

TEST_CASE(
    "built-in collectives stand for a user-defined one only where they leave the same states") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  std::size_t found = 0;
  std::size_t missing = 0;
  for (const char* goal : kGoalNames) {
    for (const Program& program : programs_for(instance, goal, 3)) {
      const BuiltInProgram stand_in = built_in_program(program);
      StateTable states(program.chunks());
      std::vector<SystemState> reached;
      const auto see = [&](std::size_t, const SystemState& state) { reached.push_back(state); };
      check(program, Dialect::Printed, states, {}, see);
      const SystemState last = reached.back();
      reached.clear();
      CHECK(check(stand_in.program, Dialect::Printed, states, {}, see).outcome ==
            Outcome::Established);
      CHECK(reached.back() == last);
      CHECK(stand_in.program.terms.collectives.extended() == stand_in.missing.has_value());
      found += uses_defined(program) && !stand_in.missing ? 1 : 0;
      missing += stand_in.missing ? 1 : 0;
    }
  }
  CHECK(found > 10);
  CHECK(missing > 10);
}

TEST_CASE(
    "AllToAll, whose chunks can go one way only, has no stand-in; a quantised AllReduce has") {
  Program program{4, {{0, 1, 2, 3}}, {}, {sound_examples(), {}}};
  const CollectiveSet& set = program.terms.collectives;
  program.steps = {{*set.called("QuantisedAllReduce"), {{0, 1, 2, 3}}, {}}};
  const BuiltInProgram single = built_in_program(program);
  REQUIRE(single.program.steps.size() == 1);
  CHECK(single.program.steps[0].collective == Collective::AllReduce);
  program.steps = {{*set.called("RingReduceScatter"), {{0, 1, 2, 3}}, {}}};
  CHECK(built_in_program(program).missing == 0);
}

TEST_CASE("the price of an exchange is what its busiest link carries") {
  // Scatter of 4 rows by the root: it sends one row to each of three, two of them to another node.
  const System system =
      system_from("node=2,gpu=2",
                  {{"link", InterconnectKind::Switch, "gpu", 2, 10'000'000'000, 1'000'000, {}},
                   {"nic", InterconnectKind::SharedNic, "gpu", 2, 1'000'000'000, 0, {}},
                   {"net", InterconnectKind::Switch, "node", 2, 100'000'000'000, 5'000'000, {}}});
  const Network network(system, {"test"});
  StepPricer pricer(network, Algorithm::Ring);
  Program program{4, {{0, 1, 2, 3}}, {}, {sound_examples(), *goal_called("reducescatter")}};
  const Collective scatter = *program.terms.collectives.called("Scatter");
  program.steps = {{Collective::Reduce, {{0, 1, 2, 3}}, {}}, {scatter, {{0, 1, 2, 3}}, {}}};
  const PricedProgram priced = ProgramPricer(pricer).price(program, Dialect::Published);
  REQUIRE(priced.decision.outcome == Outcome::Established);
  const StepCost& step = *priced.cost.steps[1];
  // Two of the four rows leave node 0 by its NIC of 1 GB/s; the root sends three messages in turn,
  // over its link (1 us) and the network (5 us).
  CHECK(step.seconds_per_byte == ratio(2, 4) / 1'000'000'000);
  CHECK(step.latency == ratio(3 * 6, 1000000));
}
