#pragma once

#include <iosfwd>

#include "cli/run/run_report.h"

namespace p2 {

/// One line for each of the `request.top` fastest programs of every size, fastest first, with the
/// speedup over the single AllReduce that was run beside it.
void print_ranking(const RunReport& report, const RunRequest& request, std::ostream& out);

}  // namespace p2
