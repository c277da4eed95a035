// Operations of small programs: most often so that a rule applies, sometimes nearly.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_programs.h"

namespace p2::hlo::small {
namespace {

/// All sizes of up to three dimensions with as many elements.
std::vector<Index> factored(std::int64_t elements) {
  std::vector<Index> all;
  if (elements == 1) all.push_back({});
  for (std::int64_t a = 1; a <= elements; ++a) {
    if (elements % a != 0) continue;
    if (a == elements) all.push_back({a});
    for (std::int64_t b = 1; b <= elements / a; ++b) {
      if (elements / a % b != 0) continue;
      if (a * b == elements) all.push_back({a, b});
      all.push_back({a, b, elements / a / b});
    }
  }
  return all;
}

}  // namespace

bool contains_number(const Index& list, std::size_t number) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(number)) != list.end();
}

Index sizes_of(const std::vector<Axis>& axes) {
  Index sizes;
  for (const Axis& each : axes) sizes.push_back(each.size);
  return sizes;
}

void SmallProgram::make(const std::string& what) {
  if (what == "elementwise") return make_elementwise();
  if (what == "slice") return make_slice();
  if (what == "reshape") return make_reshape();
  if (what == "dot") return make_dot();
  if (what == "reduce") return make_reduce();
  if (what == "dynamic-slice" || what == "dynamic-update-slice")
    return make_dynamic(what == "dynamic-update-slice");
  if (what == "sort") return make_sort();
  if (what == "reduce-window") return make_windows();
  if (what == "convolution") return make_convolution();
  if (what == "gather") return make_gather();
  if (what == "scatter") return make_scatter();
  if (what == "masked gather" || what == "masked scatter")
    return make_masked(what == "masked scatter");
  if (what == "choice") return make_choice();
  if (what == "number") return make_number();
  if (what.starts_with("all-") || what.starts_with("reduce-") || what.starts_with("collective"))
    return make_collective(what);
  make_movement(what);
}

void SmallProgram::make_elementwise() {
  const std::size_t x = some();
  const std::string type = at(x).type;
  const std::vector<Axis> axes = at(x).axes;
  const auto other = [&](const std::string& kind, bool may_be_parts = true) {
    std::vector<Axis> theirs;
    for (const Axis& each : axes) theirs.push_back(tied(each));
    const auto value = one_of<std::string>(
        kind == "pred"  ? std::vector<std::string>{"true", "false"}
        : kind == "f32" ? std::vector<std::string>{"0", "0", "1", "2", "inf", "nan", "-inf"}
                        : std::vector<std::string>{"0", "0", "1", "3"});
    if (once_in(3)) return splat(kind, value, theirs);
    if (kind == type && once_in(8)) return x;
    if (kind == "f32" && once_in(8)) {
      // Infinite, or not, by what it is computed from.
      const std::size_t base = splat(kind, one_of<std::string>({"0", "0", "inf", "2"}), theirs);
      if (once_in(3)) return apply("divide", {splat(kind, "1", theirs), base});
      return apply(one_of<std::string>({"rsqrt", "log", "exponential", "negate", "tanh"}), {base});
    }
    return operand(kind, theirs, may_be_parts);
  };
  const bool is_first = !once_in(3);
  const auto pair = [&](std::size_t second) -> std::vector<std::size_t> {
    return is_first ? std::vector<std::size_t>{x, second} : std::vector<std::size_t>{second, x};
  };
  std::vector<std::string> names = {"add", "multiply", "maximum", "minimum", "select"};
  if (type != "pred")
    names.insert(names.end(), {"subtract", "negate", "compare", "clamp", "convert", "subtract"});
  if (type == "f32") names.insert(names.end(), {"divide", "divide", "exponential", "power"});
  if (type != "f32") names.insert(names.end(), {"and", "or", "xor", "not"});
  const std::string name = one_of(names);
  if (name == "negate" || name == "exponential" || name == "not") {
    apply(name, {x});
  } else if (name == "convert") {
    apply(name, {x}, one_of<std::string>({"f32", "bf16", "s32"}));
  } else if (name == "compare") {
    apply(name, pair(other(type)), "pred", one_of<std::string>({"EQ", "LT", "GE"}));
  } else if (name == "select") {
    const std::size_t condition = once_in(4) ? operand("pred", {}) : other("pred", once_in(4));
    std::vector<std::size_t> operands = pair(other(type));
    operands.insert(operands.begin(), condition);
    apply(name, operands);
  } else if (name == "clamp") {
    const bool is_scalar = once_in(2);
    const std::size_t low = is_scalar ? operand(type, {}) : other(type);
    const std::size_t high = is_scalar ? operand(type, {}) : other(type);
    apply(name, {low, x, high});
  } else {
    apply(name, pair(other(type)));
  }
}

