#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/execution/audit.h"
#include "engine/execution/expectation.h"
#include "engine/execution/inputs.h"
#include "engine/execution/plan.h"
#include "engine/execution/progress.h"

namespace p2::execution {

enum class Check : std::uint8_t { Nothing, Result, Steps };

/// A rank that is made to misbehave, so that it can be seen that the run ends.
struct Fault {
  enum class Kind : std::uint8_t { Dies, Hangs };

  Kind kind = Kind::Dies;
  std::uint32_t rank = 0;
  std::uint32_t step = 1;  ///< before it enters this step
};

/// One program to be run on buffers of one size.
struct Job {
  const Plan& plan;
  const Expectation& expectation;
  Inputs inputs;
  std::size_t chunk_elements = 0;  ///< of one of the plan's k chunks
  std::uint32_t program = 1;       ///< its number in the run
  unsigned warmup = 1;             ///< runs before the timed ones
  unsigned iterations = 5;         ///< timed runs
  Check check = Check::Steps;      ///< of one more run, which is not timed
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  std::optional<Fault> fault = {};

  std::size_t row_bytes() const { return chunk_elements * size_of(inputs.type); }
  std::size_t samples() const { return iterations * plan.steps.size(); }
};

/// A call as it was made: counts in elements, as in the call of the library.
struct Issued {
  std::uint32_t step = 0;  ///< from 1
  Call call;
  std::uint64_t count = 0;

  bool operator==(const Issued&) const = default;
};

/// What one rank brings back from a job.
struct RankResult {
  std::vector<double> seconds;  ///< [iteration * steps + step]
  std::vector<Audit> audits;    ///< [step − 1] where the check is of steps, and last the result
  std::vector<Issued> issued;   ///< in the run that was checked
  bool strayed = false;         ///< they are not those of the plan
};

}  // namespace p2::execution
