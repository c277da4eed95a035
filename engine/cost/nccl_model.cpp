#include "engine/cost/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// Microseconds by protocol (LL, LL128, Simple): hwLatencies and baseLatencies of tuning.cc.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase{6.8, 14.0, 8.4};
constexpr ByProtocol kRingBase{6.6, 14.0, 8.4};
constexpr ByProtocol kTreeNvlink{0.6, 1.25, 4.0};
constexpr ByProtocol kTreePcie{1.0, 1.9, 4.0};
constexpr ByProtocol kTreeNetwork{5.0, 8.5, 14.0};
constexpr ByProtocol kRingNvlink{0.6, 1.9, 3.4};
constexpr ByProtocol kRingPcie{1.0, 2.5, 5.7};
constexpr ByProtocol kRingNetwork{2.7, 4.0, 14.0};
constexpr double kNvls = 25;
constexpr double kNvlsNetwork = 18;
constexpr double kNvlsTreeNetwork = 20.9;
constexpr double kPatBase = 8;
constexpr double kPatPerRank = 2.8;

/// The largest LL bandwidth in GB/s, by 1, 2 and more nodes (llMaxBws): on one node by generation,
/// on several by processor, here AMD's.
constexpr double kLlNode[] = {39.0, 87.7, 141.0, 282.0, 87.7};
constexpr double kLlTwoNodes = 22.5;
constexpr double kLlNodes = 19.0;

constexpr double kLl128Efficiency = 0.92;
constexpr double kTreeEfficiency = 0.92;
constexpr double kDeepTreeEfficiency = 0.85;  // trees over more than three nodes, within a node
constexpr double kTreeLlEfficiency = 1.5 / 3.8;
constexpr double kPatEfficiency = 0.75;
constexpr double kNvlsTreeEfficiency = 0.97;
constexpr double kNvlsSharpEfficiency = 0.90;
constexpr double kSimpleRingPlateau = 1.4;  // 1.9 before Ampere
constexpr double kSimplePlateauVolta = 1.9;
constexpr double kPostOverhead = 1;     // of a network step, on each step of the ring; 3 for Simple
constexpr double kNvlsFirstCall = 0.6;  // of kNvls, as measured in one node
constexpr double kUnbounded = std::numeric_limits<double>::max();
constexpr double kLargeDomain = 0.92;  // NVLS over more than one board (NVL72), of one board's rate

std::size_t index_of(NcclProtocol protocol) { return static_cast<std::size_t>(protocol); }

std::uint32_t log2_floor(std::uint32_t value) { return std::bit_width(value) - 1; }

bool over_pcie(const Communicator& group) {
  return group.link == GpuLink::Pcie || group.link == GpuLink::HostMemory ||
         (group.link == GpuLink::NvlinkBridge && group.gpus_per_node > 2);
}

bool is_nvidia(const Communicator& group) { return group.generation != GpuGeneration::Cdna; }

/// GB/s of NVLS per GPU, each way: 0 where the switch does not reduce.
double nvls_gbytes(const Communicator& group, const NcclParameters& parameters) {
  if (!group.reducing_switch) return 0;
  const bool blackwell = group.generation == GpuGeneration::Blackwell;
  const double efficiency =
      blackwell ? parameters.nvls_efficiency_blackwell : parameters.nvls_efficiency_hopper;
  return group.link_gbytes * efficiency * (group.gpus_per_node > 8 ? kLargeDomain : 1);
}

/// The candidates of one collective on one communicator.
class Candidates {
 public:
  Candidates(const Communicator& group, NcclCollective collective, const NcclParameters& parameters)
      : group_(group),
        collective_(collective),
        parameters_(parameters),
        link_(usable_link_gbytes(group, parameters)),
        nic_(group.nodes == 1
                 ? kUnbounded
                 : group.nics * group.nic_gbytes * parameters.nic_efficiency[fabric()]),
        base_(parameters.base_latency + (group.generation == GpuGeneration::Blackwell
                                             ? parameters.base_latency_blackwell
                                         : is_nvidia(group) ? 0
                                                            : parameters.base_latency_cdna)) {}

