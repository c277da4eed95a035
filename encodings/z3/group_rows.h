#pragma once

#include <cstdint>
#include <vector>

#include <z3++.h>

namespace p2::z3_encoding {

/// The symbolic states of a group's devices: for every position and chunk one row, a bit-vector in
/// which bit c says whether the contribution of device c is held.
class GroupRows {
 public:
  /// `rows` is ordered by position, then by chunk; at least one position, rows of equal width.
  GroupRows(std::vector<z3::expr> rows, std::uint32_t positions);

  std::uint32_t positions() const { return positions_; }
  std::uint32_t chunks() const { return static_cast<std::uint32_t>(alike_.size()); }
  std::uint32_t contributors() const { return contributors_; }
  const z3::expr& row(std::uint32_t position, std::uint32_t chunk) const {
    return rows_[std::size_t{position} * alike_.size() + chunk];
  }

  /// Chunks whose rows are the same terms at every position: the first of them stands for all.
  struct Class {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  const std::vector<Class>& classes() const { return classes_; }
  /// The chunk that stands for `chunk`.
  std::uint32_t first_alike(std::uint32_t chunk) const { return alike_[chunk]; }

  /// Whether every row is a constant, so that everything about the group can be simplified away.
  bool constant() const { return constant_; }

 private:
  std::vector<z3::expr> rows_;
  std::uint32_t positions_;
  std::uint32_t contributors_ = 0;
  std::vector<std::uint32_t> alike_;
  std::vector<Class> classes_;
  bool constant_ = true;
};

}  // namespace p2::z3_encoding
