#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "proofs/kernel/input.h"
#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

using Digit = Instance::Digit;
using Names = std::vector<std::string>;
using Shape = Instance::Shape;
using Roles = std::vector<std::size_t>;

/// `node=2,gpu=4`, or the names alone.
std::string listed(const Names& names, const Numbers& sizes = {}) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : ",") + names[i];
    if (i < sizes.size()) text += "=" + std::to_string(sizes[i]);
  }
  return shortened(text);
}

/// `[{"name": …, "size": …}, …]`.
std::pair<Names, Numbers> read_parts(const Json& value) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  std::pair<Names, Numbers> parts;
  std::set<std::string> seen = {"root"};
  for (const Json& item : as_list(value)) {
    expect_keys(item, {"name", "size"});
    const std::string& name = as_text(item["name"]);
    const bool plain = std::ranges::all_of(name, in_name);
    if (!plain || name.find_first_not_of("0123456789-") != 0 || !seen.insert(name).second) {
      malformed("\"" + name + "\" is not a name of a level or axis");
    }
    parts.first.push_back(name);
    parts.second.push_back(as_number(item["size"], UINT32_MAX));
  }
  if (parts.first.empty() || parts.first.size() > 64)
    malformed("hierarchy or axes have no or too many parts");
  return parts;
}

/// The digits; the products of a row are its axis, those of a column its level.
std::vector<Digit> read_placement(const Json& matrix, std::uint32_t devices, const Numbers& levels,
                                  const Numbers& axes) {
  std::vector<Numbers> rows;
  for (const Json& row : as_list(matrix)) {
    rows.push_back(as_numbers(row, UINT32_MAX));
    if (rows.back().size() != levels.size()) malformed("placement has a row of wrong length");
  }
  if (rows.size() != axes.size()) malformed("placement has too many or too few rows");
  std::vector<Digit> digits;
  std::uint32_t stride = devices;
  Numbers level_products(levels.size(), 1);
  Numbers axis_products(axes.size(), 1);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::uint32_t size = rows[axis][level];
      if (size == 0 || stride % size != 0) reject("placement does not number the devices");
      stride /= size;  // so no product below is larger than the number of devices
      level_products[level] *= size;
      axis_products[axis] *= size;
      digits.push_back({level, axis, size, stride});
    }
  }
  if (stride != 1 || level_products != levels || axis_products != axes) {
    reject("placement does not fit hierarchy, axes and devices");
  }
  return digits;
}

/// One group for every choice of the digits that are not reduced, the pinned ones being 0. A group
/// is found by its first device, the one whose reduced digits are 0.
template <typename Role>
std::vector<Numbers> groups(const Instance& instance, Role role) {
  std::vector<Numbers> by_first(instance.devices);
  for (std::uint32_t device = 0; device < instance.devices; ++device) {
    std::uint32_t first = device;
    bool there = true;
    for (const Digit& digit : instance.digits) {
      const std::uint32_t value = device / digit.stride % digit.size;
      if (role(digit) == 1) first -= value * digit.stride;
      there = there && (role(digit) != 2 || value == 0);
    }
    if (there) by_first[first].push_back(device);
  }
  std::erase_if(by_first, [](const Numbers& group) { return group.empty(); });
  return by_first;
}

Step lowered(const Instance& instance, const Shape& shape) {
  const auto role = [&](const Digit& digit) { return shape.role[digit.part]; };
  const bool master = std::ranges::count(instance.digits, 2U, role) > 0;
  return {{}, shape.slice, shape.form, groups(instance, role), true, master};
}

std::vector<Shape> linear_shapes(const Names& levels) {
  if (levels.size() > 65)
    throw CheckFailure(Verdict::Incomplete, "the hierarchy has too many levels");
  std::vector<Shape> shapes;
  for (const std::string form : {"InsideGroup", "Parallel", "Master"}) {
    const bool inside = form == "InsideGroup";
    for (std::size_t slice = 0; slice < levels.size(); ++slice) {
      for (std::size_t above = inside ? slice : 0; above < slice + inside; ++above) {
        Roles role(levels.size(), 0);
        for (std::size_t level = above + 1; level < levels.size(); ++level) {
          role[level] = inside || level <= slice ? 1 : form == "Master" ? 2 : 0;
        }
        shapes.push_back(
            {levels[slice], inside ? form : form + "(" + levels[above] + ")", std::move(role)});
      }
    }
  }
  return shapes;
}

