#include <cmath>
#include <map>

#include <doctest/doctest.h>

#include "engine/strategy/pairwise.h"
#include "engine/strategy/placed_graph.h"
#include "engine/strategy/strategy.h"
#include "tests/operations/graphs.h"
#include "tests/shared_data.h"

using namespace p2;
using namespace p2::operations;

namespace {

constexpr std::int64_t kWord = 5000;

OperationGraph graph_of(const std::string& text) { return read_operations("test", text); }

std::int64_t total(const OperationGraph& graph, std::uint32_t operation, const Configuration& c) {
  const OperationCost cost(graph, operation);
  return static_cast<std::int64_t>(cost.computation(c) + cost.communication(c));
}

}  // namespace

TEST_CASE("halves are rounded to the even number") {
  CHECK(rounded(5, 2) == 2);
  CHECK(rounded(7, 2) == 4);
  CHECK(rounded(8, 3) == 3);
  CHECK(rounded(7, 3) == 2);
  CHECK(rounded(0, 3) == 0);
}

TEST_CASE("words move at the bandwidth of the slowest level that a group spans") {
  const Machine machine{1000, 4, {{"node", 4, 500}, {"rack", 2, 2000}, {"hall", 2, 20}}};
  CHECK(machine.devices() == 16);
  CHECK(machine.cost_of_words(10, 1, 2) == 80);
  CHECK(machine.cost_of_words(10, 1, 4) == 80);
  CHECK(machine.cost_of_words(10, 1, 8) == 80);
  CHECK(machine.cost_of_words(10, 1, 9) == 2000);
  CHECK(machine.cost_of_words(10, 3, 16) == 667);
}

TEST_CASE("a matrix product costs its operations and three all-reduces") {
  const OperationGraph graph = graph_of(two_layers());
  const std::int64_t points = 3LL * 128 * 1024 * 4096;
  CHECK(total(graph, 1, {1, 1, 1}) == points);
  // Over the rows, the gradient of the weights; over the columns, that of the input; over what is
  // summed, the output. Two devices send and receive half of it twice.
  CHECK(total(graph, 1, {2, 1, 1}) == points / 2 + kWord * 1024 * 4096);
  CHECK(total(graph, 1, {1, 2, 1}) == points / 2 + kWord * 128 * 4096);
  CHECK(total(graph, 1, {1, 1, 2}) == points / 2 + kWord * 128 * 1024);
  CHECK(total(graph, 1, {1, 2, 2}) == points / 4 + kWord * (128 * 4096 / 2 + 128 * 1024 / 2));
  // Nobody wants the gradient of what comes from outside.
  CHECK(total(graph, 0, {1, 2, 1}) == (3LL * 128 * 4096 * 9216 + 3 * 128 * 4096) / 2);
  const auto sums = OperationCost(graph, 1).all_reduces({2, 2, 1});
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].tensor == "gradient of input 0");
  CHECK(sums[0].words == 64 * 4096);
  CHECK(sums[0].over == std::vector<std::size_t>{1});
  CHECK(sums[1].tensor == "gradient of weights 0");
}

TEST_CASE("a tensor costs what the target lacks, forward and backward") {
  const OperationGraph graph = graph_of(two_layers());
  const TensorCost cost(graph, graph.tensors[0]);
  const std::int64_t all = 128 * 4096;
  CHECK(cost.cost({1, 1, 1}, {1, 1, 1}) == 0);
  CHECK(cost.cost({4, 1, 1}, {4, 1, 1}) == 0);
  CHECK(cost.cost({1, 4, 1}, {1, 1, 4}) == 0);
  CHECK(cost.cost({4, 1, 1}, {1, 1, 4}) == 2 * kWord * (all / 4 - all / 16));
  CHECK(cost.cost({4, 1, 1}, {1, 4, 1}) == 2 * kWord * (all - all / 4));
  CHECK(cost.cost({2, 1, 1}, {4, 1, 1}) == 2 * kWord * all / 4);  // two devices hold nothing
  CHECK(cost.cost({1, 1, 4}, {1, 1, 1}) == 0);                    // summed up, all hold it
}

