#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/cost/nccl_model.h"

namespace p2 {

/// A run as tables of measurements and users name it.
struct RunDescription {
  std::string gpu;     ///< `H100-SXM`, `A100-PCIE-80GB`, `MI300X`
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;  ///< that take part
  std::string link;    ///< `nvlink4-nvswitch`, `pcie4`, `xgmi-mi300x`; empty: as usual for the GPU
  double link_gbytes = 0;           ///< per GPU and direction; 0: as usual for the GPU and the link
  double nics_per_node = 0;         ///< 0 with several nodes: one per GPU
  double nic_gbits = 0;             ///< 0: as usual for the fabric
  std::string fabric;  ///< `ib-ndr`, `roce`, `efa`, `slingshot-11`; anything else is `unknown`
  bool sharp = false;
};

/// Never fails: what is not known is taken as usual for the rest.
Communicator communicator_of(const RunDescription& run);

/// Of a GPU's name, with or without a vendor; an unknown one counts as Hopper.
GpuGeneration generation_of(std::string_view gpu);
/// Of a fabric's name; the first generation of EFA is that of GPUs before Hopper.
Fabric fabric_of(std::string_view name, GpuGeneration generation);

}  // namespace p2
