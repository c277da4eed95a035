#include "engine/cost/nccl_system.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/cost/nccl_model.h"

namespace p2 {
namespace {

constexpr double kGiga = 1e9;
constexpr double kSlowestNvlink = 40e9;  // a switch below this, or called PCIe, is PCIe

std::uint32_t devices_per_part(const System& system, const Interconnect& link) {
  std::uint32_t devices = system.hierarchy.devices();
  for (const Level& each : system.hierarchy.levels()) {
    devices /= each.size;
    if (each.name == link.level) break;
  }
  return devices;
}

std::string link_name(const Interconnect& link) {
  switch (link.kind) {
    case InterconnectKind::Switch:
      return link.name.starts_with("PCI") ||
                     static_cast<double>(link.bytes_per_second) < kSlowestNvlink
                 ? "pcie"
                 : "";
    case InterconnectKind::Ring:
      return "cube-mesh";
    case InterconnectKind::SharedNic:
    case InterconnectKind::SharedMedium:
      break;
  }
  return "host";
}

}  // namespace

NcclSystem::NcclSystem(const System& system, const SourcePosition& where) {
  if (!describes(system)) {
    throw InputError(where, fmt::format("{} does not name its GPU, expected a system with gpu and "
                                        "fabric",
                                        system.name.empty() ? "the system" : system.name));
  }
  const auto& links = system.interconnects;
  std::optional<std::uint32_t> inner;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    if (links[i].kind == InterconnectKind::SharedNic) continue;
    if (devices_per_part(system, links[i]) != 1) continue;
    const auto rank = [&](std::uint32_t index) {
      return std::pair(links[index].span, links[index].bytes_per_second);
    };
    if (!inner || rank(i) > rank(*inner)) inner = i;
  }
  if (!inner) {
    throw InputError(where, fmt::format("{} names a GPU, but no switch, ring or medium joins its "
                                        "devices, expected one",
                                        system.name));
  }
  link_ = *inner;
  nic_ = *inner;
  const Interconnect& link = links[*inner];
  const std::uint32_t gpus = link.span;
  RunDescription run;
  run.gpu = system.gpu;
  run.nodes = system.hierarchy.devices() / gpus;
  run.gpus_per_node = gpus;
  run.link = link_name(link);
  run.link_gbytes = static_cast<double>(link.bytes_per_second) / kGiga;
  run.fabric = system.fabric;
  gpus_per_nic_ = gpus;
  double nic_bytes = 0;
  double port_bytes = 0;  // of a node
  bool joined = run.nodes == 1;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const std::uint32_t part = devices_per_part(system, links[i]);
    const auto bandwidth = static_cast<double>(links[i].bytes_per_second);
    if (links[i].kind == InterconnectKind::SharedNic) {
      if (part * links[i].span > gpus || (nic_bytes > 0 && part * links[i].span > gpus_per_nic_)) {
        continue;
      }
      gpus_per_nic_ = part * links[i].span;
      nic_bytes = bandwidth;
      nic_ = i;
    } else if (part >= gpus && run.nodes > 1) {
      joined = true;
      run.sharp = run.sharp || links[i].reduces;
      if (part == gpus) port_bytes = port_bytes == 0 ? bandwidth : std::min(port_bytes, bandwidth);
      if (nic_bytes == 0 && nic_ == *inner) nic_ = i;
    }
  }
  if (!joined) {
    throw InputError(where, fmt::format("nothing joins the {} nodes of {}, expected a switch or "
                                        "medium of an outer level",
                                        run.nodes, system.name));
  }
  const double nics = static_cast<double>(gpus) / gpus_per_nic_;
  if (nic_bytes == 0) nic_bytes = port_bytes;
  if (port_bytes > 0) nic_bytes = std::min(nic_bytes, port_bytes / nics);
  run.nics_per_node = nics;
  run.nic_gbits = nic_bytes * 8 / kGiga;
  whole_ = communicator_of(run);
  whole_.reducing_switch = link.reduces;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    const Interconnect& each = links[i];
    if (!each.rails && each.oversubscription == Oversubscription{}) continue;
    if (devices_per_part(system, each) != gpus) {
      throw InputError(where, fmt::format("{} of {} has leaves but does not join nodes of {} GPUs, "
                                          "expected rails and oversubscription of a switch that "
                                          "does",
                                          each.name, system.name, gpus));
    }
    const bool nvlink = whole_.link == GpuLink::NvSwitch || whole_.link == GpuLink::NvlinkMesh;
    leaves_ = {i,
               each.span,
               each.rails,
               static_cast<double>(each.oversubscription.down) / each.oversubscription.up,
               each.rails && nvlink && whole_.generation != GpuGeneration::Cdna,
               gpus,
               gpus_per_nic_};
  }
}

