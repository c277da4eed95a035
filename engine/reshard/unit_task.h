#pragma once

#include <cstdint>
#include <vector>

namespace p2 {

/// A unit communication task ("On Optimizing the Communication of Model Parallelism", section 2.2):
/// one slice that every receiver host needs and each sender host could broadcast. Both lists are
/// sorted, without repetition, and not empty. Sender and receiver hosts are numbered apart: they
/// are hosts of two meshes.
struct UnitTask {
  std::int64_t size = 1;  ///< time on every link it takes; at least 1
  std::vector<std::uint32_t> sender_hosts;
  std::vector<std::uint32_t> receiver_hosts;

  bool operator==(const UnitTask&) const = default;
};

using UnitTasks = std::vector<UnitTask>;

/// Limits under which no sum of times overflows.
constexpr std::int64_t kLargestTask = 1'000'000'000'000;
constexpr std::size_t kMostTasks = 4096;
constexpr std::uint32_t kMostHosts = 1024;

}  // namespace p2
