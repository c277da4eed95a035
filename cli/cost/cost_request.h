#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "engine/cost/transfers.h"
#include "engine/program/instance.h"
#include "engine/topology/system.h"

namespace p2 {

/// What `cost` was asked for.
struct CostRequest {
  GivenInstance given;
  System system;
  CommonOptions common;
  std::vector<std::string> files;  ///< programs; empty: all programs of the instance
  std::uint32_t size = 5;
  Algorithm algorithm = Algorithm::Ring;
  std::uint64_t bytes = std::uint64_t{1} << 31;                  ///< per device; 2^29 float32
  std::optional<std::uint64_t> top;                              ///< so many of the fastest
  std::optional<std::pair<std::uint64_t, std::uint64_t>> sizes;  ///< smallest and largest buffer
  std::optional<std::string> plot;                               ///< the SVG file
  std::optional<std::string> measurements;                       ///< the CSV file to fit to
  std::vector<std::string> fitted_links;
};

boost::program_options::options_description cost_flags();

/// Throws InputError where flags are malformed, contradict each other or are missing.
CostRequest cost_request(const CommandLine& line);

}  // namespace p2
