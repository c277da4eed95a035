#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/execution/progress.h"

namespace p2::execution {

/// The processes of a run as one of them sees the others: what they need of each other beside the
/// collectives that are run. All ranks call the same functions in the same order.
class RankWorld {
 public:
  virtual ~RankWorld() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;
  /// This rank's; whoever watches over the ranks sees it.
  virtual RankProgress& progress() = 0;
  /// The time by which the run has to have ended, for a world that watches over itself.
  virtual void end_by(std::optional<std::chrono::steady_clock::time_point> /*deadline*/) {}

  /// Returns when all ranks have come here.
  virtual void meet() = 0;
  /// The bytes of rank 0 become those of all.
  virtual void share(std::span<std::byte> bytes) = 0;
  /// The bytes of all ranks, one after the other; equally many each.
  virtual std::vector<std::byte> gather(std::span<const std::byte> own) = 0;
};

}  // namespace p2::execution
