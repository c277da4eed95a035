#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/execution/runtime.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "p2/run.h"

namespace p2 {

/// What `run` was asked, read and checked.
struct ProgramJobs {
  struct Source {
    std::string file;  ///< empty for a program of an instance
    ProgramFile read;

    const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
  };

  std::vector<Source> programs;
  std::vector<std::uint64_t> sizes;  ///< bytes per device, ascending
  execution::ElementType type = execution::ElementType::Float32;
  execution::Inputs::Kind inputs = execution::Inputs::Kind::Integers;
  execution::Check check = execution::Check::Steps;
  std::optional<execution::InjectedFault> fault;
};

/// The most ranks that a backend runs.
std::uint32_t max_ranks(RunBackend backend);

/// The flag of the first setting that is given and is for programs only; empty where none is.
std::string_view program_setting(const RunRequest& request);

/// The settings of a request, without programs. Throws InputError for texts that are malformed.
ProgramJobs read_settings(const RunRequest& request);
/// All programs of the instance of a request that names no files, by placement.
std::vector<PlacementPrograms> programs_of_instance(const RunRequest& request,
                                                    const GivenInstance& given,
                                                    const Options& options);

/// Reads the programs of a request and its settings; programs that the backend cannot run as they
/// are become such as it can. Throws InputError for texts that are malformed, settings without
/// effect, and definitions that are not sound where a program uses them.
ProgramJobs read_jobs(const RunRequest& request, const GivenInstance& given,
                      const Options& options);

}  // namespace p2
