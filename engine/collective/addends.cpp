#include "engine/collective/addends.h"

#include <algorithm>
#include <cstddef>

#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxBranches = 1'000'000;

class ExactCover {
 public:
  ExactCover(std::span<const Contributors> rows, const Contributors& wanted, std::uint32_t self)
      : wanted_(wanted), by_contributor_(wanted.size()), covered_(wanted.size(), false) {
    const auto n = static_cast<std::uint32_t>(rows.size());
    for (std::uint32_t i = 0; i < n; ++i) add((self + i) % n, rows[(self + i) % n]);
  }

  std::optional<std::vector<std::uint32_t>> find() {
    if (!cover(0)) return std::nullopt;
    std::vector<std::uint32_t> positions;
    for (const std::size_t row : chosen_) positions.push_back(rows_[row].position);
    std::ranges::sort(positions);
    return positions;
  }

 private:
  struct Row {
    std::uint32_t position = 0;
    std::vector<std::size_t> places;  // of its contributors in `wanted_`
  };

  /// A row that is part of what is wanted is a candidate, the first of equal ones.
  void add(std::uint32_t position, const Contributors& row) {
    if (row.empty() || !std::ranges::includes(wanted_, row)) return;
    Row candidate{position, {}};
    for (const std::uint32_t contributor : row) {
      const auto at = std::ranges::lower_bound(wanted_, contributor);
      candidate.places.push_back(static_cast<std::size_t>(at - wanted_.begin()));
    }
    std::vector<std::size_t>& rivals = by_contributor_[candidate.places.front()];
    const bool known = std::ranges::any_of(
        rivals, [&](std::size_t other) { return rows_[other].places == candidate.places; });
    if (known) return;
    rivals.push_back(rows_.size());
    rows_.push_back(std::move(candidate));
  }

  /// Covers the places from `first` on, those before being covered. A row that covers a place
  /// begins there: with an earlier place it would cover that one again.
  bool cover(std::size_t first) {
    while (first < covered_.size() && covered_[first]) ++first;
    if (first == covered_.size()) return true;
    if (++branches_ > kMaxBranches) {
      throw LimitReached(LimitReached::Kind::Size,
                         "a group is too large to see which of its rows are added up");
    }
    for (const std::size_t row : by_contributor_[first]) {
      const std::vector<std::size_t>& places = rows_[row].places;
      if (std::ranges::any_of(places, [&](std::size_t place) { return covered_[place]; })) continue;
      for (const std::size_t place : places) covered_[place] = true;
      chosen_.push_back(row);
      if (cover(first + 1)) return true;
      chosen_.pop_back();
      for (const std::size_t place : places) covered_[place] = false;
    }
    return false;
  }

  const Contributors& wanted_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> by_contributor_;  // first place → rows that begin there
  std::vector<bool> covered_;
  std::vector<std::size_t> chosen_;
  std::size_t branches_ = 0;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> addends(std::span<const Contributors> rows,
                                                  const Contributors& wanted, std::uint32_t self) {
  if (rows[self] == wanted) return std::vector{self};
  return ExactCover(rows, wanted, self).find();
}

}  // namespace p2
