#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// One input chunk of one rank.
struct Contribution {
  std::uint32_t rank = 0;
  std::uint32_t chunk = 0;  ///< of the rank's input

  auto operator<=>(const Contribution&) const = default;
};

/// The definition of the collective of an algorithm. With N ranks and C chunks in the message,
/// allgather, reduce-scatter and alltoall have parts of C/N chunks.
class Collective {
 public:
  /// allreduce, allgather, reduce_scatter (or reducescatter), alltoall, broadcast or reduce; empty
  /// for any other, and where the chunks cannot be divided into parts.
  static std::optional<Collective> of(const Algorithm& algorithm);

  /// Chunks in the input and the output of every rank.
  std::uint32_t input_chunks() const { return kind_ == Kind::AllGather ? part_ : chunks_; }
  std::uint32_t output_chunks() const { return kind_ == Kind::ReduceScatter ? part_ : chunks_; }

  /// Whether the output of `rank` is defined: of a reduce only the root's is.
  bool has_output(std::uint32_t rank) const { return kind_ != Kind::Reduce || rank == root_; }
  /// Whether an output chunk is the sum of one chunk of every rank, or a copy of one chunk.
  bool sums() const;
  /// That chunk; rank 0 represents all ranks of a sum. Precondition: has_output(rank).
  Contribution expected(std::uint32_t rank, std::uint32_t chunk) const;

  /// Whether the input of `rank` is defined: of a broadcast only the root's is.
  bool has_input(std::uint32_t rank) const { return kind_ != Kind::Broadcast || rank == root_; }

  /// In place, the offset of the rank's input in its output, or of its output in its input for a
  /// reduce-scatter; 0 for the others.
  std::uint32_t part_start(std::uint32_t rank) const;
  bool output_lies_in_input() const { return kind_ != Kind::AllGather; }

 private:
  enum class Kind : std::uint8_t {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce
  };
  Collective(Kind kind, std::uint32_t ranks, std::uint32_t chunks, std::uint32_t root)
      : kind_(kind), chunks_(chunks), part_(chunks / ranks), root_(root) {}

  Kind kind_;
  std::uint32_t chunks_;
  std::uint32_t part_;
  std::uint32_t root_;
};

/// One chunk of memory: two regions overlap exactly in their common cells.
struct Cell {
  std::uint32_t gpu = 0;
  Buffer buffer = Buffer::Input;
  std::uint32_t index = 0;

  auto operator<=>(const Cell&) const = default;
};

/// `o[3] of gpu 1`.
std::string describe(const Cell& cell);

/// A cell that a step accesses, and for which of its chunks.
struct Access {
  Cell cell;
  std::uint32_t chunk = 0;
  bool writes = false;
};

/// The addresses of the buffers of all GPUs, in place or not. In place the output of an allreduce,
/// alltoall, broadcast or reduce is its input, an allgather's input is the rank's part of its
/// output, and a reduce-scatter's output the rank's part of its input. The buffers of an
/// unknown collective are disjoint.
class MemoryLayout {
 public:
  MemoryLayout(const Algorithm& algorithm, bool in_place);

  const std::optional<Collective>& collective() const { return collective_; }

  /// Why a step is out of bounds of a buffer as the file declares it or as the caller provides it;
  /// empty if it is not.
  std::optional<std::string> find_overrun(StepPlace place) const;
  Cell cell(std::uint32_t gpu, Buffer buffer, std::uint32_t index) const;
  /// The cell of chunk `k` of a region that is within bounds.
  Cell cell(std::uint32_t gpu, const Region& region, std::uint32_t k) const;
  std::vector<Access> accesses(StepPlace place) const;
  /// The initial content of a cell; empty if it is undefined.
  std::optional<Contribution> initial_content(const Cell& cell) const;

 private:
  std::optional<std::string> find_overrun(std::uint32_t gpu, const Region& region,
                                          std::uint32_t count) const;

  const Algorithm& algorithm_;
  bool in_place_;
  std::optional<Collective> collective_;
};

}  // namespace p2::msccl
