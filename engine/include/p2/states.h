#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "p2/answer.h"
#include "p2/instance.h"

namespace p2 {

struct StatesRequest {
  std::string file;       ///< a program: JSON or `.p2` notation
  InstanceSpec instance;  ///< what the file does not say of its instance
};

/// The states of a program (figure 7 of the P2 paper): which contributions each device holds in
/// each chunk. Refuted where a step or the goal is not legal: then the states end before that step.
struct StatesAnswer : Answer {
  std::size_t states = 0;  ///< the one before the first step, and one after every legal step
  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  /// 0 or 1 at ((state × devices + device) × chunks + chunk) × devices + contributor.
  std::vector<std::uint8_t> held;
  std::vector<std::string> steps;  ///< in the notation of programs
};

/// Runs a program by its rules. Throws InputError for a file that is no program, and LimitReached
/// where the states are larger than the memory that is left or than 4 GiB.
StatesAnswer program_states(const StatesRequest& request, const Options& options);

}  // namespace p2
