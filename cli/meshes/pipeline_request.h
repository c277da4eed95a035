#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "engine/pipeline/simulation.h"

namespace p2 {

/// What `pipeline` was asked.
struct PipelineQuestion {
  PipelineSchedule schedule = PipelineSchedule::GPipe;
  PipelineSize size;
  PipelineTimes times;
  PipelineLink link = PipelineLink::Delay;
  bool split = false;       ///< backwards into gradients of activations and of weights
  std::uint32_t delay = 0;  ///< of the latter
  bool least_memory = false;
  std::optional<std::string> certify;  ///< a folder for the certificate of the least memory
  std::optional<std::uint64_t> activation_bytes;  ///< of one microbatch on one stage
  std::uint64_t weight_bytes = 0;                 ///< of one stage, whatever is not activations
};

boost::program_options::options_description pipeline_flags();
/// Throws InputError.
PipelineQuestion pipeline_question(const CommandLine& line);

}  // namespace p2
