#pragma once

#include <cstdint>
#include <vector>

#include "engine/cost/program_cost.h"

namespace p2 {

/// One measured time of a program, and the model's price for it on the system as it is described.
struct Measurement {
  ProgramCost cost;
  double bytes = 0;    ///< per device
  double seconds = 0;  ///< of one run
};

/// The model's time when the bandwidth of interconnect i is `factors[i]` times what the system
/// says.
double predicted_seconds(const Measurement& measurement, const Network& network,
                         const std::vector<double>& factors);

/// The system with the bandwidths of `interconnects` (indices, each once) fitted to the
/// measurements: least squares of log(predicted / measured), one bandwidth after the other until
/// nothing improves, between 1/64 and 64 times what the system says; rounded to four digits. A
/// bandwidth that no measurement depends on stays as it is. The same input gives the same system.
System fitted(const Network& network, const std::vector<std::uint32_t>& interconnects,
              const std::vector<Measurement>& measurements);

}  // namespace p2
