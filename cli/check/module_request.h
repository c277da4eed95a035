#pragma once

#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include "cli/command_line.h"
#include "engine/hlo/equality/verdict.h"

namespace p2 {

/// What `check` is asked of modules of XLA and StableHLO.
struct HloRequest {
  std::optional<std::string> before;  ///< both or neither
  std::optional<std::string> after;
  std::optional<std::string> reduces;  ///< axes
  hlo::Question question;
};

boost::program_options::options_description module_flags();

/// Throws InputError for half of a comparison, and where two questions are asked at once.
HloRequest module_request(const CommandLine& line);

}  // namespace p2
