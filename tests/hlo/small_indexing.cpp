// Gathers, scatters and numbers of devices in small programs.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_programs.h"

namespace p2::hlo::small {

void SmallProgram::make_gather() {
  const std::size_t rank = 1 + below(3);
  std::vector<Axis> axes;
  Index collapsed, map, batching, of_batches, slices;
  std::vector<Axis> of_indices;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    axes.push_back(axis(from_to(1, 3)));
    slices.push_back(1);
    if (once_in(5)) {
      batching.push_back(number);
      of_batches.push_back(static_cast<std::int64_t>(of_indices.size()));
      of_indices.push_back(tied(axes[i]));
      continue;
    }
    if (once_in(2)) {
      collapsed.push_back(number);
    } else {
      slices[i] = once_in(3) ? from_to(1, axes[i].size) : axes[i].size;
    }
    const bool is_taken_whole = slices[i] == axes[i].size;
    if (once_in(3) || (!is_taken_whole && !once_in(4))) map.push_back(number);
    // What is looked up is most often not cut.
    const bool is_free =
        is_taken_whole && !contains_number(map, i) && !contains_number(collapsed, i);
    if (!is_free && !once_in(8)) axes[i] = uncut(axes[i].size);
  }
  const std::size_t x = operand(one_of<std::string>({"f32", "f32", "s32"}), axes, once_in(4));
  const Step from = at(x);
  std::shuffle(map.begin(), map.end(), random_);
  if (once_in(2)) of_indices.push_back(axis(from_to(1, 3)));
  const bool has_vector = map.size() != 1 || once_in(2);
  std::size_t along = of_indices.size();
  std::vector<Axis> batches = of_indices;
  if (has_vector) {
    along = below(of_indices.size() + 1);
    if (map.empty()) return make_elementwise();
    Axis vector = uncut(static_cast<std::int64_t>(map.size()));
    if (once_in(6)) vector = axis(vector.size);
    of_indices.insert(of_indices.begin() + static_cast<std::ptrdiff_t>(along), vector);
    for (std::int64_t& each : of_batches) each += each >= static_cast<std::int64_t>(along) ? 1 : 0;
  }
  const std::size_t indices = operand("s32", of_indices);
  Step step{"gather", from.type, {"gather", "", {}}, {}, {x, indices}, "", {}};
  std::vector<Axis> windows;
  for (std::size_t i = 0; i < rank; ++i) {
    if (contains_number(collapsed, i) || contains_number(batching, i)) continue;
    windows.push_back(slices[i] == from.sizes[i] ? from.axes[i] : axis(slices[i]));
  }
  Index offset = order_of(windows.size() + batches.size());
  offset.resize(windows.size());
  std::sort(offset.begin(), offset.end());
  for (std::size_t i = 0, w = 0, b = 0; i < windows.size() + batches.size(); ++i) {
    const bool is_window = w < offset.size() && offset[w] == static_cast<std::int64_t>(i);
    step.axes.push_back(is_window ? windows[w++] : batches[b++]);
  }
  step.sizes = sizes_of(step.axes);
  step.form.numbers = {
      offset, collapsed, map, batching, of_batches, {static_cast<std::int64_t>(along)}, slices};
  step.attributes = fmt::format(
      ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={}, "
      "start_indices_batching_dims={}, index_vector_dim={}, slice_sizes={}",
      listed(offset), listed(collapsed), listed(map), listed(batching), listed(of_batches), along,
      listed(slices));
  add(std::move(step));
}

