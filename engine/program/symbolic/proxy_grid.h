#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/state_graph.h"
#include "engine/program/symbolic/word_table.h"

namespace p2 {

/// A sub-grid of a problem's devices that stands for all of them: of every digit the first values,
/// at most `values`. The states of a problem are invariant under permutations of the values of a
/// digit that keep 0 (and, where chunk numbers matter, the last): no instruction tells them apart.
class ProxyGrid {
 public:
  /// The devices of one group in the grid: `base + offset`, the root first. `size` counts the
  /// devices of the group in the whole system.
  struct Groups {
    std::vector<std::uint32_t> bases;
    std::vector<std::uint32_t> offsets;
    std::uint64_t size = 1;
  };

  ProxyGrid(const Problem& problem, std::uint32_t values);

  std::uint32_t points() const { return points_; }
  std::size_t digits() const { return factors_.size(); }
  /// The number of values of a digit in the grid.
  std::uint32_t values(std::size_t digit) const { return factors_[digit].size; }
  /// Whether the grid has all values of a digit.
  bool has_all_values(std::size_t digit) const { return factors_[digit].size == sizes_[digit]; }
  std::uint32_t value(std::uint32_t point, std::size_t digit) const {
    return point / factors_[digit].stride % factors_[digit].size;
  }
  const Groups& groups(std::uint32_t move) const { return groups_[groups_of_move_[move]]; }
  /// The points that differ from `point` in digits of `free` only.
  std::vector<std::uint32_t> coset(std::uint32_t point, FactorSet free) const;

 private:
  std::vector<Factor> factors_;
  std::vector<std::uint32_t> sizes_;
  std::uint32_t points_ = 1;
  std::vector<Groups> groups_;
  std::vector<std::uint32_t> groups_of_move_;
};

/// Sets of points of a ProxyGrid, interned; 0 is the empty set.
class PointSets {
 public:
  static constexpr std::uint32_t kEmpty = 0;

  explicit PointSets(std::uint32_t points) : buffer_((points + 31) / 32, 0) {
    table_.intern(buffer_);
  }

  std::uint32_t of(std::span<const std::uint32_t> points);
  /// The union; nothing unless the sets are pairwise disjoint.
  std::optional<std::uint32_t> disjoint_union(std::span<const std::uint32_t> sets);
  bool is_subset(std::uint32_t some, std::uint32_t all) const;
  std::size_t bytes() const { return table_.bytes(); }

 private:
  WordTable table_;
  std::vector<std::uint32_t> buffer_;
};

}  // namespace p2
