#include "engine/cost/nccl_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

namespace p2 {
namespace {

/// Upper case, without separators: `GeForce RTX 4090` → `GEFORCERTX4090`.
std::string normal_form(std::string_view text) {
  std::string normal;
  for (const char ch : text) {
    if (std::isalnum(static_cast<unsigned char>(ch)) != 0) {
      normal += static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
    }
  }
  return normal;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return contains(text, part); });
}

/// A GPU: the first entry whose name is part of the normal form. Nominal rates per direction in
/// GB/s, of all NVLinks or Infinity Fabric links (0: none) and of the PCIe slot. Sources: NVIDIA's
/// and AMD's data sheets and architecture white papers of each product.
struct Gpu {
  std::string_view name;
  GpuGeneration generation;
  double link;
  double pcie;
  bool peer_access;  ///< to other cards over PCIe; GeForce from Ada on, A10G and T4 in clouds lack
                     ///< it
};

constexpr std::array kGpus{
    Gpu{"MI355", GpuGeneration::Cdna, 537.6, 64, true},
    Gpu{"MI350", GpuGeneration::Cdna, 537.6, 64, true},
    Gpu{"MI325", GpuGeneration::Cdna, 448, 64, true},
    Gpu{"MI308", GpuGeneration::Cdna, 448, 64, true},
    Gpu{"MI300A", GpuGeneration::Cdna, 384, 64, true},
    Gpu{"MI300", GpuGeneration::Cdna, 448, 64, true},
    Gpu{"MI250", GpuGeneration::Cdna, 200, 32, true},
    Gpu{"MI210", GpuGeneration::Cdna, 150, 32, true},
    Gpu{"MI1", GpuGeneration::Cdna, 138, 32, true},
    Gpu{"MI", GpuGeneration::Cdna, 92, 32, true},
    Gpu{"INSTINCT", GpuGeneration::Cdna, 448, 64, true},
    Gpu{"GB300", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"GB200", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"B300", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"B200", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"B100", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"6000BLACKWELL", GpuGeneration::Blackwell, 0, 64, true},
    Gpu{"PRO6000", GpuGeneration::Blackwell, 0, 64, true},
    Gpu{"RTX50", GpuGeneration::Blackwell, 0, 64, false},
    Gpu{"5090", GpuGeneration::Blackwell, 0, 64, false},
    Gpu{"5080", GpuGeneration::Blackwell, 0, 64, false},
    Gpu{"BLACKWELL", GpuGeneration::Blackwell, 900, 64, true},
    Gpu{"GH200", GpuGeneration::Hopper, 450, 64, true},
    Gpu{"H800", GpuGeneration::Hopper, 200, 64, true},
    Gpu{"H200", GpuGeneration::Hopper, 450, 64, true},
    Gpu{"H100", GpuGeneration::Hopper, 450, 64, true},
    Gpu{"H20", GpuGeneration::Hopper, 450, 64, true},
    Gpu{"HOPPER", GpuGeneration::Hopper, 450, 64, true},
    Gpu{"A800", GpuGeneration::Ampere, 200, 32, true},
    Gpu{"A100", GpuGeneration::Ampere, 300, 32, true},
    Gpu{"A6000", GpuGeneration::Ampere, 56.25, 32, true},
    Gpu{"A5000", GpuGeneration::Ampere, 56.25, 32, true},
    Gpu{"A4", GpuGeneration::Ampere, 56.25, 32, true},
    Gpu{"A30", GpuGeneration::Ampere, 100, 32, true},
    Gpu{"A10G", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"A10", GpuGeneration::Ampere, 0, 32, true},
    Gpu{"3090", GpuGeneration::Ampere, 56.25, 32, false},
    Gpu{"3080", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"4090", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"4080", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"RTX40", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"RTX30", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"L40", GpuGeneration::Ampere, 0, 32, true},
    Gpu{"L20", GpuGeneration::Ampere, 0, 32, true},
    Gpu{"L4", GpuGeneration::Ampere, 0, 32, false},
    Gpu{"ADA", GpuGeneration::Ampere, 0, 32, true},
    Gpu{"T4", GpuGeneration::Volta, 0, 16, false},
    Gpu{"V100", GpuGeneration::Volta, 150, 16, true},
    Gpu{"P100", GpuGeneration::Volta, 80, 16, true},
    Gpu{"GV100", GpuGeneration::Volta, 100, 16, true},
    Gpu{"TITAN", GpuGeneration::Volta, 0, 16, true},
    Gpu{"RTX20", GpuGeneration::Volta, 50, 16, false},
    Gpu{"2080", GpuGeneration::Volta, 50, 16, false},
    Gpu{"1080", GpuGeneration::Volta, 0, 16, true},
    Gpu{"P40", GpuGeneration::Volta, 0, 16, true},
    Gpu{"K80", GpuGeneration::Volta, 0, 16, true},
};