void SmallProgram::make_movement(const std::string& opcode) {
  if (opcode == "iota") {
    std::vector<Axis> axes = {axis(from_to(1, 4))};
    if (once_in(2)) axes.push_back(axis(from_to(1, 3)));
    const auto along = static_cast<std::int64_t>(below(axes.size()));
    // Integers are numbers that devices know.
    const bool is_known = once_in(4);
    Step step{opcode,
              is_known ? "s32" : "f32",
              {opcode, "", {{along}, sizes_of(axes)}},
              sizes_of(axes),
              {},
              fmt::format(", iota_dimension={}", along),
              axes};
    step.hints.clear();
    for (int k = 0; k < 4; ++k) {
      Index hint;
      if (is_known) hint = {1, along};
      for (const Axis& each : axes) hint.push_back(once_in(2) ? each.whole : from_to(1, 5));
      step.hints.push_back(hint);
    }
    add(std::move(step));
    return;
  }
  const std::size_t x = some();
  const Step from = at(x);
  const std::size_t rank = from.axes.size();
  if (opcode == "broadcast") {
    std::vector<Axis> axes = from.axes;
    Index dimensions;
    for (std::size_t added = below(3); added > 0 && axes.size() < 3; --added)
      axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(below(axes.size() + 1)), axis(2));
    std::vector<Axis> placed = axes;
    Index free = order_of(axes.size());
    free.resize(rank);
    if (!once_in(3)) std::sort(free.begin(), free.end());
    for (std::size_t k = 0; k < rank; ++k) placed[static_cast<std::size_t>(free[k])] = from.axes[k];
    broadcast(x, free, placed);
    return;
  }
  Step step{opcode, from.type, {opcode, "", {}}, from.sizes, {x}, "", from.axes};
  if (opcode == "transpose") {
    const Index order = order_of(rank);
    for (std::size_t k = 0; k < rank; ++k) {
      step.sizes[k] = from.sizes[static_cast<std::size_t>(order[k])];
      step.axes[k] = from.axes[static_cast<std::size_t>(order[k])];
    }
    step.form.numbers = {order};
    step.attributes = ", dimensions=" + listed(order);
  } else if (opcode == "reverse") {
    step.form.numbers = {any_of(rank)};
    step.attributes = ", dimensions=" + listed(step.form.numbers[0]);
  } else if (opcode == "pad") {
    step.operands.push_back(once_in(2) ? constant(from.type, from.type == "pred" ? "true" : "2")
                                       : operand(from.type, {}));
    step.form.numbers.assign(3, Index(rank, 0));
    if (rank == 0) return make_elementwise();
    std::string edges;
    for (std::size_t k = 0; k < rank; ++k) {
      if (once_in(2)) {
        step.form.numbers[0][k] = from_to(0, 1);
        step.form.numbers[1][k] = from_to(once_in(3) && from.sizes[k] > 1 ? -1 : 0, 1);
        step.form.numbers[2][k] = once_in(3) ? 1 : 0;
      }
      step.sizes[k] += step.form.numbers[0][k] + step.form.numbers[1][k] +
                       (from.sizes[k] - 1) * step.form.numbers[2][k];
      if (step.sizes[k] != from.sizes[k]) step.axes[k] = axis(step.sizes[k]);
      edges += fmt::format("{}{}_{}_{}", k == 0 ? "" : "x", step.form.numbers[0][k],
                           step.form.numbers[1][k], step.form.numbers[2][k]);
    }
    step.attributes = ", padding=" + edges;
    step.hints.push_back({0});
  } else if (opcode == "concatenate") {
    if (rank == 0) return make_elementwise();
    const std::size_t along = below(rank);
    step.form.numbers = {{static_cast<std::int64_t>(along)}};
    step.attributes = fmt::format(", dimensions={{{}}}", along);
    step.sizes[along] = 0;
    std::vector<std::size_t> all;
    const bool is_same = once_in(3);
    for (std::size_t k = 1 + below(3); k > 0; --k) {
      std::size_t one = x;
      if (!is_same && !once_in(4)) {
        std::vector<Axis> axes;
        for (std::size_t i = 0; i < rank; ++i)
          axes.push_back(i == along ? axis(from_to(1, 2)) : tied(from.axes[i]));
        one = operand(from.type, axes);
      } else if (is_same && once_in(2)) {
        // The same elements elsewhere.
        make_collective("collective-permute");
        one = count() - 1;
        if (at(one).sizes != from.sizes || at(one).type != from.type) one = x;
      }
      all.push_back(one);
      step.sizes[along] += at(one).sizes[along];
    }
    step.operands = all;
    step.axes[along] = axis(step.sizes[along]);
    step.hints.push_back({1});
  }
  add(std::move(step));
}

