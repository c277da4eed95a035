#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/cost/nccl_model.h"
#include "engine/cost/network.h"
#include "engine/placement/placement.h"
#include "engine/topology/system.h"

namespace p2 {

/// What the groups of one step with the same shape and size need, by the model of NCCL.
struct GroupTimes {
  Communicator communicator;  ///< its NICs are the part that these groups get of them
  double bytes = 0;           ///< as nccl-tests counts, per byte of a device's buffer
  std::vector<NcclLine> lines;
};

/// The leaf switches that nodes leave by (Interconnect::rails). Rail: the index of a NIC in its
/// node.
struct Leaves {
  std::uint32_t interconnect = 0;
  std::uint32_t nodes_per_run = 1;
  bool rails = false;
  double oversubscription = 1;  ///< bandwidth of the NICs of a leaf over that of its uplinks
  /// PXN: a GPU passes data over NVLink to the GPU on the rail where it is to arrive
  /// (NVIDIA/nccl, src/graph/search.cc, ncclTopoGetNetDev). RCCL leaves it off.
  bool relays = false;
  std::uint32_t gpus_per_node = 1;
  std::uint32_t gpus_per_nic = 1;

  std::uint32_t nics_per_node() const { return gpus_per_node / gpus_per_nic; }
  std::uint32_t gpus_per_run() const { return nodes_per_run * gpus_per_node; }
  std::uint32_t leaves_per_run() const { return rails ? nics_per_node() : 1; }
  std::uint32_t nics_per_leaf() const { return nodes_per_run * nics_per_node() / leaves_per_run(); }
};

/// A system that names its GPU and fabric: nodes of GPUs that a switch, a mesh or PCIe joins, with
/// one or more NICs each. Node: the devices of the widest interconnect whose parts are devices.
class NcclSystem {
 public:
  static bool describes(const System& system) { return !system.gpu.empty(); }
  /// Throws InputError at `where` for a system whose devices nothing joins, or whose nodes nothing
  /// joins, and for leaves of a switch that does not join nodes.
  NcclSystem(const System& system, const SourcePosition& where);

  std::uint32_t nodes() const { return whole_.nodes; }
  std::uint32_t gpus_per_node() const { return whole_.gpus_per_node; }
  /// All devices.
  const Communicator& whole() const { return whole_; }
  /// The index of the slowest interconnect that a line uses: what joins the GPUs of a node, the
  /// NICs, or the switch whose uplinks are shared.
  std::uint32_t interconnect_of(const NcclLine& line) const {
    return line.uplink_bound ? leaves_->interconnect : line.network_bound ? nic_ : link_;
  }

  /// Concurrent groups: those with the same shape, share of the network and bytes once. A group
  /// uses the NICs of its own devices, evenly; the loads of all groups on a NIC add up, and on the
  /// uplinks of a leaf, on which all groups are taken to run the same algorithm. `bytes[i]` counts
  /// for groups[i] as nccl-tests does, per byte of a buffer. Groups of one device are left out.
  std::vector<GroupTimes> times(NcclCollective collective, const std::vector<Group>& groups,
                                std::span<const double> bytes, const NcclChoice& choice) const;
  /// The same for groups that are alike and count as many bytes each; exactly the same numbers.
  std::vector<GroupTimes> times(NcclCollective collective, const PatternGroups& groups,
                                double bytes, const NcclChoice& choice) const;
  bool is_symmetric_for(const PatternGroups& groups) const {
    return groups.respects_runs(whole_.gpus_per_node) && groups.respects_runs(gpus_per_nic_) &&
           (!oversubscribed() || groups.respects_runs(leaves_->gpus_per_run()));
  }

 private:
  /// A group's devices by node.
  struct Spread {
    std::uint32_t nodes = 0;
    std::uint32_t gpus_per_node = 0;  ///< the most of any node
    std::vector<std::uint32_t> nics;  ///< of all nodes, each once

    /// What the group puts on each of its NICs.
    double nic_load(double bytes) const { return bytes * nodes / static_cast<double>(nics.size()); }
  };

  bool oversubscribed() const { return leaves_ && leaves_->oversubscription > 1; }
  /// How many times longer than a NIC that carries `nic` an uplink is busy with `load`; at least 1.
  double uplink_slowdown(double load, double nic) const;
  Spread spread_of(const Group& group) const;
  /// By group: Communicator::uplink_slowdown, where the busiest NIC of group i carries most[i].
  std::vector<std::array<double, kNetworkPatterns>> uplink_slowdowns(
      NcclCollective collective, const std::vector<Group>& groups,
      const std::vector<Spread>& spreads, std::span<const double> bytes,
      const std::vector<double>& most) const;
  /// The communicator of a group whose busiest NIC carries `most`.
  Communicator communicator_of_group(const Spread& spread, double bytes, double most) const;

  Communicator whole_;
  std::uint32_t gpus_per_nic_ = 1;
  std::uint32_t link_ = 0;
  std::uint32_t nic_ = 0;
  std::optional<Leaves> leaves_;
  NcclParameters parameters_;
};

}  // namespace p2
