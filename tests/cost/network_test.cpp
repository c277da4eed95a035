#include <map>
#include <numeric>
#include <set>

#include <doctest/doctest.h>

#include "engine/cost/network.h"
#include "tests/base/complaint.h"
#include "tests/cost/systems.h"

using namespace p2;

namespace {

/// The names of the links of a route, joined by `; `.
std::string route(const System& system, std::uint32_t from, std::uint32_t to) {
  const Network network(system, {"test"});
  std::vector<LinkId> links;
  network.route(from, to, links);
  std::string names;
  for (const LinkId link : links) names += (names.empty() ? "" : "; ") + network.name(link);
  return names;
}

}  // namespace

TEST_CASE("on A100 nodes a transfer takes the NVSwitch inside and the NICs between") {
  const System a100 = shipped_system("a100-2nodes");
  CHECK(route(a100, 0, 15) == "NVSwitch of node 0 gpu 0, out; NVSwitch of node 0 gpu 15, in");
  CHECK(route(a100, 16, 1) ==
        "NVSwitch of node 1 gpu 0, out; NVSwitch of node 0 gpu 1, in; NIC of node 1, out; "
        "NIC of node 0, in; data-center network of node 1, out; data-center network of node 0, in");
}

TEST_CASE("on DGX H100 nodes every GPU has a NIC of its own, for what leaves the node alone") {
  const System h100 = shipped_system("dgx-h100-superpod");
  CHECK(route(h100, 0, 7) == "NVSwitch of node 0 gpu 0, out; NVSwitch of node 0 gpu 7, in");
  CHECK(route(h100, 3, 9) ==
        "NVSwitch of node 0 gpu 3, out; NVSwitch of node 1 gpu 1, in; NIC of node 0 gpu 3, out; "
        "NIC of node 1 gpu 1, in; NDR InfiniBand of node 0, out; NDR InfiniBand of node 1, in");
}

TEST_CASE("on V100 nodes neighbours use the ring and the others their CPUs' memory") {
  const System v100 = shipped_system("v100-2nodes");
  CHECK(route(v100, 0, 1) == "NVLink ring, node 0 gpu 0 to node 0 gpu 1");
  CHECK(route(v100, 1, 0) == "NVLink ring, node 0 gpu 1 to node 0 gpu 0");
  CHECK(route(v100, 7, 0) == "NVLink ring, node 0 gpu 7 to node 0 gpu 0");
  CHECK(route(v100, 8, 15) == "NVLink ring, node 1 gpu 0 to node 1 gpu 7");
  CHECK(route(v100, 0, 3) ==
        "PCIe switch of node 0 gpu 0, out; PCIe switch of node 0 gpu 3, in; "
        "CPU memory of node 0 gpu 0-3, out; CPU memory of node 0 gpu 0-3, in");
  CHECK(route(v100, 0, 4) ==
        "PCIe switch of node 0 gpu 0, out; PCIe switch of node 0 gpu 4, in; "
        "CPU memory of node 0 gpu 0-3, out; CPU memory of node 0 gpu 4-7, in; "
        "CPU link of node 0 gpu 0, out; CPU link of node 0 gpu 4, in");
}

TEST_CASE("a half-duplex switch has one link per part, and levels of size 1 do not disturb") {
  System rack = shipped_system("figure2a-rack");
  CHECK(route(rack, 0, 4) ==
        "S0 of rack 0 server 0 cpu 0 gpu 0, out; S0 of rack 0 server 0 cpu 1 gpu 0, in; "
        "S1 of rack 0 server 0 cpu 0, out; S1 of rack 0 server 0 cpu 1, in");
  rack.interconnects[0].duplex = Duplex::Half;
  CHECK(route(rack, 0, 1) ==
        "S0 of rack 0 server 0 cpu 0 gpu 0; S0 of rack 0 server 0 cpu 0 gpu 1");
}

