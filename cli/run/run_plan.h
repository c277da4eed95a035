#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/run/run_request.h"
#include "engine/reshard/plans/plan.h"

namespace p2 {

/// How plans are to be run.
struct PlanRunOptions {
  BackendKind backend = BackendKind::InProcess;
  unsigned warmup = 1;
  unsigned iterations = 5;
  bool force = false;  ///< also those that are wrong
};

/// The flags of `run` that say how plans are to be run; throws InputError for any other of its own.
PlanRunOptions plan_run_options(const CommandLine& line);

struct PlanToRun {
  std::string file;  ///< empty where it was just made
  reshard::Plan plan;
};

/// Runs plans that are right, checks every element and prints a table; returns an exit code.
/// `words` are the command and the arguments that made this process do so.
int run_plans(const std::vector<PlanToRun>& plans, const PlanRunOptions& options,
              const CommonOptions& common, const Arguments& words, std::ostream& out,
              std::ostream& err);

/// `run FILE…` where the files are plans: nothing if the first is none.
std::optional<int> run_plan_files(const CommandLine& line, const Arguments& arguments,
                                  std::ostream& out, std::ostream& err);

}  // namespace p2