  std::vector<NcclLine> all(const NcclChoice& choice) const {
    std::vector<NcclLine> lines;
    for (const NcclAlgorithm algorithm : kNcclAlgorithms) {
      if (choice.algorithm ? algorithm != *choice.algorithm : !by_default(algorithm)) continue;
      if (!runs(algorithm)) continue;
      for (const NcclProtocol protocol : kNcclProtocols) {
        if (choice.protocol && protocol != *choice.protocol) continue;
        if (!runs(algorithm, protocol)) continue;
        NcclLine line = line_of(algorithm, protocol);
        line.algorithm = algorithm;
        line.protocol = protocol;
        line.latency_us += base_;
        lines.push_back(line);
      }
    }
    return lines;
  }

 private:
  std::size_t fabric() const { return static_cast<std::size_t>(group_.fabric); }
  double ranks() const { return group_.ranks(); }
  double nodes() const { return group_.nodes; }
  double in_node() const { return group_.gpus_per_node; }
  bool all_reduce() const { return collective_ == NcclCollective::AllReduce; }
  bool pairwise() const {
    return collective_ == NcclCollective::AllToAll || collective_ == NcclCollective::SendReceive;
  }

  /// Whether the communicator can run it.
  bool runs(NcclAlgorithm algorithm) const {
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        return !pairwise();
      case NcclAlgorithm::Tree:
        return all_reduce();
      case NcclAlgorithm::Nvls:
        return all_reduce() && group_.reducing_switch && (group_.nodes == 1 || group_.sharp);
      case NcclAlgorithm::NvlsTree:
        return all_reduce() && group_.reducing_switch && group_.nodes > 1;
      case NcclAlgorithm::CollNet:
        return all_reduce() && group_.nodes > 1;
      case NcclAlgorithm::Pat:
        return group_.gpus_per_node == 1 && group_.nodes > 1 && is_nvidia(group_) &&
               (collective_ == NcclCollective::AllGather ||
                collective_ == NcclCollective::ReduceScatter);
      case NcclAlgorithm::Pairwise:
        return pairwise();
    }
    return false;
  }

  bool runs(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    if (algorithm == NcclAlgorithm::Ring || algorithm == NcclAlgorithm::Tree) {
      // RCCL's tables keep trees over two nodes to small sizes.
      const bool large_tree = algorithm == NcclAlgorithm::Tree && protocol == NcclProtocol::Simple;
      if (large_tree && !is_nvidia(group_) && group_.nodes == 2) return false;
      // LL128 needs stores of 128 bytes that stay whole on the way.
      return protocol != NcclProtocol::Ll128 ||
             !(over_pcie(group_) || group_.link == GpuLink::XgmiPackages);
    }
    return protocol == NcclProtocol::Simple ||
           (algorithm == NcclAlgorithm::Pairwise && protocol == NcclProtocol::Ll);
  }

  /// Whether NCCL considers it when nothing is named.
  bool by_default(NcclAlgorithm algorithm) const {
    if (algorithm == NcclAlgorithm::Tree) return group_.nodes > 1;
    if (algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree) {
      return group_.gpus_per_node > 4;
    }
    if (algorithm == NcclAlgorithm::CollNet) return group_.sharp;
    return true;
  }

  /// Microseconds of a step over the network beyond NCCL's constants.
  double step_latency(NcclProtocol protocol) const {
    if (group_.nodes == 1) return 0;
    const double more = protocol == NcclProtocol::Simple  ? parameters_.protocol_step
                        : protocol == NcclProtocol::Ll128 ? 0.35 * parameters_.protocol_step
                                                          : 0;
    return parameters_.step_latency[fabric()] * (1 + more);
  }

  /// A line that loads every GPU link and the NICs of a node with so many buffers, each way.
  NcclLine loaded(double link_load, double link_rate, double nic_load, double nic_rate,
                  NetworkPattern pattern = NetworkPattern::Ring) const {
    NcclLine line;
    const double slowdown = group_.uplink_slowdown[static_cast<std::size_t>(pattern)];
    const double on_link = link_load == 0 ? 0 : link_load / link_rate;
    const double on_nic = nic_load == 0 || group_.nodes == 1 ? 0 : nic_load / nic_rate * slowdown;
    line.us_per_byte = std::max(on_link, on_nic) / 1e3;
    line.network_bound = on_nic > on_link;
    line.uplink_bound = line.network_bound && slowdown > 1;
    return line;
  }

  NcclLine line_of(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        return ring(protocol);
      case NcclAlgorithm::Tree:
        return tree(protocol);
      case NcclAlgorithm::Nvls:
        return nvls();
      case NcclAlgorithm::NvlsTree:
        return nvls_tree();
      case NcclAlgorithm::CollNet:
        return collnet();
      case NcclAlgorithm::Pat:
        return pat();
      case NcclAlgorithm::Pairwise:
        return pairwise_line(protocol);
    }
    return {};
  }

  double ll_limit() const {
    if (group_.nodes == 1) return kLlNode[static_cast<std::size_t>(group_.generation)];
    return group_.nodes == 2 ? kLlTwoNodes : kLlNodes;
  }

  NcclLine ring(NcclProtocol protocol) const {
    const std::size_t p = index_of(protocol);
    const bool chain =
        collective_ == NcclCollective::Broadcast || collective_ == NcclCollective::Reduce;
    const double steps = all_reduce() ? 2 * (ranks() - 1) : ranks() - 1;
    const double load = chain ? 1 : steps / ranks();
    NcclLine line = loaded(load, link_, load, nic_);
    if (protocol == NcclProtocol::Ll) {
      line.us_per_byte = std::max(2 * line.us_per_byte, load / ll_limit() / 1e3);
    } else if (protocol == NcclProtocol::Ll128) {
      line.us_per_byte /= kLl128Efficiency;
    }
    double hop = over_pcie(group_) ? kRingPcie[p] : kRingNvlink[p];
    if (group_.nodes > 1) {
      hop = std::max(hop, kPostOverhead * (protocol == NcclProtocol::Simple ? 3 : 1));
    }
    const double network =
        (group_.gpus_per_node == 1 ? kTreeNetwork[p] : kRingNetwork[p]) + step_latency(protocol);
    const double network_steps = (all_reduce() ? 2 : 1) * (nodes() - 1);
    double latency = (steps - network_steps) * hop + network_steps * network;
    if (protocol == NcclProtocol::Simple && group_.nodes > 1 && all_reduce()) {
      latency *=
          group_.generation == GpuGeneration::Volta ? kSimplePlateauVolta : kSimpleRingPlateau;
    }
    line.latency_us = kRingBase[p] + latency;
    return line;
  }

  NcclLine tree(NcclProtocol protocol) const {
    const std::size_t p = index_of(protocol);
    const double chain = group_.gpus_per_node == 1 ? 0 : 2;
    NcclLine line = loaded(chain, link_ * kTreeEfficiency, tree_network_load(group_.nodes),
                           nic_ * parameters_.tree_network_efficiency, NetworkPattern::Tree);
    if (group_.nodes > 3 && group_.gpus_per_node > 1) line.us_per_byte /= kDeepTreeEfficiency;
    if (protocol == NcclProtocol::Ll) {
      line.us_per_byte = std::max(line.us_per_byte / kTreeLlEfficiency, 2 / ll_limit() / 1e3);
    } else if (protocol == NcclProtocol::Ll128) {
      line.us_per_byte /= kLl128Efficiency;
    }
    const double hop = over_pcie(group_) ? kTreePcie[p] : kTreeNvlink[p];
    line.latency_us = kTreeBase[p] + 2 * ((in_node() - 1) * hop + depth(protocol));
    return line;
  }

  double depth(NcclProtocol protocol) const {
    return log2_floor(group_.nodes) * (kTreeNetwork[index_of(protocol)] + step_latency(protocol));
  }

  NcclLine nvls() const {
    const double efficiency = group_.nodes > 1 ? kNvlsSharpEfficiency : 1;
    NcclLine line =
        loaded(1 + 1 / in_node(), nvls_gbytes(group_, parameters_) * efficiency, 1, nic_);
    line.latency_us = kNvls * kNvlsFirstCall;
    if (group_.nodes > 1) line.latency_us += kNvlsNetwork + step_latency(NcclProtocol::Simple);
    return line;
  }

  NcclLine nvls_tree() const {
    NcclLine line =
        loaded(1 + 1 / in_node(), nvls_gbytes(group_, parameters_) * kNvlsTreeEfficiency,
               tree_network_load(group_.nodes), nic_ * parameters_.tree_network_efficiency,
               NetworkPattern::Tree);
    line.latency_us = kNvls + 2 * log2_floor(group_.nodes) *
                                  (kNvlsTreeNetwork + step_latency(NcclProtocol::Simple));
    return line;
  }

  /// CollNet direct: reduce-scatter to the heads in the node, through the network once, all-gather.
  NcclLine collnet() const {
    NcclLine line = loaded(2 * (in_node() - 1) / in_node(), link_ * kTreeEfficiency, 1, nic_);
    line.latency_us = 2 * std::min(1.0, in_node() - 1) * 3.7 + 0.8 * (in_node() - 1) + 31 +
                      step_latency(NcclProtocol::Simple);
    return line;
  }

  NcclLine pat() const {
    NcclLine line =
        loaded(0, link_, (ranks() - 1) / ranks() / kPatEfficiency, nic_, NetworkPattern::Pat);
    line.latency_us =
        kPatBase +
        log2_floor(group_.nodes) *
            ((kTreeNetwork[index_of(NcclProtocol::Simple)] + step_latency(NcclProtocol::Simple)) /
             3.5) +
        kPatPerRank * nodes();
    return line;
  }

  NcclLine pairwise_line(NcclProtocol protocol) const {
    const std::size_t p = index_of(protocol);
    const double network = group_.nodes == 1 ? 0 : kRingNetwork[p] + step_latency(protocol);
    if (collective_ == NcclCollective::SendReceive) {
      NcclLine line = group_.nodes == 1
                          ? loaded(1, link_, 0, nic_)
                          : loaded(0, link_, in_node(), nic_, NetworkPattern::Pairwise);
      if (protocol == NcclProtocol::Ll) line.us_per_byte *= 2;
      line.latency_us =
          kRingBase[p] +
          (group_.nodes == 1 ? (over_pcie(group_) ? kRingPcie[p] : kRingNvlink[p]) : network);
      return line;
    }
    const double leaving = (ranks() - in_node()) / ranks();  // of what a GPU sends
    NcclLine line =
        loaded((in_node() - 1) / ranks() + group_.relayed * leaving, link_,
               in_node() * (ranks() - in_node()) / ranks(), nic_, NetworkPattern::Pairwise);
    if (protocol == NcclProtocol::Ll) line.us_per_byte *= 2;
    line.latency_us = kRingBase[p] + network + kPostOverhead * (ranks() - 1);
    return line;
  }

  Communicator group_;
  NcclCollective collective_;
  const NcclParameters& parameters_;
  double link_;
  double nic_;
  double base_;
};