void SmallProgram::make_slice() {
  const std::size_t x = some();
  const Step from = at(x);
  const std::size_t rank = from.axes.size();
  if (rank == 0) return make_elementwise();
  Step step{"slice", from.type, {"slice", "", {{}, {}, {}}}, {}, {x}, "", {}};
  Index whole;
  std::string text;
  for (std::size_t k = 0; k < rank; ++k) {
    std::int64_t start = 0, limit = from.sizes[k], stride = 1;
    if (once_in(2)) {
      start = from_to(0, limit - 1);
      limit = from_to(start + 1, limit);
      stride = once_in(4) ? 2 : 1;
    }
    const std::int64_t numbers[] = {start, limit, stride};
    for (std::size_t i = 0; i < 3; ++i) step.form.numbers[i].push_back(numbers[i]);
    step.sizes.push_back((limit - start + stride - 1) / stride);
    step.axes.push_back(step.sizes[k] == from.sizes[k] ? from.axes[k] : axis(step.sizes[k]));
    whole.push_back(from.axes[k].whole);
    text += fmt::format("{}[{}:{}:{}]", k == 0 ? "" : ", ", start, limit, stride);
  }
  step.attributes = ", slice={" + text + "}";
  for (int k = 0; k < 5; ++k) {
    Index hint;
    for (const Index& each : step.form.numbers) hint.insert(hint.end(), each.begin(), each.end());
    for (std::size_t i = 0; i < rank; ++i) {
      const bool is_all = step.sizes[i] == from.sizes[i];
      if (is_all && k > 0) hint[rank + i] = whole[i];
      if (k > 1 && once_in(2)) {
        hint[i] = from_to(0, whole[i] - 1);
        hint[rank + i] = from_to(hint[i], whole[i]);
        if (once_in(4)) hint[2 * rank + i] = from_to(1, 2);
      }
    }
    step.hints.push_back(hint);
  }
  add(std::move(step));
}

void SmallProgram::make_reshape() {
  const std::size_t x = some();
  const Step from = at(x);
  std::int64_t own = 1, whole = 1;
  for (const Axis& each : from.axes) {
    own *= each.size;
    whole *= each.whole;
  }
  Step step{"reshape", from.type, {"reshape", "", {{}}}, one_of(factored(own)), {x}, "", {}};
  step.form.numbers = {step.sizes};
  step.hints.clear();
  for (const Index& each : factored(whole)) {
    if (each.size() == step.sizes.size()) step.hints.push_back(each);
  }
  std::shuffle(step.hints.begin(), step.hints.end(), random_);
  step.hints.resize(std::min<std::size_t>(step.hints.size(), 12));
  if (step.hints.empty()) step.hints = {{}};
  for (std::size_t k = 0; k < step.sizes.size(); ++k)
    step.axes.push_back({step.sizes[k], step.hints[0].size() > k ? step.hints[0][k] : 1, {}});
  add(std::move(step));
}