// Rates in GB/s and numbers of NICs beyond these are taken for the bound.
constexpr double kSlowest = 1e-3;
constexpr double kFastest = 1e6;

const Gpu& gpu_of(std::string_view name) {
  static constexpr Gpu kUnknown{"", GpuGeneration::Hopper, 450, 64, true};
  const std::string normal = normal_form(name);
  const auto* const found = std::find_if(
      kGpus.begin(), kGpus.end(), [&](const Gpu& each) { return contains(normal, each.name); });
  return found == kGpus.end() ? kUnknown : *found;
}

/// What Infinity Fabric joins: packages of two dies, four GPUs that use all links, or eight.
GpuLink xgmi_of(std::string_view gpu) {
  if (contains_any(gpu, {"MI250", "MI210"})) return GpuLink::XgmiPackages;
  return contains_any(gpu, {"MI300A", "MI1"}) ? GpuLink::NvlinkMesh : GpuLink::Xgmi;
}

GpuLink link_of(const std::string& named, const std::string& gpu, const Gpu& known) {
  const bool cdna = known.generation == GpuGeneration::Cdna;
  if (contains_any(named, {"NVSWITCH", "NVL72", "NVL36"})) return GpuLink::NvSwitch;
  if (contains_any(named, {"XGMI", "INFINITYFABRIC"})) {
    return xgmi_of(named + gpu);
  }
  if (contains_any(named, {"CUBE", "HYBRID", "DGX1"})) return GpuLink::CubeMesh;
  if (contains_any(named, {"BRIDGE"})) return GpuLink::NvlinkBridge;
  if (contains_any(named, {"NVLINK", "NVL", "NV"})) {
    if (contains_any(gpu, {"PCIE", "NVL"})) return GpuLink::NvlinkBridge;
    return known.generation == GpuGeneration::Volta ? GpuLink::CubeMesh : GpuLink::NvlinkMesh;
  }
  if (contains_any(named, {"SHM", "HOST", "NOP2P"})) return GpuLink::HostMemory;
  if (contains(named, "PCI")) return known.peer_access ? GpuLink::Pcie : GpuLink::HostMemory;
  const bool card = contains_any(gpu, {"PCIE", "PCI"});
  if (cdna) return xgmi_of(gpu);
  if (card || known.link < 100) {
    return known.peer_access ? GpuLink::Pcie : GpuLink::HostMemory;
  }
  return known.generation == GpuGeneration::Volta ? GpuLink::CubeMesh : GpuLink::NvSwitch;
}

/// Gbit/s of a NIC where a table does not say.
double usual_rate(const std::string& fabric, GpuGeneration generation) {
  if (contains_any(fabric, {"XDR"})) return 800;
  if (contains_any(fabric, {"NDR"})) return contains(fabric, "NDR200") ? 200 : 400;
  if (contains_any(fabric, {"HDR"})) return contains(fabric, "HDR100") ? 100 : 200;
  if (contains_any(fabric, {"EDR", "OMNIPATH"})) return 100;
  if (contains_any(fabric, {"FDR"})) return 56;
  if (contains_any(fabric, {"SLINGSHOT", "TCPX"})) return 200;
  switch (generation) {
    case GpuGeneration::Volta:
      return 100;
    case GpuGeneration::Ampere:
      return contains(fabric, "EFA") ? 100 : 200;
    default:
      return 400;
  }
}

