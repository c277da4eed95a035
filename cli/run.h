#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "p2/run.h"

namespace p2 {

/// What --backend, --iterations, --warmup and --force say.
RunRequest run_request(const CommandLine& line);

/// Shows the answer if this process is the one to show it, and returns what it is to exit with.
int print_run(const RunAnswer& answer, const CommonOptions& common, std::ostream& out,
              std::ostream& err);

}  // namespace p2
