#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// One chunk that a rank brings along.
struct Contribution {
  std::uint32_t rank = 0;
  std::uint32_t chunk = 0;  ///< of the rank's input

  auto operator<=>(const Contribution&) const = default;
};

/// What the collective of an algorithm promises. With N ranks and C chunks in the message,
/// allgather, reduce-scatter and alltoall deal in parts of C/N chunks.
class Collective {
 public:
  /// allreduce, allgather, reduce_scatter (or reducescatter), alltoall, broadcast or reduce; empty
  /// for any other, and where the chunks cannot be dealt out.
  static std::optional<Collective> of(const Algorithm& algorithm);

  /// Chunks in the input and the output of every rank.
  std::uint32_t input_chunks() const { return kind_ == Kind::AllGather ? part_ : chunks_; }
  std::uint32_t output_chunks() const { return kind_ == Kind::ReduceScatter ? part_ : chunks_; }

  /// Whether the output of `rank` is said at all: of a reduce only the root's is.
  bool has_output(std::uint32_t rank) const { return kind_ != Kind::Reduce || rank == root_; }
  /// Whether every output chunk is the sum of one chunk of every rank; else it is a chunk of one
  /// rank.
  bool sums() const;
  /// That chunk, of rank 0 where it is one of every rank. Precondition: has_output(rank).
  Contribution expected(std::uint32_t rank, std::uint32_t chunk) const;

  /// Whether an input chunk starts with data: of a broadcast only the root's do.
  bool has_input(std::uint32_t rank) const { return kind_ != Kind::Broadcast || rank == root_; }

  /// In place, where the rank's input chunk lies in its output, or the other way round for
  /// reduce-scatter; the identity for the others.
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

}  // namespace p2::msccl
