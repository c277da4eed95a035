#pragma once

#include <cstdint>
#include <optional>

#include "engine/msccl/happens_before.h"
#include "engine/msccl/limit_met.h"

namespace p2::msccl {

/// The message sizes for which a valid verdict holds. It takes a step for one transmission; where
/// a message is so large that the chunks of a step do not fit into one, the step is several, which
/// can fill a connection or let two steps meet.
struct SafeSizes {
  std::optional<std::uint64_t> most_bytes;  ///< empty: any size
  std::optional<Fault> above;               ///< what happens just above

  /// Whether the verdict holds for all sizes the file is for.
  bool cover(const Algorithm& algorithm) const {
    return !most_bytes || (algorithm.max_bytes && *algorithm.max_bytes <= *most_bytes);
  }
};

/// Of an algorithm whose steps are in order as one transmission each. A message whose single
/// chunks do not fit into a transmission goes in rounds, and a round can end before the next one
/// starts: larger messages bring nothing new. Throws LimitMet.
SafeSizes safe_sizes(const Algorithm& algorithm, const std::vector<Connection>& connections,
                     const MemoryLayout& layout, LimitWatch& watch);

}  // namespace p2::msccl