/// Whether the nodes are trays of one NVLink domain.
bool one_nvlink_domain(const RunDescription& run, const std::string& fabric,
                       const std::string& link) {
  constexpr std::uint32_t kRack = 72;
  const bool rack = contains_any(link, {"NVL72", "MNNVL"});
  if (rack && run.nodes > 1 && run.nodes * run.gpus_per_node <= kRack) return true;
  return run.nodes > 1 && (contains_any(fabric, {"NVLINK", "MNNVL", "NVL72", "NVSWITCH"}) ||
                           ((fabric.empty() || fabric == "NONE") && run.nics_per_node == 0 &&
                            (rack || contains_any(normal_form(run.gpu), {"GB200", "GB300"}))));
}

}  // namespace

GpuGeneration generation_of(std::string_view gpu) { return gpu_of(gpu).generation; }

Fabric fabric_of(std::string_view name, GpuGeneration generation) {
  const std::string normal = normal_form(name);
  if (contains_any(normal, {"TCPXO", "FASTRAK"})) return Fabric::TcpXo;
  if (contains(normal, "TCPX")) return Fabric::TcpX;
  if (contains(normal, "EFA")) {
    return generation == GpuGeneration::Volta || generation == GpuGeneration::Ampere
               ? Fabric::EfaFirst
               : Fabric::Efa;
  }
  if (contains_any(normal, {"SLINGSHOT", "CXI", "SS11", "SS10", "HSN"})) return Fabric::Slingshot;
  if (contains_any(normal, {"ROCE", "SPECTRUM", "FALCON", "ULTRAETHERNET", "UEC"})) {
    return Fabric::Roce;
  }
  if (normal.starts_with("IB") ||
      contains_any(normal, {"INFINI", "NDR", "HDR", "EDR", "XDR", "OMNIPATH", "OPA"})) {
    return Fabric::InfiniBand;
  }
  if (contains(normal, "RDMA")) return Fabric::Roce;
  if (contains_any(normal, {"TCP", "SOCKET", "ETH", "ENA", "GVNIC", "VIRTIO"})) return Fabric::Tcp;
  return Fabric::Unknown;
}

Communicator communicator_of(const RunDescription& run) {
  const std::string gpu = normal_form(run.gpu);
  const std::string named_link = normal_form(run.link);
  const std::string fabric = normal_form(run.fabric);
  const Gpu& known = gpu_of(run.gpu);
  Communicator group;
  group.generation = known.generation;
  group.link = link_of(named_link, gpu, known);
  group.nodes = std::max(run.nodes, 1U);
  group.gpus_per_node = std::max(run.gpus_per_node, 1U);
  group.pcie_gbytes = known.pcie;
  if (run.link_gbytes > 0) {
    group.link_gbytes = run.link_gbytes;
  } else if (group.link == GpuLink::Pcie || group.link == GpuLink::HostMemory) {
    group.link_gbytes = contains_any(named_link, {"PCIE3", "GEN3"})   ? 16
                        : contains_any(named_link, {"PCIE4", "GEN4"}) ? 32
                        : contains_any(named_link, {"PCIE5", "GEN5"}) ? 64
                                                                      : known.pcie;
  } else {
    group.link_gbytes = known.link > 0 ? known.link : known.pcie;
  }
  group.link_gbytes = std::clamp(group.link_gbytes, kSlowest, kFastest);
  group.reducing_switch =
      group.link == GpuLink::NvSwitch &&
      (group.generation == GpuGeneration::Hopper || group.generation == GpuGeneration::Blackwell);
  if (one_nvlink_domain(run, fabric, named_link)) {
    group.gpus_per_node *= group.nodes;
    group.nodes = 1;
    group.link = GpuLink::NvSwitch;
    group.reducing_switch = true;
    return group;
  }
  if (group.nodes == 1) return group;
  group.fabric = fabric_of(run.fabric, group.generation);
  group.sharp = run.sharp;
  // NICs are those of the node; a GPU uses those next to it.
  const double nics = run.nics_per_node > 0 ? run.nics_per_node : group.gpus_per_node;
  group.nics = std::min(nics, group.gpus_per_node * std::max(1.0, std::ceil(nics / 8)));
  group.nics = std::clamp(group.nics, kSlowest, kFastest);
  const double gbits = run.nic_gbits > 0 ? run.nic_gbits : usual_rate(fabric, group.generation);
  group.nic_gbytes = std::clamp(gbits / 8, kSlowest, kFastest);
  return group;
}

