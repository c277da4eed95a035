#include "proofs/kernel/lowering.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
namespace {

constexpr std::size_t kMostParts = 64;

/// `[{"name": …, "size": …}, …]`.
void read_parts(const Json& list, const std::string& what, std::vector<std::string>& names,
                Numbers& sizes) {
  std::set<std::string> seen = {"root"};
  for (const Json& item : expect_array(list, what)) {
    expect_object(item, "a part of " + what, {"name", "size"});
    const std::string& name = expect_text(item["name"], "a name in " + what);
    const bool plain = name.find_first_of(".,{}() ") == std::string::npos && !name.empty();
    if (!plain || !seen.insert(name).second) malformed(what + " has a name that is none or not new");
    names.push_back(name);
    sizes.push_back(expect_number(item["size"], "a size in " + what, 1, UINT32_MAX));
  }
  if (names.empty() || names.size() > kMostParts) malformed(what + " has no or too many parts");
}

/// The text between `before` and `after`, if `text` has this shape.
bool enclosed(const std::string& text, const std::string& before, const std::string& after,
              std::string& inside) {
  if (text.size() < before.size() + after.size() || !text.starts_with(before) ||
      !text.ends_with(after)) {
    return false;
  }
  inside = text.substr(before.size(), text.size() - before.size() - after.size());
  return true;
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
  const auto count = static_cast<std::uint32_t>(axes.size());
  for (const std::uint32_t axis : expect_ascending(problem["reduce"], "reduce", count)) {
    reduced_axis_[axis] = true;
  }
  read_placement(problem["placement"], level_sizes, axis_sizes, devices);
  build_levels(expect_text(problem["synthesis_hierarchy"], "synthesis_hierarchy"), levels, axes);
}

void Instance::read_placement(const Json& matrix, const Numbers& level_sizes,
                              const Numbers& axis_sizes, std::uint32_t devices) {
  std::vector<Numbers> rows;
  for (const Json& row : expect_array(matrix, "placement")) {
    rows.push_back(expect_numbers(row, "a row of placement", UINT32_MAX));
    if (rows.back().size() != level_sizes.size()) malformed("placement has a row of wrong length");
  }
  if (rows.size() != axis_sizes.size()) malformed("placement has too many or too few rows");
  std::vector<std::uint64_t> axis_products(axis_sizes.size(), 1);
  std::uint64_t stride = devices;
  for (std::size_t level = 0; level < level_sizes.size(); ++level) {
    std::uint64_t level_product = 1;
    for (std::size_t axis = 0; axis < axis_sizes.size(); ++axis) {
      const std::uint32_t size = rows[axis][level];
      if (size == 0 || stride % size != 0) reject("placement does not number the devices");
      stride /= size;
      level_product *= size;
      axis_products[axis] *= size;
      digits_.push_back({level, axis, size, static_cast<std::uint32_t>(stride)});
    }
    if (level_product != level_sizes[level]) reject("a column of placement is not its level");
  }
  if (stride != 1) reject("placement does not number the devices");
  if (!std::equal(axis_sizes.begin(), axis_sizes.end(), axis_products.begin())) {
    reject("a row of placement is not its axis");
  }
}

void Instance::build_levels(const std::string& kind, const std::vector<std::string>& levels,
                            const std::vector<std::string>& axes) {
  if (kind != "a" && kind != "b" && kind != "c" && kind != "d" && kind != "collapsed" &&
      kind != "lattice") {
    malformed("synthesis_hierarchy is none of a, b, c, d, collapsed and lattice");
  }
  lattice_ = kind == "lattice";
  const bool confined = kind == "d" || kind == "collapsed" || lattice_;
  const bool whole_levels = kind == "a" || kind == "collapsed";
  const bool by_rows = kind == "c" || kind == "d" || lattice_;
  if (!lattice_) levels_.push_back({"root", {}});
  if (whole_levels) {
    for (const std::string& name : levels) levels_.push_back({name, {}});
  }
  std::vector<std::size_t> order(digits_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = by_rows ? i % levels.size() * axes.size() + i / levels.size() : i;
  }
  for (const std::size_t i : order) {
    const Digit& digit = digits_[i];
    if (confined && !reduced_axis_[digit.axis]) continue;
    if (whole_levels) {
      levels_[digit.level + 1].digits.push_back(i);
    } else {
      levels_.push_back({levels[digit.level] + "." + axes[digit.axis], {i}});
    }
  }
}

std::size_t Instance::level_called(const std::string& name) const {
  const auto found = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const Level& level) { return level.name == name; });
  if (found == levels_.end()) reject("the synthesis hierarchy has no level '" + name + "'");
  return static_cast<std::size_t>(found - levels_.begin());
}