/// Tangents of u / (1 + u) at 0, 1/3, 1, 3 and infinity; their least is at most 1/50 above it.
struct Tangent {
  double at_zero;
  double slope;
};
constexpr std::array<Tangent, 5> kTangents{
    {{0, 1}, {1.0 / 16, 9.0 / 16}, {1.0 / 4, 1.0 / 4}, {9.0 / 16, 1.0 / 16}, {1, 0}}};

/// The lines that are least somewhere from 0 bytes on, slopes falling. Of equal lines the first.
std::vector<NcclLine> lower_envelope(std::vector<NcclLine> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const NcclLine& a, const NcclLine& b) {
    if (a.us_per_byte != b.us_per_byte) return a.us_per_byte > b.us_per_byte;
    return a.latency_us < b.latency_us;
  });
  std::vector<NcclLine> kept;
  // The size from which line b, of a smaller slope, is below a.
  const auto meet = [](const NcclLine& a, const NcclLine& b) {
    return (b.latency_us - a.latency_us) / (a.us_per_byte - b.us_per_byte);
  };
  for (const NcclLine& line : lines) {
    if (!kept.empty() && kept.back().us_per_byte == line.us_per_byte) continue;
    while (!kept.empty() && (line.latency_us <= kept.back().latency_us ||
                             (kept.size() > 1 && meet(kept.back(), line) <=
                                                     meet(kept[kept.size() - 2], kept.back())))) {
      kept.pop_back();
    }
    kept.push_back(line);
  }
  return kept;
}

}  // namespace