void SmallProgram::make_scatter() {
  // What a gather with the same numbers makes has the form of its updates.
  const std::size_t before = count();
  make_gather();
  Step gather = at(count() - 1);
  if (gather.opcode != "gather" || count() == before) return;
  const Step x = at(gather.operands[0]);
  std::size_t into = gather.operands[0];
  if (once_in(2)) into = splat(x.type, x.type == "pred" ? "false" : once_in(4) ? "1" : "0", x.axes);
  std::string name = once_in(4) ? "maximum" : "add";
  if (x.type == "pred") name = "or";
  const std::size_t updates = once_in(3) ? count() - 1 : operand(x.type, gather.axes);
  if (at(updates).sizes != gather.sizes || at(updates).type != x.type) return;
  const auto& n = gather.form.numbers;
  Step step{"scatter",
            x.type,
            {"scatter", name, {n[0], n[1], n[2], n[3], n[4], n[5]}},
            x.sizes,
            {into, gather.operands[1], updates},
            "",
            x.axes};
  step.attributes = fmt::format(
      ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, "
      "input_batching_dims={}, scatter_indices_batching_dims={}, index_vector_dim={}, "
      "to_apply={}_{}",
      listed(n[0]), listed(n[1]), listed(n[2]), listed(n[3]), listed(n[4]), n[5][0], name, x.type);
  add(std::move(step));
}

/// A table cut by rows: every device looks up what it has, or adds to it.
void SmallProgram::make_masked(bool is_scatter) {
  const std::int64_t size = from_to(1, 3);
  const std::int64_t tiles = devices_ == 3 ? 3 : 2;
  Axis rows{size, size * tiles, {}};
  Index offsets;
  const std::size_t way = below(3);
  for (std::size_t device = 0; device < devices_; ++device) {
    const std::size_t tile = way == 0 ? device : way == 1 ? device / 2 : device + 1;
    offsets.push_back(static_cast<std::int64_t>(tile) % tiles * size);
    rows.devices.push_back({{0, offsets.back(), size}});
  }
  if (once_in(12)) rows = axis(size);
  Index others = offsets;
  if (once_in(8)) others[below(devices_)] += from_to(-1, 1);
  const Axis column = axis(from_to(1, 2));
  Axis updates_along = axis(from_to(1, 3));
  if (is_scatter && once_in(2)) {  // most often cut by devices beside those that cut the table
    updates_along.whole = 2 * updates_along.size;
    updates_along.devices.clear();
    for (std::size_t device = 0; device < devices_; ++device) {
      const std::size_t part = (way == 1) != once_in(16) ? device % 2 : device / 2 % 2;
      updates_along.devices.push_back(
          {{0, static_cast<std::int64_t>(part) * updates_along.size, updates_along.size}});
    }
  }
  const std::vector<Axis> batch = {updates_along};
  const std::size_t table = once_in(is_scatter ? 2 : 8)
                                ? splat("f32", "0", {rows, column})
                                : operand("f32", {rows, column}, once_in(8));
  std::size_t index = operand("s32", batch, once_in(8));
  const auto wide = [&](std::size_t scalar) { return broadcast(scalar, {}, at(index).axes); };
  if (!once_in(8))
    index =
        apply("clamp", {splat("s32", once_in(12) ? "-1" : "0", batch), index,
                        splat("s32", std::to_string(rows.whole - (once_in(12) ? 0 : 1)), batch)});
  const std::size_t offset = by_device("s32", others);
  const std::size_t moved = apply("subtract", {index, wide(offset)});
  Index ends;
  for (const std::int64_t each : once_in(12) ? offsets : others) ends.push_back(each + size);
  std::size_t mask = 0;
  const bool is_outside = once_in(2);
  if (!is_scatter || once_in(3)) {
    std::size_t end = wide(by_device("s32", ends));
    const std::size_t begin = wide(offset);
    std::string low = is_outside ? "LT" : "GE";
    std::string high = is_outside ? "GE" : "LT";
    if (once_in(3)) {
      for (std::int64_t& each : ends) --each;
      end = wide(by_device("s32", ends));
      high = is_outside ? "GT" : "LE";
    }
    if (once_in(12)) low = "LE";
    const std::size_t a = apply("compare", {index, begin}, "pred", low);
    const std::size_t b = apply("compare", {index, end}, "pred", high);
    const bool is_or = is_outside != once_in(12);
    mask = apply(is_or ? "or" : "and", {a, b});
    if (once_in(4)) mask = apply("not", {mask});
    if (once_in(6)) mask = apply(once_in(2) ? "or" : "and", {mask, once_in(2) ? a : b});
  }
  const std::vector<Axis> vector = {batch[0], {1, 1, {}}};
  Step vectors{"reshape",
               "s32",
               {"reshape", "", {{batch[0].size, 1}}},
               {batch[0].size, 1},
               {once_in(12) ? index : moved},
               "",
               vector,
               {{batch[0].whole, 1}}};
  const std::size_t indices = add(std::move(vectors));
  const std::vector<Axis> result = {batch[0], column};
  if (is_scatter) {
    const std::size_t updates = operand("f32", result, once_in(8));
    Step step{"scatter",
              "f32",
              {"scatter", "add", {{1}, {0}, {0}, {}, {}, {1}}},
              {size, column.size},
              {table, indices, updates},
              "",
              {rows, column}};
    step.attributes =
        ", update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=add_f32";
    add(std::move(step));
    if (once_in(2)) make_collective("all-reduce");
    return;
  }
  Step step{"gather",
            "f32",
            {"gather", "", {{1}, {0}, {0}, {}, {}, {1}, {1, column.size}}},
            {batch[0].size, column.size},
            {table, indices},
            "",
            result};
  step.attributes = fmt::format(
      ", offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=1, slice_sizes={{1,{}}}",
      column.size);
  std::size_t taken = add(std::move(step));
  if (once_in(3)) taken = apply("negate", {taken});
  const std::size_t condition = broadcast(mask, {0}, result);
  const std::size_t zero =
      once_in(10) ? operand("f32", result) : splat("f32", once_in(12) ? "1" : "0", result);
  const bool is_first = is_outside != once_in(12);
  apply("select", is_first ? std::vector<std::size_t>{condition, zero, taken}
                           : std::vector<std::size_t>{condition, taken, zero});
  if (once_in(2)) make_collective("all-reduce");
}

