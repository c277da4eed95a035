#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "engine/reshard/unit_task.h"

namespace p2 {

enum class ReshardStrategy : std::uint8_t { Exact, Naive, LoadBalance, Greedy };

/// `exact`, `naive`, `load-balance`, `greedy`.
std::string_view to_string(ReshardStrategy strategy);

/// What `reshard` was asked.
struct ReshardRequest {
  CommonOptions common;
  UnitTasks tasks;
  ReshardStrategy strategy = ReshardStrategy::Exact;
  std::optional<std::string> plot;
  std::optional<std::string> certify;  ///< a folder
};

boost::program_options::options_description reshard_flags();
/// Throws InputError.
ReshardRequest reshard_request(const CommandLine& line);

}  // namespace p2
