#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace p2 {

/// How NCCL moves data and how long it takes: `latency + bytes / bandwidth`, the least over
/// algorithms and protocols (NVIDIA/nccl, src/graph/tuning.cc), with effective rates, latencies by
/// fabric and the time to fill the pipeline, which NCCL's own model leaves out (docs/cost.md).

enum class GpuGeneration : std::uint8_t { Volta, Ampere, Hopper, Blackwell, Cdna };

/// What joins the GPUs of a node.
enum class GpuLink : std::uint8_t {
  NvSwitch,      ///< any pair at full rate; from Hopper on it reduces and multicasts
  NvlinkMesh,    ///< every pair has links of its own, e.g. four A100 or GH200 on one board
  CubeMesh,      ///< DGX-1: eight GPUs, of the links of each two thirds inside its half
  NvlinkBridge,  ///< pairs of PCIe cards; further pairs by PCIe
  Xgmi,          ///< AMD Infinity Fabric: a link to each of the seven others
  XgmiPackages,  ///< MI250X: two dies per package, packages joined by single and double links
  Pcie,          ///< peer to peer
  HostMemory,    ///< PCIe without peer-to-peer access
};

enum class Fabric : std::uint8_t {
  InfiniBand,
  Roce,
  Efa,        ///< from its second generation on (p5)
  EfaFirst,   ///< p3dn, p4d
  TcpXo,      ///< GPUDirect-TCPXO (a3-megagpu)
  TcpX,       ///< GPUDirect-TCPX (a3-highgpu)
  Slingshot,  ///< HPE Slingshot 11 through libfabric
  Tcp,        ///< sockets
  Unknown,
};
constexpr std::size_t kFabrics = 9;

enum class NcclAlgorithm : std::uint8_t {
  Ring,
  Tree,
  Nvls,
  NvlsTree,
  CollNet,   ///< the network reduces (SHARP)
  Pat,       ///< parallel aggregated trees, for one GPU per node
  Pairwise,  ///< all-to-all and send-receive
};
enum class NcclProtocol : std::uint8_t { Ll, Ll128, Simple };
inline constexpr std::array kNcclAlgorithms{
    NcclAlgorithm::Ring,    NcclAlgorithm::Tree, NcclAlgorithm::Nvls,    NcclAlgorithm::NvlsTree,
    NcclAlgorithm::CollNet, NcclAlgorithm::Pat,  NcclAlgorithm::Pairwise};
inline constexpr std::array kNcclProtocols{NcclProtocol::Ll, NcclProtocol::Ll128,
                                           NcclProtocol::Simple};

enum class NcclCollective : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  SendReceive,  ///< every GPU sends to one partner in the next node, or in its node
};

std::string_view to_string(NcclAlgorithm algorithm);
std::string_view to_string(NcclProtocol protocol);
std::string_view to_string(NcclCollective collective);
std::string_view to_string(Fabric fabric);
std::string_view to_string(GpuGeneration generation);
/// By NCCL's names in any case: `Ring`, `NVLSTree`; also `CollnetDirect` and the like.
std::optional<NcclAlgorithm> find_nccl_algorithm(std::string_view name);
std::optional<NcclProtocol> find_nccl_protocol(std::string_view name);

/// How traffic moves between nodes, which decides what crosses a spine.
enum class NetworkPattern : std::uint8_t {
  Ring,      ///< from each node to the next; also chains and in-network reduction
  Tree,      ///< two binary trees of nodes
  Pat,       ///< to the nodes that are 1, 2, 4, … further
  Pairwise,  ///< from every GPU to the others, or to one
};
constexpr std::size_t kNetworkPatterns = 4;

/// The GPUs of a collective and what joins them.
struct Communicator {
  GpuGeneration generation = GpuGeneration::Hopper;
  GpuLink link = GpuLink::NvSwitch;
  double link_gbytes = 0;           ///< nominal, per GPU and direction, in 10^9 bytes per second
  double pcie_gbytes = 0;           ///< of a slot; NvlinkBridge only
  bool reducing_switch = false;     ///< NVLS: the switch reduces and multicasts
  std::uint32_t nodes = 1;          ///< domains of `link`
  std::uint32_t gpus_per_node = 1;  ///< that take part
  double nics = 0;                  ///< per node that these GPUs use, after sharing with others
  double nic_gbytes = 0;            ///< nominal rate of one
  Fabric fabric = Fabric::Unknown;
  bool sharp = false;  ///< the fabric reduces
  /// By NetworkPattern: how much longer the uplinks of leaf switches are busy than the NICs, at
  /// least 1.
  std::array<double, kNetworkPatterns> uplink_slowdown{1, 1, 1, 1};
  /// Of an all-to-all: the part of the traffic to other nodes that goes to the GPU on the
  /// receiver's rail first, over the GPU links (PXN).
  double relayed = 0;

  std::uint32_t ranks() const { return nodes * gpus_per_node; }
};

