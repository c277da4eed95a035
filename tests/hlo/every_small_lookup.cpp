// Small programs of gathers and scatters of other forms, and of what devices look up in their tiles
// with one thing that is not as in every_small_indexing.cpp.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Segment;

/// The dimension numbers of a gather, or of the scatter of what it makes.
struct Numbers {
  Index windows, dropped, map, slices;
};

Step gather_of(const SmallProgram& program, std::size_t x, std::size_t indices,
               const Numbers& numbers, const std::vector<Axis>& result) {
  Step step{"gather", program.at(x).type, {"gather", "", {}}, sizes_of(result), {x, indices}, "",
            result};
  step.form.numbers = {numbers.windows, numbers.dropped, numbers.map, {}, {}, {1}, numbers.slices};
  step.attributes = fmt::format(
      ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}, index_vector_dim=1, "
      "slice_sizes={}",
      listed(numbers.windows), listed(numbers.dropped), listed(numbers.map),
      listed(numbers.slices));
  return step;
}

Step scatter_of(const SmallProgram& program, std::size_t x, std::size_t indices,
                std::size_t updates, const Numbers& numbers, const std::string& name) {
  const Step& table = program.at(x);
  Step step{"scatter",
            table.type,
            {"scatter", name, {numbers.windows, numbers.dropped, numbers.map, {}, {}, {1}}},
            table.sizes,
            {x, indices, updates},
            "",
            table.axes};
  step.attributes = fmt::format(
      ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, "
      "index_vector_dim=1, to_apply={}_{}",
      listed(numbers.windows), listed(numbers.dropped), listed(numbers.map), name, table.type);
  return step;
}

std::size_t by_device(SmallProgram& program, const std::string& type, const Index& numbers,
                      const std::vector<Axis>& axes) {
  return program.broadcast(program.by_device(type, numbers), {}, axes);
}

/// x on every other device, or on the first, elsewhere 0.
std::size_t only_on(SmallProgram& program, Choices& choices, std::size_t x) {
  const Step from = program.at(x);
  const std::size_t others = choices.below(2) == 0 ? 2 : program.devices();
  Index truth;
  for (std::size_t device = 0; device < program.devices(); ++device)
    truth.push_back(device % others == 0 ? 1 : 0);
  const std::size_t condition = by_device(program, "pred", truth, from.axes);
  return program.apply("select", {condition, x, program.splat(from.type, "0", from.axes)});
}

/// Tables whose rows are looked up whole or not at all, or two of whose dimensions are; vectors of
/// indices that some devices do not have; tables that are sums.
void make_lookup(SmallProgram& program, Choices& choices, bool is_scatter) {
  enum Other : std::uint8_t { Rows, Columns, Vectors, Batch, Order, Parts, None };
  const auto other = static_cast<Other>(choices.below(None + 1));
  const std::size_t devices = program.devices();
  const auto way = [&](std::int64_t size, bool is_any) {
    const auto ways = ways_to_hold(size, devices, false);
    return is_any ? choices.of(ways) : ways[0];
  };
  const auto rows = 1 + static_cast<std::int64_t>(choices.below(2));
  std::vector<Axis> table = {way(rows, other == Rows), way(2, other == Columns)};
  // Only the rows are not on all devices.
  if (other == Rows && choices.below(2) == 0) table[1].devices.clear();
  const std::vector<std::pair<Numbers, std::vector<Axis>>> forms = {
      {{{}, {0, 1}, {1}, {1, 1}}, {}},
      {{{1}, {0}, {}, {1, 2}}, {table[1]}},
      {{{1}, {0}, {1}, {1, 1}}, {{1, 1, {}}}},
      {{{}, {0, 1}, {0, 1}, {1, 1}}, {}},
      {{{}, {0, 1}, {1, 0}, {1, 1}}, {}},
      {{{1}, {1}, {0}, {rows, 1}}, {table[0]}},
      {{{1, 2}, {}, {0}, {rows, 2}}, table},
      {{{1, 2}, {}, {1}, {rows, 1}}, {table[0], {1, 1, {}}}},
      {{{1}, {0}, {0}, {1, 2}}, {table[1]}}};
  const auto& [numbers, windows] = choices.of(forms);
  const auto count = std::ssize(numbers.map);
  // Without indices all slices begin at 0.
  if (count == 0) return;
  const Axis vectors = way(count, other == Vectors);
  Axis batch =
      choices.of(ways_to_hold(1 + static_cast<std::int64_t>(choices.below(2)), devices, true));
  // All of them, in another order.
  if (other == Batch) batch = choices.below(4) == 0 ? Axis{2, 1, {}} : way(2, true);
  if (other == Order) batch = {2, 2, std::vector<Segments>(devices, {{0, 1, 1}, {1, 0, 1}})};
  // Of a sum: the table, the indices or the updates.
  HeldParts of[3];
  if (other == Parts) {
    HeldParts& parts = of[choices.below(is_scatter ? 3 : 2)];
    parts.reducer = choices.below(2) == 0 ? kernel::xla::Op::Add : kernel::xla::Op::Maximum;
    for (std::uint32_t device = 0; device < devices; ++device) parts.parts.push_back(device);
  }
  const std::size_t indices = held(program, "s32", {batch, vectors}, of[1]);
  std::vector<Axis> result = {batch};
  result.insert(result.end(), windows.begin(), windows.end());
  const std::size_t x = held(program, "f32", table, of[0]);
  if (!is_scatter) {
    program.add(gather_of(program, x, indices, numbers, result));
    return;
  }
  const std::size_t updates = held(program, "f32", result, of[2]);
  for (const std::size_t each :
       {x, program.splat("f32", "0", table), only_on(program, choices, x)}) {
    for (const char* name : {"add", "maximum"})
      program.add(scatter_of(program, each, indices, updates, numbers, name));
  }
}

