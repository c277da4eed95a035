#include <map>

#include <doctest/doctest.h>

#include "engine/strategy/placed/placed_graph.h"
#include "engine/strategy/placed/prices.h"
#include "engine/strategy/strategy.h"
#include "tests/operations/graphs.h"

using namespace p2;
using namespace p2::operations;

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
  const strategy::Answer answer = strategy::find_strategy(placed.file.graph, {});
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
  const strategy::Answer avoided = strategy::find_strategy(slow.file.graph, {});
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
  CHECK_THROWS_AS(placed_graph(graph, system_of(other.machine, "test")), std::invalid_argument);
}
