#pragma once

#include <cstdint>
#include <vector>

#include "encodings/cnf/clauses.h"
#include "engine/placement/device_grid.h"

namespace p2::cnf {

/// The state of all simulated devices at one moment: one variable per matrix cell (device d holds,
/// in chunk r, the contribution of c), and one per row (chunk r of d is not empty).
class States {
 public:
  States(Clauses& clauses, std::uint32_t devices, std::uint32_t chunks);

  std::uint32_t devices() const { return devices_; }
  std::uint32_t chunks() const { return chunks_; }
  Literal cell(std::uint32_t d, std::uint32_t r, std::uint32_t c) const {
    return cells_[(std::size_t{d} * chunks_ + r) * devices_ + c];
  }
  Literal row(std::uint32_t d, std::uint32_t r) const {
    return rows_[std::size_t{d} * chunks_ + r];
  }

  /// Defines how many chunks every device holds; called once, before the three below.
  void count_chunks(Clauses& clauses);
  /// At least j of the first r chunks of d are not empty, 0 ≤ j ≤ r ≤ chunks.
  Literal at_least(std::uint32_t d, std::uint32_t r, std::uint32_t j) const {
    return counters_[d][r][j];
  }
  /// Exactly j chunks of d are not empty, 1 ≤ j ≤ chunks.
  Literal exactly(std::uint32_t d, std::uint32_t j) const { return exactly_[d][j - 1]; }

 private:
  std::uint32_t devices_;
  std::uint32_t chunks_;
  std::vector<Literal> cells_;
  std::vector<Literal> rows_;
  std::vector<std::vector<std::vector<Literal>>> counters_;
  std::vector<std::vector<Literal>> exactly_;
};

}  // namespace p2::cnf
