#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "engine/execution/job.h"
#include "engine/program/program_file.h"

namespace p2 {

enum class BackendKind : std::uint8_t { InProcess, Mpi, Nccl };

/// A program to be run, and where it comes from.
struct RunProgram {
  std::string file;  ///< empty for one of an instance
  ProgramFile read;

  const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
};

/// What `run` was asked for.
struct RunRequest {
  std::vector<RunProgram> programs;
  std::vector<std::uint64_t> sizes;  ///< bytes per device, as given
  BackendKind backend = BackendKind::InProcess;
  execution::ElementType type = execution::ElementType::Float32;
  execution::Inputs::Kind inputs = execution::Inputs::Kind::Integers;
  execution::Check check = execution::Check::Steps;
  std::optional<execution::Fault> fault;
  std::optional<std::string> record;
  unsigned warmup = 1;
  unsigned iterations = 5;
  bool force = false;
  std::optional<std::size_t> top;  ///< as text, a table of so many programs instead of their steps
  CommonOptions common;
};

boost::program_options::options_description run_flags();

/// Reads the files, or finds the programs of the instance. Throws InputError.
RunRequest run_request(const CommandLine& line);

/// What --type names.
execution::ElementType element_type(const CommandLine& line);

}  // namespace p2
