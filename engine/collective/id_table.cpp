#include "engine/collective/id_table.h"

#include <algorithm>
#include <optional>

namespace p2 {

std::uint32_t& TupleCache::find(std::span<const std::uint32_t> key, bool& known) {
  std::uint64_t hash = key.size();
  for (const std::uint32_t word : key) hash = mix(hash, word);
  const std::optional<std::uint32_t> found = ids_.find(hash, [&](std::uint32_t id) {
    const Entry& entry = entries_[id];
    return entry.length == key.size() &&
           std::equal(key.begin(), key.end(),
                      keys_.begin() + static_cast<std::ptrdiff_t>(entry.offset));
  });
  known = found.has_value();
  if (known) return entries_[*found].value;
  ids_.add(hash);
  entries_.push_back({keys_.size(), static_cast<std::uint32_t>(key.size()), 0});
  keys_.insert(keys_.end(), key.begin(), key.end());
  return entries_.back().value;
}

std::size_t TupleCache::bytes() const {
  return ids_.bytes() + keys_.capacity() * sizeof(std::uint32_t) +
         entries_.capacity() * sizeof(Entry);
}

}  // namespace p2