double usable_link_gbytes(const Communicator& group, const NcclParameters& parameters) {
  if (group.gpus_per_node <= 1) return kUnbounded;
  const double generation = parameters.ring_efficiency[static_cast<std::size_t>(group.generation)];
  const double gpus = group.gpus_per_node;
  switch (group.link) {
    case GpuLink::NvSwitch:
    case GpuLink::NvlinkMesh:
      return group.link_gbytes * generation;
    case GpuLink::CubeMesh:
      // Less than 150 GB/s is what four GPUs of one half have.
      return group.link_gbytes * generation *
             (gpus >= 5 || group.link_gbytes < 140 ? 1
              : gpus > 2                           ? 2.0 / 3
                                                   : 1.0 / 3);
    case GpuLink::NvlinkBridge:
      return group.gpus_per_node == 2 ? group.link_gbytes * generation
                                      : group.pcie_gbytes * parameters.pcie_efficiency;
    case GpuLink::Xgmi: {
      // A link to each GPU that takes part. A ring over several nodes needs one link less in each.
      const double links = std::min(gpus - 1, 7.0) / 7;
      return group.link_gbytes * generation * links * (group.nodes > 1 ? gpus / (gpus - 1) : 1);
    }
    case GpuLink::XgmiPackages:
      return std::min(group.link_gbytes, 150.0) * 0.8;  // three 50 GB/s links leave a die's package
    case GpuLink::Pcie:
      return group.link_gbytes * parameters.pcie_efficiency;
    case GpuLink::HostMemory:
      return group.link_gbytes * parameters.host_memory_efficiency;
  }
  return group.link_gbytes;
}

