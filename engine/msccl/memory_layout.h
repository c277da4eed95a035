#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/msccl/collective.h"

namespace p2::msccl {

/// One chunk of memory: two regions touch the same memory exactly where their cells are equal.
struct Cell {
  std::uint32_t gpu = 0;
  Buffer buffer = Buffer::Input;
  std::uint32_t index = 0;

  auto operator<=>(const Cell&) const = default;
};

/// `o[3] of gpu 1`.
std::string describe(const Cell& cell);

/// A cell that a step touches, and which of its chunks that is.
struct Access {
  Cell cell;
  std::uint32_t chunk = 0;
  bool writes = false;
};

/// Where the buffers of all GPUs lie, called in place or not. In place the output of an allreduce,
/// alltoall, broadcast or reduce is its input, an allgather's input is the rank's part of its
/// output, and a reduce-scatter's output the rank's part of its input. The buffers of a collective
/// that is not known are taken to be apart.
class MemoryLayout {
 public:
  MemoryLayout(const Algorithm& algorithm, bool in_place);

  const std::optional<Collective>& collective() const { return collective_; }

  /// A step that reaches past a buffer: as the file declares it, or as the caller provides it.
  std::optional<std::string> beyond(StepPlace place) const;
  Cell cell(std::uint32_t gpu, Buffer buffer, std::uint32_t index) const;
  /// The cell of chunk `k` of a region that is within bounds.
  Cell cell(std::uint32_t gpu, const Region& region, std::uint32_t k) const;
  std::vector<Access> accesses(StepPlace place) const;
  /// What a cell holds before the first step.
  std::optional<Contribution> initially(const Cell& cell) const;

 private:
  std::optional<std::string> beyond(std::uint32_t gpu, const Region& region,
                                    std::uint32_t count) const;

  const Algorithm& algorithm_;
  bool in_place_;
  std::optional<Collective> collective_;
};

}  // namespace p2::msccl