TEST_CASE("memory is weights with gradient and moments, and the output") {
  const OperationGraph graph = graph_of(two_layers());
  CHECK(OperationCost(graph, 1).memory({1, 1, 1}) == 8 * (4 * 1024 * 4096 + 128 * 1024));
  CHECK(OperationCost(graph, 1).memory({2, 1, 2}) == 8 * (4 * 1024 * 2048 + 64 * 1024));
}

TEST_CASE("configurations divide the dimensions, with as many devices as asked for") {
  const OperationGraph graph = graph_of(two_layers());
  const Operation& first = graph.operations[0];
  CHECK(configurations(first, 4, DeviceUse::AtMost).size() == 11);  // 9216 is divided by 3
  CHECK(configurations(first, 4, DeviceUse::Dividing).size() == 10);
  CHECK(configurations(first, 4, DeviceUse::All).size() == 6);
  CHECK(configurations(first, 3, DeviceUse::All) == std::vector<Configuration>{{1, 1, 3}});
}

TEST_CASE("the pairwise graph has the known strategies, and parallel tensors are summed") {
  const PairwiseGraph made = pairwise(graph_of(two_layers()), DeviceUse::AtMost);
  REQUIRE(made.file.known.size() == 2);
  CHECK(made.file.known[0].name == "data parallelism");
  CHECK(made.file.known[1].name.starts_with("expert, "));
  CHECK(made.file.labels[0].configurations[0] == "whole");
  std::string twice = two_layers();
  twice = changed(
      twice, R"({"name":"second","kind":"gemm","dims":{"b":128,"n":1024,"k":4096},"model":"k"})",
      R"({"name":"second","kind":"elementwise","dims":{"b":128,"n":4096}})");
  twice = changed(twice, "\"c\":1024", "\"c\":4096");
  const PairwiseGraph once = pairwise(graph_of(twice), DeviceUse::AtMost);
  twice = changed(twice, R"({"from":"first","to":"second"})",
                  R"({"from":"first","to":"second"},{"from":"first","to":"second","input":1})");
  const PairwiseGraph both = pairwise(graph_of(twice), DeviceUse::AtMost);
  REQUIRE(both.file.graph.edges.size() == 2);
  for (std::size_t i = 0; i < once.file.graph.edges[0].table.size(); ++i) {
    CHECK(both.file.graph.edges[0].table[i] == 2 * once.file.graph.edges[0].table[i]);
  }
}

TEST_CASE("tokens that go where the data says are needed by anybody") {
  const OperationGraph graph = graph_of(
      R"({"format":"operation-graph/1","machine":{"flops":1,"word_bytes":1,
"levels":[{"name":"all","size":4,"bandwidth":1}]},"operations":[
{"name":"a","kind":"elementwise","dims":{"b":8,"s":4,"c":16}},
{"name":"d","kind":"dispatch","dims":{"e":4,"t":8,"d":16}}],
"tensors":[{"from":"a","to":"d"}]})");
  const TensorCost cost(graph, graph.tensors[0]);
  CHECK(cost.cost({1, 1, 1}, {1, 1, 1}) == 0);
  CHECK(cost.cost({4, 1, 1}, {4, 1, 1}) == 2 * (128 - 32));
  CHECK(cost.cost({1, 1, 4}, {1, 1, 4}) == 0);
}