double tree_network_load(std::uint32_t nodes) {
  if (nodes <= 1) return 0;
  if (nodes == 2) return 1;
  return nodes == 3 ? 1.5 : 2;
}

std::vector<NcclLine> nccl_lines(const Communicator& group, NcclCollective collective,
                                 const NcclChoice& choice, const NcclParameters& parameters) {
  if (group.ranks() <= 1) {
    return {{NcclAlgorithm::Ring, NcclProtocol::Simple, parameters.base_latency, 0, false}};
  }
  const Candidates candidates(group, collective, parameters);
  std::vector<NcclLine> plain = candidates.all(choice);
  if (plain.empty()) plain = candidates.all({choice.algorithm, std::nullopt});
  if (plain.empty()) plain = candidates.all({});
  invariant(!plain.empty(), "no algorithm runs a collective");
  // The pipeline fills between neighbours: as long for many nodes as for two. The small call is the
  // fastest, so that no algorithm is better for being named.
  Communicator pair = group;
  pair.nodes = std::min(group.nodes, 2U);
  double small_call = kUnbounded;
  for (const NcclLine& line : Candidates(pair, collective, parameters).all({})) {
    small_call = std::min(small_call, line.latency_us);
  }
  const bool network = group.nodes > 1;
  const double fill = small_call * (network ? parameters.fill_network : parameters.fill_node);
  const double half =
      small_call * (network ? parameters.fill_network_half : parameters.fill_node_half);
  std::vector<NcclLine> lines;
  for (const NcclLine& line : plain) {
    for (const Tangent& tangent : kTangents) {
      NcclLine filled = line;
      filled.latency_us += fill * tangent.at_zero;
      filled.us_per_byte += fill * tangent.slope * line.us_per_byte / half;
      lines.push_back(filled);
    }
  }
  return lower_envelope(std::move(lines));
}

const NcclLine& fastest_at(const std::vector<NcclLine>& lines, double bytes) {
  return *std::min_element(lines.begin(), lines.end(), [&](const NcclLine& a, const NcclLine& b) {
    return a.at(bytes) < b.at(bytes);
  });
}

double bus_factor(NcclCollective collective, std::uint32_t ranks) {
  const double n = ranks;
  switch (collective) {
    case NcclCollective::AllReduce:
      return 2 * (n - 1) / n;
    case NcclCollective::AllGather:
    case NcclCollective::ReduceScatter:
    case NcclCollective::AllToAll:
      return (n - 1) / n;
    case NcclCollective::Broadcast:
    case NcclCollective::Reduce:
    case NcclCollective::SendReceive:
      return 1;
  }
  return 1;
}

std::vector<NcclParameters::Named> NcclParameters::fittable(const Communicator& group) {
  std::vector<Named> named{{"base latency, us", &base_latency}};
  switch (group.link) {
    case GpuLink::Pcie:
      named.push_back({"PCIe efficiency", &pcie_efficiency});
      break;
    case GpuLink::HostMemory:
      named.push_back({"host memory efficiency", &host_memory_efficiency});
      break;
    default:
      named.push_back(
          {"GPU link efficiency", &ring_efficiency[static_cast<std::size_t>(group.generation)]});
  }
  if (group.reducing_switch) {
    named.push_back({"NVLS efficiency", group.generation == GpuGeneration::Blackwell
                                            ? &nvls_efficiency_blackwell
                                            : &nvls_efficiency_hopper});
  }
  if (group.nodes > 1) {
    const auto fabric = static_cast<std::size_t>(group.fabric);
    named.push_back({"NIC efficiency", &nic_efficiency[fabric]});
    named.push_back({"network step latency, us", &step_latency[fabric]});
    named.push_back({"pipeline fill, small calls", &fill_network});
  } else {
    named.push_back({"pipeline fill, small calls", &fill_node});
  }
  return named;
}

}  // namespace p2