/// A choice by what devices know, and what is scattered into it.
void SmallProgram::make_choice() {
  const std::vector<Axis> axes = {once_in(8) ? axis(3) : uncut(from_to(1, 3)),
                                  once_in(3) ? axis(2) : uncut(from_to(1, 2))};
  const std::size_t x = operand("f32", axes, once_in(6));
  const std::size_t way = below(2);
  Index truth;
  Axis rows{from_to(1, 2), 0, {}};
  rows.whole = 2 * rows.size;
  for (std::size_t device = 0; device < devices_; ++device) {
    const std::int64_t tile = static_cast<std::int64_t>(way == 0 ? device : device / 2) % 2;
    rows.devices.push_back({{0, tile * rows.size, rows.size}});
    truth.push_back(once_in(12) ? from_to(0, 1) : 1 - tile);
  }
  const std::size_t flag = by_device("pred", truth);
  const std::size_t condition = broadcast(flag, {}, axes);
  std::size_t zero = once_in(8) ? x : splat("f32", once_in(12) ? "1" : "0", axes);
  if (once_in(3)) {
    // Of one tensor at other places.
    if (pairs_.empty()) make_collective("collective-permute");
    permute(x, pairs_);
    zero = count() - 1;
  }
  const std::size_t chosen =
      apply("select", once_in(2) ? std::vector<std::size_t>{condition, x, zero}
                                 : std::vector<std::size_t>{condition, zero, x});
  if (once_in(3)) return;
  if (once_in(8)) rows = axis(rows.size);
  const std::size_t indices = operand("s32", {rows, uncut(1)}, false);
  const std::size_t updates = operand("f32", {tied(rows), tied(axes[1])}, once_in(8));
  const std::string name = once_in(8) ? "maximum" : "add";
  Step step{"scatter",
            "f32",
            {"scatter", name, {{1}, {0}, {0}, {}, {}, {1}}},
            sizes_of(axes),
            {chosen, indices, updates},
            "",
            axes};
  step.attributes =
      ", update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=" +
      name + "_f32";
  add(std::move(step));
  if (once_in(2)) make_collective("all-reduce");
}

