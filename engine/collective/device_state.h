#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/index_set.h"

namespace p2 {

/// Part of a device's state: each of `chunks` holds the sum of exactly the contributions of the
/// devices in `contributors`. Neither set is empty.
struct Piece {
  IndexSetId chunks = 0;
  IndexSetId contributors = 0;

  bool operator==(const Piece&) const = default;
};

/// Names one device state inside a StateTable; equal states have equal ids. A device that holds
/// nothing is in state 0.
using StateId = std::uint32_t;

constexpr StateId kHoldsNothing = 0;

/// States of single devices (section 3.2, figure 7), each kept once. The k × k matrix of the paper
/// is held as pieces: the set of rows with one content, and that content. Pieces of one state have
/// disjoint chunks and distinct contributors.
class StateTable {
 public:
  /// `chunks` is k, the number of chunks every buffer is cut into.
  explicit StateTable(std::uint32_t chunks);

  std::uint32_t chunks() const { return chunks_; }
  IndexSetTable& sets() { return sets_; }
  const IndexSetTable& sets() const { return sets_; }

  /// The state made of `pieces`, whose chunks are pairwise disjoint; pieces of equal contributors
  /// are merged and empty ones dropped. `pieces` is used as scratch space.
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

  /// Cuts the chunks that the first device of `group` holds into blocks inside which every device
  /// of the group has one content. All devices must hold the same chunks.
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
