#include <doctest/doctest.h>

#include "proofs/claims/summary.h"

using namespace p2;
using namespace p2::claims;

namespace {

/// The smallest counterexample to a claim: devices, steps and the system's reduction.
struct Smallest {
  std::uint32_t devices = 0;
  std::size_t steps = 0;
};

Smallest smallest(const char* claim, Dialect dialect, bool several_axes, std::uint32_t most = 8) {
  Request request;
  request.claims = {claim_called(claim)};
  REQUIRE(request.claims[0] != nullptr);
  request.dialects = {dialect};
  request.systems = placed_systems(most);
  const std::vector<Result> results = settle(request, {});
  Smallest found;
  for (const Summary& row : summarise(results)) {
    if (row.several_axes != several_axes || row.smallest == nullptr) continue;
    const Smallest here{row.smallest->question.system->grid.devices(), row.smallest->answer.steps};
    if (found.devices == 0 || here.devices < found.devices) found = here;
  }
  return found;
}

void expect(const Smallest& found, std::uint32_t devices, std::size_t steps) {
  CHECK(found.devices == devices);
  CHECK(found.steps == steps);
}

constexpr bool kOneAxis = false;
constexpr bool kSeveralAxes = true;

}  // namespace

TEST_CASE("theorem 3.2 is false as printed: (d) lacks a program of (c) on 8 devices, 3 steps") {
  expect(smallest("lemma-b8", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b8-case3", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b8", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b8", Dialect::Published, kSeveralAxes), 0, 0);
}

TEST_CASE("lemma B.6 is false as printed, by the same programs") {
  expect(smallest("lemma-b6", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b6", Dialect::Published, kOneAxis), 0, 0);
}

TEST_CASE("lemma B.7 is false in case 3 over one axis, in dialect published too") {
  expect(smallest("lemma-b7", Dialect::Published, kOneAxis), 8, 3);
  expect(smallest("lemma-b7-case3", Dialect::Published, kOneAxis), 8, 3);
  expect(smallest("lemma-b7-case1", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b7-case2", Dialect::Published, kOneAxis), 0, 0);
}

TEST_CASE("(c) >= (b) and (d) >= (a) are false over several axes") {
  expect(smallest("lemma-b7", Dialect::Published, kSeveralAxes), 4, 3);
  expect(smallest("lemma-b7-case1", Dialect::Published, kSeveralAxes), 8, 1);
  expect(smallest("lemma-b7-case2", Dialect::Published, kSeveralAxes), 8, 1);
  Request request;
  request.claims = {claim_called("expressiveness")};
  request.from = HierarchyKind::Hardware;
  request.to = HierarchyKind::Reduction;
  request.systems = placed_systems(8);
  const auto results = settle(request, {});
  const auto rows = summarise(results);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].refuted == 0);
  CHECK(rows[1].smallest->question.system->grid.devices() == 4);
  CHECK(rows[1].smallest->answer.steps == 3);
  CHECK(rows[1].shortest->answer.steps == 2);
}

TEST_CASE("the witness of lemma B.1 is wrong and the last factor is right") {
  expect(smallest("lemma-b1-witness", Dialect::Published, kOneAxis), 4, 1);
  expect(smallest("lemma-b1-corrected-witness", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b1-corrected-witness", Dialect::Published, kSeveralAxes), 0, 0);
  expect(smallest("lemma-b1", Dialect::Printed, kSeveralAxes), 0, 0);
}

TEST_CASE("lemma B.3 is false for arbitrary groups: 4 devices, 4 steps, no shorter one") {
  expect(smallest("lemma-b3", Dialect::Published, kOneAxis, 4), 4, 4);
  expect(smallest("lemma-b3-hierarchical", Dialect::Printed, kOneAxis), 0, 0);
}

TEST_CASE("the witness of lemma B.7 is wrong for InsideGroup and right with Parallel") {
  expect(smallest("lemma-b7-witness", Dialect::Published, kOneAxis), 4, 1);
  expect(smallest("lemma-b7-corrected-witness", Dialect::Printed, kOneAxis), 0, 0);
  expect(smallest("lemma-b7-corrected-witness", Dialect::Published, kOneAxis), 0, 0);
}
