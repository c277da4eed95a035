#pragma once

#include <iosfwd>

#include "cli/exit_code.h"
#include "cli/meshes/pipeline_request.h"

namespace p2 {

/// Searches for the fewest activations with full overlap and prints them, in the format asked for,
/// beside what schedules hold; writes the certificate that was asked for. Another code
/// than kEstablished where a limit was met, or, with a word to `err`, where there is no
/// certificate.
ExitCode print_least_memory(const PipelineQuestion& question, const CommonOptions& common,
                            std::ostream& out, std::ostream& err);

}  // namespace p2
