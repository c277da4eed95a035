#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/collective/id_table.h"

namespace p2 {

/// The indexes begin, begin+1, …, end−1.
struct Run {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const Run&) const = default;
};

/// Names one set inside an IndexSetTable; equal sets have equal ids. The empty set is 0.
using IndexSetId = std::uint32_t;

/// Sets of indexes (chunks of a buffer, contributing devices), each kept once as its maximal runs.
/// Neighbours on a hierarchical system make one run, whatever their number; a group that strides
/// over it has a run per member.
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

  /// The union. The sets were pairwise disjoint exactly if their sizes add up to the union's.
  IndexSetId unite(std::span<const IndexSetId> sets);
  IndexSetId intersect(IndexSetId a, IndexSetId b);
  IndexSetId subtract(IndexSetId a, IndexSetId b);
  bool subset(IndexSetId a, IndexSetId b) { return intersect(a, b) == a; }
  /// Members number `first` … `first + count − 1` of `set` in ascending order; they must exist.
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

}  // namespace p2
