#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/id_table.h"

namespace p2 {

/// Remembers one answer per tuple of words: a hash table from sequences of any length to a word.
class TupleMemory {
 public:
  /// The place of the answer for `key`, valid until the next call; `known` says whether the key was
  /// asked before. A new answer is 0 until the caller writes it.
  std::uint32_t& find(std::span<const std::uint32_t> key, bool& known);

  std::size_t bytes() const;

 private:
  struct Entry {
    std::size_t offset;
    std::uint32_t length;
    std::uint32_t answer;
  };

  IdTable ids_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> keys_;
};

}  // namespace p2
