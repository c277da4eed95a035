#include <tuple>

#include <doctest/doctest.h>

#include "engine/execution/plan.h"
#include "engine/program/program.h"
#include "tests/execution/ran.h"

using namespace p2;
using namespace p2::execution;

namespace {

Plan planned(std::uint32_t devices, const std::string& text) {
  TextCursor cursor("program", text);
  return plan_of({devices, {}, parse_steps(cursor, devices, nullptr)});
}

}  // namespace

TEST_CASE("ReduceScatter deals the held chunks out in blocks, and nothing has to be moved") {
  const Plan plan = planned(4, "ReduceScatter{0,2},{1,3}; ReduceScatter{0,1},{2,3}");
  CHECK(plan.partitions.size() == 2);
  CHECK(plan.steps[0][2].held == Rows{2, 3});
  CHECK(plan.steps[0][2].call->rows == 2);
  CHECK(plan.steps[0][2].call->position == 1);
  CHECK(plan.steps[0][2].call->group == 0);
  CHECK(plan.steps[1][0].held == Rows{0});
  CHECK(plan.steps[1][3].held == Rows{3});
  for (const auto& step : plan.steps) {
    for (const RankStep& rank : step) {
      CHECK(!rank.pack);
      CHECK(!rank.unpack);
    }
  }
}

TEST_CASE("chunks that an AllGather brings out of order are merged") {
  // Rank 0 holds chunk 0, rank 1 holds 2, rank 2 holds 1, rank 3 holds 3.
  const std::string scattered = "ReduceScatter{0,1},{2,3}; ReduceScatter{0,2},{1,3}; ";
  const Plan ordered = planned(4, scattered + "AllGather{0,2},{1,3}");
  CHECK(ordered.steps[2][0].held == Rows{0, 1});
  CHECK(!ordered.steps[2][0].unpack);
  const Plan mixed = planned(4, scattered + "AllGather{0,1,2,3}");
  CHECK(mixed.steps[2][3].held == Rows{0, 1, 2, 3});
  REQUIRE(mixed.steps[2][3].unpack);
  CHECK(*mixed.steps[2][3].unpack == Rows{0, 2, 1, 3});
}

TEST_CASE("a communicator per distinct set of groups; groups of one rank need none") {
  const Plan plan = planned(4, "AllReduce{0,1},{2,3}; AllReduce{0,1},{2,3}; Reduce{0},{1,2}");
  CHECK(plan.partitions == std::vector<std::vector<Group>>{{{0, 1}, {2, 3}}, {{1, 2}}});
  CHECK(!plan.steps[2][0].call);
  CHECK(plan.steps[2][0].held.size() == 4);
  CHECK(plan.steps[2][2].held.empty());
}

TEST_CASE(
    "what a refused step does: zeros for what is lacking, the first for what is there twice") {
  const Plan plan = planned(4, "Reduce{0,1}; AllReduce{0,1}; ReduceScatter{0,1,2}; AllGather{0,3}");
  CHECK(*plan.steps[1][1].pack == Rows(4, kZeros));
  CHECK(plan.steps[2][0].call->rows == 2);
  CHECK(*plan.steps[2][0].pack == Rows{0, 1, 2, 3, kZeros, kZeros});
  CHECK(plan.steps[2][2].held.empty());
  CHECK(*plan.steps[3][0].pack == Rows{0, 1, kZeros, kZeros});
  CHECK(*plan.steps[3][0].unpack == Rows{0, 1, 6, 7});
  CHECK(plan.max_rows == 8);
}

TEST_CASE("the chunks of a plan are those of the states, in every legal step") {
  for (const Program& program :
       all_programs(instance_of("2,2,3", "6,2", "0", "[[2 1 3] [1 2 1]]"), 4)) {
    const Plan plan = plan_of(program);
    const Expectation expectation(program, Dialect::Published);
    for (std::size_t step = 1; step <= program.steps.size(); ++step) {
      for (std::uint32_t rank = 0; rank < program.devices; ++rank) {
        Rows held;
        for (std::uint32_t chunk = 0; chunk < program.devices; ++chunk) {
          if (!expectation.after(step, rank, chunk).empty()) held.push_back(chunk);
        }
        CHECK(plan.steps[step - 1][rank].held == held);
      }
    }
  }
}

using namespace p2;
using namespace p2::execution;

