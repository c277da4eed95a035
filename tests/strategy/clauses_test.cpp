#include <doctest/doctest.h>

#include "encodings/cnf/cheaper_strategy.h"
#include "engine/strategy/strategy.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;
using Kind = cnf::CheaperStrategy::Kind;

TEST_CASE("the clauses have a strategy below the least cost and one, and none below the least") {
  std::mt19937 random(41);
  for (int i = 0; i < 3000; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 2 : 1000);
    const Cost least = least_by_enumeration(graph);
    INFO(shown(graph));
    CHECK(cnf::cheaper_strategy(graph, least, {}).kind == Kind::None);
    const auto some = cnf::cheaper_strategy(graph, least + 1, {});
    REQUIRE(some.kind == Kind::Exists);
    CHECK(cost_of(graph, some.strategy) == least);
  }
}
