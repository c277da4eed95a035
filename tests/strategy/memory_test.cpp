#include <chrono>

#include <doctest/doctest.h>

#include "engine/strategy/memory_limit.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;

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
