#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/export/msccl/transfer.h"

namespace p2::msccl {

/// Puts the transfers of collective steps, one step after the other, into thread blocks, channels
/// and dependencies. A thread block has one pair of peers; a connection has one thread block at
/// each end, so steps whose rings cross get different channels. A transfer waits for those of other
/// thread blocks of its GPU that touch the same chunks, where no earlier wait has seen to it.
class BlockBuilder {
 public:
  BlockBuilder(std::uint32_t ranks, std::uint32_t chunks, Buffer buffer);

  void add(const Transfers& step);
  /// The GPUs, but for the sizes of their buffers.
  std::vector<Gpu> take() && { return std::move(gpus_); }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(used_.size()); }

 private:
  /// A step of a thread block: positions in their lists.
  struct Place {
    std::uint32_t block = 0;
    std::uint32_t step = 0;
    bool wrote = false;
  };
  /// How many steps of each thread block of the GPU are over.
  using Clock = std::vector<std::uint32_t>;
  struct Rank {
    std::vector<std::vector<Place>> touched;  ///< by chunk: the last write, and reads after it
    std::vector<std::vector<Clock>> clocks;   ///< by thread block and step
  };
  struct Role {
    std::uint32_t rank = 0;
    std::int64_t send = -1;  ///< -1: none
    std::int64_t receive = -1;

    auto operator<=>(const Role&) const = default;
  };

  static Role role_of(const Transfer& transfer);
  std::uint32_t channel_for(const std::set<Role>& roles);
  bool fits(const std::set<Role>& channel, const Role& role) const;
  std::uint32_t block_of(const Transfer& transfer, std::uint32_t channel);
  void append(const Transfer& transfer, std::uint32_t block);
  std::vector<Place> waits(const Transfer& transfer, std::uint32_t block, Clock& clock);
  void record(const Transfer& transfer, std::uint32_t block, const Clock& clock);

  Buffer buffer_;
  std::vector<Gpu> gpus_;
  std::vector<Rank> ranks_;
  std::vector<std::set<Role>> used_;  ///< by channel
};

}  // namespace p2::msccl
