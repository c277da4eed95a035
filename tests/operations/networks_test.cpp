#include <cmath>

#include <doctest/doctest.h>

#include "engine/strategy/networks/network.h"
#include "engine/strategy/pairwise.h"
#include "engine/strategy/strategy.h"
#include "tests/operations/graphs.h"
#include "tests/shared_data.h"

using namespace p2;
using namespace p2::operations;

namespace {

PairwiseGraph built(const NamedNetwork& network, std::int64_t devices) {
  const Machine machine{10'000'000'000'000, 8, {{"all", devices, 16'000'000'000}}};
  return pairwise(
      read_operations(network.name, write_operations(network.build(network.batch), machine)),
      DeviceUse::AtMost);
}

const NamedNetwork& named(const std::string& name) {
  return *std::ranges::find(networks(), name, &NamedNetwork::name);
}

}  // namespace

TEST_CASE("every network can be read, and its best strategy costs no more than the known ones") {
  for (const NamedNetwork& network : networks()) {
    INFO(network.name);
    const PairwiseGraph graph = built(network, 4);
    const strategy::Answer answer = strategy::find_strategy(graph.file.graph, {});
    CHECK(answer.optimal());
    REQUIRE(graph.file.known.size() == 2);
    for (const strategy::KnownStrategy& known : graph.file.known) {
      CHECK(answer.found.cost <= known.cost);
    }
  }
}

TEST_CASE("networks have the layers that their authors gave them") {
  const auto operations = [](const std::string& name, const std::string& kind) {
    const GraphSketch sketch = named(name).build(64);
    return std::ranges::count(sketch.operations, kind, &OperationSketch::kind);
  };
  CHECK(operations("alexnet", "convolution") == 5);
  CHECK(operations("alexnet", "gemm") == 3);
  CHECK(operations("resnet101", "convolution") == 104);  // 100 and 4 past the blocks
  CHECK(operations("resnet101", "elementwise") == 33);
  CHECK(operations("inception3", "convolution") == 94);
  CHECK(operations("inception3", "concat") == 15);
  CHECK(operations("transformer", "attention") == 18);
  CHECK(operations("gpt", "attention") == 24);
  CHECK(operations("moe", "expert") == 12);
  CHECK(operations("moe", "dispatch") == 6);
}

TEST_CASE("AlexNet costs what an exported graph of it costs, but for its loss") {
  for (const int devices : {4, 8, 16}) {
    const auto file = shared_data("strategy/alexnet_p" + std::to_string(devices) + ".json");
    if (!file) return;
    const auto& known = (*file)["result"]["all_tensor_edges"];
    const PairwiseGraph graph = built(named("alexnet"), devices);
    const auto near = [](std::int64_t cost, const nlohmann::json& other) {
      return std::abs(static_cast<double>(cost) / other.get<double>() - 1) < 1e-8;
    };
    CHECK(near(strategy::find_strategy(graph.file.graph, {}).found.cost, known["optimum_int"]));
    CHECK(near(graph.file.known[0].cost, known["data_parallel_cost_int"]));
  }
}
