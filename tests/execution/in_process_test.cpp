#include "engine/execution/in_process.h"

#include <doctest/doctest.h>

#include "engine/execution/workloads.h"
#include "tests/execution/ran.h"
#include "tests/program/random_programs.h"

using namespace p2;
using namespace p2::execution;

namespace {

Inputs inputs_of(ElementType type, Inputs::Kind kind = Inputs::Kind::Integers) {
  Inputs inputs;
  inputs.type = type;
  inputs.kind = kind;
  return inputs;
}

Step step(Collective collective, std::vector<Group> groups) {
  return {collective, std::move(groups), std::nullopt};
}

}  // namespace

TEST_CASE("all programs of the paper's small systems end and pass through the right data") {
  struct System {
    const char* hierarchy;
    const char* axes;
    const char* placement;
    std::size_t programs;
  };
  const System systems[] = {{"2,2", "4", "[[2 2]]", 47},
                            {"2,4", "8", "[[2 4]]", 47},
                            {"4,4", "16", "[[4 4]]", 47},
                            {"2,2,2", "8", "[[2 2 2]]", 825}};
  for (const System& system : systems) {
    const Instance instance = instance_of(system.hierarchy, system.axes, "0", system.placement);
    const std::vector<Program> programs = all_programs(instance);
    REQUIRE(programs.size() == system.programs);
    for (const Program& program : programs) {
      const Ran ran = run_in_process(program, Dialect::Published, inputs_of(ElementType::Int32));
      CHECK(ran.wrong == 0);
      CHECK(ran.wrong_in_steps == 0);
      CHECK(ran.compared == program.devices * program.devices * 3);
    }
  }
}

TEST_CASE("every element type, sums that are exact and sums that are rounded") {
  const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]");
  for (const Program& program : all_programs(instance)) {
    for (const ElementType type :
         {ElementType::Float32, ElementType::Float64, ElementType::Int32, ElementType::BFloat16}) {
      for (const Inputs::Kind kind : {Inputs::Kind::Integers, Inputs::Kind::Reals}) {
        if (type == ElementType::Int32 && kind == Inputs::Kind::Reals) continue;
        const Ran ran = run_in_process(program, Dialect::Published, inputs_of(type, kind), 40);
        CHECK(ran.wrong == 0);
        CHECK(ran.wrong_in_steps == 0);
      }
    }
  }
}

TEST_CASE("what is accepted computes the right data, and wrong data come from what is refused") {
  RandomPrograms random(31);
  std::vector<Program> valid;
  for (const char* reduce : {"0", "1", "0,1"}) {
    const Instance instance = instance_of("2,2,2", "4,2", reduce, "[[2 1 2] [1 2 1]]");
    for (Program& program : all_programs(instance, 3)) valid.push_back(std::move(program));
  }
  std::size_t accepted = 0;
  std::size_t wrong = 0;
  std::size_t refused_and_right = 0;
  for (std::size_t number = 0; number < 10'000; ++number) {
    Program program = random.program(2 + random.below(5));
    if (number % 2 == 0) {
      program = valid[random.below(static_cast<std::uint32_t>(valid.size()))];
      for (std::uint32_t changes = random.below(3); changes > 0; --changes) random.mutate(program);
    }
    const Ran ran = run_in_process(program, Dialect::Published, inputs_of(ElementType::Int32));
    const bool is_valid = ran.verdict.outcome == Outcome::Established;
    accepted += is_valid;
    wrong += ran.wrong > 0;
    refused_and_right += !is_valid && ran.wrong == 0;
    REQUIRE((!is_valid || ran.wrong == 0));
    REQUIRE(ran.wrong_in_steps == 0);
    // Where all steps are legal, the states say exactly what the data are.
    if (ran.verdict.legal_steps == program.steps.size()) REQUIRE(is_valid == (ran.wrong == 0));
  }
  CHECK(accepted > 1000);
  CHECK(wrong > 1000);
  CHECK(refused_and_right > 10);
}