namespace {

/// The plan of every program by patterns and by ranks.
std::size_t compare_summaries(const Instance& instance, Dialect dialect, const Goal& goal,
                              std::uint32_t size) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.terms.goal = goal;
  options.size = size;
  const auto found = find_programs({instance}, options);
  std::size_t programs = 0;
  found[0].for_each([&](const std::vector<Step>& steps) {
    if (++programs > 500) return;
    Program program = found[0].program(steps);
    for (Step& step : program.steps) step = lower(instance.grid, *step.shape, step.collective);
    CAPTURE(to_string(steps, &instance));
    const auto by_patterns = summary_by_patterns(steps, program.beginning.start, instance);
    REQUIRE(by_patterns.has_value());
    const PlanSummary by_ranks = summary_of(plan_of(program), program.steps);
    CHECK(by_patterns->classes == by_ranks.classes);
    CHECK(by_patterns->steps == by_ranks.steps);
    CHECK(by_patterns->max_rows == by_ranks.max_rows);
    CHECK(*by_patterns == by_ranks);
    std::uint64_t ranks = 0;
    for (const PlanSummary::RankClass& each : by_patterns->classes) ranks += each.ranks;
    CHECK(ranks == program.devices);
  });
  return programs;
}

}  // namespace

TEST_CASE("the plan by patterns is the one that lists the calls of every rank") {
  std::size_t programs = 0;
  for (const auto& [hierarchy, axes, reduce, placement] :
       {std::tuple("2,2,3", "6,2", "0", "[[2 1 3] [1 2 1]]"),
        std::tuple("2,3", "6", "0", "[[2 3]]"),
        std::tuple("4,2,2", "4,4", "0", "[[2 2 1] [2 1 2]]"),
        std::tuple("2,2,2,3", "4,6", "0,1", "[[2 1 2 1] [1 2 1 3]]"),
        std::tuple("3,4", "2,2,3", "0,2", "[[1 2] [1 2] [3 1]]")}) {
    for (const char* goal : {"allreduce", "reducescatter", "allgather", "reduce", "broadcast"}) {
      for (const HierarchyKind kind :
           {HierarchyKind::Reduction, HierarchyKind::Collapsed, HierarchyKind::Lattice}) {
        const Instance collapsed = instance_of(hierarchy, axes, reduce, placement);
        const Instance instance(collapsed.grid, collapsed.reduction, kind);
        CAPTURE(hierarchy);
        CAPTURE(goal);
        CAPTURE(to_string(kind));
        programs += compare_summaries(instance, Dialect::Published, *goal_called(goal), 3);
        programs += compare_summaries(instance, Dialect::Printed, *goal_called(goal), 3);
      }
    }
  }
  CHECK(programs > 4000);
}

TEST_CASE("the calls of every plan match, whatever the order of arrival") {
  for (const Program& program : all_programs(instance_of("2,2,2", "8", "0", "[[2 2 2]]"))) {
    const Plan plan = plan_of(program);
    CHECK(!first_mismatch(plan, planned_calls(plan)));
  }
}

TEST_CASE("calls in another order, another call, and a call too few are found") {
  const Plan twice = planned(4, "AllReduce{0,1}; Reduce{0,1}");
  auto calls = planned_calls(twice);
  std::swap(calls[0][0], calls[0][1]);
  CHECK(*first_mismatch(twice, calls) ==
        "rank 1 has AllReduce of step 1 over {0,1} with 4 elements to do, and rank 0 has Reduce of "
        "step 2 over {0,1} with 4 elements");
  const Plan plan = planned(4, "AllReduce{0,1},{2,3}; AllReduce{0,2},{1,3}");
  calls = planned_calls(plan);
  calls[3][0].count = 7;
  CHECK(*first_mismatch(plan, calls) ==
        "rank 2 has AllReduce of step 1 over {2,3} with 4 elements to do, and rank 3 has AllReduce "
        "of step 1 over {2,3} with 7 elements");
  calls = planned_calls(plan);
  calls[1].pop_back();
  CHECK(*first_mismatch(plan, calls) ==
        "rank 3 has AllReduce of step 2 over {1,3} with 4 elements to do, and rank 1 is done");
}

TEST_CASE("ranks that wait for each other in a circle are found") {
  // Rank 0 waits for 1, 1 for 2, 2 for 3 and 3 for 0, although all of them issue the same calls.
  const Plan plan = planned(4, "AllReduce{0,1},{2,3}; AllReduce{1,2},{0,3}");
  auto calls = planned_calls(plan);
  CHECK(!first_mismatch(plan, calls));
  std::swap(calls[1][0], calls[1][1]);
  std::swap(calls[3][0], calls[3][1]);
  CHECK(first_mismatch(plan, calls));
}

TEST_CASE("a record names group, position and count") {
  const Plan plan = planned(4, "Reduce{1,3}");
  CHECK(record_lines(plan, 1, ElementType::Float32, planned_calls(plan, 3, 5)) ==
        "{\"program\":1,\"type\":\"float32\",\"step\":1,\"collective\":\"Reduce\",\"group\":[1,3],"
        "\"position\":1,\"count\":20,\"root\":0}\n");
  CHECK(record_lines(plan, 1, ElementType::Float32, planned_calls(plan, 0, 5)).empty());
}
