#include "engine/execution/call_record.h"

#include <doctest/doctest.h>

#include "engine/program/notation.h"
#include "tests/execution/ran.h"

using namespace p2;
using namespace p2::execution;

namespace {

Plan planned(const std::string& text) {
  TextCursor cursor("program", text);
  return plan_of({4, {}, parse_steps(cursor, 4, nullptr)});
}

}  // namespace

TEST_CASE("the calls of every plan match, whatever the order of arrival") {
  for (const Program& program : all_programs(instance_of("2,2,2", "8", "0", "[[2 2 2]]"))) {
    const Plan plan = plan_of(program);
    CHECK(!first_mismatch(plan, planned_calls(plan)));
  }
}

TEST_CASE("calls in another order, another call, and a call too few are found") {
  const Plan twice = planned("AllReduce{0,1}; Reduce{0,1}");
  auto calls = planned_calls(twice);
  std::swap(calls[0][0], calls[0][1]);
  CHECK(*first_mismatch(twice, calls) ==
        "rank 1 has AllReduce of step 1 over {0,1} with 4 elements to do, and rank 0 has Reduce of "
        "step 2 over {0,1} with 4 elements");
  const Plan plan = planned("AllReduce{0,1},{2,3}; AllReduce{0,2},{1,3}");
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
  const Plan plan = planned("AllReduce{0,1},{2,3}; AllReduce{1,2},{0,3}");
  auto calls = planned_calls(plan);
  CHECK(!first_mismatch(plan, calls));
  std::swap(calls[1][0], calls[1][1]);
  std::swap(calls[3][0], calls[3][1]);
  CHECK(first_mismatch(plan, calls));
}

TEST_CASE("a record names group, position and count") {
  const Plan plan = planned("Reduce{1,3}");
  const Expectation expectation({4, {{0}, {1}, {2}, {3}}, {}}, Dialect::Published);
  const Job job{plan, expectation, {}, 5};
  CHECK(record_lines(job, planned_calls(plan, 3, 5)) ==
        "{\"program\":1,\"type\":\"float32\",\"step\":1,\"collective\":\"Reduce\",\"group\":[1,3],"
        "\"position\":1,\"count\":20,\"root\":0}\n");
  CHECK(record_lines(job, planned_calls(plan, 0, 5)).empty());
}
