#include <algorithm>
#include <map>
#include <set>

#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

/// `[{"name": …, "size": …}, …]`.
void read_parts(const Json& list, const std::string& what, std::vector<std::string>& names,
                Numbers& sizes) {
  std::set<std::string> seen = {"root"};
  for (const Json& item : expect_array(list, what)) {
    expect_object(item, "a part of " + what, {"name", "size"});
    names.push_back(expect_text(item["name"], "a name in " + what));
    const bool plain = names.back().find_first_of(".,{}() ") == std::string::npos;
    if (!plain || !seen.insert(names.back()).second) malformed(what + " has a wrong name");
    sizes.push_back(expect_number(item["size"], "a size in " + what, UINT32_MAX));
  }
  if (names.empty() || names.size() > 64) malformed(what + " has no or too many parts");
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
  const bool lattice = kind == "lattice";
  confined_ = kind == "d" || kind == "collapsed" || lattice;
  std::vector<Digit> order = digits_;
  const auto by_axis = [](const Digit& a, const Digit& b) { return a.axis < b.axis; };
  if (kind == "c" || kind == "d" || lattice) std::stable_sort(order.begin(), order.end(), by_axis);
  if (!lattice) levels_.push_back({"root", {}});
  const bool whole = kind == "a" || kind == "collapsed";
  for (const std::string& name : levels) {
    if (whole) levels_.push_back({name, {}});
  }
  for (const Digit& digit : order) {
    if (confined_ && !reduced_axis_[digit.axis]) continue;
    if (!whole) levels_.push_back({levels[digit.level] + "." + axes[digit.axis], {}});
    (whole ? levels_[digit.level + 1] : levels_.back()).digits.push_back(digit);
  }
  if (!lattice) return add_linear_shapes();
  const auto wide = [](const Level& level) { return level.digits[0].size > 1; };
  if (std::count_if(levels_.begin(), levels_.end(), wide) > 8) {
    throw Objection(Verdict::Incomplete, "the lattice has more than 8 levels");
  }
  add_lattice_shapes();
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

/// Adds the shape with these levels reduced and pinned, unless no digit is reduced.
void Instance::add_shape(std::string slice, std::string form,
                         const std::vector<std::size_t>& role) {
  Shape shape{std::move(slice), std::move(form), {}, {}};
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (const Digit& digit : levels_[level].digits) {
      if (digit.size > 1 && role[level] == 1) shape.reduced.push_back(digit);
      if (digit.size > 1 && role[level] == 2) shape.pinned.push_back(digit);
    }
  }
  if (!shape.reduced.empty()) shapes_.push_back(std::move(shape));
}

void Instance::add_linear_shapes() {
  for (const std::string form : {"InsideGroup", "Parallel", "Master"}) {
    const bool inside = form == "InsideGroup";
    for (std::size_t slice = 0; slice < levels_.size(); ++slice) {
      for (std::size_t above = inside ? slice : 0; above < slice + inside; ++above) {
        std::vector<std::size_t> role(levels_.size(), 0);
        for (std::size_t level = above + 1; level < levels_.size(); ++level) {
          role[level] = inside || level <= slice ? 1 : form == "Master" ? 2 : 0;
        }
        add_shape(levels_[slice].name, inside ? form : form + "(" + levels_[above].name + ")",
                  role);
      }
    }
  }
}

/// Every level with more than one coordinate is left alone (0), reduced (1) or pinned (2); the
/// first level counts most. Sorted by the number of levels pinned, then reduced.
void Instance::add_lattice_shapes() {
  std::uint32_t count = 1;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::vector<std::size_t>>> roles;
  for (const Level& level : levels_) count *= level.digits[0].size > 1 ? 3 : 1;
  for (std::uint32_t code = 0; code < count; ++code) {
    std::vector<std::size_t> role(levels_.size(), 0);
    std::uint32_t rest = code;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      if (levels_[level].digits[0].size == 1) continue;
      role[level] = rest % 3;
      rest /= 3;
    }
    const auto number = [&](std::size_t of) { return std::count(role.begin(), role.end(), of); };
    roles[{number(2), number(1)}].push_back(role);
  }
  for (const auto& [numbers, some] : roles) {
    for (const auto& role : some) {
      const std::string pins = numbers.first == 0 ? "" : "(" + names(role, 2) + ")";
      add_shape(names(role, 1), (pins.empty() ? "Parallel" : "Master") + pins, role);
    }
  }
}

/// `{x, y}`.
std::string Instance::names(const std::vector<std::size_t>& role, std::size_t wanted) const {
  std::string text;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (role[level] == wanted) text += (text.empty() ? "{" : ", ") + levels_[level].name;
  }
  return text + "}";
}

Step Instance::lower(const std::string& slice, const std::string& form) const {
  for (const Shape& shape : shapes_) {
    if (shape.slice == slice && shape.form == form) return lowered(shape);
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
  for (const Shape& shape : shapes_) {
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
