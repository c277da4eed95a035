#include "engine/collective/tuple_memory.h"

#include <algorithm>

#include "engine/collective/hashing.h"

namespace p2 {

std::uint32_t& TupleMemory::find(std::span<const std::uint32_t> key, bool& known) {
  std::uint64_t hash = key.size();
  for (const std::uint32_t word : key) hash = mix(hash, word);
  if (entries_.size() * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && entry.length == key.size() &&
        std::equal(key.begin(), key.end(),
                   keys_.begin() + static_cast<std::ptrdiff_t>(entry.offset))) {
      known = true;
      return entry.answer;
    }
  }
  known = false;
  entries_.push_back(
      {hash, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(key.size()), 0});
  keys_.insert(keys_.end(), key.begin(), key.end());
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return entries_.back().answer;
}

void TupleMemory::grow() {
  std::vector<std::uint32_t> wider(slots_.size() * 2, 0);
  const std::size_t mask = wider.size() - 1;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (wider[slot] != 0) slot = (slot + 1) & mask;
    wider[slot] = i + 1;
  }
  slots_ = std::move(wider);
}

std::size_t TupleMemory::bytes() const {
  return keys_.capacity() * sizeof(std::uint32_t) + entries_.capacity() * sizeof(Entry) +
         slots_.capacity() * sizeof(std::uint32_t);
}

}  // namespace p2