/// A table in tiles of rows, and where each begins.
struct RowTiles {
  Axis rows;
  Index begins;
};

RowTiles chosen_row_tiles(const SmallProgram& program, Choices& choices, std::int64_t size) {
  RowTiles tiles{{size, 2 * size, {}}, {}};
  const std::size_t way = choices.below(4);
  for (std::size_t device = 0; device < program.devices(); ++device) {
    const auto d = static_cast<std::int64_t>(device);
    tiles.begins.push_back((way == 1 ? d / 2 : d % 2) * size);
    Segment segment{0, tiles.begins.back(), size};
    Segments all = {segment};
    // Of the tile only the last row, or rows in another order.
    if (way == 2) all = {{size - 1, segment.of + size - 1, 1}};
    if (way == 3 && size == 2) all = {{0, segment.of, 1}, {1, 1 - segment.of / 2, 1}};
    tiles.rows.devices.push_back(std::move(all));
  }
  return tiles;
}

/// As vectors of one index.
std::size_t vectors_of(SmallProgram& program, std::size_t indices) {
  Step step = step_of("reshape", program.at(indices), indices);
  step.sizes.push_back(1);
  step.form.numbers = {step.sizes};
  step.axes.push_back({1, 1, {}});
  step.hints = {{step.axes[0].whole, 1}};
  return program.add(std::move(step));
}

