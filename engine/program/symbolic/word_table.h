#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/id_table.h"

namespace p2 {

/// Interns sequences of words: equal sequences have equal ids, numbered from 0.
class WordTable {
 public:
  std::uint32_t intern(std::span<const std::uint32_t> words) {
    std::uint64_t hash = words.size();
    for (const std::uint32_t word : words) hash = mix(hash, word);
    const auto known =
        ids_.find(hash, [&](std::uint32_t id) { return std::ranges::equal((*this)[id], words); });
    if (known) return *known;
    words_.insert(words_.end(), words.begin(), words.end());
    ends_.push_back(words_.size());
    return ids_.add(hash);
  }

  /// Valid until the next call of `intern`.
  std::span<const std::uint32_t> operator[](std::uint32_t id) const {
    const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
    return {words_.data() + begin, ends_[id] - begin};
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::size_t bytes() const {
    return ids_.bytes() + words_.capacity() * sizeof(std::uint32_t) +
           ends_.capacity() * sizeof(std::size_t);
  }

 private:
  IdTable ids_;
  std::vector<std::uint32_t> words_;
  std::vector<std::size_t> ends_;
};

}  // namespace p2