namespace {

/// What a group sends over one uplink, in what one of its NICs sends in all.
struct UplinkLoad {
  std::uint32_t uplink = 0;
  double load = 0;
};

/// The traffic of one group that crosses the spine: what leaves the leaves of a run of nodes, and
/// what leaves a node on one rail and arrives at another one on another. What stays on a rail of a
/// run stays below a leaf.
class UplinkTraffic {
 public:
  UplinkTraffic(const Leaves& leaves, const Group& group) : leaves_(leaves), group_(group) {
    std::map<std::uint32_t, Node> nodes;
    for (const std::uint32_t device : group) {
      Node& node = nodes[device / leaves.gpus_per_node];
      node.gpus.push_back(device % leaves.gpus_per_node);
    }
    std::size_t nics = 0;
    for (auto& [index, node] : nodes) {
      node.run = index / leaves.nodes_per_run;
      std::sort(node.gpus.begin(), node.gpus.end());
      node.on_rail.resize(leaves.nics_per_node());
      for (const std::uint32_t gpu : node.gpus) ++node.on_rail[gpu / leaves.gpus_per_nic];
      for (std::uint32_t rail = 0; rail < node.on_rail.size(); ++rail) {
        if (node.on_rail[rail] > 0) node.rails.push_back(rail);
      }
      nics += node.rails.size();
      most_gpus_ = std::max(most_gpus_, node.gpus.size());
      nodes_.push_back(std::move(node));
    }
    nics_per_node_ = static_cast<double>(nics) / static_cast<double>(nodes_.size());
  }

  std::vector<UplinkLoad> loads(NcclCollective collective, NetworkPattern pattern) {
    switch (pattern) {
      case NetworkPattern::Ring:
        shift(1, 1);
        break;
      case NetworkPattern::Tree:
        trees();
        break;
      case NetworkPattern::Pat:
        parallel_aggregated_trees();
        break;
      case NetworkPattern::Pairwise:
        collective == NcclCollective::SendReceive ? send_receive() : all_to_all();
        break;
    }
    std::vector<UplinkLoad> found;
    for (const auto& [uplink, load] : loads_) {
      if (load > 0) found.push_back({uplink, load});
    }
    loads_.clear();
    return found;
  }

  /// Communicator::relayed: the most of any node.
  double relayed() const {
    std::vector<std::uint64_t> holders(leaves_.gpus_per_node);  // nodes with this GPU
    for (const Node& node : nodes_) {
      for (const std::uint32_t gpu : node.gpus) ++holders[gpu];
    }
    double most = 0;
    for (const Node& node : nodes_) {
      std::uint64_t messages = 0;
      for (const std::uint32_t gpu : node.gpus) {
        messages += (node.gpus.size() - node.on_rail[rail(gpu)]) * (holders[gpu] - 1);
      }
      const std::size_t leaving = node.gpus.size() * (group_.size() - node.gpus.size());
      if (leaving > 0) {
        most = std::max(most, static_cast<double>(messages) / static_cast<double>(leaving));
      }
    }
    return most;
  }

 private:
  struct Node {
    std::uint32_t run = 0;
    std::vector<std::uint32_t> gpus;     ///< their indices in the node, ascending
    std::vector<std::uint32_t> on_rail;  ///< by rail: how many of them
    std::vector<std::uint32_t> rails;    ///< with a GPU, ascending
  };

  std::uint32_t rail(std::uint32_t gpu) const { return gpu / leaves_.gpus_per_nic; }

  void add(std::uint32_t run, std::uint32_t on_rail, bool inwards, double load) {
    const std::uint32_t leaf = run * leaves_.leaves_per_run() + (leaves_.rails ? on_rail : 0);
    loads_[2 * leaf + (inwards ? 1 : 0)] += load;
  }

