#include "engine/program/synthesis_hierarchy.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace p2 {
namespace {

constexpr std::array<std::string_view, 6> kKindNames = {"a", "b", "c", "d", "collapsed", "lattice"};

/// Appends the levels of one kind to a hierarchy that so far holds only root.
class Levels {
 public:
  Levels(const DeviceGrid& grid, std::vector<SynthesisLevel>& levels)
      : grid_(grid), levels_(levels) {}

  /// One level per hardware level, made of the factors of `axes` there.
  void by_hardware_level(const ReductionAxes& axes) {
    for (std::uint32_t j = 0; j < columns(); ++j) {
      SynthesisLevel level{grid_.hierarchy().levels()[j].name, 1, 0};
      for (const std::uint32_t axis : axes) {
        level.size *= grid_.placement().factors[axis][j];
        level.factors |= grid_.factor_at(axis, j);
      }
      levels_.push_back(std::move(level));
    }
  }

  void by_columns() {
    for (std::uint32_t j = 0; j < columns(); ++j) {
      for (std::uint32_t axis = 0; axis < grid_.axes().count(); ++axis) single(axis, j);
    }
  }

  void by_rows(const ReductionAxes& axes) {
    for (const std::uint32_t axis : axes) {
      for (std::uint32_t j = 0; j < columns(); ++j) single(axis, j);
    }
  }

  ReductionAxes all_axes() const {
    ReductionAxes all;
    for (std::uint32_t axis = 0; axis < grid_.axes().count(); ++axis) all.push_back(axis);
    return all;
  }

 private:
  std::uint32_t columns() const {
    return static_cast<std::uint32_t>(grid_.hierarchy().levels().size());
  }

  void single(std::uint32_t axis, std::uint32_t j) {
    levels_.push_back(
        {fmt::format("{}.{}", grid_.hierarchy().levels()[j].name, grid_.axes()[axis].name),
         grid_.placement().factors[axis][j], grid_.factor_at(axis, j)});
  }

  const DeviceGrid& grid_;
  std::vector<SynthesisLevel>& levels_;
};

}  // namespace

SynthesisHierarchy::SynthesisHierarchy(HierarchyKind kind, const DeviceGrid& grid,
                                       const ReductionAxes& reduction)
    : kind_(kind), levels_{{"root", 1, 0}} {
  Levels levels(grid, levels_);
  switch (kind) {
    case HierarchyKind::Hardware:
      levels.by_hardware_level(levels.all_axes());
      break;
    case HierarchyKind::Columns:
      levels.by_columns();
      break;
    case HierarchyKind::Rows:
      levels.by_rows(levels.all_axes());
      break;
    case HierarchyKind::Collapsed:
      levels.by_hardware_level(reduction);
      break;
    case HierarchyKind::Reduction:
    case HierarchyKind::Lattice:
      levels.by_rows(reduction);
      break;
  }
}

std::optional<std::uint32_t> SynthesisHierarchy::level_called(std::string_view name) const {
  for (std::uint32_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string_view to_string(HierarchyKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<HierarchyKind> hierarchy_kind_called(std::string_view name) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), name);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<HierarchyKind>(found - kKindNames.begin());
}

std::string to_string(const SynthesisHierarchy& hierarchy) {
  const bool lattice = hierarchy.is_lattice();
  std::string text;
  for (const SynthesisLevel& level : hierarchy.levels()) {
    if (lattice && level.name == "root") continue;
    text += fmt::format("{}{} {}",
                        text.empty() ? ""
                        : lattice    ? ", "
                                     : " > ",
                        level.name, level.size);
  }
  return lattice ? "{" + text + "}" : text;
}

}  // namespace p2
