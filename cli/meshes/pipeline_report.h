#pragma once

#include <iosfwd>
#include <string>

#include "cli/meshes/pipeline_request.h"

namespace p2 {

/// `F0 F1 B0 …`.
std::string order_text(const std::vector<TimedWork>& stage);
/// A list per stage, as JSON.
std::string orders_json(const PipelineRun& run);
std::string starts_json(const PipelineRun& run);
/// What a stage holds with so many activations, in bytes; 0 where these have no size.
std::uint64_t memory_of(const PipelineQuestion& question, std::uint32_t activations);

void print_pipeline_text(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out);
void print_pipeline_json(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out);
/// One lane a stage, as SVG.
std::string pipeline_plot(const PipelineQuestion& question, const PipelineRun& run);

}  // namespace p2
