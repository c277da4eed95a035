#pragma once

#include <iosfwd>

#include "cli/command_line.h"
#include "engine/strategy/graph_file.h"

namespace p2 {

/// --printed, --printed-campaign, --ties, --doubles and --as-meant.
boost::program_options::options_description printed_flags();

/// Runs the paper's algorithms on the graph and compares with the least cost there is.
int run_printed(const CommandLine& line, const strategy::GraphFile& file, std::ostream& out);

/// Runs them on random graphs with many equal costs, and shows the smallest on which they fail.
int run_printed_campaign(const CommandLine& line, std::ostream& out);

}  // namespace p2