std::vector<std::size_t> Instance::level_set(const std::string& text) const {
  std::string names;
  if (!enclosed(text, "{", "}", names)) reject("'" + text + "' is no set of factors");
  std::vector<std::size_t> set;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(", ", begin), names.size());
    set.push_back(level_called(names.substr(begin, end - begin)));
    begin = end + 2;
  }
  return set;
}

void Instance::assign(std::vector<Role>& roles, std::size_t level, Role role) const {
  for (const std::size_t i : levels_[level].digits) {
    if (roles[i] != Role::Kept) reject("a factor is named twice in one instruction");
    roles[i] = role;
  }
}

std::vector<Instance::Role> Instance::linear_roles(const std::string& slice,
                                                   const std::string& form) const {
  std::vector<Role> roles(digits_.size(), Role::Kept);
  const std::size_t at = level_called(slice);
  if (form == "InsideGroup") {
    for (std::size_t l = at + 1; l < levels_.size(); ++l) assign(roles, l, Role::Reduced);
    return roles;
  }
  std::string name;
  const bool master = enclosed(form, "Master(", ")", name);
  if (!master && !enclosed(form, "Parallel(", ")", name)) reject("there is no form '" + form + "'");
  const std::size_t above = level_called(name);
  if (above >= at) reject("level '" + name + "' of a form is no ancestor of '" + slice + "'");
  for (std::size_t l = above + 1; l <= at; ++l) assign(roles, l, Role::Reduced);
  for (std::size_t l = at + 1; master && l < levels_.size(); ++l) assign(roles, l, Role::Pinned);
  return roles;
}

std::vector<Instance::Role> Instance::lattice_roles(const std::string& slice,
                                                    const std::string& form) const {
  std::vector<Role> roles(digits_.size(), Role::Kept);
  for (const std::size_t level : level_set(slice)) assign(roles, level, Role::Reduced);
  if (form == "Parallel") return roles;
  std::string pinned;
  if (!enclosed(form, "Master(", ")", pinned)) reject("there is no form '" + form + "'");
  for (const std::size_t level : level_set(pinned)) assign(roles, level, Role::Pinned);
  return roles;
}

/// A group is known by its first device: the one whose reduced digits are all 0.
std::vector<Numbers> Instance::groups(const std::vector<Role>& roles) const {
  std::vector<Numbers> by_first(devices_);
  for (std::uint32_t device = 0; device < devices_; ++device) {
    std::uint32_t first = device;
    bool wanted = true;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const std::uint32_t digit = device / digits_[i].stride % digits_[i].size;
      if (roles[i] == Role::Reduced) first -= digit * digits_[i].stride;
      wanted = wanted && (roles[i] != Role::Pinned || digit == 0);
    }
    if (wanted) by_first[first].push_back(device);
  }
  std::erase_if(by_first, [](const Numbers& group) { return group.empty(); });
  return by_first;
}

std::vector<Numbers> Instance::classes() const {
  std::vector<Role> roles(digits_.size(), Role::Kept);
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if (reduced_axis_[digits_[i].axis]) roles[i] = Role::Reduced;
  }
  return groups(roles);
}

Lowered Instance::lower(const std::string& slice, const std::string& form) const {
  const std::vector<Role> roles = lattice_ ? lattice_roles(slice, form) : linear_roles(slice, form);
  Lowered lowered{groups(roles), false};
  if (lowered.groups.front().size() == 1) reject("an instruction forms no group of two devices");
  for (std::size_t i = 0; i < roles.size(); ++i) {
    lowered.master = lowered.master || (roles[i] == Role::Pinned && digits_[i].size > 1);
  }
  return lowered;
}

}  // namespace p2::kernel
