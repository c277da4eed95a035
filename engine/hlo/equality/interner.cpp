#include "engine/hlo/equality/interner.h"

#include <algorithm>

namespace p2::hlo {
namespace {

std::uint64_t hash(Interner::Sequence sequence) {
  std::uint64_t state = sequence.size();
  for (const std::int64_t number : sequence) {
    state = (state ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15ULL;
    state ^= state >> 29U;
  }
  return state;
}

}  // namespace

std::uint32_t Interner::of(Sequence sequence) {
  const std::uint64_t key = hash(sequence);
  const auto [first, last] = by_hash_.equal_range(key);
  for (auto each = first; each != last; ++each) {
    const Sequence known = (*this)[each->second];
    if (std::equal(known.begin(), known.end(), sequence.begin(), sequence.end())) {
      return each->second;
    }
  }
  const auto number = static_cast<std::uint32_t>(size());
  pool_.insert(pool_.end(), sequence.begin(), sequence.end());
  starts_.push_back(pool_.size());
  by_hash_.emplace(key, number);
  return number;
}

}  // namespace p2::hlo
