#include <map>

#include <doctest/doctest.h>

#include "engine/strategy/dominance.h"
#include "engine/strategy/memory_limit.h"
#include "engine/strategy/pareto_elimination.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;

namespace {

Memory random_memory(std::mt19937& random, const Graph& graph, std::uint64_t end) {
  Memory memory = graph.costs;
  for (auto& own : memory) {
    for (Cost& bytes : own) bytes = static_cast<Cost>(random() % end);
  }
  return memory;
}

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
    const Memory memory = random_memory(random, graph, 50);
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
    const Memory memory = random_memory(random, graph, 4);
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
