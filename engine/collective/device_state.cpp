#include "engine/collective/device_state.h"

#include <algorithm>

#include "engine/collective/hashing.h"

namespace p2 {
namespace {

std::uint64_t hash_of(std::span<const Piece> pieces) {
  std::uint64_t hash = pieces.size();
  for (const Piece& piece : pieces) {
    hash = mix(hash, std::uint64_t{piece.chunks} << 32 | piece.contributors);
  }
  return hash;
}

}  // namespace

StateTable::StateTable(std::uint32_t chunks) : chunks_(chunks) {
  std::vector<Piece> nothing;
  intern(nothing);
}

void StateTable::merge_equal_contents(std::vector<Piece>& pieces) {
  std::erase_if(pieces, [](const Piece& p) { return p.chunks == 0 || p.contributors == 0; });
  if (pieces.size() < 2) return;
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.contributors != b.contributors ? a.contributors < b.contributors : a.chunks < b.chunks;
  });
  std::vector<IndexSetId> equal;
  std::size_t kept = 0;
  for (std::size_t begin = 0; begin < pieces.size();) {
    equal.clear();
    std::size_t end = begin;
    for (; end < pieces.size() && pieces[end].contributors == pieces[begin].contributors; ++end) {
      equal.push_back(pieces[end].chunks);
    }
    pieces[kept++] = {equal.size() == 1 ? equal[0] : sets_.unite(equal),
                      pieces[begin].contributors};
    begin = end;
  }
  pieces.resize(kept);
}

StateId StateTable::intern(std::vector<Piece>& pieces) {
  merge_equal_contents(pieces);
  const std::uint64_t hash = hash_of(pieces);
  const auto known =
      ids_.find(hash, [&](StateId id) { return std::ranges::equal(this->pieces(id), pieces); });
  if (known) return *known;
  std::vector<IndexSetId> parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) parts.push_back(piece.chunks);
  const IndexSetId held = parts.size() == 1 ? parts[0] : sets_.unite(parts);
  entries_.push_back({pieces_.size(), static_cast<std::uint32_t>(pieces.size()), held});
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  return ids_.add(hash);
}

StateId StateTable::whole(IndexSetId contributors) {
  restricted_.assign(1, {sets_.range(0, chunks_), contributors});
  return intern(restricted_);
}

StateId StateTable::restrict(StateId state, IndexSetId chunks) {
  restricted_.clear();
  for (const Piece& piece : pieces(state)) {
    restricted_.push_back({sets_.intersect(piece.chunks, chunks), piece.contributors});
  }
  return intern(restricted_);
}

IndexSetId StateTable::row(StateId state, std::uint32_t chunk) const {
  for (const Piece& piece : pieces(state)) {
    for (const Run& run : sets_.runs(piece.chunks)) {
      if (run.begin <= chunk && chunk < run.end) return piece.contributors;
    }
  }
  return 0;
}

std::vector<IndexSetId> StateTable::common_blocks(std::span<const StateId> group) {
  std::vector<IndexSetId> blocks{held(group[0])};
  std::vector<IndexSetId> finer;
  StateId refined_by = kHoldsNothing;
  for (const StateId state : group) {
    if (state == refined_by || pieces(state).size() < 2) continue;
    refined_by = state;
    finer.clear();
    for (const IndexSetId block : blocks) {
      for (const Piece& piece : pieces(state)) {
        const IndexSetId common = sets_.intersect(block, piece.chunks);
        if (common != 0) finer.push_back(common);
      }
    }
    blocks.swap(finer);
  }
  return blocks;
}

IndexSetId StateTable::content(StateId state, IndexSetId block) {
  const auto all = pieces(state);
  if (all.size() == 1) return all[0].contributors;
  for (const Piece& piece : all) {
    if (sets_.subset(block, piece.chunks)) return piece.contributors;
  }
  return 0;
}

std::size_t StateTable::bytes() const {
  return sets_.bytes() + pieces_.capacity() * sizeof(Piece) + entries_.capacity() * sizeof(Entry) +
         ids_.bytes();
}

}  // namespace p2
