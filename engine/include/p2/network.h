#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// A neural network whose operation graph can be built.
struct NetworkInfo {
  std::string name;  ///< `alexnet`, `gpt`, …
  std::string description;
  std::int64_t batch = 1;  ///< the default
};

std::vector<NetworkInfo> known_networks();

/// A level of the machine that a network is to run on.
struct MachineLevel {
  std::int64_t size = 1;       ///< instances of the next inner level, 1 to 4096
  std::int64_t bandwidth = 1;  ///< bytes per second and device, 1 to 10^15
};

struct NetworkRequest {
  std::string name;                                          ///< one of known_networks()
  std::optional<std::int64_t> batch;                         ///< samples per step, 1 to 2^20
  std::vector<MachineLevel> levels = {{4, 16'000'000'000}};  ///< innermost first
  std::int64_t flops = 10'000'000'000'000;  ///< operations per second and device, 1 to 10^16
  std::int64_t word_bytes = 8;              ///< 1 to 64
};

struct NetworkAnswer : Answer {
  std::string graph;  ///< in the format `operation-graph/1` of docs/strategy.md
};

/// Builds the operation graph of a network, an input of parallelize(). Throws InputError for an
/// unknown name and numbers out of range.
NetworkAnswer build_network(const NetworkRequest& request);

}  // namespace p2
