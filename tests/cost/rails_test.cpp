#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "engine/cost/nccl_system.h"
#include "tests/cost/systems.h"

using namespace p2;

namespace {

constexpr double kPerGigabyte = 1e9;
constexpr double kUsableNic = 50 * 0.94 * kPerGigabyte;  // usable, of 400 Gbit/s InfiniBand

/// What the leaf switches of a system are; without rails and oversubscription none are named.
struct LeafSpec {
  std::uint32_t nodes_per_run = 1;
  bool rails = true;
  Oversubscription oversubscription = {};
};

/// Nodes of GPUs on a switch, with a NIC for `gpus_per_nic` of them.
System cluster(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t gpus_per_nic,
               const LeafSpec& fabric, const std::string& gpu = "H100-SXM",
               std::int64_t link = 450'000'000'000) {
  System system =
      system_from("node=" + std::to_string(nodes) + ",gpu=" + std::to_string(gpus),
                  {{"NVSwitch", InterconnectKind::Switch, "gpu", gpus, link, 0},
                   {"NIC", InterconnectKind::SharedNic, "gpu", gpus_per_nic, 50'000'000'000, 0},
                   {"leaves", InterconnectKind::Switch, "node", fabric.nodes_per_run,
                    50'000'000'000 * (gpus / gpus_per_nic), 0}});
  system.interconnects[2].rails = fabric.rails;
  system.interconnects[2].oversubscription = fabric.oversubscription;
  system.gpu = gpu;
  system.fabric = "ib-ndr";
  return system;
}

/// `count` groups: group i has the devices i, i + count, … of the whole.
std::vector<Group> interleaved(std::uint32_t devices, std::uint32_t count) {
  std::vector<Group> groups(count);
  for (std::uint32_t device = 0; device < devices; ++device) {
    groups[device % count].push_back(device);
  }
  return groups;
}

std::vector<GroupTimes> times_of(const System& system, NcclCollective collective,
                                 const std::vector<Group>& groups, const NcclChoice& choice = {}) {
  const std::vector<double> ones(groups.size(), 1.0);
  return NcclSystem(system, {"test"}).times(collective, groups, ones, choice);
}

/// Seconds per byte of large buffers; the groups must be alike.
double slope_of(const System& system, NcclCollective collective, const std::vector<Group>& groups,
                const NcclChoice& choice = {}) {
  const auto times = times_of(system, collective, groups, choice);
  REQUIRE(times.size() == 1);
  return times[0].lines.back().us_per_byte * 1e-6;
}

Group first_devices(std::uint32_t count) {
  Group group(count);
  std::iota(group.begin(), group.end(), 0);
  return group;
}

}  // namespace

TEST_CASE("groups along rails stay below the leaves of a run, whatever the oversubscription") {
  const System system = cluster(4, 8, 1, {4, true, {8, 1}});
  CHECK(slope_of(system, NcclCollective::AllReduce, interleaved(32, 8)) ==
        doctest::Approx(2 * 3 / 4.0 / kUsableNic));
  // So do the rings and trees of all GPUs, on eight rails.
  const System plain = cluster(4, 8, 1, {4, false, {}});
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::Ring, NcclAlgorithm::NvlsTree}) {
    CHECK(slope_of(system, NcclCollective::AllReduce, {first_devices(32)}, {algorithm, {}}) ==
          slope_of(plain, NcclCollective::AllReduce, {first_devices(32)}, {algorithm, {}}));
  }
}

TEST_CASE("groups of one node in each run cross the spine with all they send") {
  // Nodes 0 and 1 are a run, 2 and 3 another. Every leaf has two NICs and, at 2:1, one uplink.
  const auto groups = interleaved(32, 16);  // GPU g of nodes 0 and 2, or 1 and 3
  const NcclChoice ring{NcclAlgorithm::Ring, {}};
  CHECK(slope_of(cluster(4, 8, 1, {2, true, {}}), NcclCollective::AllReduce, groups, ring) ==
        doctest::Approx(1 / kUsableNic));
  CHECK(slope_of(cluster(4, 8, 1, {2, true, {2, 1}}), NcclCollective::AllReduce, groups, ring) ==
        doctest::Approx(2 / kUsableNic));
  CHECK(slope_of(cluster(4, 8, 1, {2, true, {3, 2}}), NcclCollective::AllReduce, groups, ring) ==
        doctest::Approx(1.5 / kUsableNic));
  // Half of the groups alone find an uplink that is as fast as a NIC.
  std::vector<Group> half;
  for (const Group& group : groups) {
    if (group.front() < 8) half.push_back(group);
  }
  CHECK(slope_of(cluster(4, 8, 1, {2, true, {2, 1}}), NcclCollective::AllReduce, half, ring) ==
        doctest::Approx(1 / kUsableNic));
}

TEST_CASE("a ring over two runs leaves each of them once") {
  // Eight groups along the rails of four nodes: of a run's two nodes one sends across the spine.
  const auto at = [](std::uint32_t down) {
    return slope_of(cluster(4, 8, 1, {2, true, {down, 1}}), NcclCollective::AllReduce,
                    interleaved(32, 8), {NcclAlgorithm::Ring, {}});
  };
  CHECK(at(2) == doctest::Approx(2 * 3 / 4.0 / kUsableNic));
  CHECK(at(4) == doctest::Approx(2 * 2 * 3 / 4.0 / kUsableNic));
}

TEST_CASE("all-to-all: relays over NVLink keep it on the rails, and NVLink carries that, too") {
  const Group all = first_devices(32);
  const NcclCollective collective = NcclCollective::AllToAll;
  const double nic = 24 / 32.0 / kUsableNic;
  CHECK(slope_of(cluster(4, 8, 1, {4, true, {4, 1}}), collective, {all}) == doctest::Approx(nic));
  // On NVLink: 7 of 32 parts in the node, and 7/8 of the 24 that leave it.
  const double slow = 60 * 0.815 * kPerGigabyte;
  CHECK(slope_of(cluster(4, 8, 1, {4, true, {}}, "H100-SXM", 60'000'000'000), collective, {all}) ==
        doctest::Approx((7 + 21) / 32.0 / slow));
  CHECK(slope_of(cluster(4, 8, 1, {4, false, {}}, "H100-SXM", 60'000'000'000), collective, {all}) ==
        doctest::Approx(nic));
  // Four rails of two GPUs: 3/4 of what leaves.
  CHECK(slope_of(cluster(4, 8, 2, {4, true, {}}, "H100-SXM", 20'000'000'000'000), collective,
                 {all}) == doctest::Approx(2 * nic));
  CHECK(times_of(cluster(4, 8, 2, {4, true, {}}), collective, {all})[0].communicator.relayed ==
        doctest::Approx(0.75));
}

TEST_CASE("all-to-all without relays crosses the spine from rail to rail") {
  // 7/8 of what a node sends arrives on another rail.
  for (const char* gpu : {"L40S", "MI300X"}) {
    const System system =
        cluster(4, 8, 1, {4, true, {2, 1}}, gpu, gpu[0] == 'L' ? 32'000'000'000 : 448'000'000'000);
    const auto times = times_of(system, NcclCollective::AllToAll, {first_devices(32)});
    REQUIRE(times.size() == 1);
    CHECK(times[0].communicator.relayed == 0);
    CHECK(times[0].communicator.uplink_slowdown[3] == doctest::Approx(2 * 7 / 8.0));
  }
  // Over two runs with relays: 16 of the 24 receivers in other nodes are in the other run.
  CHECK(slope_of(cluster(4, 8, 1, {2, true, {2, 1}}), NcclCollective::AllToAll,
                 {first_devices(32)}) == doctest::Approx(2 * 16 / 24.0 * 24 / 32.0 / kUsableNic));
}

TEST_CASE("a stage of a pipeline sends from the last GPU of a node to the first of the next") {
  const System system = cluster(2, 8, 1, {2, true, {4, 1}});
  CHECK(slope_of(system, NcclCollective::SendReceive, {{7, 8}}) == doctest::Approx(2 / kUsableNic));
  CHECK(slope_of(system, NcclCollective::SendReceive, {{0, 8}}) == doctest::Approx(1 / kUsableNic));
  // A leaf of 32 nodes: one such flow finds 32/4 NICs' worth of uplinks.
  CHECK(slope_of(cluster(32, 8, 1, {32, true, {4, 1}}), NcclCollective::SendReceive, {{7, 8}}) ==
        doctest::Approx(1 / kUsableNic));
}

TEST_CASE("groups on different rails in their nodes cross the spine; sharing it is slower") {
  // GPU g of node 0 with GPU g + 4 of node 1, on a leaf of two nodes per rail.
  const auto groups = [](std::uint32_t count) {
    std::vector<Group> pairs;
    for (std::uint32_t g = 0; g < count; ++g) pairs.push_back({g, 8 + (g + 4) % 8});
    return pairs;
  };
  const System system = cluster(2, 8, 1, {2, true, {4, 1}});
  const NcclChoice ring{NcclAlgorithm::Ring, {}};
  // A leaf has two NICs and half a NIC of uplinks: what one group sends, either way.
  CHECK(slope_of(system, NcclCollective::AllReduce, groups(4), ring) ==
        doctest::Approx(2 / kUsableNic));
  // With all eight groups a leaf serves two of them, in each direction.
  CHECK(slope_of(system, NcclCollective::AllReduce, groups(8), ring) ==
        doctest::Approx(4 / kUsableNic));
  const auto times = times_of(system, NcclCollective::AllReduce, groups(8), ring);
  CHECK(times[0].lines.back().uplink_bound);
  CHECK(NcclSystem(system, {"test"}).interconnect_of(times[0].lines.back()) == 2);
}

TEST_CASE("leaves without rails: all NICs of a run below one leaf") {
  const System system = cluster(4, 8, 1, {2, false, {2, 1}});
  CHECK(slope_of(system, NcclCollective::SendReceive, {{7, 8}}) == doctest::Approx(1 / kUsableNic));
  CHECK(slope_of(system, NcclCollective::AllToAll, {first_devices(32)}) ==
        doctest::Approx(2 * 16 / 24.0 * 24 / 32.0 / kUsableNic));
}

TEST_CASE("leaves of what joins GPUs are refused") {
  System system = cluster(2, 8, 1, {2, false, {}});
  system.interconnects[0].rails = true;
  CHECK_THROWS_AS(NcclSystem(system, {"test"}), InputError);
}

namespace {

/// Another computation of what the model says, message by message.
class Reference {
 public:
  Reference(std::uint32_t gpus, std::uint32_t gpus_per_nic, LeafSpec fabric, bool relays)
      : gpus_(gpus), gpus_per_nic_(gpus_per_nic), fabric_(fabric), relays_(relays) {}

  using Port = std::tuple<std::uint32_t, std::uint32_t, bool>;  // run, rail, inwards
  using Loads = std::map<Port, double>;

  struct Nic {
    std::uint32_t node;
    std::uint32_t rail;
    auto operator<=>(const Nic&) const = default;
  };

  Nic nic_of(std::uint32_t device) const {
    return {device / gpus_, device % gpus_ / gpus_per_nic_};
  }

  void carry(Nic from, Nic to, double amount, Loads& loads) const {
    const auto run = [&](Nic nic) { return nic.node / fabric_.nodes_per_run; };
    if (run(from) == run(to) && (!fabric_.rails || from.rail == to.rail)) return;
    loads[{run(from), fabric_.rails ? from.rail : 0, false}] += amount;
    loads[{run(to), fabric_.rails ? to.rail : 0, true}] += amount;
  }

  std::map<std::uint32_t, std::vector<Nic>> nics_by_node(const Group& group) const {
    std::map<std::uint32_t, std::vector<Nic>> nodes;
    for (const std::uint32_t device : group) {
      std::vector<Nic>& nics = nodes[nic_of(device).node];
      if (std::find(nics.begin(), nics.end(), nic_of(device)) == nics.end()) {
        nics.push_back(nic_of(device));
      }
    }
    return nodes;
  }

  /// Tokens of one node's NICs are matched with those of another's, of the same rail first.
  void channels(const std::vector<Nic>& from, const std::vector<Nic>& to, double amount,
                Loads& loads) const {
    std::vector<Nic> out;
    std::vector<Nic> in;
    for (const Nic& a : from) out.insert(out.end(), to.size(), a);
    for (const Nic& b : to) in.insert(in.end(), from.size(), b);
    const double token = amount / static_cast<double>(out.size());
    for (std::size_t i = 0; i < out.size();) {
      const auto same = std::find_if(in.begin(), in.end(),
                                     [&](const Nic& nic) { return nic.rail == out[i].rail; });
      if (same == in.end()) {
        ++i;
        continue;
      }
      carry(out[i], *same, token, loads);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      in.erase(same);
    }
    for (std::size_t i = 0; i < out.size(); ++i) carry(out[i], in[i], token, loads);
  }

  /// In buffers that all NICs of a node send together.
  Loads loads(const Group& group, NetworkPattern pattern) const {
    Loads found;
    if (pattern == NetworkPattern::Pairwise) {
      for (const std::uint32_t from : group) {
        for (const std::uint32_t to : group) {
          if (from / gpus_ == to / gpus_) continue;
          Nic out = nic_of(from);
          const std::uint32_t relay = from / gpus_ * gpus_ + to % gpus_;
          const bool has = std::find(group.begin(), group.end(), relay) != group.end();
          if (relays_ && has) out.rail = nic_of(to).rail;
          carry(out, nic_of(to), 1, found);
        }
      }
      return found;
    }
    std::vector<std::vector<Nic>> nodes;
    for (const auto& [node, nics] : nics_by_node(group)) nodes.push_back(nics);
    const std::size_t n = nodes.size();
    if (pattern == NetworkPattern::Ring) {
      for (std::size_t i = 0; i < n; ++i) channels(nodes[i], nodes[(i + 1) % n], 1, found);
    } else if (pattern == NetworkPattern::Pat) {
      for (std::size_t root = 0; root < n; ++root) {
        for (std::size_t at = 1; at < n; ++at) {
          const std::size_t above = at & (at - 1);
          channels(nodes[(root + above) % n], nodes[(root + at) % n],
                   1 / static_cast<double>(n - 1), found);
        }
      }
    } else {
      // The trees that the simulator of links makes: nodes of two devices, of which one takes part.
      const auto count = static_cast<std::uint32_t>(n);
      const Network network(system_from("node=" + std::to_string(n) + ",gpu=2",
                                        {{"S", InterconnectKind::Switch, "node", count, 1, 0}}),
                            {"test"});
      Group heads;
      for (std::uint32_t i = 0; i < count; ++i) heads.push_back(2 * i);
      std::map<std::uint32_t, double> sent;
      const auto stages = transfers(Collective::AllReduce, Algorithm::Tree, heads, 1, network);
      for (const Transfer& each : stages.back().transfers) {
        sent[each.from] += static_cast<double>(each.amount) / (2 * count);
      }
      double most = 0;
      for (const auto& [node, amount] : sent) most = std::max(most, amount);
      for (const Transfer& each : stages.back().transfers) {
        channels(nodes[each.from / 2], nodes[each.to / 2],
                 static_cast<double>(each.amount) / (2 * count) / most, found);
      }
    }
    return found;
  }

  /// What each group multiplies the time of its NICs with.
  std::vector<double> slowdowns(const std::vector<Group>& groups, NetworkPattern pattern,
                                const std::vector<double>& bytes) const {
    std::map<Nic, double> on_nic;
    Loads total;
    std::vector<Loads> own;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto nodes = nics_by_node(groups[i]);
      Loads& mine = own.emplace_back();
      if (nodes.size() < 2) continue;
      std::size_t nics = 0;
      for (const auto& [node, list] : nodes) nics += list.size();
      for (const auto& [node, list] : nodes) {
        for (const Nic& nic : list) {
          on_nic[nic] += bytes[i] * static_cast<double>(nodes.size()) / static_cast<double>(nics);
        }
      }
      double unit = bytes[i];
      if (pattern == NetworkPattern::Pairwise) {
        std::map<std::uint32_t, std::size_t> in_node;
        std::size_t most = 0;
        for (const std::uint32_t device : groups[i]) {
          most = std::max(most, ++in_node[device / gpus_]);
        }
        unit /= static_cast<double>(most * (groups[i].size() - most));
      }
      mine = loads(groups[i], pattern);
      for (auto& [port, load] : mine) total[port] += load *= unit;
    }
    const std::uint32_t nics = gpus_ / gpus_per_nic_;
    const double per_leaf = fabric_.nodes_per_run * (fabric_.rails ? 1 : nics);
    const double ratio =
        static_cast<double>(fabric_.oversubscription.down) / fabric_.oversubscription.up;
    std::vector<double> all;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      double nic = 0;
      for (const std::uint32_t device : groups[i]) nic = std::max(nic, on_nic[nic_of(device)]);
      double uplink = 0;
      for (const auto& [port, load] : own[i]) {
        if (load > 1e-12) uplink = std::max(uplink, total[port] * ratio / per_leaf);
      }
      all.push_back(nic == 0 ? 1 : std::max(1.0, uplink / nic));
    }
    return all;
  }

 private:
  std::uint32_t gpus_;
  std::uint32_t gpus_per_nic_;
  LeafSpec fabric_;
  bool relays_;
};

}  // namespace

TEST_CASE("what crosses the spine, message by message, on thousands of random clusters") {
  std::mt19937 random(22);
  const auto any = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  std::size_t slowed = 0;
  for (int run = 0; run < 3000; ++run) {
    const std::uint32_t runs = any(1, 3);
    const std::uint32_t up = any(1, 3);
    const LeafSpec fabric{any(1, 4), any(0, 3) > 0, {up + any(1, 9), up}};
    const std::uint32_t nodes = runs * fabric.nodes_per_run;
    const std::uint32_t gpus = 1U << any(1, 3);
    const std::uint32_t gpus_per_nic = any(1, 2);
    const bool relays = any(0, 1) == 1;
    const System system = cluster(nodes, gpus, gpus_per_nic, fabric, relays ? "H100" : "MI300X");
    // Every device in one of some groups, or in none.
    std::vector<Group> groups(any(1, 4));
    const bool aligned = any(0, 1) == 1;  // the same GPUs in every node
    std::vector<std::uint32_t> of_gpu(gpus);
    for (std::uint32_t& group : of_gpu) group = any(0, 4);
    for (std::uint32_t device = 0; device < nodes * gpus; ++device) {
      const std::uint32_t group = aligned ? of_gpu[device % gpus] : any(0, 4);
      if (group < groups.size()) groups[group].push_back(device);
    }
    std::erase_if(groups, [](const Group& group) { return group.size() < 2; });
    if (groups.empty()) continue;
    std::vector<double> bytes;
    for (std::size_t i = 0; i < groups.size(); ++i) bytes.push_back(any(1, 3));
    const Reference reference(gpus, gpus_per_nic, fabric, relays && fabric.rails);
    using Patterns = std::vector<NetworkPattern>;
    for (const auto& [collective, patterns] :
         {std::pair(NcclCollective::AllReduce,
                    Patterns{NetworkPattern::Ring, NetworkPattern::Tree}),
          {NcclCollective::AllGather, {NetworkPattern::Ring, NetworkPattern::Pat}},
          {NcclCollective::AllToAll, {NetworkPattern::Pairwise}}}) {
      const auto times = NcclSystem(system, {"test"}).times(collective, groups, bytes, {});
      std::vector<std::array<double, kNetworkPatterns>> expected(groups.size(), {1, 1, 1, 1});
      for (const NetworkPattern pattern : patterns) {
        const std::vector<double> all = reference.slowdowns(groups, pattern, bytes);
        for (std::size_t i = 0; i < groups.size(); ++i) {
          expected[i][static_cast<std::size_t>(pattern)] = all[i];
        }
      }
      const auto alike = [](const std::array<double, kNetworkPatterns>& a,
                            const std::array<double, kNetworkPatterns>& b) {
        return std::equal(a.begin(), a.end(), b.begin(),
                          [](double x, double y) { return std::abs(x - y) < 1e-9 * x; });
      };
      const auto found = [&](const std::array<double, kNetworkPatterns>& wanted) {
        return std::any_of(times.begin(), times.end(), [&](const GroupTimes& each) {
          return alike(each.communicator.uplink_slowdown, wanted);
        });
      };
      bool good = true;
      for (std::size_t i = 0; i < groups.size(); ++i) good = good && found(expected[i]);
      for (const GroupTimes& each : times) {
        good = good && std::any_of(expected.begin(), expected.end(), [&](const auto& wanted) {
                 return alike(each.communicator.uplink_slowdown, wanted);
               });
        for (const double slowdown : each.communicator.uplink_slowdown) slowed += slowdown > 1;
      }
      CAPTURE(run);
      CAPTURE(to_string(collective));
      CHECK(good);
    }
  }
  CHECK(slowed > 3000);
}

TEST_CASE("without oversubscription rails change no prediction but those of relays") {
  for (const std::uint32_t run : {1U, 2U, 4U}) {
    for (const NcclCollective collective :
         {NcclCollective::AllReduce, NcclCollective::AllGather, NcclCollective::Broadcast,
          NcclCollective::AllToAll, NcclCollective::SendReceive}) {
      for (const auto& groups :
           {interleaved(32, 8), interleaved(32, 16), interleaved(32, 1), interleaved(32, 5)}) {
        const auto plain = times_of(cluster(4, 8, 1, {4, false, {}}), collective, groups);
        const auto rails = times_of(cluster(4, 8, 1, {run, true, {}}), collective, groups);
        REQUIRE(plain.size() == rails.size());
        for (std::size_t i = 0; i < plain.size(); ++i) {
          REQUIRE(plain[i].lines.size() == rails[i].lines.size());
          for (std::size_t k = 0; k < plain[i].lines.size(); ++k) {
            CHECK(plain[i].lines[k].us_per_byte == rails[i].lines[k].us_per_byte);
            CHECK(plain[i].lines[k].latency_us == rails[i].lines[k].latency_us);
          }
        }
      }
    }
  }
}

TEST_CASE(
    "groups that are translates of each other: one is priced, with exactly the same numbers") {
  std::mt19937 random(7);
  const auto any = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  std::size_t symmetric = 0;
  std::size_t slowed = 0;
  for (int run = 0; run < 2000; ++run) {
    const LeafSpec leaf{any(1, 4), any(0, 3) > 0, {any(2, 9), 1}};
    const std::uint32_t nodes = leaf.nodes_per_run * any(1, 4);
    const std::uint32_t gpus = 1U << any(1, 3);
    const System system = cluster(nodes, gpus, any(1, 2), leaf);
    const NcclSystem nccl(system, {"test"});
    std::vector<Axis> named{{"a", 1}, {"b", 1}};
    for (std::uint32_t left = nodes * gpus, factor = 2; left > 1;) {
      if (left % factor != 0) {
        ++factor;
        continue;
      }
      named[any(0, 1)].size *= factor;
      left /= factor;
    }
    const Axes axes(named, {"test"});
    const auto placements = enumerate_placements(system.hierarchy, axes, {"test"});
    const DeviceGrid grid(system.hierarchy, axes, placements[random() % placements.size()]);
    const FactorSet reduced = 1 + any(0, 14);
    if ((reduced & grid.all_factors()) == 0) continue;
    const FactorSet pinned = any(0, 15) & grid.all_factors() & ~reduced;
    const PatternGroups pattern(grid, {reduced & grid.all_factors(), pinned});
    if (!nccl.is_symmetric_for(pattern)) continue;
    const std::vector<Group> all = pattern.all();
    for (const NcclCollective collective : {NcclCollective::AllReduce, NcclCollective::AllGather,
                                            NcclCollective::Broadcast, NcclCollective::AllToAll}) {
      const double bytes = any(1, 5) / 7.0;
      const auto one = nccl.times(collective, pattern, bytes, {});
      const auto each = nccl.times(collective, all, std::vector(all.size(), bytes), {});
      REQUIRE(one.size() == each.size());
      if (one.empty()) continue;
      ++symmetric;
      CHECK(one[0].communicator.uplink_slowdown == each[0].communicator.uplink_slowdown);
      CHECK(one[0].communicator.relayed == each[0].communicator.relayed);
      CHECK(one[0].communicator.nics == each[0].communicator.nics);
      for (const double slowdown : one[0].communicator.uplink_slowdown) slowed += slowdown > 1;
    }
  }
  CHECK(symmetric > 1000);
  CHECK(slowed > 300);
}
