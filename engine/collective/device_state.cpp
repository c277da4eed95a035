#include "engine/collective/device_state.h"

#include <algorithm>

#include "engine/collective/hashing.h"
#include "engine/invariant.h"

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

StateTable::StateTable(std::uint32_t chunks) : chunks_(chunks), slots_(64, 0) {
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
  if (entries_.size() * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(pieces) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const StateId id = slots_[slot] - 1;
    const auto known = this->pieces(id);
    if (std::equal(known.begin(), known.end(), pieces.begin(), pieces.end())) return id;
  }
  std::vector<IndexSetId> parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) parts.push_back(piece.chunks);
  const IndexSetId held = parts.size() == 1 ? parts[0] : sets_.unite(parts);
  entries_.push_back({static_cast<std::uint32_t>(pieces_.size()),
                      static_cast<std::uint32_t>(pieces.size()), held});
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  invariant(pieces_.size() < UINT32_MAX, "too many device states");
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return slots_[slot] - 1;
}

void StateTable::grow() {
  std::vector<std::uint32_t> wider(slots_.size() * 2, 0);
  const std::size_t mask = wider.size() - 1;
  for (StateId id = 0; id < entries_.size(); ++id) {
    std::size_t slot = hash_of(pieces(id)) & mask;
    while (wider[slot] != 0) slot = (slot + 1) & mask;
    wider[slot] = id + 1;
  }
  slots_ = std::move(wider);
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

std::size_t StateTable::bytes() const {
  return sets_.bytes() + pieces_.capacity() * sizeof(Piece) + entries_.capacity() * sizeof(Entry) +
         slots_.capacity() * sizeof(std::uint32_t);
}

}  // namespace p2
