#include <chrono>

#include <doctest/doctest.h>

#include "engine/strategy/strategy.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;

namespace {

/// A clique of alternatives that dominate nothing: tables as large as they get.
Graph clique(std::uint32_t vertices, std::uint32_t configurations) {
  std::mt19937 random(7);
  Graph graph;
  graph.costs.assign(vertices, std::vector<Cost>(configurations, 0));
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) {
      Edge& edge = graph.edges.emplace_back(Edge{a, b, {}});
      for (std::uint32_t i = 0; i < configurations * configurations; ++i) {
        edge.table.push_back(static_cast<Cost>(random() % 1000));
      }
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("the search finds the least cost of thousands of small graphs") {
  std::mt19937 random(1);
  std::size_t removed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 2 : 1000);
    const Answer answer = find_strategy(graph, {});
    INFO(shown(graph));
    CHECK(answer.found.cost == least_by_enumeration(graph));
    CHECK(answer.optimal());
    CHECK(cost_of(graph, answer.found.strategy) == answer.found.cost);
    removed += answer.removals.size();
  }
  CHECK(removed > 1000);
}

TEST_CASE("so it does where next to no table may be made") {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 3 : 1000);
    Limits limits;
    limits.memory_bytes = 8 * (1 + random() % 20);
    const Answer answer = find_strategy(graph, limits);
    INFO(shown(graph));
    CHECK(answer.found.cost == least_by_enumeration(graph));
    CHECK(answer.optimal());
    CHECK(cost_of(graph, answer.found.strategy) == answer.found.cost);
  }
}

TEST_CASE("elimination alone finds it in any order") {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const Graph graph = random_graph(random, 6, 9);
    EliminationOrder order;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) order.vertices.push_back(v);
    std::ranges::shuffle(order.vertices, random);
    const auto best = eliminate(graph, order, {});
    INFO(shown(graph));
    REQUIRE(best);
    CHECK(best->cost == least_by_enumeration(graph));
    CHECK(cost_of(graph, best->strategy) == best->cost);
  }
}

TEST_CASE("dominance keeps an optimum, and leaves nothing dominated in vertices without edges") {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    const Graph graph = random_graph(random, 5, 2);
    const Reduction reduction = remove_dominated(graph);
    INFO(shown(graph));
    CHECK(least_by_enumeration(restricted(graph, reduction.kept)) == least_by_enumeration(graph));
  }
  const Reduction alone = remove_dominated({{{3, 1, 2, 1}}, {}});
  CHECK(alone.kept == Kept{{1}});
}

TEST_CASE("branch and bound agrees with elimination on cliques that need it") {
  const Graph graph = clique(7, 6);
  const Answer whole = find_strategy(graph, {});
  Limits limits;
  limits.memory_bytes = 4096;
  const Answer parts = find_strategy(graph, limits);
  REQUIRE(whole.order.cells * sizeof(Cost) > *limits.memory_bytes);
  CHECK(whole.optimal());
  CHECK(parts.optimal());
  CHECK(parts.found.cost == whole.found.cost);
}

TEST_CASE("at the deadline there are a strategy and a bound that hold") {
  const Graph graph = clique(9, 5);
  const Cost least = find_strategy(graph, {}).found.cost;
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 30U}) {
    Limits limits;
    limits.memory_bytes = bytes;
    limits.deadline = std::chrono::steady_clock::now();
    const Answer answer = find_strategy(graph, limits);
    CHECK_FALSE(answer.optimal());
    CHECK(answer.found.bound <= least);
    CHECK(answer.found.cost >= least);
    CHECK(cost_of(graph, answer.found.strategy) == answer.found.cost);
  }
}

TEST_CASE("costs near the limit do not overflow, and work is never counted too low") {
  const Cost big = (Cost{1} << 60U) - 1;
  const Graph graph{{{big, big - 1}, {big}}, {{0, 1, {big, big}}}};
  CHECK(find_strategy(graph, {}).found.cost == 3 * big - 1);
  Graph wide;
  wide.costs.assign(40, std::vector<Cost>(1000, 0));
  for (std::uint32_t a = 0; a < 40; ++a) {
    for (std::uint32_t b = a + 1; b < 40; ++b) wide.edges.push_back({a, b, {}});
  }
  CHECK(elimination_order(wide).cells == UINT64_MAX);
}
