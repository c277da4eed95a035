#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cost/nccl_model.h"
#include "engine/cost/program_cost.h"

namespace p2 {

/// One measured size of a collective, as a row of a table names it (docs/cost.md has the columns).
struct MeasuredRun {
  std::string id;      ///< of the row, or its number
  std::string source;  ///< who measured it; empty where the table does not say
  std::string system;  ///< `2 x 8 H100-SXM, 8 x 400 Gbit/s ib-ndr`
  Communicator communicator;
  NcclCollective collective = NcclCollective::AllReduce;
  NcclChoice choice;              ///< what was forced or stated
  double bytes = 0;               ///< as nccl-tests counts
  std::optional<double> time_us;  ///< nothing where the row has no time
  bool excluded = false;          ///< its note says so: a degraded run
};

/// Reads a table with the columns of `--compare`, or, where `system` names the communicator, also
/// what nccl-tests print. Rows are never refused: what a row does not say is taken as usual. Throws
/// InputError for text that is neither, and for output of nccl-tests without a system.
std::vector<MeasuredRun> read_measured_runs(const std::string& source, const std::string& text,
                                            const std::optional<Communicator>& system);

/// One measured time of a program, and its price on the system as described.
struct Measurement {
  ProgramCost cost;
  double bytes = 0;    ///< per device
  double seconds = 0;  ///< of one run
};

/// The predicted time if the bandwidth of interconnect i is `factors[i]` times that of the system.
double predicted_seconds(const Measurement& measurement, const Network& network,
                         const std::vector<double>& factors);

/// Fits the bandwidths of `interconnects` (indices, each once) to measurements: least squares of
/// log(predicted / measured) by coordinate descent, with golden-section search between 1/64 and 64
/// times the system's bandwidth; rounded to four digits. A bandwidth that no measurement depends on
/// is unchanged. Deterministic.
System fitted(const Network& network, const std::vector<std::uint32_t>& interconnects,
              const std::vector<Measurement>& measurements);

/// Spearman's rank correlation of two lists of equal length, at least 2; tied values have the mean
/// of their ranks. 0 if all values of a list are equal.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// The median of |predicted / measured − 1|; the lists have equal length, at least 1.
double median_relative_error(std::span<const double> predicted, std::span<const double> measured);

}  // namespace p2