TEST_CASE("nodes are the parts of the widest interconnect, unless those are single devices") {
  const Network a100(shipped_system("a100-4nodes"), {"test"});
  CHECK(a100.node_of(15) == 0);
  CHECK(a100.node_of(16) == 1);
  const Network rack(shipped_system("figure2a-rack"), {"test"});
  CHECK(rack.node_of(7) == 0);
  CHECK(rack.node_of(8) == 1);
  const Network flat(system_from("gpu=8", {{"S", InterconnectKind::Switch, "gpu", 8, 1, 0, {}}}),
                     {"test"});
  CHECK(flat.node_of(7) == 0);
}

TEST_CASE("a message waits once for every interconnect that it crosses") {
  System rack = shipped_system("figure2a-rack");
  const Network network(rack, {"test"});
  std::vector<LinkId> links;
  network.route(0, 8, links);
  CHECK(network.latency(links) == 1'000'000 + 1'500'000 + 5'000'000);
}

TEST_CASE("a system without interconnects, or that does not join two devices, is bad input") {
  CHECK(complaint([] { Network(system_from("2,2", {}), {"s.json"}); }) ==
        "s.json: a system without interconnects cannot be priced, expected --system with a file "
        "that names them");
  CHECK(complaint([] {
          route(system_from("node=2,gpu=2", {{"S", InterconnectKind::Switch, "gpu", 2, 1, 0, {}}}),
                0, 2);
        }) == "test: no switch, ring or shared medium joins devices 0 and 2, expected one");
}

using namespace p2;

namespace {

/// One node, so that a tree is one chain; and nodes of one device, so that there is no chain.
const System& one_node() {
  static const System kSystem =
      system_from("gpu=64", {{"S", InterconnectKind::Switch, "gpu", 64, 1, 0, {}}});
  return kSystem;
}
const System& nodes_of_two() {
  static const System kSystem =
      system_from("node=32,gpu=2", {{"S", InterconnectKind::Switch, "gpu", 2, 1, 0, {}},
                                    {"N", InterconnectKind::Switch, "node", 32, 1, 0, {}}});
  return kSystem;
}

Group first_devices(std::uint32_t n) {
  Group group(n);
  std::iota(group.begin(), group.end(), 0U);
  return group;
}

std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges(Collective collective,
                                                                       Algorithm algorithm,
                                                                       const Group& group,
                                                                       std::uint64_t rows,
                                                                       const System& system) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sum;
  const Network network(system, {"test"});
  for (const Stage& stage : transfers(collective, algorithm, group, rows, network)) {
    for (const Transfer& each : stage.transfers) sum[{each.from, each.to}] += each.amount;
  }
  return sum;
}

std::uint64_t total(Collective collective, Algorithm algorithm, std::uint32_t n,
                    std::uint64_t rows) {
  std::uint64_t sum = 0;
  for (const auto& [edge, amount] :
       edges(collective, algorithm, first_devices(n), rows, one_node())) {
    sum += amount;
  }
  return sum;
}

}  // namespace

TEST_CASE("what a ring sends in all is what the collective needs, in 1/(2n) of a chunk") {
  for (std::uint64_t n = 2; n <= 17; ++n) {
    for (const std::uint64_t rows : {1U, 6U, 64U}) {
      const auto sent = [&](Collective collective) {
        return total(collective, Algorithm::Ring, static_cast<std::uint32_t>(n), rows);
      };
      CAPTURE(n);
      CAPTURE(rows);
      // n edges of 2(n−1)/n · r each; and so on.
      CHECK(sent(Collective::AllReduce) == 2 * n * 2 * (n - 1) * rows);
      CHECK(sent(Collective::ReduceScatter) == 2 * n * (n - 1) * rows);
      CHECK(sent(Collective::AllGather) == 2 * n * n * (n - 1) * rows);
      CHECK(sent(Collective::Reduce) == 2 * n * (n - 1) * rows);
      CHECK(sent(Collective::Broadcast) == 2 * n * (n - 1) * rows);
    }
  }
}

