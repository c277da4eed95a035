#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/msccl/collective.h"

namespace p2::msccl {

/// How often each contribution is in a sum; counts stop at the largest number. Kept as runs of
/// ranks that bring the same chunk equally often, of which the sums of a ring have two at most.
class Sum {
 public:
  Sum() = default;
  explicit Sum(const Contribution& one);
  /// Every rank of 0 … ranks − 1 brings this chunk once.
  static Sum of_all(std::uint32_t ranks, std::uint32_t chunk);

  void add(const Sum& other);
  bool operator==(const Sum&) const = default;

  /// One by one, in order.
  std::map<Contribution, std::uint32_t> counts() const;

 private:
  struct Run {
    std::uint32_t chunk = 0;
    std::uint32_t first = 0;  ///< rank
    std::uint32_t last = 0;
    std::uint32_t count = 1;

    bool operator==(const Run&) const = default;
  };

  static void append(std::vector<Run>& runs, const Run& run);

  std::vector<Run> runs_;  ///< by chunk and rank; apart, and maximal
};

}  // namespace p2::msccl
