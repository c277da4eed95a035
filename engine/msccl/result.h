#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/limit_watch.h"
#include "engine/msccl/memory_layout.h"
#include "engine/msccl/step_graph.h"

namespace p2::msccl {

/// A multiset of contributions; multiplicities saturate at 2^32 - 1. Stored as runs of ranks that
/// contribute the same chunk equally often: the partial sums of a ring have at most two.
class Sum {
 public:
  Sum() = default;
  explicit Sum(const Contribution& one);
  /// Each of the ranks 0 … ranks − 1 contributes this chunk once.
  static Sum of_all(std::uint32_t ranks, std::uint32_t chunk);

  void add(const Sum& other);
  bool operator==(const Sum&) const = default;

  /// The multiplicity of every contribution.
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

  std::vector<Run> runs_;  ///< by chunk and rank; disjoint and maximal
};

/// The first output chunk, by rank and index, that differs from the collective's definition. Chunks
/// are multisets of contributions, so a contribution that is added twice is detected. One schedule
/// is executed; every interleaving has its result. Preconditions: the collective is known, no step
/// is a residual add, and there is no race and no cycle. Throws LimitReached.
std::optional<Fault> find_wrong_result(const Algorithm& algorithm, const MemoryLayout& layout,
                                       const std::vector<Connection>& connections,
                                       const StepGraph& graph, LimitWatch& watch);

}  // namespace p2::msccl
