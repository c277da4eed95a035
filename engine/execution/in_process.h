#pragma once

#include <array>
#include <cstring>
#include <memory>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// A rank whose buffers are in the memory of the host.
class HostRank : public Rank {
 public:
  HostRank(std::uint32_t number, const Workload& work) : Rank(number) {
    const std::array<std::size_t, 2> bytes = work.buffer_bytes(number);
    for (std::size_t i = 0; i < 2; ++i) {
      // Not initialized: a rank that only ever holds a part of its buffer touches only that part.
      buffers_[i] = std::make_unique_for_overwrite<std::byte[]>(bytes[i]);
    }
  }

  void write(std::size_t buffer, std::size_t bytes,
             const std::function<void(std::span<std::byte>)>& fill) final {
    fill({buffers_[buffer].get(), bytes});
  }
  void read(std::size_t buffer, std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& see) final {
    see({buffers_[buffer].get(), bytes});
  }
  void rearrange(const Rows& from, std::size_t row_bytes) final {
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::byte* to = buffer(1) + i * row_bytes;
      if (from[i] == kZeros) {
        std::memset(to, 0, row_bytes);
      } else {
        std::memcpy(to, buffer(0) + from[i] * row_bytes, row_bytes);
      }
    }
    swap();
  }

 protected:
  std::byte* buffer(std::size_t i) const { return buffers_[i].get(); }
  std::uint32_t* words(std::size_t i) const { return reinterpret_cast<std::uint32_t*>(buffer(i)); }
  /// Buffer 1, into which a call received, becomes buffer 0.
  void swap() { std::swap(buffers_[0], buffers_[1]); }

 private:
  std::array<std::unique_ptr<std::byte[]>, 2> buffers_;
};

/// A thread per rank over shared memory; needs no library. Sums are formed in the order of the
/// groups, so floating-point results are the same in every run. A send waits for its receive, which
/// reads the elements from the sender's buffer; a deadlock is detected when it occurs.
class InProcess final : public Backend {
 public:
  std::vector<RankResult> run(const Job& job) override;
};

}  // namespace p2::execution