TEST_CASE("a contribution that is counted twice is found in every element of the result") {
  const Program program{4,
                        {{0, 1, 2, 3}},
                        {step(Collective::AllReduce, {{0, 1}, {2, 3}}),
                         step(Collective::AllReduce, {{0, 1}, {2, 3}})}};
  const Ran ran = run_in_process(program, Dialect::Published);
  CHECK(ran.verdict.outcome == Outcome::Refuted);
  CHECK(ran.wrong > 40);  // of 48: a sum may be right by chance
  const WrongElement& shown = ran.ranks[1].audits.back().shown[0];
  CHECK(shown.rank == 1);
  CHECK(!shown.missing);
  CHECK(shown.got != shown.expected);
}

TEST_CASE("elements that nobody sent are missing, and wrong") {
  const Program program{2, {{0, 1}}, {step(Collective::Reduce, {{0, 1}})}};
  const Ran ran = run_in_process(program, Dialect::Published);
  CHECK(ran.wrong == 6);
  CHECK(ran.ranks[0].audits.back().wrong == 0);
  CHECK(ran.ranks[1].audits.back().shown[0].missing);
}

TEST_CASE("every rank issues the calls of its plan, in the plan's order") {
  const Instance instance = instance_of("2,2,2", "8", "0", "[[2 2 2]]");
  for (const Program& program : all_programs(instance, 4)) {
    const Plan plan = plan_of(program);
    const Expectation expectation(program, Dialect::Published);
    const ProgramRun run(plan, expectation, {}, 2);
    Job job{run};
    job.warmup = job.iterations = 0;
    const std::vector<RankResult> ranks = InProcess().run(job);
    for (std::uint32_t rank = 0; rank < program.devices; ++rank) {
      CHECK(!ranks[rank].strayed);
      CHECK(ranks[rank].issued == planned_calls(plan, rank, run.chunk_elements()));
    }
  }
}

TEST_CASE("a rank that dies or hangs ends the run in time and is named") {
  const Program program = all_programs(instance_of("2,2", "4", "0", "[[2 2]]"))[10];
  const Plan plan = plan_of(program);
  const Expectation expectation(program, Dialect::Published);
  for (const InjectedFault::Kind kind : {InjectedFault::Kind::Dies, InjectedFault::Kind::Hangs}) {
    const ProgramRun run(plan, expectation, {}, 2);
    Job job{run};
    const auto start = std::chrono::steady_clock::now();
    job.deadline = start + std::chrono::milliseconds(300);
    job.fault = InjectedFault{kind, 2, 2};
    std::string message;
    try {
      InProcess().run(job);
    } catch (const Interrupted& end) {
      message = end.what();
    }
    CHECK(message == (kind == InjectedFault::Kind::Dies
                          ? "rank 2 died"
                          : "rank 2 did not enter step 2 of program 1, where others wait for it"));
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
  }
}

TEST_CASE("programs and plans run on one runtime: a plan's deadlock, wrong data and right data") {
  using namespace reshard;
  const auto transfer = [](bool sends, Buffer buffer, std::uint32_t peer) {
    return Operation{sends, buffer, peer, {{0}, {4}}};
  };
  reshard::Plan plan;
  const Sharding mesh = parse_sharding("--from", "1x1:R", 1);
  plan.problem = reshard_between({4}, mesh, mesh, 1);
  plan.programs = {{{transfer(true, Buffer::Source, 1)}},
                   {{transfer(false, Buffer::Destination, 0)}}};
  const auto wrong = [&] {
    const PlanRun run(plan);
    Job job{run, 3, 1, 2};
    std::uint64_t elements = 0;
    for (const RankResult& rank : InProcess().run(job)) {
      CHECK(rank.seconds.size() == 2);
      elements += rank.audits.back().wrong;
    }
    return elements;
  };
  CHECK(wrong() == 0);
  plan.programs[0][0][0].box = plan.programs[1][0][0].box = {{0}, {3}};
  CHECK(wrong() == 1);
  plan.programs[0].clear();
  CHECK_THROWS_WITH_AS(wrong(), "1 devices wait for each other for ever", Interrupted);
}
