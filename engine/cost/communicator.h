#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/cost/nccl_model.h"

namespace p2 {

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