namespace {

constexpr double kSmall = 64.0 * (1 << 10);
constexpr double kLarge = 512.0 * (1 << 20);

std::size_t size_index(double bytes) {
  if (bytes <= kSmall) return 0;
  return bytes < kLarge ? 1 : 2;
}

struct KindErrors {
  std::string_view kind;
  std::array<double, 3> error;  // 0: no rows of that size
  std::array<std::size_t, 3> rows;
};

/// From `cost --compare … --cross-validate` on 348 public rows of all-reduce; the last entry is all
/// of them.
constexpr std::array kMeasured{
    KindErrors{"one node, NVLink", {0.86, 0.26, 0.04}, {14, 74, 62}},
    KindErrors{"one node, Infinity Fabric", {0, 0, 0.05}, {0, 0, 2}},
    KindErrors{"several nodes, InfiniBand or RoCE", {0.23, 0.18, 0.11}, {15, 52, 36}},
    KindErrors{"several nodes, EFA", {0.21, 0.48, 0.09}, {20, 35, 16}},
    KindErrors{"several nodes, TCPXO", {0.40, 0.82, 0.11}, {4, 12, 5}},
    KindErrors{"all kinds", {0.37, 0.28, 0.06}, {53, 173, 122}},
};

}  // namespace

std::string kind_of(const Communicator& group) {
  if (group.nodes == 1) {
    switch (group.link) {
      case GpuLink::NvSwitch:
      case GpuLink::NvlinkMesh:
      case GpuLink::CubeMesh:
        return "one node, NVLink";
      case GpuLink::Xgmi:
      case GpuLink::XgmiPackages:
        return "one node, Infinity Fabric";
      case GpuLink::NvlinkBridge:
      case GpuLink::Pcie:
      case GpuLink::HostMemory:
        break;
    }
    return "one node, PCIe";
  }
  switch (group.fabric) {
    case Fabric::InfiniBand:
    case Fabric::Roce:
      return "several nodes, InfiniBand or RoCE";
    case Fabric::Efa:
    case Fabric::EfaFirst:
      return "several nodes, EFA";
    default:
      return fmt::format("several nodes, {}", to_string(group.fabric));
  }
}

std::string size_class(double bytes) {
  constexpr std::array kNames{"up to 64 KiB", "64 KiB to 512 MiB", "512 MiB and more"};
  return kNames[size_index(bytes)];
}

ModelError measured_error(const Communicator& communicator, double bytes) {
  const std::string kind = kind_of(communicator);
  const std::size_t size = size_index(bytes);
  for (const KindErrors& each : kMeasured) {
    if (each.kind == kind && each.rows[size] > 0) return {kind, each.error[size], each.rows[size]};
  }
  const KindErrors& all = kMeasured.back();
  return {std::string(all.kind), all.error[size], all.rows[size]};
}

namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& ch : lower) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  return lower;
}

}  // namespace

std::string_view to_string(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 7> kNames{"Ring",    "Tree", "NVLS",    "NVLSTree",
                                                   "CollNet", "PAT",  "Pairwise"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view to_string(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames{"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(protocol)];
}

std::string_view to_string(NcclCollective collective) {
  constexpr std::array<std::string_view, 7> kNames{
      "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "SendReceive"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string_view to_string(Fabric fabric) {
  constexpr std::array<std::string_view, kFabrics> kNames{
      "InfiniBand", "RoCE", "EFA", "EFA v1", "TCPXO", "TCPX", "Slingshot", "TCP", "unknown"};
  return kNames[static_cast<std::size_t>(fabric)];
}

std::string_view to_string(GpuGeneration generation) {
  constexpr std::array<std::string_view, 5> kNames{"Volta", "Ampere", "Hopper", "Blackwell",
                                                   "CDNA"};
  return kNames[static_cast<std::size_t>(generation)];
}

std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name) {
  const std::string lower = lower_case(name);
  if (lower.starts_with("collnet")) return NcclAlgorithm::CollNet;
  for (const NcclAlgorithm each : kNcclAlgorithms) {
    if (lower_case(to_string(each)) == lower) return each;
  }
  return std::nullopt;
}

std::optional<NcclProtocol> find_nccl_protocol(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const NcclProtocol each : kNcclProtocols) {
    if (lower_case(to_string(each)) == lower) return each;
  }
  return std::nullopt;
}

}  // namespace p2
