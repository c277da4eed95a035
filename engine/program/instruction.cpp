#include "engine/program/instruction.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "engine/base/invariant.h"

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

std::optional<std::uint32_t> SynthesisHierarchy::find_level(std::string_view name) const {
  for (std::uint32_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string_view to_string(HierarchyKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<HierarchyKind> find_hierarchy_kind(std::string_view name) {
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

namespace {

constexpr std::uint32_t kMaxLatticeFactors = 8;

FactorSet factors_between(const SynthesisHierarchy& hierarchy, std::uint32_t above,
                          std::uint32_t to) {
  FactorSet factors = 0;
  for (std::uint32_t i = above + 1; i <= to; ++i) factors |= hierarchy.levels()[i].factors;
  return factors;
}

FactorSet factors_of(const SynthesisHierarchy& hierarchy,
                     const std::vector<std::uint32_t>& levels) {
  FactorSet factors = 0;
  for (const std::uint32_t level : levels) factors |= hierarchy.levels()[level].factors;
  return factors;
}

std::vector<GroupShape> linear_shapes(const SynthesisHierarchy& hierarchy) {
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  std::vector<GroupShape> shapes;
  std::set<Pattern> seen;
  const auto add_if_new = [&](GroupShape shape) {
    if (shape.pattern.reduced == 0 || !seen.insert(shape.pattern).second) return;
    shapes.push_back(std::move(shape));
  };
  for (std::uint32_t slice = 0; slice < levels; ++slice) {
    add_if_new(linear_shape(hierarchy, slice, Form::InsideGroup, 0));
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels; ++slice) {
      for (std::uint32_t ancestor = 0; ancestor < slice; ++ancestor) {
        add_if_new(linear_shape(hierarchy, slice, form, ancestor));
      }
    }
  }
  return shapes;
}

std::vector<std::uint32_t> chosen(const std::vector<std::uint32_t>& levels, std::uint32_t bits) {
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (bits >> i & 1U) some.push_back(levels[i]);
  }
  return some;
}

std::vector<GroupShape> lattice_shapes(const SynthesisHierarchy& hierarchy) {
  std::vector<std::uint32_t> levels;
  for (std::uint32_t i = 0; i < hierarchy.levels().size(); ++i) {
    if (hierarchy.levels()[i].factors != 0) levels.push_back(i);
  }
  if (levels.size() > kMaxLatticeFactors) {
    throw LimitReached(LimitReached::Kind::Size,
                       fmt::format("the lattice of {} factors has too many groups, expected "
                                   "at most {} factors greater than 1",
                                   levels.size(), kMaxLatticeFactors));
  }
  const std::uint32_t subsets = 1U << levels.size();
  std::vector<GroupShape> shapes;
  for (std::uint32_t reduced = 1; reduced < subsets; ++reduced) {
    for (std::uint32_t pinned = 0; pinned < subsets; ++pinned) {
      if ((reduced & pinned) != 0) continue;
      shapes.push_back(lattice_shape(hierarchy, chosen(levels, reduced), chosen(levels, pinned)));
    }
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const GroupShape& a, const GroupShape& b) {
    const auto weight = [](const GroupShape& shape) {
      return std::pair(shape.ancestor.size(), shape.slice.size());
    };
    return weight(a) < weight(b);
  });
  return shapes;
}

std::string level_set(const SynthesisHierarchy& hierarchy,
                      const std::vector<std::uint32_t>& levels) {
  std::string text;
  for (const std::uint32_t level : levels) {
    text += (text.empty() ? "" : ", ") + hierarchy.levels()[level].name;
  }
  return "{" + text + "}";
}

}  // namespace

GroupShape linear_shape(const SynthesisHierarchy& hierarchy, std::uint32_t slice, Form form,
                        std::uint32_t ancestor) {
  const auto innermost = static_cast<std::uint32_t>(hierarchy.levels().size() - 1);
  GroupShape shape{{slice}, form, {}, {}};
  if (form == Form::InsideGroup) {
    shape.pattern.reduced = factors_between(hierarchy, slice, innermost);
    return shape;
  }
  invariant(ancestor < slice && slice <= innermost,
            "a form's level is not an ancestor of its slice");
  shape.ancestor = {ancestor};
  shape.pattern.reduced = factors_between(hierarchy, ancestor, slice);
  if (form == Form::Master) shape.pattern.pinned = factors_between(hierarchy, slice, innermost);
  return shape;
}

GroupShape lattice_shape(const SynthesisHierarchy& hierarchy, std::vector<std::uint32_t> reduced,
                         std::vector<std::uint32_t> pinned) {
  const auto narrow = [&](std::uint32_t level) { return hierarchy.levels()[level].factors == 0; };
  std::erase_if(reduced, narrow);
  std::erase_if(pinned, narrow);
  const Pattern pattern{factors_of(hierarchy, reduced), factors_of(hierarchy, pinned)};
  const Form form = pinned.empty() ? Form::Parallel : Form::Master;
  return {std::move(reduced), form, std::move(pinned), pattern};
}

GroupShape with_pattern(const SynthesisHierarchy& hierarchy, const GroupShape& shape) {
  if (hierarchy.is_lattice()) return lattice_shape(hierarchy, shape.slice, shape.ancestor);
  return linear_shape(hierarchy, shape.slice[0], shape.form,
                      shape.ancestor.empty() ? 0 : shape.ancestor[0]);
}

std::vector<GroupShape> all_shapes(const SynthesisHierarchy& hierarchy) {
  return hierarchy.is_lattice() ? lattice_shapes(hierarchy) : linear_shapes(hierarchy);
}

bool allows(Dialect dialect, const Pattern& pattern, Collective collective) {
  return dialect == Dialect::Printed || pattern.pinned == 0 || collective == Collective::AllReduce;
}

std::string slice_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy) {
  if (hierarchy.is_lattice()) return level_set(hierarchy, shape.slice);
  return hierarchy.levels()[shape.slice[0]].name;
}

std::string form_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy) {
  if (shape.form == Form::InsideGroup) return "InsideGroup";
  const std::string_view word = shape.form == Form::Parallel ? "Parallel" : "Master";
  if (!hierarchy.is_lattice()) {
    return fmt::format("{}({})", word, hierarchy.levels()[shape.ancestor[0]].name);
  }
  if (shape.form == Form::Parallel) return "Parallel";
  return fmt::format("{}({})", word, level_set(hierarchy, shape.ancestor));
}

std::string to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy) {
  return slice_to_string(shape, hierarchy) + ", " + form_to_string(shape, hierarchy);
}

std::string_view to_string(Dialect dialect) {
  return dialect == Dialect::Printed ? "printed" : "published";
}

std::optional<Dialect> find_dialect(std::string_view name) {
  for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
    if (to_string(dialect) == name) return dialect;
  }
  return std::nullopt;
}

}  // namespace p2
