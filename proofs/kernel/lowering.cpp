#include <algorithm>
#include <set>
#include <utility>

#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

constexpr const char* kCharacters =  // of a name
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

/// `[{"name": …, "size": …}, …]`.
void read_parts(const Json& list, const std::string& what, std::vector<std::string>& names,
                Numbers& sizes) {
  std::set<std::string> seen = {"root"};
  for (const Json& item : expect_array(list, what)) {
    expect_object(item, "a part of " + what, {"name", "size"});
    names.push_back(expect_text(item["name"], "a name in " + what));
    const bool plain = names.back().find_first_not_of(kCharacters) == std::string::npos;
    const bool starts = names.back().find_first_not_of("-0123456789") == 0;
    if (!plain || !starts || !seen.insert(names.back()).second)
      malformed(what + " has a wrong name");
    sizes.push_back(expect_number(item["size"], "a size in " + what, UINT32_MAX));
  }
  if (names.empty() || names.size() > 64) malformed(what + " has no or too many parts");
}

/// Whether the name stands in `…{x, y}…`.
bool lists(const std::string& names, const std::string& name) {
  for (const char* before : {"{", ", "}) {
    for (const char* after : {"}", ", "}) {
      if (names.find(before + name + after) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

Instance::Instance(const Json& problem, std::uint32_t devices) : devices_(devices) {
  std::vector<std::string> levels;
  std::vector<std::string> axes;
  Numbers level_sizes;
  Numbers axis_sizes;
  read_parts(problem["hierarchy"], "hierarchy", levels, level_sizes);
  read_parts(problem["axes"], "axes", axes, axis_sizes);
  reduced_axis_.assign(axes.size(), false);
  for (const std::uint32_t axis : expect_ascending(problem["reduce"], "reduce", axes.size())) {
    reduced_axis_[axis] = true;
  }
  read_placement(problem["placement"], level_sizes, axis_sizes);
  build_levels(expect_text(problem["synthesis_hierarchy"], "synthesis_hierarchy"), levels, axes);
}

/// Reads the digits; the products of a row are its axis, those of a column its level.
void Instance::read_placement(const Json& matrix, const Numbers& levels, const Numbers& axes) {
  std::vector<Numbers> rows;
  for (const Json& row : expect_array(matrix, "placement")) {
    rows.push_back(expect_numbers(row, "placement", UINT32_MAX));
    if (rows.back().size() != levels.size()) malformed("placement has a row of wrong length");
  }
  if (rows.size() != axes.size()) malformed("placement has too many or too few rows");
  std::uint32_t stride = devices_;
  Numbers level_products(levels.size(), 1);
  Numbers axis_products(axes.size(), 1);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::uint32_t size = rows[axis][level];
      if (size == 0 || stride % size != 0) reject("placement does not number the devices");
      stride /= size;  // so no product below is larger than the number of devices
      level_products[level] *= size;
      axis_products[axis] *= size;
      digits_.push_back({level, axis, size, stride});
    }
  }
  if (stride != 1 || level_products != levels || axis_products != axes) {
    reject("placement does not fit hierarchy, axes and devices");
  }
}

void Instance::build_levels(const std::string& kind, const std::vector<std::string>& levels,
                            const std::vector<std::string>& axes) {
  const std::string kinds = "a b c d collapsed lattice";
  if ((" " + kinds + " ").find(" " + kind + " ") == std::string::npos) {
    malformed("synthesis_hierarchy is unknown");
  }
  lattice_ = kind == "lattice";
  confined_ = kind == "d" || kind == "collapsed" || lattice_;
  std::vector<Digit> order = digits_;
  const auto by_axis = [](const Digit& a, const Digit& b) { return a.axis < b.axis; };
  if (kind == "c" || kind == "d" || lattice_) std::stable_sort(order.begin(), order.end(), by_axis);
  if (!lattice_) levels_.push_back({"root", {}});
  const bool whole = kind == "a" || kind == "collapsed";
  for (const std::string& name : levels) {
    if (whole) levels_.push_back({name, {}});
  }
  for (const Digit& digit : order) {
    if (confined_ && !reduced_axis_[digit.axis]) continue;
    if (!whole) levels_.push_back({levels[digit.level] + "." + axes[digit.axis], {}});
    (whole ? levels_[digit.level + 1] : levels_.back()).digits.push_back(digit);
  }
}

/// One group for every choice of the digits not in `reduced`, those in `pinned` being 0. A group is
/// found by its first device, the one whose reduced digits are 0.
std::vector<Numbers> Instance::groups(const std::vector<Digit>& reduced,
                                      const std::vector<Digit>& pinned) const {
  std::vector<Numbers> by_first(devices_);
  for (std::uint32_t device = 0; device < devices_; ++device) {
    const auto digit = [&](const Digit& d) { return device / d.stride % d.size; };
    if (std::any_of(pinned.begin(), pinned.end(), digit)) continue;
    std::uint32_t first = device;
    for (const Digit& d : reduced) first -= digit(d) * d.stride;
    by_first[first].push_back(device);
  }
  std::erase_if(by_first, [](const Numbers& group) { return group.empty(); });
  return by_first;
}

std::vector<Numbers> Instance::classes() const {
  std::vector<Digit> reduced;
  for (const Digit& digit : digits_) {
    if (digit.size > 1 && reduced_axis_[digit.axis]) reduced.push_back(digit);
  }
  return groups(reduced, {});
}

Instance::Shape Instance::shape(std::string slice, std::string form, const Roles& role) const {
  Shape shape{std::move(slice), std::move(form), {}, {}};
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (const Digit& digit : levels_[level].digits) {
      if (digit.size > 1 && role[level] == 1) shape.reduced.push_back(digit);
      if (digit.size > 1 && role[level] == 2) shape.pinned.push_back(digit);
    }
  }
  return shape;
}

Instance::Shape Instance::lattice_shape(const Roles& role) const {
  const bool parallel = std::count(role.begin(), role.end(), 2U) == 0;
  return shape(names(role, 1), parallel ? "Parallel" : "Master(" + names(role, 2) + ")", role);
}

/// `{x, y}`.
std::string Instance::names(const Roles& role, std::size_t wanted) const {
  std::string text;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (role[level] == wanted) text += (text.empty() ? "" : ", ") + levels_[level].name;
  }
  return "{" + text + "}";
}