void SmallProgram::make_dot() {
  const std::string type = once_in(4) ? "s32" : "f32";
  const std::size_t x = some(type);
  const std::vector<Axis> of_x = at(x).axes;
  const Index order = order_of(of_x.size());
  std::vector<Axis> of_y;
  Step step{"dot", type, {"dot", "", {{}, {}, {}, {}}}, {}, {}, "", {}};
  std::vector<Axis> kept;
  Index used;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t list = k < 2 && !once_in(3) ? (k == 0 ? 2 : 0) : 4;
    if (list == 4) continue;
    step.form.numbers[list].push_back(order[k]);
    step.form.numbers[list + 1].push_back(static_cast<std::int64_t>(of_y.size()));
    of_y.push_back(tied(of_x[static_cast<std::size_t>(order[k])]));
    used.push_back(order[k]);
    if (list == 0) kept.push_back(of_y.back());
  }
  if (once_in(2) || of_y.empty()) of_y.push_back(axis(from_to(1, 3)));
  const std::size_t y = once_in(10) && sizes_of(of_x) == sizes_of(of_y) ? x : operand(type, of_y);
  for (std::size_t i = 0; i < of_x.size(); ++i) {
    if (!contains_number(used, i)) kept.push_back(of_x[i]);
  }
  for (std::size_t i = used.size(); i < of_y.size(); ++i) kept.push_back(of_y[i]);
  step.axes = kept;
  step.sizes = sizes_of(kept);
  step.operands = {x, y};
  const char* const kNames[] = {"lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims",
                                "rhs_contracting_dims"};
  for (std::size_t i = 0; i < 4; ++i)
    step.attributes += fmt::format(", {}={}", kNames[i], listed(step.form.numbers[i]));
  add(std::move(step));
}

void SmallProgram::make_reduce() {
  const std::size_t x = some();
  const Step from = at(x);
  std::vector<std::string> names = {"add", reducer_, "maximum", "minimum", "multiply"};
  if (from.type != "f32") names = {"and", "or", "xor", "add", "maximum"};
  if (once_in(12)) names = {"subtract"};
  const std::string name = one_of(names);
  const std::string neutral = name == "multiply" || name == "and" ? "1" : "0";
  std::size_t first = from.type == "pred"
                          ? constant("pred", (neutral == "1") != once_in(4) ? "true" : "false")
                          : constant(from.type, once_in(4) ? "3" : neutral);
  if (once_in(8)) first = operand(from.type, {});
  Step step{"reduce", from.type, {"reduce", name, {any_of(from.axes.size())}}, {}, {x, first},
            "",       {}};
  const Index& along = step.form.numbers[0];
  for (std::size_t i = 0; i < from.axes.size(); ++i) {
    if (contains_number(along, i)) continue;
    step.axes.push_back(from.axes[i]);
    step.sizes.push_back(from.sizes[i]);
  }
  step.attributes = fmt::format(", dimensions={}, to_apply={}_{}", listed(along), name, from.type);
  add(std::move(step));
}

