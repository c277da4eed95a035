#include "proofs/claims/statements.h"

#include <doctest/doctest.h>

#include "proofs/claims/campaign.h"
#include "proofs/claims/search.h"
#include "tests/program/instances.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using namespace p2::claims;

namespace {

PlacedSystem system_of(const char* hierarchy, const char* axes, const char* reduce,
                       const char* placement) {
  const Instance instance = instance_of(hierarchy, axes, reduce, placement);
  return {instance.grid, instance.reduction};
}

Settlement settled(const char* claim, const Subject& subject, std::uint32_t size) {
  return find_claim(claim)->settle(subject, {size, {}});
}

}  // namespace

TEST_CASE("the claims about the rules hold on all systems of up to 6 devices") {
  CampaignRequest request;
  for (const char* name : {"information-increase", "composition", "permutation-equivariance",
                           "class-independence", "size-independence"}) {
    request.claims.push_back(find_claim(name));
  }
  request.dialects = {Dialect::Printed, Dialect::Published};
  request.systems = placed_systems(6);
  const std::vector<SettledQuestion> results = settle(request, {});
  CHECK(results.size() == request.systems.size() * 2 * (6 + 6 + 6 + 3 + 6));
  for (const SettledQuestion& result : results)
    CHECK(result.answer.outcome == Outcome::Established);
}

TEST_CASE("no program is longer than two steps a factor in published; in printed one of [2,2] is") {
  CampaignRequest request;
  request.claims = {find_claim("length-bound")};
  request.dialects = {Dialect::Published};
  request.systems = placed_systems(6);
  for (const SettledQuestion& result : settle(request, {})) {
    CHECK(result.answer.outcome == Outcome::Established);
  }
  const PlacedSystem pairs = system_of("2,2", "4", "0", "[[2 2]]");
  const auto answer = [&](Dialect dialect, std::uint32_t size) {
    return settled("length-bound", Subject(pairs, HierarchyKind::Reduction, std::nullopt, dialect),
                   size);
  };
  CHECK(answer(Dialect::Published, 9).note == "the longest has 4 steps");
  CHECK(answer(Dialect::Printed, 4).outcome == Outcome::Established);
  const Settlement longer = answer(Dialect::Printed, 5);
  CHECK(longer.outcome == Outcome::Refuted);
  CHECK(longer.steps == 5);
  CHECK(longer.program ==
        "ReduceScatter(l0.a0, InsideGroup); AllGather(l0.a0, InsideGroup); "
        "ReduceScatter(l0.a0, Parallel(root)); AllGather(l0.a0, Master(root)); "
        "Broadcast(root, InsideGroup)");
}

TEST_CASE("programs are as many as the levels that they leave apart have, wherever they cut") {
  CampaignRequest request;
  request.claims = {find_claim("coarsening")};
  request.dialects = {Dialect::Printed, Dialect::Published};
  request.systems = placed_systems(8);
  request.size = 4;
  const std::vector<SettledQuestion> results = settle(request, {});
  CHECK(results.size() == 2 * request.systems.size());
  for (const SettledQuestion& result : results) {
    CHECK(result.answer.outcome == Outcome::Established);
  }
  // Moves that cut elsewhere than the levels say.
  Subject subject(system_of("2,2,2", "8", "0", "[[2 2 2]]"), HierarchyKind::Reduction, std::nullopt,
                  Dialect::Published);
  CHECK(settled("coarsening", subject, 4).outcome == Outcome::Established);
  for (Move& move : subject.moves) {
    if (move.pattern == Pattern{1, 0}) move.pattern = {3, 0};
  }
  const Settlement answer = settled("coarsening", subject, 4);
  CHECK(answer.outcome == Outcome::Refuted);
  CHECK(answer.note.ends_with("expected"));
}

TEST_CASE("lockstep finds a class that is given other moves than its system") {
  Subject subject(system_of("2,4", "4,2", "0", "[[2 2] [1 2]]"), HierarchyKind::Reduction,
                  std::nullopt, Dialect::Published);
  REQUIRE(settled("class-independence", subject, 4).outcome == Outcome::Established);
  for (Move& move : subject.named.problem.moves) {
    if (move.pattern == Pattern{1, 0}) move.pattern = {2, 0};
  }
  const Settlement answer = settled("class-independence", subject, 4);
  CHECK(answer.outcome == Outcome::Refuted);
  CHECK(!answer.note.empty());
}

TEST_CASE("the measure counts contributions and chunks") {
  Simulator simulator(4, {{0, 1}, {2, 3}});
  SystemState state = simulator.initial();
  CHECK(simulator.contributions(state) == 16);
  CHECK(simulator.chunks(state) == 16);
  REQUIRE(simulator.run(Collective::Reduce, {{0, 1}, {2, 3}}, state));
  CHECK(simulator.contributions(state) == 16);
  CHECK(simulator.chunks(state) == 8);
  CHECK(!simulator.run(Collective::AllReduce, {{1, 3}}, state));
  REQUIRE(simulator.run(Collective::Broadcast, {{0, 1}, {2, 3}}, state));
  CHECK(simulator.contributions(state) == 32);
  CHECK(state == simulator.goal());
}

TEST_CASE("a Broadcast is not the same with its root exchanged") {
  Simulator simulator(4, {{0, 1}, {2, 3}});
  SystemState state = simulator.initial();
  REQUIRE(simulator.run(Collective::Reduce, {{0, 1}, {2, 3}}, state));
  std::swap(state[0], state[1]);
  CHECK(!simulator.run(Collective::Broadcast, {{0, 1}}, state));
}

TEST_CASE("a program of (d) is valid on a class exactly if it is on the system, by brute force") {
  const PlacedSystem whole = system_of("2,4", "4,2", "0", "[[2 2] [1 2]]");
  const PlacedSystem alone = system_of("2,2", "4", "0", "[[2 2]]");
  for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
    const auto programs = brute_force::programs(whole.over(HierarchyKind::Reduction), dialect, 4);
    CHECK(programs.size() ==
          brute_force::programs(alone.over(HierarchyKind::Reduction), dialect, 4).size());
    const Subject subject(whole, HierarchyKind::Reduction, std::nullopt, dialect);
    CHECK(settled("class-independence", subject, 4).outcome == Outcome::Established);
  }
}
