#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace p2 {

/// Gives the things a caller keeps the ids 0, 1, 2, … and finds them again by hash: the index of a
/// hash table, without the things themselves (open addressing, at most half full).
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

  /// Enters the next id. Throws std::length_error when 2^32 − 1 ids are in use.
  std::uint32_t add(std::uint64_t hash) {
    if (hashes_.size() + 2 > UINT32_MAX) throw std::length_error("too large, out of 32-bit ids");
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

}  // namespace p2
