#pragma once

#include <iosfwd>
#include <string>

#include "engine/pipeline/simulation.h"

namespace p2 {

/// What `pipeline` was asked.
struct PipelineQuestion {
  PipelineSchedule schedule = PipelineSchedule::GPipe;
  PipelineSize size;
  PipelineTimes times;
  PipelineLink link = PipelineLink::Delay;
};

void print_pipeline_text(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out);
void print_pipeline_json(const PipelineQuestion& question, const PipelineRun& run,
                         std::ostream& out);
/// One lane a stage, as SVG.
std::string pipeline_plot(const PipelineQuestion& question, const PipelineRun& run);

}  // namespace p2
