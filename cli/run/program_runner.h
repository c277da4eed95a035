#pragma once

#include <atomic>

#include "cli/run/run_report.h"
#include "engine/execution/backend.h"

namespace p2 {

/// Runs the programs of a request, at all its sizes, and beside each the single AllReduce over its
/// classes. Programs that the rules refuse are not run unless the request says so. `at` follows the
/// number of the program, for whoever watches. A limit ends the report before its end.
RunReport run_programs(const RunRequest& request, execution::Backend& backend,
                       std::atomic<std::size_t>& at);

}  // namespace p2
