#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace p2::hlo {

/// Numbers for sequences of integers: equal sequences, equal numbers, counted from 0.
class Interner {
 public:
  using Sequence = std::span<const std::int64_t>;

  std::uint32_t of(Sequence sequence);
  /// Valid until the next call of of().
  Sequence operator[](std::uint32_t number) const {
    return {pool_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }
  std::size_t size() const { return starts_.size() - 1; }
  std::size_t bytes() const { return pool_.size() * 8 + size() * 48; }

 private:
  std::vector<std::int64_t> pool_;
  std::vector<std::size_t> starts_ = {0};
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace p2::hlo
