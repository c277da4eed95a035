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
constexpr double kSlowestNvlink = 40e9;  // a switch below this is PCIe

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
      return static_cast<double>(link.bytes_per_second) < kSlowestNvlink ? "pcie" : "";
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
  std::vector<GroupTimes> all;
  std::set<std::tuple<std::uint32_t, std::uint32_t, double, double>> seen;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() < 2 || bytes[i] == 0) continue;
    double most = 0;
    if (spreads[i].nodes > 1) {
      for (const std::uint32_t nic : spreads[i].nics) most = std::max(most, nic_load[nic]);
    }
    GroupTimes times{communicator_of_group(spreads[i], bytes[i], most), bytes[i], {}};
    const Communicator& communicator = times.communicator;
    if (!seen.insert({communicator.nodes, communicator.gpus_per_node, communicator.nics, bytes[i]})
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
  times.lines = nccl_lines(times.communicator, collective, choice, parameters_);
  return {std::move(times)};
}

}  // namespace p2