  /// A part of what a node sends, by channels: on all of its rails alike, and to all of those of
  /// the other node alike, each on its own rail as far as both have it.
  void channels(const Node& from, const Node& to, double part) {
    const bool same_run = from.run == to.run;
    if (same_run && (!leaves_.rails || from.rails == to.rails)) return;
    const auto one_side = [&](const Node& here, const Node& there, bool inwards) {
      const double share = 1 / static_cast<double>(here.rails.size());
      const double stays = std::min(share, 1 / static_cast<double>(there.rails.size()));
      for (const std::uint32_t each : here.rails) {
        const bool common = same_run && there.on_rail[each] > 0;
        add(here.run, each, inwards, part * nics_per_node_ * (common ? share - stays : share));
      }
    };
    one_side(from, to, false);
    one_side(to, from, true);
  }

  void shift(std::size_t distance, double part) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      channels(nodes_[i], nodes_[(i + distance) % nodes_.size()], part);
    }
  }

  /// Half of the data on each edge, in each direction.
  void trees() {
    const auto n = static_cast<std::uint32_t>(nodes_.size());
    const double part = 0.5 / tree_network_load(n);
    for (const auto& [child, parent] : two_tree_edges(n)) {
      channels(nodes_[child], nodes_[parent], part);
      channels(nodes_[parent], nodes_[child], part);
    }
  }

  /// Of the trees over distances 0 … n−1 one edge bridges 2^k for every odd multiple of it (PAT:
  /// Jeaugey 2025).
  void parallel_aggregated_trees() {
    const std::size_t n = nodes_.size();
    for (std::size_t distance = 1; distance < n; distance *= 2) {
      const std::size_t edges = (n - 1 - distance) / (2 * distance) + 1;
      shift(distance, static_cast<double>(edges) / static_cast<double>(n - 1));
    }
  }

  /// Every GPU to every other one: by way of the GPU of its own node with the receiver's index, if
  /// there are relays and the group has it; else from its own NIC.
  void all_to_all() {
    std::map<std::uint32_t, std::vector<std::uint64_t>> holders;  // by run and GPU: nodes with it
    std::vector<std::uint64_t> all_holders(leaves_.gpus_per_node);
    std::map<std::uint32_t, std::uint64_t> gpus_in_run;
    for (const Node& node : nodes_) {
      auto& in_run = holders.try_emplace(node.run, leaves_.gpus_per_node).first->second;
      for (const std::uint32_t gpu : node.gpus) ++in_run[gpu], ++all_holders[gpu];
      gpus_in_run[node.run] += node.gpus.size();
    }
    // A node's NICs send `most · (ranks − most)` messages in all.
    const double message = nics_per_node_ / static_cast<double>(most_gpus_) /
                           static_cast<double>(group_.size() - most_gpus_);
    const auto send = [&](std::uint32_t run, std::uint32_t on_rail, bool inwards,
                          std::uint64_t messages) {
      if (messages > 0) add(run, on_rail, inwards, static_cast<double>(messages) * message);
    };
    for (const Node& node : nodes_) {
      const std::vector<std::uint64_t>& in_run = holders.at(node.run);
      for (std::uint32_t gpu = 0; gpu < leaves_.gpus_per_node; ++gpu) {
        const bool has = std::binary_search(node.gpus.begin(), node.gpus.end(), gpu);
        const std::uint64_t outside = all_holders[gpu] - in_run[gpu];
        if (has && leaves_.relays) {
          send(node.run, rail(gpu), false, node.gpus.size() * outside);
          continue;
        }
        const std::uint64_t near = leaves_.rails ? in_run[gpu] - (has ? 1 : 0) : 0;
        for (const std::uint32_t each : node.rails) {
          send(node.run, each, false,
               node.on_rail[each] * (outside + (each == rail(gpu) ? 0 : near)));
        }
        send(node.run, rail(gpu), true, near * (node.gpus.size() - node.on_rail[rail(gpu)]));
      }
    }
    for (const auto& [run, in_run] : holders) {
      for (std::uint32_t gpu = 0; gpu < leaves_.gpus_per_node; ++gpu) {
        send(run, rail(gpu), true, in_run[gpu] * (group_.size() - gpus_in_run[run]));
      }
    }
  }

  /// Each GPU to the next one of the group, which need not have a relay.
  void send_receive() {
    for (std::size_t i = 0; i + 1 < group_.size(); ++i) {
      const std::uint32_t from = group_[i] / leaves_.gpus_per_node;
      const std::uint32_t to = group_[i + 1] / leaves_.gpus_per_node;
      const std::uint32_t out = rail(group_[i] % leaves_.gpus_per_node);
      const std::uint32_t in = rail(group_[i + 1] % leaves_.gpus_per_node);
      const bool same_run = from / leaves_.nodes_per_run == to / leaves_.nodes_per_run;
      if (from == to || (same_run && (out == in || !leaves_.rails))) continue;
      add(from / leaves_.nodes_per_run, out, false, 1);
      add(to / leaves_.nodes_per_run, in, true, 1);
    }
  }

  const Leaves& leaves_;
  const Group& group_;
  std::vector<Node> nodes_;
  double nics_per_node_ = 1;  ///< that the group uses, on average
  std::size_t most_gpus_ = 0;
  std::map<std::uint32_t, double> loads_;  ///< by leaf and direction
};

