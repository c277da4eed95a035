#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/hash.h"
#include "p2/error.h"

namespace p2 {

/// Interns objects that the caller stores: numbers them 0, 1, 2, … and finds them by hash. A hash
/// table with open addressing and linear probing, at most half full, that holds only the ids.
class IdTable {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }

  /// The id with this hash of which `same(id)` is true, if there is one.
  template <typename Same>
  std::optional<std::uint32_t> find(std::uint64_t hash, Same same) const {
    for (std::size_t slot = hash & mask(); slots_[slot] != 0; slot = (slot + 1) & mask()) {
      const std::uint32_t id = slots_[slot] - 1;
      if (hashes_[id] == hash && same(id)) return id;
    }
    return std::nullopt;
  }

  /// Inserts the next id. Throws LimitReached when 2^32 − 1 ids are in use.
  std::uint32_t add(std::uint64_t hash) {
    if (hashes_.size() + 2 > UINT32_MAX) {
      throw LimitReached(LimitReached::Kind::Size, "too large, out of 32-bit ids");
    }
    hashes_.push_back(hash);
    if (hashes_.size() * 2 > slots_.size()) {
      slots_.assign(slots_.size() * 2, 0);
      for (std::uint32_t id = 0; id < size(); ++id) place(id);
    } else {
      place(size() - 1);
    }
    return size() - 1;
  }

  std::size_t bytes() const {
    return hashes_.capacity() * sizeof(std::uint64_t) + slots_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  void place(std::uint32_t id) {
    std::size_t slot = hashes_[id] & mask();
    while (slots_[slot] != 0) slot = (slot + 1) & mask();
    slots_[slot] = id + 1;
  }

  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64, 0);  // id + 1, 0 = free
};

/// A memo table from sequences of words of any length to a word.
class TupleCache {
 public:
  /// The value for `key`, valid until the next call. `known` tells whether the key was present; a
  /// new value is 0 until the caller writes it.
  std::uint32_t& find(std::span<const std::uint32_t> key, bool& known);

  std::size_t bytes() const;

 private:
  struct Entry {
    std::size_t offset;
    std::uint32_t length;
    std::uint32_t value;
  };

  IdTable ids_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> keys_;
};

}  // namespace p2
