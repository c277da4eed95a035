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

/// The indexes begin, begin+1, …, end−1.
struct Run {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const Run&) const = default;
};

/// The id of a set in an IndexSetTable; equal sets have equal ids. The empty set is 0.
using IndexSetId = std::uint32_t;

/// Interned sets of indexes (chunks of a buffer, contributing devices), run-length encoded as
/// maximal runs: neighbouring devices form one run, a group with a stride has one run per member.
class IndexSetTable {
 public:
  IndexSetTable();

  IndexSetId range(std::uint32_t begin, std::uint32_t end);
  /// The set of `indexes`, which ascend strictly.
  IndexSetId of(std::span<const std::uint32_t> indexes);

  std::span<const Run> runs(IndexSetId set) const {
    return {runs_.data() + entries_[set].offset, entries_[set].count};
  }
  std::uint32_t size(IndexSetId set) const { return entries_[set].size; }
  /// In ascending order.
  std::vector<std::uint32_t> members(IndexSetId set) const;

  /// The union. The sets were pairwise disjoint exactly if their sizes add up to the union's.
  IndexSetId unite(std::span<const IndexSetId> sets);
  IndexSetId intersect(IndexSetId a, IndexSetId b);
  IndexSetId subtract(IndexSetId a, IndexSetId b);
  bool subset(IndexSetId a, IndexSetId b) { return intersect(a, b) == a; }
  /// The members with ranks `first` … `first + count − 1` in ascending order; they must exist.
  IndexSetId slice(IndexSetId set, std::uint32_t first, std::uint32_t count);

  /// The smallest member; the set must not be empty.
  std::uint32_t first(IndexSetId set) const { return runs(set).front().begin; }
  /// One more than the largest member; 0 for the empty set.
  std::uint32_t end(IndexSetId set) const { return set == 0 ? 0 : runs(set).back().end; }

  std::size_t bytes() const;

 private:
  struct Entry {
    std::size_t offset;
    std::uint32_t count;
    std::uint32_t size;
  };

  IndexSetId intern(const std::vector<Run>& runs);
  void mark_and_read_back(std::uint32_t end);

  std::vector<Run> runs_;
  std::vector<Entry> entries_;
  IdTable ids_;
  std::vector<Run> scratch_;
  std::vector<std::uint64_t> marks_;
};

/// Part of a device's state: each of `chunks` holds the sum of exactly the contributions of the
/// devices in `contributors`. Neither set is empty.
struct Piece {
  IndexSetId chunks = 0;
  IndexSetId contributors = 0;

  bool operator==(const Piece&) const = default;
};

/// The id of a device state in a StateTable; equal states have equal ids. A device that holds
/// nothing has state 0.
using StateId = std::uint32_t;

constexpr StateId kHoldsNothing = 0;

/// Interned states of single devices (section 3.2, figure 7). The paper's k × k matrix is
/// compressed to pieces: a set of rows with equal content, and that content. Pieces of one state
/// have disjoint chunks and distinct contributors.
class StateTable {
 public:
  /// `chunks` is k, the number of chunks of every buffer.
  explicit StateTable(std::uint32_t chunks);

  std::uint32_t chunks() const { return chunks_; }
  IndexSetTable& sets() { return sets_; }
  const IndexSetTable& sets() const { return sets_; }

  /// The state made of `pieces`, whose chunks are pairwise disjoint; pieces of equal contributors
  /// are merged and empty ones dropped. Modifies `pieces`.
  StateId intern(std::vector<Piece>& pieces);
  /// All chunks, each with the contributions of `contributors`.
  StateId whole(IndexSetId contributors);
  /// The part of `state` inside `chunks`.
  StateId restrict(StateId state, IndexSetId chunks);

  std::span<const Piece> pieces(StateId state) const {
    return {pieces_.data() + entries_[state].offset, entries_[state].count};
  }
  /// The chunks that are not empty: `rows` in the paper.
  IndexSetId held(StateId state) const { return entries_[state].held; }
  /// The contributors of one chunk: a row of the paper's matrix.
  IndexSetId row(StateId state, std::uint32_t chunk) const;

  /// The coarsest partition of the chunks held such that every device of `group` has one content
  /// per block. All devices must hold the same chunks.
  std::vector<IndexSetId> common_blocks(std::span<const StateId> group);
  /// The contributors of `state` in a block of common_blocks.
  IndexSetId content(StateId state, IndexSetId block);

  std::size_t bytes() const;

 private:
  struct Entry {
    std::size_t offset;
    std::uint32_t count;
    IndexSetId held;
  };

  void merge_equal_contents(std::vector<Piece>& pieces);

  std::uint32_t chunks_;
  IndexSetTable sets_;
  std::vector<Piece> pieces_;
  std::vector<Entry> entries_;
  IdTable ids_;
  std::vector<Piece> restricted_;
};

}  // namespace p2
