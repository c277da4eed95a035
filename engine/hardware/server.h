#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/topology/system.h"

namespace p2::hardware {

/// What a dump says of one host. Bandwidths are in bytes per second and direction.
struct Server {
  struct Nic {
    std::string name;  ///< of the device: `mlx5_0`
    std::optional<std::int64_t> bandwidth;
    /// By GPU: how far away it is; only the order counts.
    std::vector<int> distance;
  };

  std::size_t gpus = 0;
  /// nvlinks[i][j]: how many NVLinks join GPUs i and j, directly or by switches; symmetric.
  std::vector<std::vector<std::uint32_t>> nvlinks;
  bool nvswitch = false;                         ///< the dump says that they lead to switches
  std::optional<std::int64_t> nvlink_bandwidth;  ///< of one link
  std::optional<std::int64_t> pcie_bandwidth;    ///< of the slowest slot of a GPU
  std::vector<Nic> nics;
  /// System::gpu and System::fabric; empty where the dump does not tell.
  std::string gpu = {};
  std::string gpu_source = {};  ///< `PCI device 0x2330`, `compute capability 90`
  std::string fabric = {};
};

/// Reads the text of `nvidia-smi topo -m`. Throws InputError with line and column.
Server read_topo_matrix(const std::string& source, const std::string& text);

/// Reads the XML of NCCL's topology dump. Throws InputError with line and column.
Server read_nccl_topology(const std::string& source, const std::string& text);

/// `nodes` such hosts as a system of the levels `node` and `gpu`:
///
/// - NVLink: a switch where runs of consecutive GPUs are joined each with each by equally many
///   links, with ports of the bandwidth of one pair's links; a ring where each GPU is joined with
///   the next, and the last with the first, only. Other patterns throw InputError at `where`.
/// - PCIe: a switch, where NVLink does not join all GPUs of the host.
/// - NICs: GPUs share those nearest to them. Left out for one host if their bandwidth is unknown.
/// - The network, for several hosts: a switch with the bandwidth of all NICs of a host that are
///   used.
/// - GPU and fabric, for hosts of several GPUs whose name is known; a fabric that is not is
///   `unknown`. From Hopper on NVSwitches reduce.
///
/// Throws InputError at the name of the flag for a bandwidth that is needed and unknown.
System system_of(const Server& server, const std::string& name, std::uint32_t nodes,
                 const SourcePosition& where);

}  // namespace p2::hardware
