#include "engine/placement/placement.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"
#include "engine/base/text_cursor.h"
#include "engine/topology/system.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxAxes = 64;

}  // namespace

Axes::Axes(std::vector<Axis> axes, const SourcePosition& where) : axes_(std::move(axes)) {
  if (axes_.empty()) throw InputError(where, "no parallelism axis, expected at least one");
  if (axes_.size() > kMaxAxes) {
    throw InputError(where, fmt::format("{} axes, expected at most {}", axes_.size(), kMaxAxes));
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    if (axis.size == 0) {
      throw InputError(where, fmt::format("axis {} has size 0, expected at least 1", axis.name));
    }
    if (!is_plain_name(axis.name)) {
      throw InputError(where, fmt::format("\"{}\" cannot name an axis, expected letters, digits, "
                                          "'_' and '-', starting with a letter or '_'",
                                          axis.name));
    }
    const auto same_name = [&](const Axis& other) { return other.name == axis.name; };
    if (std::any_of(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(i), same_name)) {
      throw InputError(where,
                       fmt::format("two axes are called {}, expected distinct names", axis.name));
    }
  }
}

Axes parse_axes(std::string_view source, std::string_view text) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  std::vector<Axis> axes;
  const bool named = !cursor.peek_name().empty();
  do {
    Axis axis{fmt::format("a{}", axes.size()), 1};
    if (named) {
      axis.name = cursor.name("the name of an axis");
      cursor.expect("=", "after the name of an axis");
    }
    axis.size = static_cast<std::uint32_t>(
        cursor.integer("the size of an axis", 1, Hierarchy::kMaxDevices));
    axes.push_back(std::move(axis));
  } while (cursor.accept(","));
  expect_end(cursor, "the axes");
  return Axes(std::move(axes), where);
}

std::uint32_t axis_index(const Axes& axes, std::string_view name, const SourcePosition& where) {
  for (std::uint32_t i = 0; i < axes.count(); ++i) {
    if (axes[i].name == name) return i;
  }
  std::string names;
  for (const Axis& axis : axes) names += axis.name + ", ";
  throw InputError(where, fmt::format("no axis is called '{}', expected one of {}{}", name,
                                      to_string(axes), suggestion(name, names)));
}

ReductionAxes parse_reduction(std::string_view source, std::string_view text, const Axes& axes) {
  TextCursor cursor(source, text);
  ReductionAxes reduction;
  do {
    const SourcePosition where = cursor.position();
    const std::uint32_t axis = cursor.peek_name().empty()
                                   ? static_cast<std::uint32_t>(cursor.integer(
                                         "the index of a reduction axis", 0, axes.count() - 1))
                                   : axis_index(axes, cursor.name("an axis name"), where);
    if (std::find(reduction.begin(), reduction.end(), axis) != reduction.end()) {
      throw InputError(
          where, fmt::format("axis {} is listed twice, expected each axis once", axes[axis].name));
    }
    reduction.push_back(axis);
  } while (cursor.accept(","));
  expect_end(cursor, "the reduction axes");
  std::sort(reduction.begin(), reduction.end());
  return reduction;
}

