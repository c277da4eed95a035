#pragma once

#include <cstdint>
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

/// A system that names its GPU and fabric: nodes of GPUs that a switch, a mesh or PCIe joins, with
/// one or more NICs each. Node: the devices of the widest interconnect whose parts are devices.
class NcclSystem {
 public:
  static bool describes(const System& system) { return !system.gpu.empty(); }
  /// Throws InputError at `where` for a system whose devices nothing joins, or whose nodes nothing
  /// joins.
  NcclSystem(const System& system, const SourcePosition& where);

  std::uint32_t nodes() const { return whole_.nodes; }
  std::uint32_t gpus_per_node() const { return whole_.gpus_per_node; }
  /// All devices.
  const Communicator& whole() const { return whole_; }
  /// The indices of the interconnects that join the GPUs of a node, and that nodes leave by.
  std::uint32_t link_interconnect() const { return link_; }
  std::uint32_t nic_interconnect() const { return nic_; }

  /// Concurrent groups: those with the same shape, share of the NICs and bytes once. A group uses
  /// the NICs of its own devices, evenly; the loads of all groups on a NIC add up. `bytes[i]`
  /// counts for groups[i] as nccl-tests does, per byte of a buffer. Groups of one device are left
  /// out.
  std::vector<GroupTimes> times(NcclCollective collective, const std::vector<Group>& groups,
                                std::span<const double> bytes, const NcclChoice& choice) const;
  /// The same for groups that are alike and count as many bytes each; exactly the same numbers.
  std::vector<GroupTimes> times(NcclCollective collective, const PatternGroups& groups,
                                double bytes, const NcclChoice& choice) const;
  bool is_symmetric_for(const PatternGroups& groups) const {
    return groups.respects_runs(whole_.gpus_per_node) && groups.respects_runs(gpus_per_nic_);
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

  Spread spread_of(const Group& group) const;
  /// The communicator of a group whose busiest NIC carries `most`.
  Communicator communicator_of_group(const Spread& spread, double bytes, double most) const;

  Communicator whole_;
  std::uint32_t gpus_per_nic_ = 1;
  std::uint32_t link_ = 0;
  std::uint32_t nic_ = 0;
  NcclParameters parameters_;
};

}  // namespace p2
