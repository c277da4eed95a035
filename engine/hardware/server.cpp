#include "engine/hardware/server.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "p2/system.h"

namespace p2::hardware {
namespace {

/// No GPU has more NVLinks, so that more ports than these lead to switches.
constexpr std::size_t kMaxDirectLinks = 18;

std::int64_t required(const std::optional<std::int64_t>& bandwidth, const char* flag,
                      const char* what) {
  if (bandwidth) return *bandwidth;
  throw InputError({flag}, fmt::format("missing bandwidth of {}, expected --{}, e.g. {}", what,
                                       std::string(flag).substr(2), "25 GB/s"));
}

Interconnect joining_gpus(const char* name, InterconnectKind kind, std::size_t span,
                          std::int64_t bandwidth) {
  Interconnect link;
  link.name = name;
  link.kind = kind;
  link.level = "gpu";
  link.span = static_cast<std::uint32_t>(span);
  link.bytes_per_second = bandwidth;
  return link;
}

/// The size of the runs of consecutive GPUs that NVLinks join each with each, by `links` links a
/// pair; nothing if they do not form such runs.
std::optional<std::size_t> run_of_cliques(const Server& server, std::uint32_t links) {
  const std::vector<std::uint32_t>& first = server.nvlinks.front();
  const auto joined =
      std::count_if(first.begin(), first.end(), [](std::uint32_t each) { return each > 0; });
  const std::size_t run = static_cast<std::size_t>(joined) + 1;
  if (server.gpus % run != 0) return std::nullopt;
  for (std::size_t i = 0; i < server.gpus; ++i) {
    for (std::size_t j = 0; j < server.gpus; ++j) {
      const std::uint32_t expected = i != j && i / run == j / run ? links : 0;
      if (server.nvlinks[i][j] != expected) return std::nullopt;
    }
  }
  return run;
}

/// The fewest links between neighbours of the ring 0, 1, …; 0 if there are other links, or gaps.
std::uint32_t ring_links(const Server& server) {
  const std::size_t n = server.gpus;
  if (n < 3) return 0;
  std::uint32_t fewest = UINT32_MAX;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const bool neighbours = (i + 1) % n == j || (j + 1) % n == i;
      if (neighbours) fewest = std::min(fewest, server.nvlinks[i][j]);
      if (!neighbours && server.nvlinks[i][j] > 0) return 0;
    }
  }
  return fewest;
}

/// Adds NVLink, if there is any. Returns whether it joins all GPUs.
bool add_nvlink(const Server& server, const SourcePosition& where, System& system) {
  std::uint32_t most = 0;
  for (const auto& row : server.nvlinks) {
    for (const std::uint32_t links : row) most = std::max(most, links);
  }
  if (most == 0) return false;
  const std::int64_t bandwidth = required(server.nvlink_bandwidth, "--nvlink", "an NVLink");
  if (const auto run = run_of_cliques(server, most)) {
    const bool switched = (*run - 1) * most > kMaxDirectLinks;
    system.interconnects.push_back(joining_gpus(switched ? "NVSwitch" : "NVLink",
                                                InterconnectKind::Switch, *run, most * bandwidth));
    return *run == server.gpus;
  }
  const std::uint32_t links = ring_links(server);
  if (links == 0) {
    throw InputError(
        where,
        "NVLink joins neither runs of consecutive GPUs, each with each by equally many "
        "links, nor a ring 0, 1, …; expected one of these");
  }
  // A part of a ring reaches each neighbour with half of its port's bandwidth.
  system.interconnects.push_back(
      joining_gpus("NVLink", InterconnectKind::Ring, server.gpus, bandwidth * links * 2));
  return true;
}

std::vector<std::size_t> nearest_nics(const Server& server, std::size_t gpu) {
  int least = server.nics.front().distance[gpu];
  for (const Server::Nic& nic : server.nics) least = std::min(least, nic.distance[gpu]);
  std::vector<std::size_t> nearest;
  for (std::size_t i = 0; i < server.nics.size(); ++i) {
    if (server.nics[i].distance[gpu] == least) nearest.push_back(i);
  }
  return nearest;
}