std::string to_string(const Axes& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

void check_placement(const Placement& placement, const Hierarchy& hierarchy, const Axes& axes,
                     const SourcePosition& where) {
  const auto& levels = hierarchy.levels();
  if (placement.factors.size() != axes.count()) {
    throw InputError(where, fmt::format("the placement has {} rows, expected {}: one per axis",
                                        placement.factors.size(), axes.count()));
  }
  std::vector<std::uint64_t> columns(levels.size(), 1);
  for (std::size_t i = 0; i < axes.count(); ++i) {
    const auto& row = placement.factors[i];
    if (row.size() != levels.size()) {
      throw InputError(where, fmt::format("row {} of the placement has {} entries, expected {}: "
                                          "one per hierarchy level",
                                          i, row.size(), levels.size()));
    }
    std::uint64_t product = 1;
    for (std::size_t j = 0; j < row.size(); ++j) {
      // Every factor divides a size of at most 2^20, so a larger product cannot be repaired.
      product = std::min(product * row[j], std::uint64_t{1} << 32);
      columns[j] = std::min(columns[j] * row[j], std::uint64_t{1} << 32);
    }
    if (product != axes[i].size) {
      throw InputError(where, fmt::format("row {} of the placement multiplies to {}, expected {}: "
                                          "the size of axis {}",
                                          i, product, axes[i].size, axes[i].name));
    }
  }
  for (std::size_t j = 0; j < levels.size(); ++j) {
    if (columns[j] != levels[j].size) {
      throw InputError(where, fmt::format("column {} of the placement multiplies to {}, expected "
                                          "{}: the size of level {}",
                                          j, columns[j], levels[j].size, levels[j].name));
    }
  }
}

Placement parse_placement(std::string_view source, std::string_view text,
                          const Hierarchy& hierarchy, const Axes& axes) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  Placement placement;
  cursor.expect("[", "before the rows of a placement");
  while (!cursor.accept("]")) {
    cursor.expect("[", "before a row of a placement");
    auto& row = placement.factors.emplace_back();
    while (!cursor.accept("]")) {
      row.push_back(static_cast<std::uint32_t>(
          cursor.integer("a parallelism factor", 1, Hierarchy::kMaxDevices)));
      cursor.accept(",");
    }
    cursor.accept(",");
  }
  expect_end(cursor, "the placement");
  check_placement(placement, hierarchy, axes, where);
  return placement;
}

std::string to_string(const Placement& placement) {
  std::vector<std::string> rows;
  for (const auto& row : placement.factors)
    rows.push_back(fmt::format("[{}]", fmt::join(row, " ")));
  return fmt::format("[{}]", fmt::join(rows, " "));
}

namespace {

/// Backtracking search over the matrix entries in row-major order. A prefix is extended only if it
/// can be completed: row and column products agree prime by prime, so the rest of a row fits into
/// its remaining columns exactly if it divides the product of what they have left.
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
    if (product > Hierarchy::kMaxDevices) break;
  }
  if (product != hierarchy.devices()) {
    throw InputError(
        where, fmt::format("the axes {} multiply to {}{}, expected {}: the number of "
                           "devices of {}",
                           to_string(axes), product > Hierarchy::kMaxDevices ? "more than " : "",
                           std::min<std::uint64_t>(product, Hierarchy::kMaxDevices),
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

DeviceGrid::DeviceGrid(Hierarchy hierarchy, Axes axes, Placement placement)
    : hierarchy_(std::move(hierarchy)), axes_(std::move(axes)), placement_(std::move(placement)) {
  std::uint32_t stride = hierarchy_.devices();
  for (std::uint32_t level = 0; level < hierarchy_.levels().size(); ++level) {
    for (std::uint32_t axis = 0; axis < axes_.count(); ++axis) {
      const std::uint32_t size = placement_.factors[axis][level];
      if (size == 1) continue;
      stride /= size;
      factors_.push_back({axis, level, size, stride});
    }
  }
  invariant(stride == 1 && factors_.size() <= 20, "a placement does not number its devices");
}

FactorSet DeviceGrid::factors_of(const ReductionAxes& axes) const {
  FactorSet set = 0;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (std::find(axes.begin(), axes.end(), factors_[f].axis) != axes.end()) {
      set |= FactorSet{1} << f;
    }
  }
  return set;
}

FactorSet DeviceGrid::factor_at(std::uint32_t axis, std::uint32_t level) const {
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (factors_[f].axis == axis && factors_[f].level == level) return FactorSet{1} << f;
  }
  return 0;
}

std::uint32_t DeviceGrid::coordinate(std::uint32_t device, std::uint32_t axis) const {
  std::uint32_t part = 0;
  for (const Factor& factor : factors_) {
    if (factor.axis == axis) part = part * factor.size + digit(device, factor);
  }
  return part;
}

std::vector<std::uint32_t> digit_sums(const std::vector<Factor>& factors, FactorSet set) {
  std::vector<std::uint32_t> sums{0};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if ((set >> f & 1U) == 0) continue;
    std::vector<std::uint32_t> extended;
    extended.reserve(sums.size() * factors[f].size);
    for (const std::uint32_t sum : sums) {
      for (std::uint32_t digit = 0; digit < factors[f].size; ++digit) {
        extended.push_back(sum + digit * factors[f].stride);
      }
    }
    sums = std::move(extended);
  }
  return sums;
}

