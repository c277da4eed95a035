#include <benchmark/benchmark.h>

#include <numeric>

#include "engine/strategy/networks.h"
#include "engine/strategy/operation.h"
#include "engine/strategy/pairwise.h"
#include "engine/strategy/paper_algorithm.h"
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
  FirstTie first;
  for (auto _ : state) {
    benchmark::DoNotOptimize(printed_algorithm(graph, {}, first, std::size_t{1} << 20U));
  }
}

void reading_and_pricing(benchmark::State& state, const std::string& name, std::int64_t devices) {
  for (auto _ : state) benchmark::DoNotOptimize(network(name, devices).vertices());
}

#define P2_BENCH(what, name, devices) \
  BENCHMARK_CAPTURE(what, name##_##devices, #name, devices)->Unit(benchmark::kMillisecond)

P2_BENCH(reading_and_pricing, alexnet, 8);
P2_BENCH(search, alexnet, 8);
P2_BENCH(in_file_order, alexnet, 8);
P2_BENCH(as_printed, alexnet, 8);
P2_BENCH(reading_and_pricing, rnnlm, 8);
P2_BENCH(search, rnnlm, 8);
P2_BENCH(in_file_order, rnnlm, 8);
P2_BENCH(as_printed, rnnlm, 8);
P2_BENCH(reading_and_pricing, resnet101, 8);
P2_BENCH(search, resnet101, 8);
P2_BENCH(in_file_order, resnet101, 8);
P2_BENCH(reading_and_pricing, inception3, 8);
P2_BENCH(search, inception3, 8);
P2_BENCH(in_file_order, inception3, 8);
// Elimination in the order of the file takes more memory than there is here.
P2_BENCH(reading_and_pricing, transformer, 8);
P2_BENCH(search, transformer, 8);
P2_BENCH(reading_and_pricing, moe, 8);
P2_BENCH(search, moe, 8);

}  // namespace