/// What a device looks up in its tile of rows, where the index is in it; one thing is another.
void make_tiled_gather(SmallProgram& program, Choices& choices) {
  enum Other : std::uint8_t { Window, Both, Bound, Mask, Slice, Moved, Plain, None };
  const auto other = static_cast<Other>(choices.below(None + 1));
  const auto size = 1 + static_cast<std::int64_t>(choices.below(2));
  const RowTiles tiles = chosen_row_tiles(program, choices, size);
  const Axis column =
      choices.of(ways_to_hold(other == Slice || other == Both ? 2 : 1, program.devices(), true));
  const Axis batch = choices.of(
      ways_to_hold(1 + static_cast<std::int64_t>(choices.below(2)), program.devices(), true));
  const std::vector<Axis> table = {tiles.rows, column};
  const std::size_t x = held(program, "f32", table);
  std::vector<Axis> of_indices = {batch};
  if (other == Both) of_indices.push_back(ways_to_hold(2, program.devices(), true)[0]);
  std::size_t whole = held(program, "s32", of_indices);
  const std::size_t data = program.parameter("s32", {}, std::nullopt, {});
  const auto most = fmt::format("{}", tiles.rows.whole - 1);
  std::size_t low = program.constant("s32", "0");
  std::size_t high = program.constant("s32", most);
  bool is_clamped = true;
  if (other == Bound) {
    const std::size_t which = choices.below(6);
    if (which == 0) low = data;
    if (which == 1) high = data;
    if (which == 2) high = program.constant("s32", "-1");
    if (which == 3) low = program.constant("s32", "-1");
    if (which == 4) high = program.constant("s32", fmt::format("{}", tiles.rows.whole));
    is_clamped = which != 5;
  }
  if (is_clamped) whole = program.apply("clamp", {low, whole, high});
  Index ends = tiles.begins;
  for (std::int64_t& each : ends) each += size;
  const std::size_t begins = by_device(program, "s32", tiles.begins, of_indices);
  std::size_t indices = program.apply("subtract", {whole, begins});
  std::size_t seen = whole;
  if (other == Mask) {
    // The indices of another device.
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t device = 0; device < program.devices(); ++device)
      pairs.emplace_back(device, (device + 1) % program.devices());
    seen = program.permute(whole, pairs);
  }
  const std::size_t mask = program.apply(
      "and", {program.apply("compare", {seen, begins}, "pred", "GE"),
              program.apply("compare", {seen, by_device(program, "s32", ends, of_indices)}, "pred",
                            "LT")});
  if (other != Both) indices = vectors_of(program, indices);
  const auto window = other == Window ? size : 1;
  Numbers numbers{{1}, {0}, {0}, {1, other == Slice ? 1 : column.size}};
  std::vector<Axis> result = {batch, other == Slice ? Axis{1, 1, {}} : column};
  if (other == Both) {
    numbers = {{}, {0, 1}, {0, 1}, {1, 1}};
    result = {batch};
  }
  if (other == Window) {
    numbers = {{1, 2}, {}, {0}, {window, column.size}};
    result.insert(result.begin() + 1, {window, window, {}});
  }
  std::size_t taken = program.add(gather_of(program, x, indices, numbers, result));
  if (other == Both) return;
  std::size_t condition = program.broadcast(mask, {0}, result);
  if (other == Moved) {
    const auto turned = [&](std::size_t each) {
      Step step = step_of("transpose", program.at(each), each);
      step.form.numbers = {{1, 0}};
      step.attributes = ", dimensions={1,0}";
      std::swap(step.sizes[0], step.sizes[1]);
      std::swap(step.axes[0], step.axes[1]);
      return program.add(std::move(step));
    };
    taken = turned(taken);
    if (choices.below(2) == 0) condition = turned(condition);
    std::swap(result[0], result[1]);
    if (program.at(condition).sizes != program.at(taken).sizes) return;
  }
  if (other == Plain) taken = held(program, "f32", result);
  const std::size_t zero = program.splat("f32", "0", result);
  program.apply("select", {condition, taken, zero});
  program.apply("select", {condition, zero, taken});
  program.apply("select", {condition, taken, program.splat("f32", "1", result)});
}

/// What a device adds to its tile of rows; one thing is another.
void make_tiled_scatter(SmallProgram& program, Choices& choices) {
  enum Other : std::uint8_t { Window, Both, Table, Taken, Updates, Indices, Looked, Far, None };
  const auto other = static_cast<Other>(choices.below(None + 1));
  const auto size = other == Far ? 70 : 1 + static_cast<std::int64_t>(choices.below(2));
  RowTiles tiles = chosen_row_tiles(program, choices, size);
  if (other == Far) {
    // More rows than a number of eight bits has: -128 - 64 is 64.
    if (program.devices() > 2) return;
    tiles.rows = {size, 64 + size, {{{0, 0, size}}, {{0, 64, size}}}};
    tiles.begins = {0, 64};
  }
  const auto few = [&](std::int64_t all) {
    return choices.of(ways_to_hold(all, program.devices(), true));
  };
  const Axis column = other == Far ? Axis{1, 1, {}} : few(other == Both ? 2 : 1);
  // Two indices: one would be taken for a vector without a batch.
  const Axis batch = other == Far ? ways_to_hold(1, program.devices(), true)[0]
                                  : few(1 + static_cast<std::int64_t>(choices.below(2)));
  const std::vector<Axis> table = {tiles.rows, column};
  const std::string type = other == Far ? "s8" : "s32";
  std::vector<Axis> of_indices = {batch};
  if (other == Both) of_indices.push_back(ways_to_hold(2, program.devices(), true)[0]);
  const std::size_t whole = held(program, type, of_indices);
  const std::size_t begins = by_device(program, type, tiles.begins, of_indices);
  std::size_t indices = program.apply("subtract", {whole, begins});
  if (other != Both) indices = vectors_of(program, indices);
  Numbers numbers{{1}, {0}, {0}, {}};
  std::vector<Axis> result = {batch, column};
  if (other == Both) {
    numbers = {{}, {0, 1}, {0, 1}, {}};
    result = {batch};
  }
  if (other == Window) {
    numbers = {{1, 2}, {}, {0}, {}};
    result.insert(result.begin() + 1, {size, size, {}});
  }
  std::size_t updates = held(program, "f32", result);
  std::size_t x =
      choices.below(2) == 0 ? program.splat("f32", "0", table) : held(program, "f32", table);
  // A table of numbers that is looked up likewise: of rows that are as many as it has.
  const auto looked_up = [&](const std::string& of, const Axis& rows) {
    const std::size_t again = held(program, of, {rows, {1, 1, {}}});
    return program.add(
        gather_of(program, again, indices, {{1}, {0}, {0}, {1, 1}}, {batch, {1, 1, {}}}));
  };
  if (other == Table) x = only_on(program, choices, x);
  if (other == Updates) updates = only_on(program, choices, updates);
  if (other == Indices) indices = only_on(program, choices, vectors_of(program, whole));
  if (other == Looked) indices = looked_up("s32", tiles.rows);
  if (other == Taken && batch.size == size) x = looked_up("f32", tiles.rows);
  const Index sizes = sizes_of(result);
  if (program.at(x).sizes.size() != 2) return;
  if (other == Taken && column.size != 1) return;
  for (const char* name : {"add", "maximum"})
    program.add(scatter_of(program, x, indices, updates, numbers, name));
}

