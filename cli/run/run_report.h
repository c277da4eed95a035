#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/run/run_request.h"
#include "engine/execution/measurement.h"

namespace p2 {

/// What running one program on buffers of one size came to.
struct RunMeasurement {
  std::uint64_t bytes = 0;     ///< per device, as asked for
  std::uint64_t elements = 0;  ///< per device: rounded up to a multiple of the devices
  std::vector<execution::Measurement> steps;
  execution::Measurement total;
  execution::Measurement allreduce;  ///< the single AllReduce over the same classes
  std::uint64_t wrong = 0;           ///< elements, over all checks
  std::vector<execution::WrongElement> shown;
  std::vector<std::uint32_t> strayed;  ///< ranks that issued other calls than those of the plan
};

/// What became of one program.
struct RunAnswer {
  const RunProgram* program = nullptr;
  std::string refused;                ///< why the rules refuse it; empty when they do not
  bool skipped = false;               ///< since it is refused
  std::vector<RunMeasurement> sizes;  ///< none when it was not run
};

struct RunReport {
  std::vector<RunAnswer> programs;
  std::string interrupted;  ///< why it ended before its end; empty when it did not

  std::uint64_t wrong() const;
  bool any_skipped() const;
  bool any_strayed() const;
};

/// In the columns of nccl-tests.
void print_text(const RunReport& report, const RunRequest& request, std::ostream& out);
void print_json(const RunReport& report, const RunRequest& request, std::ostream& out);

}  // namespace p2
