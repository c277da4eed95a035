#include <chrono>
#include <map>

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
    const Solution answer = find_strategy(graph, {});
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
    const Solution answer = find_strategy(graph, {}, 8 * (1 + random() % 20));
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
  const Solution whole = find_strategy(graph, {});
  const std::size_t table_bytes = 4096;
  const Solution parts = find_strategy(graph, {}, table_bytes);
  REQUIRE(whole.order.cells * sizeof(Cost) > table_bytes);
  CHECK(whole.optimal());
  CHECK(parts.optimal());
  CHECK(parts.found.cost == whole.found.cost);
}

TEST_CASE("at the deadline there are a strategy and a bound that hold") {
  const Graph graph = clique(9, 5);
  const Cost least = find_strategy(graph, {}).found.cost;
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 30U}) {
    Limits limits;
    limits.deadline = std::chrono::steady_clock::now();
    const Solution answer = find_strategy(graph, limits, bytes);
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

namespace {

Memory random_memory(std::mt19937& random, const Graph& graph, std::uint64_t most) {
  Memory memory;
  for (const auto& costs : graph.costs) {
    auto& own = memory.emplace_back();
    for (std::size_t c = 0; c < costs.size(); ++c) {
      own.push_back(static_cast<Cost>(random() % (most + 1)));
    }
  }
  return memory;
}

/// kCostEnd where nothing fits.
Cost least_that_fits(const Graph& graph, const Memory& memory, Cost limit) {
  Strategy strategy(graph.vertices(), 0);
  Cost least = kCostEnd;
  do {
    if (memory_of(memory, strategy) <= limit) least = std::min(least, cost_of(graph, strategy));
  } while (next_strategy(graph, strategy));
  return least;
}

}  // namespace

TEST_CASE("under a memory limit the least cost is that of all strategies that fit") {
  std::mt19937 random(11);
  int none = 0;
  int bound = 0;
  for (int i = 0; i < 3000; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 5 : 1000);
    const Memory memory = random_memory(random, graph, i % 3 == 0 ? 3 : 1000);
    const auto limit = static_cast<Cost>(random() % (i % 3 == 0 ? 8 : 2500));
    const Cost least = least_that_fits(graph, memory, limit);
    const auto found = find_fitting(graph, memory, limit, {});
    INFO(shown(graph));
    CHECK(found.has_value() == (least < kCostEnd));
    if (!found) {
      ++none;
      continue;
    }
    CHECK(found->cost == least);
    CHECK(found->bound == least);
    CHECK(cost_of(graph, found->strategy) == least);
    CHECK(memory_of(memory, found->strategy) <= limit);
    if (least > least_by_enumeration(graph)) ++bound;
  }
  CHECK(none > 100);
  CHECK(bound > 500);
}

TEST_CASE("memory limits of sizes near the largest overflow nothing") {
  const Cost huge = (Cost{1} << 60U) - 1;
  const Graph graph{{{5, 1}, {7, 2}}, {{0, 1, {0, 0, 0, huge}}}};
  const Memory memory{{1, huge}, {1, huge}};
  CHECK(find_fitting(graph, memory, 2, {})->cost == 12);
  CHECK(find_fitting(graph, memory, huge + 1, {})->cost == 7);
  CHECK(find_fitting(graph, memory, 2 * huge, {})->cost == 7);
  CHECK_FALSE(find_fitting(graph, memory, 1, {}));
}

TEST_CASE("at the deadline there are a strategy that fits and a bound that holds") {
  std::mt19937 random(12);
  for (int i = 0; i < 200; ++i) {
    const Graph graph = random_graph(random, 6, 1000);
    const Memory memory = random_memory(random, graph, 1000);
    const Cost least = least_that_fits(graph, memory, 2000);
    Limits limits;
    limits.deadline = std::chrono::steady_clock::now();
    const auto found = find_fitting(graph, memory, 2000, limits);
    CHECK(found.has_value() == (least < kCostEnd));
    if (!found) continue;
    CHECK(found->bound <= least);
    CHECK(found->cost >= least);
    CHECK(memory_of(memory, found->strategy) <= 2000);
  }
}

namespace {

/// A strategy of least cost among those that fit; nothing where none does.
std::optional<Strategy> cheapest_that_fits(const Graph& graph, const Memory& memory, Cost limit) {
  Strategy strategy(graph.vertices(), 0);
  std::optional<Strategy> best;
  do {
    if (memory_of(memory, strategy) > limit) continue;
    if (!best || cost_of(graph, strategy) < cost_of(graph, *best)) best = strategy;
  } while (next_strategy(graph, strategy));
  return best;
}

/// Layers in a row, of few kinds, whose neighbours pay where they are configured differently.
Graph layers_in_a_row(std::mt19937& random, std::uint32_t layers, Memory& memory) {
  Graph graph;
  std::vector<std::vector<Cost>> costs(3), bytes(3);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    for (int c = 0; c < 3; ++c) {
      costs[kind].push_back(static_cast<Cost>(random() % 1000));
      bytes[kind].push_back(static_cast<Cost>(random() % 20));
    }
  }
  for (std::uint32_t v = 0; v < layers; ++v) {
    graph.costs.push_back(costs[v % 3]);
    memory.push_back(bytes[v % 3]);
    if (v > 0) graph.edges.push_back({v - 1, v, {0, 17, 40, 17, 0, 31, 40, 31, 0}});
  }
  return graph;
}