/// Adds the NICs and returns the bandwidth of all that are used in a host.
std::int64_t add_nics(const Server& server, const SourcePosition& where, System& system) {
  const std::vector<std::size_t> nics = nearest_nics(server, 0);
  std::size_t run = 1;
  while (run < server.gpus && nearest_nics(server, run) == nics) ++run;
  std::set<std::size_t> used;
  bool regular = server.gpus % run == 0;
  for (std::size_t gpu = 0; gpu < server.gpus && regular; gpu += run) {
    const std::vector<std::size_t> own = nearest_nics(server, gpu);
    regular = own.size() == nics.size();
    for (std::size_t other = gpu; other < gpu + run; ++other) {
      regular = regular && nearest_nics(server, other) == own;
    }
    for (const std::size_t nic : own) regular = used.insert(nic).second && regular;
  }
  if (!regular) {
    throw InputError(
        where,
        "GPUs with the same nearest NICs are not runs of equal length with equally many "
        "NICs, expected such runs");
  }
  std::int64_t bandwidth = INT64_MAX;
  for (const std::size_t nic : used) {
    bandwidth =
        std::min(bandwidth, required(server.nics[nic].bandwidth, "--nic", "a network interface"));
  }
  const auto count = static_cast<std::int64_t>(nics.size());
  // As many GPUs as there are to a NIC, or several NICs for each; else the run shares all its NICs.
  Interconnect link = joining_gpus("NIC", InterconnectKind::SharedNic, run, count * bandwidth);
  if (run % nics.size() == 0) {
    link.span = static_cast<std::uint32_t>(run / nics.size());
    link.bytes_per_second = bandwidth;
  } else if (nics.size() % run == 0) {
    link.span = 1;
    link.bytes_per_second = count / static_cast<std::int64_t>(run) * bandwidth;
  }
  system.interconnects.push_back(link);
  return static_cast<std::int64_t>(used.size()) * bandwidth;
}

}  // namespace

System system_of(const Server& server, const std::string& name, std::uint32_t nodes,
                 const SourcePosition& where) {
  System system;
  system.name = name;
  system.hierarchy =
      Hierarchy({{"node", nodes}, {"gpu", static_cast<std::uint32_t>(server.gpus)}}, where);
  if (!add_nvlink(server, where, system) && server.gpus > 1) {
    system.interconnects.push_back(joining_gpus("PCIe", InterconnectKind::Switch, server.gpus,
                                                required(server.pcie_bandwidth, "--pcie", "PCIe")));
  }
  const bool known = std::any_of(server.nics.begin(), server.nics.end(),
                                 [](const Server::Nic& nic) { return nic.bandwidth.has_value(); });
  if (nodes > 1 && server.nics.empty()) {
    throw InputError(where, "lists no NIC, expected one where there are several nodes");
  }
  if (nodes == 1 && !known) return system;
  const std::int64_t total = add_nics(server, where, system);
  if (nodes == 1) return system;
  Interconnect network;
  network.name = "network";
  network.level = "node";
  network.span = nodes;
  network.bytes_per_second = total;
  system.interconnects.push_back(network);
  return system;
}

}  // namespace p2::hardware

namespace p2 {

SystemInfo read_system_file(const std::string& file) {
  const System system = parse_system(file, read_file(file));
  SystemInfo info{system.name, {}, system.interconnects.size(), to_json(system)};
  for (const Level& level : system.hierarchy.levels()) {
    info.levels.push_back({level.name, level.size});
  }
  return info;
}

ImportAnswer import_system(const ImportRequest& request, const Options&) {
  const std::string text = read_file(request.file);
  hardware::Server server = request.dump == ImportRequest::Dump::NcclTopo
                                ? hardware::read_nccl_topology(request.file, text)
                                : hardware::read_topo_matrix(request.file, text);
  if (request.nvlink) server.nvlink_bandwidth = parse_bandwidth(*request.nvlink, {"--nvlink"});
  if (request.pcie) server.pcie_bandwidth = parse_bandwidth(*request.pcie, {"--pcie"});
  if (request.nic) {
    const std::int64_t bandwidth = parse_bandwidth(*request.nic, {"--nic"});
    for (hardware::Server::Nic& nic : server.nics) nic.bandwidth = bandwidth;
  }
  if (request.name.empty()) throw InputError({"--name"}, "is empty, expected text");

  ImportAnswer answer;
  answer.system = to_json(hardware::system_of(server, request.name, request.nodes, {request.file}));
  answer.results.push_back({.subject = request.file, .outcome = Outcome::Established});
  Document& document = answer.document;
  document.title = "p2-verify system";
  document.add(Preformatted{answer.system});
  document.json = Json::parse(answer.system);
  return answer;
}

}  // namespace p2
