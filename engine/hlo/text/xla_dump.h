#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "p2/limits.h"

namespace p2::hlo {

inline constexpr const char* kPipelineStart = "pipeline-start";

/// A module as XLA wrote it between two passes.
struct DumpFile {
  std::string path;
  std::string name;      ///< the last part of the path
  std::string pipeline;  ///< empty for `before_optimizations` and `after_optimizations`
  /// The pass that ran last, or `before_optimizations`, …; kPipelineStart where what ran before the
  /// pipeline is not known by name.
  std::string pass;
};

/// The files of one module, in the order of the passes.
struct DumpModule {
  std::string name;                ///< `module_0001.jit_f`
  std::vector<DumpFile> versions;  ///< the first file, and each that differs from the one before it
  std::size_t files = 0;           ///< also those that are unchanged
};

/// A folder that XLA wrote with `--xla_dump_to`.
struct Dump {
  std::string folder;
  std::vector<DumpModule> modules;    ///< by name
  std::vector<std::string> left_out;  ///< modules whose names say nothing of when they were written
  std::size_t with_elided_constants = 0;  ///< files with a constant printed as `{...}`
};

/// Lists the modules of a folder. Of other files only the names, or the first bytes, are looked at.
/// A file is unchanged if it differs from the one before it in metadata at most; one that cannot be
/// read is listed. Throws InputError where there is no folder, or no module in it, and
/// LimitReached.
Dump read_dump(const std::string& folder, const Limits& limits);

}  // namespace p2::hlo
