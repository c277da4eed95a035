#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/run/run_plan.h"
#include "engine/reshard/plans/plan_maker.h"
#include "engine/reshard/unit_task.h"

namespace p2 {

enum class ReshardStrategy : std::uint8_t { Exact, Naive, LoadBalance, Greedy };

/// `exact`, `naive`, `load-balance`, `greedy`.
std::string_view to_string(ReshardStrategy strategy);

/// The programs of single transfers that are wanted besides.
struct PlanRequest {
  reshard::Reshard problem;
  reshard::PlanChoice choice;
  std::optional<std::string> file;    ///< to be written to
  std::optional<std::string> system;  ///< to be priced on
  std::int64_t bytes_per_element = 4;
  std::optional<PlanRunOptions> run;  ///< to be run as well
};

/// What `reshard` was asked.
struct ReshardRequest {
  CommonOptions common;
  UnitTasks tasks;
  ReshardStrategy strategy = ReshardStrategy::Exact;
  std::optional<PlanRequest> plan;
  std::optional<std::string> plot;
  std::optional<std::string> certify;  ///< a folder
};

boost::program_options::options_description reshard_flags();
/// Throws InputError.
ReshardRequest reshard_request(const CommandLine& line);

}  // namespace p2
