#include "engine/cost/transfers.h"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/cost/systems.h"

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