/// The figures of the model that are no constants of NCCL, with what they are taken from.
/// `--fit` changes those that fittable() lists.
struct NcclParameters {
  /// Usable part of the nominal GPU link, by generation, for rings.
  double ring_efficiency[5] = {0.87, 0.785, 0.815, 0.75, 0.70};
  double nvls_efficiency_hopper = 0.68;
  double nvls_efficiency_blackwell = 0.60;
  double pcie_efficiency = 0.62;
  double host_memory_efficiency = 0.40;
  /// Usable part of a NIC's rate, by Fabric.
  double nic_efficiency[kFabrics] = {0.94, 0.89, 0.94, 0.94, 0.945, 0.60, 0.80, 0.60, 0.90};
  /// Microseconds that a step over the network takes beyond NCCL's constants, by Fabric.
  double step_latency[kFabrics] = {2.4, 4.7, 23, 65, 48, 200, 10, 45, 3};
  double tree_network_efficiency = 0.97;  ///< of trees, beside rings
  double base_latency = 12;               ///< microseconds of a call beyond NCCL's constants
  double base_latency_blackwell = 8;      ///< more than that
  double base_latency_cdna = 8;
  /// The time to fill the pipeline of a large call, in latencies of a small call between two
  /// nodes, and the transfer time, in the same unit, at which half of it has been paid.
  double fill_network = 3.3;
  double fill_network_half = 3.7;
  double fill_node = 3.4;
  double fill_node_half = 3.0;
  double protocol_step = 2.4;  ///< how much of step_latency Simple adds again (LL128: 0.35 of that)

  struct Named {
    const char* name;
    double* value;
  };
  /// The rates and latencies that a communicator depends on.
  std::vector<Named> fittable(const Communicator& communicator);
};

/// One way to run a collective, for sizes at which no other is faster: a line in bytes.
struct NcclLine {
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
  double latency_us = 0;
  double us_per_byte = 0;
  bool network_bound = false;  ///< the NICs are slower than the GPU links
  bool uplink_bound = false;   ///< and the uplinks of leaf switches slower than the NICs

  double at(double bytes) const { return latency_us + us_per_byte * bytes; }
};

struct NcclChoice {
  std::optional<NcclAlgorithm> algorithm = {};
  std::optional<NcclProtocol> protocol = {};
};

/// The lower envelope over algorithms and protocols (those of `choice` if it names some), slopes
/// falling: the time of a size is the least of the lines there. Bytes are counted as nccl-tests
/// does: of all-gather and reduce-scatter the whole array. Never empty: a choice that the
/// communicator cannot run counts as none.
std::vector<NcclLine> nccl_lines(const Communicator& communicator, NcclCollective collective,
                                 const NcclChoice& choice, const NcclParameters& parameters);

/// The largest network load of a node in a pair of binary trees, in buffers each way: with three
/// nodes one is the inner node of a tree with half of the data and a leaf of the other.
double tree_network_load(std::uint32_t nodes);

/// The line that is the least at this size.
const NcclLine& fastest_at(const std::vector<NcclLine>& lines, double bytes);

/// Bus bandwidth per algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(NcclCollective collective, std::uint32_t ranks);

/// Of a ring or all GPU links: usable GB/s per GPU and direction.
double usable_link_gbytes(const Communicator& communicator, const NcclParameters& parameters);

/// A run as tables of measurements and users name it.
struct RunDescription {
  std::string gpu;  ///< `H100-SXM`, `A100-PCIE-80GB`, `MI300X`
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;  ///< that take part
  std::string link;  ///< `nvlink4-nvswitch`, `pcie4`, `xgmi-mi300x`; empty: as usual for the GPU
  double link_gbytes = 0;    ///< per GPU and direction; 0: as usual for the GPU and the link
  double nics_per_node = 0;  ///< 0 with several nodes: one per GPU
  double nic_gbits = 0;      ///< 0: as usual for the fabric
  std::string fabric;  ///< `ib-ndr`, `roce`, `efa`, `slingshot-11`; anything else is `unknown`
  bool sharp = false;
};

/// Never fails: what is not known is taken as usual for the rest.
Communicator communicator_of(const RunDescription& run);

/// Of a GPU's name, with or without a vendor; an unknown one counts as Hopper.
GpuGeneration generation_of(std::string_view gpu);
/// Of a fabric's name; the first generation of EFA is that of GPUs before Hopper.
Fabric fabric_of(std::string_view name, GpuGeneration generation);

/// How far the model was off on public measurements of all-reduce.
struct ModelError {
  std::string kind;  ///< of system: `several nodes, EFA`; `all kinds` where none is measured
  double error = 0;  ///< max(p/m, m/p) − 1, which three of four rows do not exceed
  std::size_t rows = 0;
};

/// The kind of a system in tables of errors: `one node, NVLink`, `several nodes, InfiniBand or
/// RoCE`.
std::string kind_of(const Communicator& communicator);
/// `up to 64 KiB`, `64 KiB to 512 MiB`, `512 MiB and more`: latency, both, bandwidth.
std::string size_class(double bytes);

/// The error of the model on measured rows of that kind of system and size, every source predicted
/// by a model fitted to the others (docs/cost.md).
ModelError measured_error(const Communicator& communicator, double bytes);

}  // namespace p2
