#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/cnf/synthesis_clauses.h"
#include "engine/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// The SAT solver that answers, e.g. `1.5.3`.
std::string solver_version();

/// The valid programs of an instance as a SAT solver found them.
struct Enumerated {
  /// Programs as steps without groups, by increasing size; within one size in the order of
  /// discovery.
  std::vector<std::vector<Step>> programs;
  /// All programs of at most this many steps are here: the solver has refuted that there is
  /// another.
  std::uint32_t settled = 0;
  bool complete = false;  ///< settled is the size asked for
};

/// Enumerates all valid programs of at most `size` steps: per size, models until none is left.
Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits = {});

}  // namespace p2::cnf
