#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace p2 {

/// A system, a placement of parallelism axes on it and what is reduced, as texts in the notation of
/// the command line; docs/cli.md has the grammar. Verbs that take one say what must be present.
struct InstanceSpec {
  std::optional<std::string> hierarchy;            ///< `4,16` or `node=4,gpu=16`
  std::optional<std::string> system;               ///< path of a system file; excludes `hierarchy`
  std::optional<std::string> axes;                 ///< `8,8` or `data=8,shard=8`
  std::optional<std::string> reduce;               ///< `0`, `0,2` or names of axes
  std::optional<std::string> placement;            ///< `[[2,4],[2,4]]`; absent: all placements
  std::optional<std::string> synthesis_hierarchy;  ///< `a|b|c|d|collapsed|lattice`
  std::optional<std::string> dialect;              ///< `printed|published`
  std::vector<std::string> collectives;            ///< paths of `.p2c` definitions in addition to the built-in
  std::optional<std::string> goal;                 ///< `allreduce` (default), …, or a `.p2c` file
  /// Definitions are examined for groups of 2 to this many devices; from 2 to 8.
  std::uint32_t max_group = 4;
};

}  // namespace p2