void SmallProgram::make_dynamic(bool is_update) {
  const std::size_t rank = 1 + below(2);
  std::vector<Axis> axes;
  std::vector<bool> is_whole;
  for (std::size_t k = 0; k < rank; ++k) {
    is_whole.push_back(once_in(2));
    axes.push_back(is_whole[k] || once_in(3) ? axis(from_to(1, 4)) : uncut(from_to(1, 4)));
  }
  const std::size_t x = operand(one_of<std::string>({"f32", "f32", "s32"}), axes);
  const Step from = at(x);
  const std::string opcode = is_update ? "dynamic-update-slice" : "dynamic-slice";
  Step step{opcode, from.type, {opcode, "", {}}, from.sizes, {x}, "", from.axes};
  std::vector<Axis> part;
  std::vector<std::size_t> starts;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t size = from_to(1, from.sizes[k]);
    part.push_back(is_whole[k] ? tied(axes[k]) : once_in(3) ? axis(size) : uncut(size));
    Index numbers;
    for (std::size_t device = 0; device < devices_; ++device)
      numbers.push_back(once_in(8) ? from_to(-1, 5)
                                   : static_cast<std::int64_t>(device) % 2 * part.back().size);
    starts.push_back(once_in(4)    ? constant("s32", "1")
                     : !once_in(3) ? by_device("s32", numbers)
                                   : operand("s32", {}));
  }
  if (is_update) {
    step.operands.push_back(operand(from.type, part));
  } else {
    step.axes = part;
    step.sizes = sizes_of(part);
    step.form.numbers = {step.sizes};
    step.attributes = ", dynamic_slice_sizes=" + listed(step.sizes);
  }
  step.operands.insert(step.operands.end(), starts.begin(), starts.end());
  add(std::move(step));
}

std::size_t SmallProgram::permute(std::size_t operand,
                                  const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  const Step& from = at(operand);
  const std::string opcode = "collective-permute";
  Step step{opcode, from.type, {opcode, "", {}}, from.sizes, {operand}, "", from.axes};
  pairs_ = pairs;
  std::string text;
  for (const auto& [source, target] : pairs_)
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", source, target);
  step.attributes = ", channel_id=1, source_target_pairs={" + text + "}";
  for (Axis& each : step.axes) {
    if (each.is_free()) continue;
    std::vector<Segments> devices(devices_);
    for (const auto& [source, target] : pairs_) devices[target] = each.devices[source];
    each.devices = devices;
  }
  return add(std::move(step));
}

void SmallProgram::make_collective(const std::string& opcode) {
  const bool is_new = opcode == "reduce-scatter" && !once_in(4);
  const std::size_t x =
      is_new ? operand("f32", {axis(once_in(3) ? 2 : 4), axis(from_to(1, 2))}) : some();
  const Step from = at(x);
  Step step{opcode, from.type, {opcode, "", {}}, from.sizes, {x}, "", from.axes};
  if (opcode == "collective-permute") {
    if (pairs_.empty()) {
      const Index sources = order_of(devices_);
      const Index targets = order_of(devices_);
      for (std::size_t k = 0; k < devices_; ++k) {
        if (!once_in(6))
          pairs_.emplace_back(static_cast<std::size_t>(sources[k]),
                              static_cast<std::size_t>(targets[k]));
      }
      if (pairs_.empty()) pairs_.emplace_back(0, 1);
    }
    permute(x, pairs_);
    return;
  }
  step.groups = groups();
  const auto members = static_cast<std::int64_t>(step.groups[0].size());
  const std::size_t rank = from.axes.size();
  if (opcode == "all-gather" || opcode == "reduce-scatter") {
    if (rank == 0) return make_elementwise();
    step.along = below(rank);
    std::int64_t& size = step.sizes[step.along];
    const bool is_uneven =
        std::any_of(step.groups.begin(), step.groups.end(),
                    [&](const auto& each) { return std::ssize(each) != members; });
    if (is_uneven) return make_elementwise();
    if (opcode == "reduce-scatter" && size % members != 0) return make_elementwise();
    size = opcode == "all-gather" ? size * members : size / members;
    step.axes[step.along] = axis(size);
    step.attributes += fmt::format(", dimensions={{{}}}", step.along);
  }
  std::string text;
  for (const auto& group : step.groups)
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(group, ","));
  step.attributes += ", channel_id=1, use_global_device_ids=true, replica_groups={" + text + "}";
  if (opcode != "all-gather") {
    step.form.text = once_in(4) ? "maximum" : reducer_;
    if (from.type == "pred") step.form.text = one_of<std::string>({"and", "or", "xor", "add"});
    step.attributes += fmt::format(", to_apply={}_{}", step.form.text, from.type);
  }
  add(std::move(step));
}

}  // namespace p2::hlo::small