/// The least cost of a row of layers under a limit: by what the last layer chose and the bytes.
Cost least_in_a_row(const Graph& graph, const Memory& memory, Cost limit) {
  std::map<std::pair<std::size_t, Cost>, Cost> least;
  for (std::size_t c = 0; c < 3; ++c) least[{c, memory[0][c]}] = graph.costs[0][c];
  for (std::size_t v = 1; v < graph.vertices(); ++v) {
    std::map<std::pair<std::size_t, Cost>, Cost> next;
    for (const auto& [before, cost] : least) {
      for (std::size_t c = 0; c < 3; ++c) {
        const Cost sum = cost + graph.costs[v][c] + graph.edges[v - 1].table[before.first * 3 + c];
        Cost& own = next.try_emplace({c, before.second + memory[v][c]}, sum).first->second;
        own = std::min(own, sum);
      }
    }
    least = std::move(next);
  }
  Cost best = kCostEnd;
  for (const auto& [state, cost] : least) {
    if (state.second <= limit) best = std::min(best, cost);
  }
  return best;
}

}  // namespace

TEST_CASE("from any bound and any price pairs of cost and memory lead to the best that fits") {
  std::mt19937 random(61);
  int tried = 0;
  int stopped = 0;
  for (int i = 0; i < 2500; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 4 : 1000);
    const Memory memory = random_memory(random, graph, 49);
    const auto limit = static_cast<Cost>(random() % 150);
    const auto best = cheapest_that_fits(graph, memory, limit);
    if (!best) continue;
    ++tried;
    INFO(shown(graph));
    const Cost least = cost_of(graph, *best);
    Strategy lean;
    for (const auto& own : memory) {
      lean.push_back(static_cast<std::uint32_t>(std::ranges::min_element(own) - own.begin()));
    }
    const Price price = static_cast<Price>(random()) << (random() % 16);
    Found found{cost_of(graph, lean), 0, lean};
    close_gap({&graph, &memory, limit}, {price, 0}, std::size_t{1} << 30, {}, found);
    CHECK(found.cost == least);
    CHECK(found.bound == least);
    CHECK(cost_of(graph, found.strategy) == least);
    CHECK(memory_of(memory, found.strategy) <= limit);
    Found hasty{cost_of(graph, lean), 0, lean};
    close_gap({&graph, &memory, limit}, {price}, random() % 100, {}, hasty);
    CHECK(hasty.cost >= least);
    CHECK(hasty.bound <= least);
    CHECK(cost_of(graph, hasty.strategy) == hasty.cost);
    if (hasty.bound < hasty.cost) ++stopped;
  }
  CHECK(tried > 1500);
  CHECK(stopped > 100);
}

TEST_CASE("hundreds of equal layers under a limit end, with the least cost") {
  std::mt19937 random(62);
  for (int i = 0; i < 20; ++i) {
    Memory memory;
    const Graph graph = layers_in_a_row(random, 120, memory);
    const Cost limit = 400 + static_cast<Cost>(random() % 1200);
    const Cost least = least_in_a_row(graph, memory, limit);
    const auto found = find_fitting(graph, memory, limit, {});
    REQUIRE(found.has_value() == (least < kCostEnd));
    if (!found) continue;
    CHECK(found->cost == least);
    CHECK(found->bound == least);
  }
}

TEST_CASE("what is dominated in cost and memory is missed under no limit") {
  std::mt19937 random(63);
  std::size_t removed = 0;
  for (int i = 0; i < 1500; ++i) {
    const Graph graph = random_graph(random, 5, 5);
    const Memory memory = random_memory(random, graph, 3);
    const Reduction reduction = remove_dominated(graph, &memory);
    removed += reduction.removals.size();
    const Graph part = restricted(graph, reduction.kept);
    const Memory part_memory = restricted(memory, reduction.kept);
    for (Cost limit = 0; limit < 12; ++limit) {
      const auto all = cheapest_that_fits(graph, memory, limit);
      const auto some = cheapest_that_fits(part, part_memory, limit);
      REQUIRE(all.has_value() == some.has_value());
      if (all) CHECK(cost_of(graph, *all) == cost_of(part, *some));
    }
  }
  CHECK(removed > 1000);
}
