#include "engine/collective/device_state.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "engine/base/invariant.h"

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

namespace {

std::uint64_t hash_of(std::span<const Run> runs) {
  std::uint64_t hash = runs.size();
  for (const Run& run : runs) hash = mix(hash, std::uint64_t{run.begin} << 32 | run.end);
  return hash;
}

}  // namespace

IndexSetTable::IndexSetTable() { intern({}); }

IndexSetId IndexSetTable::intern(const std::vector<Run>& runs) {
  const std::uint64_t hash = hash_of(runs);
  const auto known = ids_.find(hash, [&](IndexSetId id) {
    const auto other = this->runs(id);
    return std::equal(other.begin(), other.end(), runs.begin(), runs.end());
  });
  if (known) return *known;
  std::uint32_t size = 0;
  for (const Run& run : runs) size += run.end - run.begin;
  entries_.push_back({runs_.size(), static_cast<std::uint32_t>(runs.size()), size});
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  return ids_.add(hash);
}

std::vector<std::uint32_t> IndexSetTable::members(IndexSetId set) const {
  std::vector<std::uint32_t> all;
  all.reserve(size(set));
  for (const Run& run : runs(set)) {
    for (std::uint32_t index = run.begin; index < run.end; ++index) all.push_back(index);
  }
  return all;
}

IndexSetId IndexSetTable::range(std::uint32_t begin, std::uint32_t end) {
  scratch_.clear();
  if (begin < end) scratch_.push_back({begin, end});
  return intern(scratch_);
}

IndexSetId IndexSetTable::of(std::span<const std::uint32_t> indexes) {
  scratch_.clear();
  for (const std::uint32_t index : indexes) {
    if (!scratch_.empty() && scratch_.back().end == index) {
      ++scratch_.back().end;
    } else {
      scratch_.push_back({index, index + 1});
    }
  }
  return intern(scratch_);
}

IndexSetId IndexSetTable::unite(std::span<const IndexSetId> sets) {
  scratch_.clear();
  std::uint32_t end = 0;
  for (const IndexSetId set : sets) {
    const auto runs = this->runs(set);
    scratch_.insert(scratch_.end(), runs.begin(), runs.end());
    if (!runs.empty()) end = std::max(end, runs.back().end);
  }
  const auto starts_earlier = [](const Run& a, const Run& b) { return a.begin < b.begin; };
  if (!std::is_sorted(scratch_.begin(), scratch_.end(), starts_earlier)) {
    // Interleaved sets, as in groups that stride over the system, are cheaper to mark than to sort.
    if (scratch_.size() * 64 >= end) {
      mark_and_read_back(end);
      return intern(scratch_);
    }
    std::sort(scratch_.begin(), scratch_.end(), starts_earlier);
  }
  std::size_t kept = 0;
  for (const Run& run : scratch_) {
    if (kept > 0 && run.begin <= scratch_[kept - 1].end) {
      scratch_[kept - 1].end = std::max(scratch_[kept - 1].end, run.end);
    } else {
      scratch_[kept++] = run;
    }
  }
  scratch_.resize(kept);
  return intern(scratch_);
}

/// Replaces the runs in `scratch_`, in any order and overlapping, by the maximal runs of their
/// union, through one bit per index below `end`.
void IndexSetTable::mark_and_read_back(std::uint32_t end) {
  marks_.assign(end / 64 + 1, 0);
  for (const Run& run : scratch_) {
    for (std::uint32_t index = run.begin; index < run.end;) {
      const std::uint32_t count = std::min(64 - index % 64, run.end - index);
      const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
      marks_[index / 64] |= ones << index % 64;
      index += count;
    }
  }
  const auto next = [&](std::uint32_t index, bool set) {
    while (index < end) {
      const std::uint64_t word = (set ? marks_[index / 64] : ~marks_[index / 64]) >> index % 64;
      if (word != 0) return index + static_cast<std::uint32_t>(std::countr_zero(word));
      index += 64 - index % 64;
    }
    return end;
  };
  scratch_.clear();
  for (std::uint32_t begin = next(0, true); begin < end;) {
    const std::uint32_t stop = std::min(next(begin, false), end);
    scratch_.push_back({begin, stop});
    begin = next(stop, true);
  }
}

IndexSetId IndexSetTable::intersect(IndexSetId a, IndexSetId b) {
  if (a == b) return a;
  scratch_.clear();
  const auto left = runs(a);
  const auto right = runs(b);
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const std::uint32_t begin = std::max(left[i].begin, right[j].begin);
    const std::uint32_t end = std::min(left[i].end, right[j].end);
    if (begin < end) scratch_.push_back({begin, end});
    if (left[i].end < right[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return intern(scratch_);
}

IndexSetId IndexSetTable::subtract(IndexSetId a, IndexSetId b) {
  scratch_.clear();
  const auto right = runs(b);
  std::size_t j = 0;
  for (Run rest : runs(a)) {
    while (j < right.size() && right[j].end <= rest.begin) ++j;
    for (std::size_t cut = j; cut < right.size() && right[cut].begin < rest.end; ++cut) {
      if (rest.begin < right[cut].begin) scratch_.push_back({rest.begin, right[cut].begin});
      rest.begin = std::max(rest.begin, std::min(right[cut].end, rest.end));
    }
    if (rest.begin < rest.end) scratch_.push_back(rest);
  }
  return intern(scratch_);
}

IndexSetId IndexSetTable::slice(IndexSetId set, std::uint32_t first, std::uint32_t count) {
  invariant(std::uint64_t{first} + count <= size(set), "a slice past the end of a set");
  scratch_.clear();
  std::uint32_t before = 0;
  for (const Run& run : runs(set)) {
    const std::uint32_t length = run.end - run.begin;
    const std::uint32_t begin = std::max(before, first);
    const std::uint32_t end = std::min(before + length, first + count);
    if (begin < end) scratch_.push_back({run.begin + (begin - before), run.begin + (end - before)});
    before += length;
  }
  return intern(scratch_);
}

std::size_t IndexSetTable::bytes() const {
  return runs_.capacity() * sizeof(Run) + entries_.capacity() * sizeof(Entry) + ids_.bytes() +
         scratch_.capacity() * sizeof(Run) + marks_.capacity() * sizeof(std::uint64_t);
}

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