/// Conditions on one tensor at two places.
void make_conditions(SmallProgram& program, Choices& choices) {
  const auto size = 1 + static_cast<std::int64_t>(choices.below(2));
  const std::vector<Axis> axes = {choices.of(ways_to_hold(size, program.devices(), false))};
  const auto parts = chosen_parts(program, choices, "s32", true);
  const std::size_t x = held(program, "s32", axes, parts);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t device = 0; device < program.devices(); ++device)
    pairs.emplace_back(device, (device + 1) % program.devices());
  const std::size_t y = program.permute(x, pairs);
  Index numbers, more;
  for (std::size_t device = 0; device < program.devices(); ++device) {
    numbers.push_back(static_cast<std::int64_t>(device));
    more.push_back(static_cast<std::int64_t>(device) + 2);
  }
  const std::size_t low = by_device(program, "s32", numbers, axes);
  const std::size_t high = by_device(program, "s32", more, axes);
  const auto compared = [&](std::size_t a, std::size_t b, const char* direction) {
    return program.apply("compare", {a, b}, "pred", direction);
  };
  const std::vector<std::size_t> all = {compared(x, low, "GE"), compared(x, high, "LT"),
                                        compared(y, low, "GE"), compared(y, high, "LT")};
  std::vector<std::size_t> both = all;
  for (const std::size_t a : all) {
    for (const std::size_t b : all) {
      for (const char* name : {"and", "or", "xor"}) both.push_back(program.apply(name, {a, b}));
    }
  }
  // Not with one number.
  Step line{"iota", "s32", {"iota", "", {{0}, {size}}}, {size}, {}, ", iota_dimension=0", axes};
  compared(x, program.apply("add", {program.add(std::move(line)), low}), "LT");
  // Of one element, but not by an operation that keeps it.
  const std::size_t row = program.broadcast(all[0], {1}, {{1, 1, {}}, axes[0]});
  for (const char* first : {"false", "true"}) {
    for (const char* name : {"and", "or", "xor"})
      program.add(reduction(program, row, program.constant("pred", first), {0}, name));
  }
  // Intervals and complements of them, on the left and on the right.
  const std::size_t inside = both[all.size() + 3];
  const std::size_t outside = program.apply("not", {inside});
  for (const std::size_t a : {inside, outside}) {
    for (const std::size_t b : {all[0], all[1], inside, outside}) {
      for (const char* name : {"and", "or"}) {
        program.apply(name, {a, b});
        program.apply(name, {b, a});
      }
    }
  }
}

}  // namespace

std::vector<Operations> lookup_operations() {
  return {{"gather, other forms",
           {"gather"},
           [](SmallProgram& program, Choices& choices) { make_lookup(program, choices, false); },
           1500},
          {"scatter, other forms",
           {"scatter"},
           [](SmallProgram& program, Choices& choices) { make_lookup(program, choices, true); },
           1500},
          {"gather in tiles", {"gather", "select", "transpose"}, make_tiled_gather, 600, 10, 2000},
          {"scatter in tiles", {"gather", "scatter"}, make_tiled_scatter, 1500, 0, 2000},
          {"conditions", {"compare", "and", "or", "not", "reduce"}, make_conditions}};
}

}  // namespace p2::hlo::small