TEST_CASE("the tables of matrix products are those of an exported graph") {
  const auto file = shared_data("strategy/alexnet_p4.json");
  if (!file) return;
  const auto& vertices = (*file)["vertices"];
  std::size_t compared = 0;
  for (const auto& edge : (*file)["edges"]) {
    const auto& from = vertices[edge["src"].get<std::size_t>()];
    const auto& to = vertices[edge["dst"].get<std::size_t>()];
    if (from["op"] != "FC" || to["op"] != "FC") continue;
    const auto text = [](const nlohmann::json& vertex, const std::string& name) {
      return R"({"name":")" + name + R"(","kind":"gemm","dims":{"b":)" + vertex["dom"][0].dump() +
             ",\"n\":" + vertex["dom"][1].dump() + ",\"k\":" + vertex["dom"][2].dump() + "}}";
    };
    const OperationGraph pair = graph_of(
        R"({"format":"operation-graph/1","machine":{"flops":10000000000000,"word_bytes":8,
"levels":[{"name":"all","size":4,"bandwidth":16000000000}]},"operations":[)" +
        text(from, "from") + "," + text(to, "to") + R"(],"tensors":[{"from":"from","to":"to"}]})");
    const PairwiseGraph made = pairwise(pair, DeviceUse::AtMost);
    const auto& table = (*file)["edge_tables"][edge["table"].get<std::size_t>()];
    REQUIRE(table["cells"].size() == made.file.graph.edges[0].table.size());
    for (std::size_t i = 0; i < table["cells"].size(); ++i) {
      // Exported cells are doubles, and of three parts not whole.
      const double other = table["cells"][i].get<double>();
      CHECK(std::abs(static_cast<double>(made.file.graph.edges[0].table[i]) - other) < 1);
    }
    ++compared;
  }
  CHECK(compared == 2);
}

namespace {

const std::string kTwoNodes = R"({"name":"gpu","size":2,"bandwidth":8000},
{"name":"node","size":2,"bandwidth":1000})";

/// A tensor of 4 x 4 between two operations, a word a byte, an operation a second.
OperationGraph small_graph(const std::string& levels) {
  return read_operations("test",
                         R"({"format":"operation-graph/1","machine":{"flops":1000,"word_bytes":1,
"levels":[)" + levels +
                             R"(]},"operations":[
{"name":"a","kind":"gemm","dims":{"b":4,"n":4,"k":4}},
{"name":"b","kind":"gemm","dims":{"b":4,"n":4,"k":4}}],"tensors":[{"from":"a","to":"b"}]})");
}

/// Element by element: what a device lacks comes from the nearest one that has it.
std::int64_t words_over_busiest_link(const OperationGraph& graph, const PlacedConfiguration& from,
                                     const PlacedConfiguration& to, const Network& network) {
  std::map<LinkId, std::int64_t> loads;
  const Tensor& made = graph.operations[0].output;
  const Tensor& read = graph.operations[1].inputs[0];
  const auto has = [&](const PlacedConfiguration& placed, const Tensor& axes, std::uint32_t device,
                       std::int64_t i, std::int64_t j) {
    const auto inside = [&](const operations::Axis& axis, std::int64_t at) {
      const std::int64_t size = 4 / parts(axis, placed.configuration);
      return at / size == placed.part(device, *axis.dimension);
    };
    return inside(axes[0], i) && inside(axes[1], j);
  };
  for (std::uint32_t d = 0; d < 4; ++d) {
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        if (!has(to, read, d, i, j) || has(from, made, d, i, j)) continue;
        // The neighbour in the node first, then the others by number.
        std::vector<std::uint32_t> order = {d ^ 1U};
        for (std::uint32_t e = 0; e < 4; ++e) order.push_back(e);
        for (const std::uint32_t e : order) {
          if (!has(from, made, e, i, j)) continue;
          std::vector<LinkId> route;
          network.route(e, d, route);
          for (const LinkId link : route) ++loads[link];
          break;
        }
      }
    }
  }
  Rational most = 0;
  for (const auto& [link, words] : loads) {
    const Rational seconds =
        ratio(words, 1) * network.seconds_per_byte(network.interconnect_of(link));
    if (seconds > most) most = seconds;
  }
  return nearest(most * ratio(2 * 1000, 1));
}

}  // namespace

