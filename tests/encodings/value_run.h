#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "engine/program/program.h"

namespace p2 {

/// What a program does to data: every device has a buffer cut into as many chunks as there are
/// devices, and a chunk is a number or absent. Nothing is refused; where a rule would not apply, a
/// collective does what is nearest at hand, from the chunks that are there.
class ValueRun {
 public:
  ValueRun(std::uint32_t devices, std::mt19937_64& random) : buffers_(devices, Buffer(devices)) {
    for (Buffer& buffer : buffers_) {
      for (auto& chunk : buffer) chunk = random();
    }
    inputs_ = buffers_;
  }

  void take(const Step& step) {
    for (const Group& group : step.groups) take(step.collective, group);
  }

  /// Whether every device has, in every chunk, the sum over its class.
  bool is_right(const std::vector<Group>& classes) const {
    for (const Group& members : classes) {
      for (std::size_t r = 0; r < buffers_.size(); ++r) {
        std::uint64_t sum = 0;
        for (const std::uint32_t d : members) sum += *inputs_[d][r];
        for (const std::uint32_t d : members) {
          if (buffers_[d][r] != sum) return false;
        }
      }
    }
    return true;
  }

 private:
  using Buffer = std::vector<std::optional<std::uint64_t>>;

  void take(Collective collective, const Group& group) {
    const std::uint32_t root = group[0];
    if (collective == Collective::Broadcast) {
      for (const std::uint32_t d : group) buffers_[d] = buffers_[root];
      return;
    }
    const bool gathers = collective == Collective::AllGather;
    const Buffer result = gathers ? gathered(group) : summed(group);
    for (const std::uint32_t d : group) {
      const bool keeps = collective != Collective::Reduce || d == root;
      buffers_[d] = keeps ? result : Buffer(buffers_.size());
    }
    if (collective == Collective::ReduceScatter) scatter(group);
  }

  /// Each chunk added up over the devices that have it.
  Buffer summed(const Group& group) const {
    Buffer sum(buffers_.size());
    for (const std::uint32_t d : group) {
      for (std::size_t r = 0; r < sum.size(); ++r) {
        if (buffers_[d][r]) sum[r] = sum[r].value_or(0) + *buffers_[d][r];
      }
    }
    return sum;
  }

  /// Each chunk from the first device that has it.
  Buffer gathered(const Group& group) const {
    Buffer all(buffers_.size());
    for (const std::uint32_t d : group) {
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (!all[r]) all[r] = buffers_[d][r];
      }
    }
    return all;
  }

  /// All devices have the same chunks: each keeps its run of them, as equal as can be.
  void scatter(const Group& group) {
    std::vector<std::size_t> held;
    for (std::size_t r = 0; r < buffers_.size(); ++r) {
      if (buffers_[group[0]][r]) held.push_back(r);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::size_t begin = i * held.size() / group.size();
      const std::size_t end = (i + 1) * held.size() / group.size();
      for (std::size_t at = 0; at < held.size(); ++at) {
        if (at < begin || at >= end) buffers_[group[i]][held[at]].reset();
      }
    }
  }

  std::vector<Buffer> buffers_;
  std::vector<Buffer> inputs_;
};

}  // namespace p2
