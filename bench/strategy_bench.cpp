#include <benchmark/benchmark.h>

#include <numeric>

#include "engine/operations/graph_file.h"
#include "engine/operations/networks/network.h"
#include "engine/operations/pairwise.h"
#include "engine/strategy/printed_algorithm.h"
#include "engine/strategy/strategy.h"

namespace {

using namespace p2;
using namespace p2::strategy;

/// The graph of a network on devices around one switch.
Graph network(const std::string& name, std::int64_t devices) {
  const auto& all = operations::networks();
  const auto found = std::ranges::find(all, name, &operations::NamedNetwork::name);
  const operations::Machine machine{10'000'000'000'000, 8, {{"all", devices, 16'000'000'000}}};
  const std::string text = operations::write_operations(found->build(found->batch), machine);
  return pairwise(operations::read_operations(name, text), operations::DeviceUse::AtMost)
      .file.graph;
}

/// Dominance and elimination, as `parallelize` does.
void search(benchmark::State& state, const std::string& name, std::int64_t devices) {
  const Graph graph = network(name, devices);
  Cost cost = 0;
  for (auto _ : state) cost = find_strategy(graph, {}).found.cost;
  state.counters["cost"] = static_cast<double>(cost);
}

/// Elimination of all configurations, in the order of the file.
void in_file_order(benchmark::State& state, const std::string& name, std::int64_t devices) {
  const Graph graph = network(name, devices);
  EliminationOrder order;
  order.vertices.resize(graph.vertices());
  std::iota(order.vertices.begin(), order.vertices.end(), 0U);
  Cost cost = 0;
  for (auto _ : state) cost = eliminate(graph, order, {})->cost;
  state.counters["cost"] = static_cast<double>(cost);
}

/// The paper's algorithms 1 to 3.
void as_printed(benchmark::State& state, const std::string& name, std::int64_t devices) {
  const Graph graph = network(name, devices);
  FirstOfTies first;
  for (auto _ : state) {
    if (!printed_algorithm(graph, {}, first, std::size_t{1} << 20U)) {
      state.SkipWithError("its tables would be too large");
      return;
    }
  }
}

void reading_and_pricing(benchmark::State& state, const std::string& name, std::int64_t devices) {
  for (auto _ : state) benchmark::DoNotOptimize(network(name, devices).vertices());
}

#define P2_NETWORK(name, devices)                                                                 \
  BENCHMARK_CAPTURE(search, name##_##devices, #name, devices)->Unit(benchmark::kMillisecond);     \
  BENCHMARK_CAPTURE(in_file_order, name##_##devices, #name, devices)                              \
      ->Unit(benchmark::kMillisecond);                                                            \
  BENCHMARK_CAPTURE(as_printed, name##_##devices, #name, devices)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(reading_and_pricing, name##_##devices, #name, devices)                        \
      ->Unit(benchmark::kMillisecond)

P2_NETWORK(alexnet, 8);
P2_NETWORK(rnnlm, 8);
P2_NETWORK(resnet101, 8);
P2_NETWORK(inception3, 8);
P2_NETWORK(transformer, 4);
P2_NETWORK(moe, 4);

}  // namespace