/// Of the roles the first level's count most. Sorted by the number of levels pinned, then reduced.
std::vector<Shape> lattice_shapes(const Instance& instance) {
  std::vector<Roles> all = {{}};
  for (std::size_t level = 0; level < instance.levels.size(); ++level) {
    const auto here = [&](const Digit& digit) { return level > 0 && digit.part == level; };
    const bool wide = std::ranges::any_of(instance.digits, here);
    for (Roles& prefix : std::exchange(all, {})) {
      prefix.push_back(0);
      for (; prefix.back() < (wide ? 3 : 1); ++prefix.back()) all.push_back(prefix);
    }
    if (all.size() > 6561) throw CheckFailure(Verdict::Incomplete, "the lattice is too large");
  }
  const auto counts = [](const Roles& role) {
    return std::pair(std::ranges::count(role, 2U), std::ranges::count(role, 1U));
  };
  std::ranges::stable_sort(all, {}, counts);
  std::vector<Shape> shapes;
  for (const Roles& role : all) {
    std::string names[3];
    for (std::size_t level = 0; level < role.size(); ++level) {
      std::string& list = names[role[level]];
      list += (list.empty() ? "" : ", ") + instance.levels[level];
    }
    const std::string form = names[2].empty() ? "Parallel" : "Master({" + names[2] + "})";
    shapes.push_back({"{" + names[1] + "}", form, role});
  }
  return shapes;
}

}  // namespace

Instance::Instance(const Json& problem, std::uint32_t k) : devices(k) {
  const auto [level_names, level_sizes] = read_parts(problem["hierarchy"]);
  const auto [axis_names, axis_sizes] = read_parts(problem["axes"]);
  reduced_axis.assign(axis_names.size(), false);
  for (const auto axis : as_ascending(problem["reduce"], axis_names.size())) {
    reduced_axis[axis] = true;
  }
  digits = read_placement(problem["placement"], devices, level_sizes, axis_sizes);
  kind = as_text(problem["synthesis_hierarchy"]);
  const std::set<std::string> kinds = {"a", "b", "c", "d", "collapsed", "lattice"};
  if (!kinds.contains(kind)) malformed("synthesis_hierarchy is unknown");
  const bool lattice = kind == "lattice";
  confined = kind == "d" || kind == "collapsed" || lattice;
  const bool whole = kind == "a" || kind == "collapsed";
  if (whole) levels.insert(levels.end(), level_names.begin(), level_names.end());
  if (!whole && kind != "b") std::ranges::stable_sort(digits, {}, &Digit::axis);
  for (Digit& digit : digits) {
    if (confined && !reduced_axis[digit.axis]) continue;
    if (!whole) levels.push_back(level_names[digit.level] + "." + axis_names[digit.axis]);
    digit.part = whole ? digit.level + 1 : levels.size() - 1;
  }
  std::erase_if(digits, [](const Digit& digit) { return digit.size == 1; });
  Names reduced;
  for (const auto axis : as_numbers(problem["reduce"], axis_names.size())) {
    reduced.push_back(axis_names[axis]);
  }
  words = "hierarchy " + listed(level_names, level_sizes) + ", axes " +
          listed(axis_names, axis_sizes) + ", reduction over " + listed(reduced) + ", placement " +
          shortened(problem["placement"].dump()) + ", synthesis hierarchy " + kind;
  shapes = lattice ? lattice_shapes(*this) : linear_shapes(levels);
}

std::vector<Numbers> Instance::classes() const {
  return groups(*this, [&](const Digit& digit) { return reduced_axis[digit.axis] ? 1 : 0; });
}

Step Instance::lower(const std::string& slice, const std::string& form) const {
  for (const Shape& shape : shapes) {
    if (shape.slice != slice || shape.form != form) continue;
    Step step = lowered(*this, shape);
    if (step.groups[0].size() > 1) return step;
  }
  reject("(" + slice + ", " + form + ") forms no group of two devices");
}

std::vector<Step> Instance::choices(bool published, Budget& budget) const {
  std::vector<Step> choices;
  std::set<std::vector<Numbers>> seen;
  for (const Shape& shape : shapes) {
    budget.spend(32 * std::uint64_t{devices});
    Step step = lowered(*this, shape);
    if (step.groups[0].size() < 2 || !seen.insert(step.groups).second) continue;
    for (const char* collective : kCollectives) {
      step.collective = collective;
      if (step.allowed(published)) choices.push_back(step);
    }
  }
  return choices;
}

}  // namespace p2::kernel
