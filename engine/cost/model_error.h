#pragma once

#include <cstddef>
#include <string>

#include "engine/cost/nccl_model.h"

namespace p2 {

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
