#include <cmath>

#include <doctest/doctest.h>

#include "engine/strategy/networks.h"
#include "engine/strategy/pairwise.h"
#include "engine/strategy/strategy.h"
#include "p2/error.h"
#include "tests/operations/graphs.h"
#include "tests/shared_data.h"

using namespace p2;
using namespace p2::operations;

namespace {

/// What reading says, without the name of the file.
std::string refusal(const std::string& text) {
  try {
    pairwise(read_operations("f", text), DeviceUse::AtMost);
  } catch (const InputError& error) {
    return std::string(error.what()).substr(2);
  }
  return "";
}

/// With the first `from` of two_layers() replaced, the message begins so.
void refuses(const std::string& from, const std::string& to, const std::string& expected) {
  const std::string message = refusal(changed(two_layers(), from, to));
  CHECK(message.substr(0, expected.size()) == expected);
}

}  // namespace

TEST_CASE("an operation graph is read with what its kinds add") {
  const OperationGraph graph = read_operations("f", two_layers());
  CHECK(graph.model == "two layers");
  REQUIRE(graph.operations.size() == 3);
  CHECK(graph.operations[0].pointwise == 3);
  CHECK(graph.operations[0].multiply == 3);
  CHECK(graph.operations[1].model == 2U);
  CHECK(graph.operations[0].model == 1U);
  CHECK(graph.operations[2].output.size() == 2);
  CHECK(graph.tensors.size() == 2);
  CHECK(is_operation_graph(two_layers()));
  CHECK_FALSE(is_operation_graph(R"({"format":"pairwise-strategy-graph/1"})"));
}

TEST_CASE("an einsum says itself what it reads and makes") {
  const OperationGraph graph = read_operations(
      "f",
      changed(two_layers(), R"("kind":"gemm","dims":{"b":128,"n":4096,"k":9216},"pointwise":3)",
              R"("kind":"einsum","dims":{"b":128,"n":4096,"k":9216},"inputs":["b k"],
"weights":["k n"],"output":"b n")"));
  CHECK(graph.operations[0].multiply == 3);
  CHECK(elements(graph.operations[0].weights[0]) == 4096 * 9216);
}

TEST_CASE("an einsum that makes no sense is refused") {
  const auto einsum = [](const std::string& rest) {
    return refusal(changed(two_layers(),
                           R"("kind":"gemm","dims":{"b":128,"n":4096,"k":9216},"pointwise":3)",
                           R"("kind":"einsum","dims":{"b":128,"n":4096,"k":9216})" + rest));
  };
  CHECK(einsum("") == "4:1: an einsum needs an output");
  CHECK(einsum(R"(,"output":"b z")") == "4:1: there is no dimension z");
  CHECK(einsum(R"(,"output":"b b")") == "4:1: a tensor has the dimension b twice");
  CHECK(einsum(R"(,"output":"b k.n.k")") ==
        "4:1: the axis k.n.k has the dimension k twice, expected each at most once");
  CHECK(einsum(R"(,"output":"b n","inputs":["n.n.n.n.n.n"])") ==  // 2^72
        "4:1: the axis n.n.n.n.n.n has the dimension n twice, expected each at most once");
  CHECK(einsum(R"(,"output":"b .")") == "4:1: an axis has no dimension");
  CHECK(einsum(R"(,"output":"b n","weights":["99999 99999 99999 99999"])") ==
        "4:1: a tensor has more than 2^54 elements");
}

TEST_CASE("what is no operation graph is refused where it stands") {
  refuses("operation-graph/1", "operation-graph/2",
          "1:11: unknown format, expected \"operation-graph/1\"");
  refuses("\"batch\"", "\"bach\"", "1:52: unknown key \"bach\"");
  refuses("\"kind\":\"gemm\"", "\"kind\":\"gem\"",
          "4:1: unknown kind \"gem\", expected one of gemm");
  refuses("\"k\":9216", "\"j\":9216", "4:1: gemm has no dimension j, expected b s n k");
  refuses(",\"k\":9216", "", "4:1: gemm lacks the dimension k");
  refuses("\"k\":9216", "\"k\":-1",
          "4:60: the length of a dimension is -1, expected a whole number");
  refuses("\"k\":9216", "\"k\":0", "4:60: the length of a dimension is 0");
  refuses("\"k\":9216", "\"k\":1000000000000", "4:1: the operation has more than 2^50 points");
  refuses("\"model\":\"k\"", "\"model\":\"z\"", "5:1: there is no dimension z");
  refuses("\"name\":\"second\"", "\"name\":\"first\"", "5:1: duplicate operation \"first\"");
  refuses("\"flops\":10000000000000", "\"flops\":0", "2:20: flops is 0");
  refuses("\"size\":4", "\"size\":5000",
          "2:81: size is 5000, expected a whole number from 1 to 4096");
  CHECK(refusal(two_layers("")).starts_with("2:59: the machine has no levels"));
}

TEST_CASE("tensors that fit nothing are refused") {
  refuses("\"to\":\"second\"", "\"to\":\"third\"", "7:33: there is no such operation");
  refuses("\"to\":\"second\"", "\"to\":\"first\"", "7:12: a tensor joins an operation to itself");
  refuses("\"input\":0", "\"input\":1",
          "7:43: operation \"loss\" has 1 inputs, and this is number 1 from 0");
  refuses("\"n\":4096,\"k\":9216", "\"n\":4000,\"k\":9216",
          "7:12: axis 1 of the output of \"first\" has length 4000, expected 4096");
  refuses("\"dims\":{\"b\":128,\"c\":1024}", "\"dims\":{\"b\":128,\"s\":1,\"c\":1024}",
          "7:43: the output of \"second\" has 2 axes and the input of \"loss\" 3");
  refuses("{\"from\":\"second\",\"to\":\"loss\",\"input\":0}",
          "{\"from\":\"first\",\"to\":\"second\"}",
          "7:43: input 0 of operation \"second\" is fed twice");
  const std::string ring =
      changed(changed(changed(two_layers(), "\"n\":4096,\"k\":9216", "\"n\":1024,\"k\":1024"),
                      "\"n\":1024,\"k\":4096", "\"n\":1024,\"k\":1024"),
              "\"to\":\"loss\",\"input\":0", "\"to\":\"first\"");
  CHECK(refusal(ring).starts_with("7:11: the tensors make a cycle, and \"first\" waits for it"));
}

TEST_CASE("costs that are too large are refused") {
  std::string slow = changed(two_layers(), "\"bandwidth\":16000000000", "\"bandwidth\":1");
  slow = changed(slow, "\"flops\":10000000000000", "\"flops\":9000000000000000");
  CHECK_THROWS_AS(pairwise(read_operations("f", slow), DeviceUse::AtMost), operations::SketchError);
}

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
    const strategy::Solution answer = strategy::find_strategy(graph.file.graph, {});
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
