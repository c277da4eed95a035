#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/execution/job.h"

namespace p2::execution {

/// A step, or a whole program, in the terms of nccl-tests.
struct Measurement {
  Collective collective = Collective::AllReduce;
  std::uint64_t bytes = 0;  ///< S: of the buffer; for ReduceScatter and AllGather per rank × ranks
  std::uint64_t count = 0;  ///< elements per rank, as in the call
  std::uint32_t ranks = 0;  ///< in the largest group
  double seconds = 0;       ///< mean over the timed runs of the slowest rank's time
  std::optional<std::uint64_t> wrong;  ///< nothing: not checked, or not known what is right

  /// S / time, in 10^9 bytes per second; 0 where nothing was moved.
  double algbw() const;
  /// algbw times what each link carries in the best algorithm: 2(n−1)/n for AllReduce, (n−1)/n for
  /// ReduceScatter and AllGather, 1 for Reduce and Broadcast.
  double busbw() const;
};

/// Step `index`, from 0.
Measurement measure_step(const Job& job, std::span<const RankResult> results, std::size_t index);

/// The whole program: S is the buffer of a device, the time that of all steps, `ranks` those of the
/// largest class, and the bandwidths are those of the AllReduce that it stands for.
Measurement measure_program(const Job& job, std::span<const RankResult> results);

}  // namespace p2::execution
