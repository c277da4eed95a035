#include "engine/cost/network.h"

#include <doctest/doctest.h>

#include "tests/cost/systems.h"
#include "tests/base/complaint.h"

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
