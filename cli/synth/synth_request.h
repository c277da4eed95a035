#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/program_options.hpp>

#include "cli/command_line.h"
#include "proofs/api/engines.h"
#include "cli/synth/existence.h"
#include "engine/program/synthesis.h"

namespace p2 {

/// What `synth` was asked for.
struct SynthRequest {
  GivenInstance given;
  SynthesisOptions options;
  bool count_only = false;
  bool explain = false;
  std::optional<std::string> smt2;          ///< the file for the query
  std::optional<std::string> certificates;  ///< the folder to write them to
  std::uint64_t seed = 1;
  Engines engines;  ///< the solvers that check every list
  std::optional<WantedProperty> wanted = {};
};

boost::program_options::options_description synth_flags();

/// Everything but the terms, which read_terms puts into `given`, and what depends on them. Throws
/// InputError.
SynthRequest synth_request(const CommandLine& line, const CommonOptions& common);

/// Completes the request once `given.terms` are known.
void settle_terms(const CommandLine& line, SynthRequest& request);

}  // namespace p2
