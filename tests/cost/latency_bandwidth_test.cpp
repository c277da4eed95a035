#include <doctest/doctest.h>

#include "engine/cost/latency_bandwidth.h"

using namespace p2;

namespace {

constexpr auto kAllReduce = Collective::AllReduce;
constexpr auto kReduceScatter = Collective::ReduceScatter;
constexpr auto kAllGather = Collective::AllGather;
constexpr auto kReduce = Collective::Reduce;
constexpr auto kBroadcast = Collective::Broadcast;

Cost cost(std::int64_t rounds, Rational bytes) { return Cost({Charge{rounds, bytes}}); }

}  // namespace

TEST_CASE("what a group is charged, by hand") {
  struct Row {
    Collective collective;
    std::size_t n;
    std::uint32_t held;
    Charge charge;
  };
  // Of 8 chunks.
  const Row rows[] = {
      {kAllReduce, 2, 8, {2, 1}},
      {kAllReduce, 4, 8, {6, {3, 2}}},
      {kAllReduce, 4, 2, {6, {3, 8}}},
      {kReduceScatter, 4, 8, {3, {3, 4}}},
      {kReduceScatter, 3, 3, {2, {1, 4}}},
      {kAllGather, 4, 2, {3, {3, 4}}},
      {kAllGather, 2, 1, {1, {1, 8}}},
      {kReduce, 2, 8, {1, 1}},
      {kReduce, 5, 8, {3, 3}},
      {kReduce, 8, 4, {3, {3, 2}}},
      {kBroadcast, 3, 8, {2, 2}},
      {kBroadcast, 4, 8, {2, 2}},
      {kReduce, 1, 8, {0, 0}},
      {kAllReduce, 1, 8, {0, 0}},
  };
  for (const Row& row : rows) {
    CAPTURE(to_string(row.collective));
    CAPTURE(row.n);
    CHECK(charge_of(row.collective, row.n, row.held, 8) == row.charge);
  }
}

TEST_CASE("ReduceScatter and AllGather after it cost what AllReduce does") {
  for (std::uint32_t n = 2; n <= 12; ++n) {
    const Cost both =
        Cost({charge_of(kReduceScatter, n, n, n)}) + Cost({charge_of(kAllGather, n, 1, n)});
    CHECK(both == Cost({charge_of(kAllReduce, n, n, n)}));
  }
}

TEST_CASE("a step takes as long as its slowest group, which may be another for another ratio") {
  const LatencyBandwidth network;
  // Three devices with a quarter of the buffer each, and two with all of it: of 8 chunks.
  const std::uint32_t held[] = {2, 8};
  const Cost step = network.of_step(kAllReduce, {{0, 1, 2}, {3, 4}}, held, 8);
  CHECK(step.charges() == std::vector<Charge>{{4, {1, 3}}, {2, 1}});
  CHECK(to_string(step) == "max(4α + 1/3β, 2α + 1β)");
  CHECK(step.at({1, 1}) == Rational(13, 3));
  CHECK(step.at({0, 1}) == Rational(1));
  CHECK(step.at({1, 3}) == Rational(5));
  CHECK(step.bends() == std::vector<Cost::Ratio>{{{1, 3}, 1}});
}

TEST_CASE("a charge that is nowhere the greatest is left out") {
  CHECK(Cost({{4, 1}, {2, 3}, {3, 2}}).charges().size() == 2);
  CHECK(Cost({{4, 1}, {2, 3}, {3, {3, 2}}}).charges().size() == 2);
  CHECK(Cost({{4, 1}, {2, 3}, {3, {5, 2}}}).charges().size() == 3);
  CHECK(Cost({{4, 1}, {4, 3}}) == cost(4, 3));
}

TEST_CASE("costs are compared for all ratios at once") {
  CHECK(cost(2, 1).at_most(cost(2, 1)));
  CHECK(cost(2, 1).at_most(cost(3, 1)));
  CHECK(!cost(2, 2).at_most(cost(3, 1)));
  CHECK(!cost(3, 1).at_most(cost(2, 2)));
  // Above neither end of the other, and above it in between.
  CHECK(!cost(3, 3).at_most(Cost({{4, 1}, {1, 4}})));
  CHECK(cost(2, 2).at_most(Cost({{4, 1}, {1, 4}})));
}

TEST_CASE("groups that leave a node share its NIC") {
  const LatencyBandwidth network({{4, 10}});
  const std::uint32_t held[] = {8, 8, 8, 8};
  const auto step = [&](const std::vector<Group>& groups) {
    return network.of_step(kReduce, groups, held, 8);
  };
  CHECK(step({{0, 1}, {4, 5}}) == cost(1, 1));                   // inside the nodes
  CHECK(step({{0, 4}}) == cost(1, 10));                          // alone on both NICs
  CHECK(step({{0, 4}, {1, 5}}) == cost(1, 20));                  // two share them
  CHECK(step({{0, 4}, {1, 5}, {2, 6}, {3, 7}}) == cost(1, 40));  // four do
  CHECK(step({{0, 1, 2, 3}, {4, 5, 6, 7}}) == cost(2, 2));       // inside again
  CHECK(step({{0, 1, 2}, {3, 4}}).charges() == std::vector<Charge>{{2, 2}, {1, 10}});
}

TEST_CASE("the front of costs is the least of them, and is undercut only from below") {
  CostFront front;
  CHECK(front.undercut_by(cost(9, 9)).has_value());
  front.add(cost(8, {8, 5}));
  front.add(cost(6, 6));
  front.add(cost(9, 9));
  CHECK(front.costs().size() == 2);
  CHECK(front.ratios() == std::vector<Cost::Ratio>{{0, 1}, {1, 0}, {{11, 5}, 1}});
  CHECK(*front.at({1, 1}) == Rational(48, 5));
  CHECK(front.undercut_by(cost(6, 6)) == std::nullopt);
  CHECK(front.undercut_by(cost(7, 4)) == std::nullopt);
  CHECK(front.undercut_by(cost(7, {37, 10})) == Cost::Ratio{{11, 5}, 1});
  CHECK(front.undercut_by(cost(5, 7)) == Cost::Ratio{1, 0});
}

TEST_CASE("a cost of two charges may undercut between the ends alone") {
  CostFront front;
  front.add(cost(4, 4));
  const Cost bent({{5, 1}, {1, 5}});
  CHECK(bent.at({0, 1}) > *front.at({0, 1}));
  CHECK(bent.at({1, 0}) > *front.at({1, 0}));
  CHECK(front.undercut_by(bent) == Cost::Ratio{1, 1});
}

TEST_CASE("costs are exact, in lowest terms, and never overflow") {
  CHECK(Rational(6, -4) == Rational(-3, 2));
  CHECK(Rational(1, 3) + Rational(1, 6) == Rational(1, 2));
  CHECK(Rational(1, 3) - Rational(1, 2) == Rational(-1, 6));
  CHECK(Rational(2, 3) * Rational(3, 4) == Rational(1, 2));
  CHECK(Rational(2, 3) / Rational(-4, 3) == Rational(-1, 2));
  CHECK(Rational(1, 3) < Rational(34, 100));
  CHECK(to_string(Rational(INT64_MAX) * Rational(2)) == "18446744073709551614");
  CHECK_NOTHROW(Rational(INT64_MAX) * Rational(2, INT64_MAX));
}
