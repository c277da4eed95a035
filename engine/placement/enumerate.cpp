#include <numeric>

#include <fmt/format.h>

#include "engine/placement/placement.h"

namespace p2 {
namespace {

/// Fills the matrix cell by cell, rows first. A prefix is only ever extended by factors that leave
/// a completable rest: column and row products agree prime by prime, so what a row still needs can
/// be spread over its remaining columns exactly if it divides their product.
class Enumeration {
 public:
  Enumeration(const Hierarchy& hierarchy, const Axes& axes, std::size_t most)
      : axes_(axes), most_(most) {
    for (const Level& level : hierarchy.levels()) room_.push_back(level.size);
    current_.factors.assign(axes.count(), std::vector<std::uint32_t>(room_.size(), 1));
  }

  std::vector<Placement> run() {
    fill(0, 0, axes_[0].size);
    return std::move(found_);
  }

 private:
  void fill(std::size_t row, std::size_t column, std::uint32_t needed) {
    if (found_.size() == most_) return;
    if (column == room_.size()) {
      if (row + 1 < axes_.count()) {
        fill(row + 1, 0, axes_[row + 1].size);
      } else {
        found_.push_back(current_);
      }
      return;
    }
    std::uint64_t later = 1;
    for (std::size_t j = column + 1; j < room_.size(); ++j) later *= room_[j];
    const std::uint32_t largest = std::gcd(needed, room_[column]);
    for (std::uint32_t factor = 1; factor <= largest; ++factor) {
      if (largest % factor != 0 || later % (needed / factor) != 0) continue;
      current_.factors[row][column] = factor;
      room_[column] /= factor;
      fill(row, column + 1, needed / factor);
      room_[column] *= factor;
    }
  }

  const Axes& axes_;
  std::size_t most_;
  std::vector<std::uint32_t> room_;
  Placement current_;
  std::vector<Placement> found_;
};

}  // namespace

std::vector<Placement> first_placements(const Hierarchy& hierarchy, const Axes& axes,
                                        const SourcePosition& where, std::size_t most) {
  std::uint64_t product = 1;
  for (const Axis& axis : axes) {
    product *= axis.size;
    if (product > Hierarchy::kMostDevices) break;
  }
  if (product != hierarchy.devices()) {
    throw InputError(
        where, fmt::format("the axes {} multiply to {}{}, expected {}: the number of "
                           "devices of {}",
                           to_string(axes), product > Hierarchy::kMostDevices ? "more than " : "",
                           std::min<std::uint64_t>(product, Hierarchy::kMostDevices),
                           hierarchy.devices(), to_string(hierarchy)));
  }
  return Enumeration(hierarchy, axes, most).run();
}

std::vector<Placement> enumerate_placements(const Hierarchy& hierarchy, const Axes& axes,
                                            const SourcePosition& where, std::size_t most) {
  std::vector<Placement> all = first_placements(hierarchy, axes, where, most + 1);
  if (all.size() > most) {
    throw InputError(where, fmt::format("more than {} placements, expected fewer: name one with "
                                        "--placement",
                                        most));
  }
  return all;
}

}  // namespace p2
