#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cost/nccl_model.h"

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

}  // namespace p2