TEST_CASE("every edge of a ring carries the same both ways, 2(n-1)/n of the data together") {
  for (std::uint32_t n = 3; n <= 9; ++n) {
    const auto sum = edges(Collective::AllReduce, Algorithm::Ring, first_devices(n), 5, one_node());
    CHECK(sum.size() == 2 * n);
    for (const auto& [edge, amount] : sum) {
      CHECK((edge.second == (edge.first + 1) % n || edge.first == (edge.second + 1) % n));
      CHECK(amount == 2 * (n - 1) * 5);
    }
  }
}

TEST_CASE("Reduce ends and Broadcast starts at the first device, and everyone takes part") {
  for (std::uint32_t n = 2; n <= 9; ++n) {
    const std::uint64_t whole = 2 * n * 3;
    std::map<std::uint32_t, std::uint64_t> sent;
    std::map<std::uint32_t, std::uint64_t> received;
    for (const auto& [edge, amount] :
         edges(Collective::Reduce, Algorithm::Ring, first_devices(n), 3, one_node())) {
      sent[edge.first] += amount;
      received[edge.second] += amount;
    }
    CHECK(sent[0] == 0);
    CHECK(received[0] == whole);
    for (std::uint32_t device = 1; device < n; ++device) CHECK(sent[device] == whole);
    const auto out = edges(Collective::Broadcast, Algorithm::Ring, first_devices(n), 3, one_node());
    for (const auto& [edge, amount] :
         edges(Collective::Reduce, Algorithm::Ring, first_devices(n), 3, one_node())) {
      CHECK(out.at({edge.second, edge.first}) == amount);
    }
  }
}

TEST_CASE("inside a node the tree is a chain that all data goes up and down") {
  const auto sum = edges(Collective::AllReduce, Algorithm::Tree, {2, 3, 5, 9}, 7, one_node());
  CHECK(sum.size() == 6);
  for (const auto& pair : {std::pair{2U, 3U}, {3U, 5U}, {5U, 9U}}) {
    CHECK(sum.at(pair) == 2 * 4 * 7);
    CHECK(sum.at({pair.second, pair.first}) == 2 * 4 * 7);
  }
}

TEST_CASE("two trees join the nodes; an inner node of one is a leaf of the other") {
  for (std::uint32_t nodes = 2; nodes <= 32; ++nodes) {
    CAPTURE(nodes);
    const Group group = first_devices(2 * nodes);
    const Network network(nodes_of_two(), {"test"});
    const auto stages = transfers(Collective::AllReduce, Algorithm::Tree, group, 1, network);
    REQUIRE(stages.size() == 2);
    const auto& sent = stages[1].transfers;
    REQUIRE(sent.size() == 4 * (nodes - 1));
    std::map<std::uint32_t, unsigned> children[2];
    std::set<std::uint32_t> below[2];
    for (std::size_t i = 0; i < sent.size(); i += 2) {
      const std::size_t tree = i < sent.size() / 2 ? 0 : 1;
      CHECK(sent[i].from % 2 == 0);
      CHECK(sent[i].amount == group.size());
      ++children[tree][sent[i].to];
      CHECK(below[tree].insert(sent[i].from).second);
    }
    for (const std::size_t tree : {0U, 1U}) {
      CHECK(below[tree].size() == nodes - 1);
      for (const auto& [node, count] : children[tree]) CHECK(count <= 2);
    }
    // The root of a tree hangs nowhere and has one child, whatever it is in the other.
    for (const auto& [node, count] : children[0]) {
      if (below[0].contains(node) && nodes > 2) CHECK(children[1][node] <= 1);
    }
    CHECK(stages[1].rounds >= 2);
  }
}

TEST_CASE("tree leaves the other collectives to the ring") {
  for (const Collective collective : kCollectives) {
    if (collective == Collective::AllReduce) continue;
    CHECK(edges(collective, Algorithm::Tree, {0, 3, 8}, 2, nodes_of_two()) ==
          edges(collective, Algorithm::Ring, {0, 3, 8}, 2, nodes_of_two()));
  }
}
