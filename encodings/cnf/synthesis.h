#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// The SAT solver that answers, e.g. `1.5.3`.
std::string solver_version();

/// A program as steps without groups; its shapes are those that stand first for their groups.
using Steps = std::vector<Step>;

/// The valid programs of an instance as a SAT solver found them.
struct Enumerated {
  std::vector<Steps> programs;  ///< by increasing size; within one size in the order of discovery
  /// All programs of at most this many steps are here: the solver has refuted that there is
  /// another. Nothing when not even the empty program was settled.
  std::optional<std::uint32_t> settled;
  bool complete = false;  ///< settled is the size asked for
};

/// Enumerates all valid programs of at most `size` steps: per size, models until none is left.
Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits = {});

}  // namespace p2::cnf