std::vector<NetworkPattern> patterns_of(NcclCollective collective) {
  switch (collective) {
    case NcclCollective::AllReduce:
      return {NetworkPattern::Ring, NetworkPattern::Tree};
    case NcclCollective::AllGather:
    case NcclCollective::ReduceScatter:
      return {NetworkPattern::Ring, NetworkPattern::Pat};
    case NcclCollective::Broadcast:
    case NcclCollective::Reduce:
      break;
    case NcclCollective::AllToAll:
    case NcclCollective::SendReceive:
      return {NetworkPattern::Pairwise};
  }
  return {NetworkPattern::Ring};
}

}  // namespace

double NcclSystem::uplink_slowdown(double load, double nic) const {
  const double as_nic = load * leaves_->oversubscription / leaves_->nics_per_leaf();
  return as_nic > nic ? as_nic / nic : 1;
}

std::vector<std::array<double, kNetworkPatterns>> NcclSystem::uplink_slowdowns(
    NcclCollective collective, const std::vector<Group>& groups, const std::vector<Spread>& spreads,
    std::span<const double> bytes, const std::vector<double>& most) const {
  std::vector<std::array<double, kNetworkPatterns>> slowdowns(groups.size(),
                                                              whole_.uplink_slowdown);
  if (!oversubscribed()) return slowdowns;
  const std::uint32_t runs = whole_.nodes / leaves_->nodes_per_run;
  for (const NetworkPattern pattern : patterns_of(collective)) {
    std::vector<double> totals(std::size_t{2} * runs * leaves_->leaves_per_run());
    std::vector<std::vector<UplinkLoad>> own(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (spreads[i].nodes < 2 || bytes[i] == 0) continue;
      own[i] = UplinkTraffic(*leaves_, groups[i]).loads(collective, pattern);
      for (const UplinkLoad& each : own[i]) {
        totals[each.uplink] += each.load * spreads[i].nic_load(bytes[i]);
      }
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      double busiest = 0;
      for (const UplinkLoad& each : own[i]) busiest = std::max(busiest, totals[each.uplink]);
      slowdowns[i][static_cast<std::size_t>(pattern)] = uplink_slowdown(busiest, most[i]);
    }
  }
  return slowdowns;
}

NcclSystem::Spread NcclSystem::spread_of(const Group& group) const {
  std::map<std::uint32_t, std::uint32_t> by_node;
  std::set<std::uint32_t> nics;
  for (const std::uint32_t device : group) {
    ++by_node[device / whole_.gpus_per_node];
    nics.insert(device / gpus_per_nic_);
  }
  Spread spread{static_cast<std::uint32_t>(by_node.size()), 0, {nics.begin(), nics.end()}};
  for (const auto& [node, count] : by_node) {
    spread.gpus_per_node = std::max(spread.gpus_per_node, count);
  }
  return spread;
}

