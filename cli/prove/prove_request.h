#pragma once

#include <boost/program_options.hpp>

#include "cli/command_line.h"
#include "proofs/claims/campaign.h"

namespace p2 {

/// The flags of `prove`, which takes its claims as the words `claims`.
boost::program_options::options_description prove_flags();

/// What the command line asks. Throws InputError where it cannot be asked.
claims::Request prove_request(const CommandLine& line);

}  // namespace p2
