#include <algorithm>
#include <map>
#include <set>

#include "proofs/kernel/problem.h"

namespace p2::kernel {
namespace {

constexpr const char* kNameLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789";

/// `[{"name": …, "size": …}, …]`.
void read_parts(const Json& list, const std::string& what, std::vector<std::string>& names,
                Numbers& sizes) {
  std::set<std::string> seen = {"root"};
  for (const Json& item : expect_array(list, what)) {
    expect_object(item, "a part of " + what, {"name", "size"});
    names.push_back(expect_text(item["name"], "a name in " + what));
    const std::string& name = names.back();
    const bool plain = name.find_first_not_of(kNameLetters) == std::string::npos &&
                       name.find_first_of("-0123456789") != 0 && !name.empty();
    if (!plain || !seen.insert(name).second) malformed(what + " has a wrong name");
    sizes.push_back(expect_number(item["size"], "a size in " + what, UINT32_MAX));
  }
  if (names.empty() || names.size() > 64) malformed(what + " has no or too many parts");
}

/// Takes `before` and `after` off the ends of `text`, if it has both.
bool strip(std::string& text, const std::string& before, const std::string& after) {
  const std::size_t both = before.size() + after.size();
  if (text.size() < both || !text.starts_with(before) || !text.ends_with(after)) return false;
  text = text.substr(before.size(), text.size() - both);
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
  static const std::set<std::string> kinds = {"a", "b", "c", "d", "collapsed", "lattice"};
  if (!kinds.contains(kind)) malformed("synthesis_hierarchy is unknown");
  lattice_ = kind == "lattice";
  const bool by_rows = kind == "c" || kind == "d" || lattice_;
  confined_ = kind == "d" || kind == "collapsed" || lattice_;
  if (!lattice_) levels_.push_back({"root", {}});
  if (kind == "a" || kind == "collapsed") {
    for (const std::string& name : levels) levels_.push_back({name, {}});
    for (const Digit& digit : digits_) {
      if (!confined_ || reduced_axis_[digit.axis]) levels_[digit.level + 1].digits.push_back(digit);
    }
    return;
  }
  std::vector<Digit> order = digits_;
  const auto by_axis = [](const Digit& a, const Digit& b) { return a.axis < b.axis; };
  if (by_rows) std::stable_sort(order.begin(), order.end(), by_axis);
  for (const Digit& digit : order) {
    if (confined_ && !reduced_axis_[digit.axis]) continue;
    levels_.push_back({levels[digit.level] + "." + axes[digit.axis], {digit}});
  }
}

/// The levels named by `x`, or over the lattice `{x, y}`.
std::vector<std::size_t> Instance::levels_called(const std::string& text) const {
  std::vector<std::size_t> called;
  std::string names = text;
  if (lattice_ && !strip(names, "{", "}")) reject("'" + text + "' is no set of factors");
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end =
        lattice_ ? std::min(names.find(", ", begin), names.size()) : names.size();
    const std::string name = names.substr(begin, end - begin);
    std::size_t level = 0;
    while (level < levels_.size() && levels_[level].name != name) ++level;
    if (level == levels_.size() || std::count(called.begin(), called.end(), level) > 0) {
      reject("'" + text + "' names no level, or one twice");
    }
    called.push_back(level);
    begin = end + (lattice_ ? 2 : 1);
  }
  return called;
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

void Instance::lower(const std::string& slice, const std::string& form, Step& step) const {
  std::vector<Digit> reduced;
  std::vector<Digit> pinned;
  const auto take = [&](std::size_t level, std::vector<Digit>& digits) {
    for (const Digit& digit : levels_[level].digits) {
      if (digit.size > 1) digits.push_back(digit);
    }
  };
  std::string of = form;
  const bool master = strip(of, "Master(", ")");
  const std::vector<std::size_t> slices = levels_called(slice);
  if (lattice_) {
    if (!master && form != "Parallel") reject("there is no form " + form);
    const auto pins = master ? levels_called(of) : std::vector<std::size_t>{};
    for (const std::size_t level : slices) take(level, reduced);
    for (const std::size_t level : pins) {
      if (std::count(slices.begin(), slices.end(), level) > 0) reject("a factor is named twice");
      take(level, pinned);
    }
  } else {
    const bool inside = form == "InsideGroup";
    if (!inside && !master && !strip(of, "Parallel(", ")")) reject("there is no form " + form);
    const std::size_t above = inside ? slices[0] : levels_called(of)[0];
    if (!inside && above >= slices[0]) reject("the level of " + form + " is no ancestor");
    const std::size_t last = inside ? levels_.size() - 1 : slices[0];
    for (std::size_t level = above + 1; level <= last; ++level) take(level, reduced);
    for (std::size_t level = last + 1; master && level < levels_.size(); ++level)
      take(level, pinned);
  }
  if (reduced.empty()) reject("(" + slice + ", " + form + ") forms no group of two devices");
  step.slice = slice;
  step.form = form;
  step.groups = groups(reduced, pinned);
  step.master = !pinned.empty();
}

/// Every slice and form, by its names; also those that form no groups.
std::vector<Step> Instance::named_shapes() const {
  std::vector<Step> shapes;
  const auto add = [&](std::size_t slice, const std::string& form) {
    shapes.emplace_back().slice = levels_[slice].name;
    shapes.back().form = form;
  };
  for (std::size_t slice = 0; slice < levels_.size(); ++slice) add(slice, "InsideGroup");
  for (const std::string form : {"Parallel(", "Master("}) {
    for (std::size_t slice = 0; slice < levels_.size(); ++slice) {
      for (std::size_t a = 0; a < slice; ++a) add(slice, form + levels_[a].name + ")");
    }
  }
  return shapes;
}

/// The same over the lattice: every level that has more than one coordinate is left alone, reduced
/// or pinned; sorted by the number of levels pinned, then reduced.
std::vector<Step> Instance::lattice_shapes() const {
  std::vector<std::size_t> levels;
  std::uint64_t count = 1;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].digits[0].size == 1) continue;
    levels.push_back(level);
    count *= 3;
  }
  if (levels.size() > 8) throw Objection(Verdict::Incomplete, "the lattice has too many levels");
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Step>> by_numbers;
  for (std::uint64_t code = 0; code < count; ++code) {
    std::string names[3];
    std::size_t used[3] = {};
    std::uint64_t place = count;
    for (const std::size_t level : levels) {
      const std::uint64_t role = code / (place /= 3) % 3;
      names[role] += (used[role]++ == 0 ? "{" : ", ") + levels_[level].name;
    }
    Step& shape = by_numbers[{used[2], used[1]}].emplace_back();
    shape.slice = names[1] + "}";
    shape.form = used[2] == 0 ? "Parallel" : "Master(" + names[2] + "})";
  }
  std::vector<Step> shapes;
  for (const auto& [numbers, some] : by_numbers) {
    if (numbers.second > 0) shapes.insert(shapes.end(), some.begin(), some.end());
  }
  return shapes;
}

std::vector<Step> Instance::choices(bool published) const {
  std::vector<Step> choices;
  std::set<std::vector<Numbers>> seen;
  for (Step& shape : lattice_ ? lattice_shapes() : named_shapes()) {
    try {
      lower(shape.slice, shape.form, shape);
    } catch (const Objection&) {
      continue;  // forms no groups
    }
    if (!seen.insert(shape.groups).second) continue;
    shape.instruction = true;
    for (const char* collective : kCollectives) {
      shape.collective = collective;
      if (published && shape.master && shape.collective != kCollectives[0]) continue;
      choices.push_back(shape);
    }
  }
  return choices;
}

}  // namespace p2::kernel