Communicator NcclSystem::communicator_of_group(const Spread& spread, double bytes,
                                               double most) const {
  Communicator communicator = whole_;
  communicator.nodes = spread.nodes;
  communicator.gpus_per_node = spread.gpus_per_node;
  communicator.nics = spread.nodes > 1 ? static_cast<double>(spread.nics.size()) / spread.nodes *
                                             spread.nic_load(bytes) / most
                                       : 0;
  return communicator;
}

std::vector<GroupTimes> NcclSystem::times(NcclCollective collective,
                                          const std::vector<Group>& groups,
                                          std::span<const double> bytes,
                                          const NcclChoice& choice) const {
  std::vector<Spread> spreads;
  spreads.reserve(groups.size());
  std::map<std::uint32_t, double> nic_load;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    spreads.push_back(spread_of(groups[i]));
    if (spreads[i].nodes < 2) continue;
    for (const std::uint32_t nic : spreads[i].nics) nic_load[nic] += spreads[i].nic_load(bytes[i]);
  }
  std::vector<double> most(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (spreads[i].nodes < 2) continue;
    for (const std::uint32_t nic : spreads[i].nics) most[i] = std::max(most[i], nic_load[nic]);
  }
  const auto slowdowns = uplink_slowdowns(collective, groups, spreads, bytes, most);
  std::vector<GroupTimes> all;
  std::set<std::tuple<std::uint32_t, std::uint32_t, double, double, double,
                      std::array<double, kNetworkPatterns>>>
      seen;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() < 2 || bytes[i] == 0) continue;
    GroupTimes times{communicator_of_group(spreads[i], bytes[i], most[i]), bytes[i], {}};
    Communicator& communicator = times.communicator;
    communicator.uplink_slowdown = slowdowns[i];
    if (collective == NcclCollective::AllToAll && leaves_ && leaves_->relays) {
      communicator.relayed = UplinkTraffic(*leaves_, groups[i]).relayed();
    }
    if (!seen.insert({communicator.nodes, communicator.gpus_per_node, communicator.nics, bytes[i],
                      communicator.relayed, communicator.uplink_slowdown})
             .second) {
      continue;
    }
    times.lines = nccl_lines(communicator, collective, choice, parameters_);
    all.push_back(std::move(times));
  }
  return all;
}

std::vector<GroupTimes> NcclSystem::times(NcclCollective collective, const PatternGroups& groups,
                                          double bytes, const NcclChoice& choice) const {
  const Group first = groups.first();
  if (first.size() < 2 || bytes == 0) return {};
  const Spread spread = spread_of(first);
  // Added up one by one, so that it is rounded as the sum over all groups is.
  double most = 0;
  for (std::uint64_t i = groups.groups_in_run(gpus_per_nic_); i > 0; --i) {
    most += spread.nic_load(bytes);
  }
  GroupTimes times{communicator_of_group(spread, bytes, most), bytes, {}};
  if (oversubscribed() && spread.nodes > 1) {
    // Translations within a run of nodes, and among the GPUs of a NIC, keep a leaf.
    const std::uint64_t sharing =
        leaves_->rails
            ? groups.groups_in_run(gpus_per_nic_) * (groups.groups_in_run(leaves_->gpus_per_run()) /
                                                     groups.groups_in_run(whole_.gpus_per_node))
            : groups.groups_in_run(leaves_->gpus_per_run());
    UplinkTraffic traffic(*leaves_, first);
    for (const NetworkPattern pattern : patterns_of(collective)) {
      double busiest = 0;
      for (const UplinkLoad& each : traffic.loads(collective, pattern)) {
        double total = 0;
        for (std::uint64_t i = sharing; i > 0; --i) total += each.load * spread.nic_load(bytes);
        busiest = std::max(busiest, total);
      }
      times.communicator.uplink_slowdown[static_cast<std::size_t>(pattern)] =
          uplink_slowdown(busiest, most);
    }
  }
  if (collective == NcclCollective::AllToAll && leaves_ && leaves_->relays) {
    times.communicator.relayed = UplinkTraffic(*leaves_, first).relayed();
  }
  times.lines = nccl_lines(times.communicator, collective, choice, parameters_);
  return {std::move(times)};
}

}  // namespace p2