TEST_CASE("resharding costs what its elements cost one by one") {
  const OperationGraph graph = small_graph(kTwoNodes);
  const Network network(system_of(graph.machine, "test"), {"test"});
  PlacedPrices prices(graph.machine, network);
  const auto& hierarchy = network.system().hierarchy;
  const auto from = placed_configurations(graph.operations[0], hierarchy);
  const auto to = placed_configurations(graph.operations[1], hierarchy);
  std::size_t more_than_nothing = 0;
  for (const PlacedConfiguration& row : from) {
    for (const PlacedConfiguration& column : to) {
      const Wide cost = prices.resharding(SourceLayout(graph.operations[0], row),
                                          TargetLayout(graph.operations[1], 0, column));
      INFO(to_string(row, graph.operations[0]) << " to " << to_string(column, graph.operations[1]));
      CHECK(cost == words_over_busiest_link(graph, row, column, network));
      more_than_nothing += cost > 0 ? 1 : 0;
    }
  }
  CHECK(more_than_nothing > 50);
}

TEST_CASE("on one switch all-reduces cost the same with places as without") {
  const OperationGraph graph = read_operations("test", two_layers());
  const Network network(system_of(graph.machine, "test"), {"test"});
  PlacedPrices prices(graph.machine, network);
  for (const std::uint32_t v : {0U, 1U, 2U}) {
    const OperationCost cost(graph, v);
    for (const PlacedConfiguration& placed :
         placed_configurations(graph.operations[v], network.system().hierarchy)) {
      CHECK(prices.all_reduces(cost, placed) == cost.communication(placed.configuration));
    }
  }
}

TEST_CASE("a choice is a configuration in every placement, on all devices") {
  const OperationGraph graph = small_graph(kTwoNodes);
  const System system = system_of(graph.machine, "test");
  const auto choices = placed_configurations(graph.operations[0], system.hierarchy);
  CHECK(choices.front().configuration == Configuration{1, 1, 1});
  for (const PlacedConfiguration& choice : choices) {
    CHECK(4 % product(choice.configuration) == 0);
    std::map<std::vector<std::uint32_t>, int> parts;
    for (std::uint32_t d = 0; d < 4; ++d) {
      ++parts[{choice.part(d, 0), choice.part(d, 1), choice.part(d, 2)}];
    }
    CHECK(std::ssize(parts) == product(choice.configuration));
  }
  const auto same =
      std::ranges::count(choices, Configuration{2, 2, 1}, &PlacedConfiguration::configuration);
  CHECK(same == 2);  // batch over nodes, or inside them
}

TEST_CASE("the best placed strategy keeps what is sent most inside nodes") {
  const OperationGraph graph = small_graph(kTwoNodes);
  const PlacedGraph placed = placed_graph(graph, system_of(graph.machine, "test"));
  const strategy::Solution answer = strategy::find_strategy(placed.file.graph, {});
  CHECK(answer.optimal());
  REQUIRE(placed.file.known.size() >= 1);
  for (const auto& known : placed.file.known) CHECK(answer.found.cost <= known.cost);
  const PlacedGraph slow =
      placed_graph(small_graph(R"({"name":"gpu","size":2,"bandwidth":1000},
{"name":"node","size":2,"bandwidth":1})"),
                   system_of(small_graph(R"({"name":"gpu","size":2,"bandwidth":1000},
{"name":"node","size":2,"bandwidth":1})")
                                 .machine,
                             "test"));
  const strategy::Solution avoided = strategy::find_strategy(slow.file.graph, {});
  for (const NeededCollective& needed :
       slow.collectives(small_graph(kTwoNodes), avoided.found.strategy)) {
    for (const Group& group : needed.grid.groups(needed.grid.factors_of(needed.axes), 0)) {
      CHECK(group.back() / 2 == group.front() / 2);
    }
  }
}

TEST_CASE("a system of another size is refused") {
  const OperationGraph graph = small_graph(kTwoNodes);
  const OperationGraph other =
      read_operations("test", two_layers(R"({"name":"all","size":8,"bandwidth":1})"));
  CHECK_THROWS_AS(placed_graph(graph, system_of(other.machine, "test")), operations::SketchError);
}
