#pragma once

#include <optional>

#include "engine/cost/nccl_model.h"
#include "p2/cost.h"

namespace p2 {

/// Puts the model of NCCL beside the measurements of `request.compare`: every row, the errors by
/// collective, size, system and algorithm, and a plot of bus bandwidths. With `request.fit` the
/// model is fitted to the rows of that table first; with `request.cross_validate` every system is
/// also predicted by a model fitted to all others. `system` is the communicator of output of
/// nccl-tests. Throws InputError for text that is no such table.
CostAnswer compare_with_measurements(const CostRequest& request,
                                     const std::optional<Communicator>& system);

}  // namespace p2