std::vector<Instance::Shape> Instance::linear_shapes() const {
  std::vector<Shape> shapes;
  for (const std::string form : {"InsideGroup", "Parallel", "Master"}) {
    const bool inside = form == "InsideGroup";
    for (std::size_t slice = 0; slice < levels_.size(); ++slice) {
      for (std::size_t above = inside ? slice : 0; above < slice + inside; ++above) {
        Roles role(levels_.size(), 0);
        for (std::size_t level = above + 1; level < levels_.size(); ++level) {
          role[level] = inside || level <= slice ? 1 : form == "Master" ? 2 : 0;
        }
        shapes.push_back(shape(levels_[slice].name,
                               inside ? form : form + "(" + levels_[above].name + ")", role));
      }
    }
  }
  return shapes;
}

/// Levels of size 1 are left alone; of the roles of the others the first level's count most. Sorted
/// by the number of levels pinned, then reduced.
std::vector<Instance::Shape> Instance::lattice_shapes() const {
  std::vector<Roles> all = {{}};
  for (const Level& level : levels_) {
    const std::vector<Roles> prefixes = std::exchange(all, {});
    for (Roles role : prefixes) {
      role.push_back(0);
      for (; role.back() < (level.digits[0].size > 1 ? 3 : 1); ++role.back()) all.push_back(role);
    }
    if (all.size() > 6561) throw Objection(Verdict::Incomplete, "the lattice is too large");
  }
  std::stable_sort(all.begin(), all.end(), [](const Roles& a, const Roles& b) {
    const auto counts = [](const Roles& role) {
      return std::pair(std::count(role.begin(), role.end(), 2U),
                       std::count(role.begin(), role.end(), 1U));
    };
    return counts(a) < counts(b);
  });
  std::vector<Shape> shapes;
  for (const Roles& role : all) shapes.push_back(lattice_shape(role));
  return shapes;
}

Step Instance::lower(const std::string& slice, const std::string& form) const {
  std::vector<Shape> shapes;
  if (lattice_) {
    Roles role;
    for (const Level& level : levels_) {
      role.push_back(lists(form, level.name) ? 2 : lists(slice, level.name) ? 1 : 0);
    }
    shapes = {lattice_shape(role)};
  } else {
    shapes = linear_shapes();
  }
  for (const Shape& shape : shapes) {
    const bool called = shape.slice == slice && shape.form == form;
    if (called && !shape.reduced.empty()) return lowered(shape);
  }
  reject("(" + slice + ", " + form + ") forms no group of two devices");
}

Step Instance::lowered(const Shape& shape) const {
  Step step{{}, shape.slice, shape.form, groups(shape.reduced, shape.pinned), true, false};
  step.master = !shape.pinned.empty();
  return step;
}

std::vector<Step> Instance::choices(bool published) const {
  std::vector<Step> choices;
  std::set<std::vector<Numbers>> seen;
  for (const Shape& shape : lattice_ ? lattice_shapes() : linear_shapes()) {
    if (shape.reduced.empty()) continue;
    Step step = lowered(shape);
    if (!seen.insert(step.groups).second) continue;
    for (const char* collective : kCollectives) {
      step.collective = collective;
      if (!published || !step.master || step.collective == kCollectives[0]) choices.push_back(step);
    }
  }
  return choices;
}

}  // namespace p2::kernel