std::vector<Group> DeviceGrid::groups(FactorSet reduced, FactorSet pinned) const {
  invariant((reduced & pinned) == 0, "a factor is both reduced and pinned");
  const std::vector<std::uint32_t> offsets = digit_sums(factors_, reduced);
  std::vector<Group> groups;
  for (const std::uint32_t base : digit_sums(factors_, all_factors() & ~(reduced | pinned))) {
    Group& group = groups.emplace_back(offsets);
    for (std::uint32_t& device : group) device += base;
  }
  return groups;
}

namespace {

std::string marker(const DeviceGrid& grid, std::uint32_t device) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t axis = 0; axis < grid.axes().count(); ++axis) {
    parts.push_back(grid.coordinate(device, axis));
  }
  return fmt::format("{}", fmt::join(parts, "/"));
}

/// `rack 0 server 1`, for the line that starts at `device`; levels of size 1 are left out.
std::string line_label(const Hierarchy& hierarchy, std::size_t labelled, std::uint32_t device) {
  std::string label;
  std::uint32_t inside = hierarchy.devices();
  for (std::size_t j = 0; j < labelled; ++j) {
    const Level& level = hierarchy.levels()[j];
    inside /= level.size;
    if (level.size == 1) continue;
    label +=
        fmt::format("{}{} {}", label.empty() ? "" : " ", level.name, device / inside % level.size);
  }
  return label;
}

}  // namespace

std::string draw_placement(const DeviceGrid& grid, std::uint32_t max_devices) {
  const std::uint32_t devices = grid.devices();
  if (devices > max_devices) return {};
  const auto& levels = grid.hierarchy().levels();
  const std::uint32_t innermost = levels.back().size;
  const std::size_t labelled = levels.size() > 2 ? levels.size() - 2 : levels.size() - 1;
  std::uint32_t per_line = devices;
  for (std::size_t j = 0; j < labelled; ++j) per_line /= levels[j].size;

  std::vector<std::string> markers;
  for (std::uint32_t device = 0; device < devices; ++device)
    markers.push_back(marker(grid, device));
  std::size_t width = 0;
  for (const std::string& text : markers) width = std::max(width, text.size());
  std::size_t label_width = 0;
  for (std::uint32_t device = 0; device < devices; device += per_line) {
    label_width = std::max(label_width, line_label(grid.hierarchy(), labelled, device).size());
  }
  std::string drawing;
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (device % per_line == 0) {
      drawing += fmt::format("{:<{}}", line_label(grid.hierarchy(), labelled, device), label_width);
    } else if (device % innermost == 0) {
      drawing += " |";
    }
    drawing += fmt::format(" {:<{}}", markers[device], width);
    if ((device + 1) % per_line == 0) {
      drawing.erase(drawing.find_last_not_of(' ') + 1);
      drawing += '\n';
    }
  }
  return drawing;
}

std::string draw_matrix(const DeviceGrid& grid) {
  std::size_t name_width = 0;
  for (const Axis& axis : grid.axes()) name_width = std::max(name_width, axis.name.size());
  std::string drawing(name_width, ' ');
  for (const Level& level : grid.hierarchy().levels()) {
    drawing += fmt::format("  {:>5}", level.name);
  }
  drawing += '\n';
  for (std::size_t i = 0; i < grid.axes().count(); ++i) {
    drawing += fmt::format("{:<{}}", grid.axes()[i].name, name_width);
    for (std::size_t j = 0; j < grid.hierarchy().levels().size(); ++j) {
      const std::size_t width = std::max<std::size_t>(5, grid.hierarchy().levels()[j].name.size());
      drawing += fmt::format("  {:>{}}", grid.placement().factors[i][j], width);
    }
    drawing += '\n';
  }
  return drawing;
}

}  // namespace p2
