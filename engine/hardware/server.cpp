#include "engine/hardware/server.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/cost/nccl_model.h"
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

bool reduces(const std::string& gpu) {
  const GpuGeneration generation = generation_of(gpu);
  return generation == GpuGeneration::Hopper || generation == GpuGeneration::Blackwell;
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
    const bool switched = server.nvswitch || (*run - 1) * most > kMaxDirectLinks;
    system.interconnects.push_back(joining_gpus(switched ? "NVSwitch" : "NVLink",
                                                InterconnectKind::Switch, *run, most * bandwidth));
    system.interconnects.back().reduces =
        switched && *run == server.gpus && !system.gpu.empty() && reduces(system.gpu);
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

/// Names the GPU by how many NVLinks join it with all others, where only one product has so many:
/// 6 V100, 12 A100, 18 H100 (25 GB/s each) and B200 (50 GB/s).
void name_gpu_by_nvlinks(Server& server) {
  const std::uint32_t links = server.gpus > 2 ? server.nvlinks[0][1] : 0;
  if (links == 0 || run_of_cliques(server, links) != server.gpus || !server.nvlink_bandwidth)
    return;
  const std::size_t direct = (server.gpus - 1) * links;
  const std::size_t of_gpu = direct > kMaxDirectLinks ? links : direct;
  constexpr std::int64_t kNvlink = 25'000'000'000;
  const std::int64_t bandwidth = *server.nvlink_bandwidth;
  if (of_gpu == 6 && bandwidth == kNvlink) server.gpu = "V100-SXM3";
  if (of_gpu == 12 && bandwidth == kNvlink) server.gpu = "A100-SXM4";
  if (of_gpu == 18 && bandwidth == kNvlink) server.gpu = "H100-SXM";
  if (of_gpu == 18 && bandwidth == 2 * kNvlink) server.gpu = "B200";
  if (server.gpu.empty()) return;
  server.gpu_source =
      fmt::format("{} NVLinks of {}", of_gpu, bandwidth_to_string(*server.nvlink_bandwidth));
}

/// What a NIC is on, by its name as rdma-core and Linux give it; mlx5_0 tells neither InfiniBand
/// nor RoCE.
std::string_view fabric_by_name(std::string_view nic) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kPrefixes{
      {{"mlx5_bond", "roce"},
       {"roce", "roce"},
       {"bnxt_re", "roce"},
       {"ionic", "roce"},
       {"ibp", "infiniband"},
       {"rdmap", "efa"},
       {"efa", "efa"},
       {"cxi", "slingshot"},
       {"eth", "tcp"},
       {"ens", "tcp"},
       {"enp", "tcp"},
       {"bond", "tcp"}}};
  for (const auto& [prefix, fabric] : kPrefixes) {
    if (nic.starts_with(prefix)) return fabric;
  }
  return "";
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

/// That of all NICs that are nearest to a GPU, if it is one.
std::string fabric_of_nics(const Server& server) {
  std::set<std::string_view> fabrics;
  for (std::size_t gpu = 0; gpu < server.gpus; ++gpu) {
    for (const std::size_t nic : nearest_nics(server, gpu)) {
      fabrics.insert(fabric_by_name(server.nics[nic].name));
    }
  }
  return fabrics.size() == 1 ? std::string(*fabrics.begin()) : "";
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
  // The model of NCCL takes the GPUs of a node from what joins them.
  if (!server.gpu.empty() && server.gpus > 1) {
    system.gpu = server.gpu;
    system.fabric = server.fabric.empty() ? "unknown" : server.fabric;
  }
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

namespace {

/// What the dump told of GPU, fabric and rails, and how to add what it did not.
std::vector<std::string> notes_on(const hardware::Server& server, const System& system,
                                  const ImportRequest& request) {
  std::vector<std::string> notes;
  if (server.gpus == 1) {
    notes.emplace_back(
        "one GPU per host: the system names no gpu, and cost prices rings and trees over its "
        "links");
    return notes;
  }
  if (system.gpu.empty()) {
    notes.emplace_back(
        "the dump does not tell the GPU: cost prices rings and trees, not NCCL's choice of "
        "algorithms; --gpu adds it, such as --gpu H100-SXM");
    return notes;
  }
  if (!request.gpu) notes.push_back(fmt::format("gpu {}, by {}", system.gpu, server.gpu_source));
  if (request.nodes == 1) return notes;
  if (server.fabric.empty()) {
    notes.push_back(
        fmt::format("the dump does not tell the fabric of {}: --fabric adds it, such as --fabric "
                    "ib-ndr or --fabric roce",
                    server.nics.front().name));
  } else if (!request.fabric) {
    notes.push_back(fmt::format("fabric {}, by the names of the NICs", system.fabric));
  }
  const bool one_nic = std::ranges::any_of(system.interconnects, [&](const Interconnect& each) {
    return each.kind == InterconnectKind::SharedNic && each.span == server.gpus;
  });
  if (!one_nic) {
    notes.emplace_back(
        "the dump of a host does not tell its leaf switches: if the NICs of one index share one, "
        "add \"rails\": true, and \"oversubscription\" of its uplinks, to the interconnect "
        "network");
  }
  return notes;
}

}  // namespace

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
  if (request.dump == ImportRequest::Dump::NvidiaSmiTopo) hardware::name_gpu_by_nvlinks(server);
  if (request.nodes == 1) {
    server.fabric = "none";
  } else if (!server.nics.empty()) {
    server.fabric = hardware::fabric_of_nics(server);
  }
  for (const auto& [given, flag, name] : {std::tuple(&request.gpu, "--gpu", &server.gpu),
                                          {&request.fabric, "--fabric", &server.fabric}}) {
    if (!*given) continue;
    if ((*given)->empty()) throw InputError({flag}, "is empty, expected text");
    *name = **given;
  }
  if (request.fabric && server.gpu.empty()) {
    throw InputError({"--fabric"}, "the GPU is not known, expected --gpu, too");
  }

  ImportAnswer answer;
  const System system = hardware::system_of(server, request.name, request.nodes, {request.file});
  answer.system = to_json(system);
  for (std::string& note : notes_on(server, system, request)) {
    answer.diagnostics.push_back({Diagnostic::Kind::Note, std::move(note)});
  }
  answer.results.push_back({.subject = request.file, .outcome = Outcome::Established});
  Document& document = answer.document;
  document.title = "p2-verify system";
  document.add(Preformatted{answer.system});
  document.json = Json::parse(answer.system);
  return answer;
}

}  // namespace p2