/// Integers that devices know, as numbers and as iotas; views by them.
void SmallProgram::make_number() {
  const std::vector<Axis> axes = {axis(from_to(1, 3))};
  Index numbers;
  const bool is_one = once_in(3);
  const bool is_far = once_in(8);
  for (std::size_t device = 0; device < devices_; ++device)
    numbers.push_back(is_one   ? 2
                      : is_far ? one_of<std::int64_t>({2147483647, -2147483648, -1, 5})
                               : static_cast<std::int64_t>(device) % 2 * axes[0].size);
  const std::string type = once_in(4) ? "u32" : "s32";
  const std::size_t number = by_device(type == "u32" && is_far ? "s32" : type, numbers);
  const std::string kind = at(number).type;
  const auto hints = [&](std::size_t rank) {
    std::vector<Index> all;
    for (int k = 0; k < 3; ++k) {
      Index hint = {0};
      for (std::size_t i = 0; i < rank; ++i) hint.push_back(from_to(1, 8));
      all.push_back(hint);
      hint[0] = 1;
      hint.insert(hint.begin() + 1, static_cast<std::int64_t>(below(2)));
      all.push_back(hint);
    }
    return all;
  };
  steps_[number].hints = hints(0);
  const std::size_t wide = broadcast(number, {}, axes);
  if (once_in(2)) {
    Step step{
        "iota", kind, {"iota", "", {{0}, {axes[0].size}}}, {axes[0].size}, {}, ", iota_dimension=0",
        axes};
    const std::size_t line = add(std::move(step));
    const std::size_t sum = apply("add", {line, wide});
    for (const std::size_t each : {wide, sum}) {
      const auto more = hints(1);
      steps_[each].hints.insert(steps_[each].hints.end(), more.begin(), more.end());
      for (std::int64_t k = 2; k <= 3; ++k) steps_[each].hints.push_back({1, 0, k * axes[0].size});
    }
    if (once_in(2)) return;
  }
  const std::size_t x = operand(kind, axes);
  if (once_in(3)) {
    apply("subtract", {x, wide});
  } else {
    const std::size_t a = apply("compare", {x, wide}, "pred",
                                one_of<std::string>({"LT", "LE", "GT", "GE", "EQ", "NE"}));
    if (once_in(2)) {
      for (std::int64_t& each : numbers) each += each < 100 && each > -1 ? 1 : 0;
      const std::size_t b = apply("compare", {x, broadcast(by_device(kind, numbers), {}, axes)},
                                  "pred", one_of<std::string>({"LT", "LE", "GT", "GE"}));
      apply(one_of<std::string>({"and", "or", "and", "or", "xor"}), {a, b});
    }
    if (once_in(3)) apply("not", {count() - 1});
    if (once_in(4)) apply(one_of<std::string>({"and", "or"}), {count() - 1, a});
  }
  if (once_in(2)) {
    make_movement(one_of<std::string>({"broadcast", "transpose"}));
  } else if (at(count() - 1).type == "pred") {
    // Of one element.
    std::vector<Axis> more = {{1, 1, {}}, axes[0]};
    const std::size_t two = broadcast(count() - 1, {1}, more);
    const bool is_or = once_in(2);
    const std::size_t first = constant("pred", is_or != once_in(8) ? "false" : "true");
    const std::int64_t along = once_in(6) ? 1 : 0;
    Step step{"reduce",
              "pred",
              {"reduce", is_or ? "or" : "and", {{along}}},
              {more[1 - static_cast<std::size_t>(along)].size},
              {two, first},
              "",
              {more[1 - static_cast<std::size_t>(along)]}};
    step.attributes =
        fmt::format(", dimensions={{{}}}, to_apply={}_pred", along, is_or ? "or" : "and");
    add(std::move(step));
  }
}

}  // namespace p2::hlo::small
