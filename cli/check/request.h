#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "cli/check/module_request.h"
#include "cli/command_line.h"
#include "proofs/api/engines.h"
#include "engine/program/instance.h"

namespace p2 {

/// What `check` was asked for.
struct CheckRequest {
  std::vector<std::string> files;
  GivenInstance given;
  CommonOptions common;
  Engines engines;
  std::optional<std::string> certificates;  ///< the folder to write them to
  bool explain = false;
  std::optional<std::string> smt2;      ///< the file for the query
  std::optional<std::string> baseline;  ///< the file of known failures
  bool update_baseline = false;
  std::optional<std::string> cache;  ///< the folder
  /// What was asked, for the key of a cache entry. It tells entries apart and vouches for nothing:
  /// a --system file stands here by its name, --collectives not at all. An entry is used only if
  /// its evidence fits the problem as it is now (remembered.h), and none is kept for programs with
  /// other collectives or another goal than the paper's.
  std::string cache_options;
  /// The flags given that say nothing to schedules of single transfers (MSCCL XML).
  std::vector<std::string> flags_for_programs;
  HloRequest hlo = {};
};

/// The flags of `check`, which takes its files as the words `files`.
boost::program_options::options_description check_flags();

/// What the command line asks, but for its collectives and goal (read_terms). Throws InputError
/// where it cannot be asked.
CheckRequest check_request(const CommandLine& line, z3_encoding::Definitions z3_definitions);

}  // namespace p2
