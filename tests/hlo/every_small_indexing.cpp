// Every small program of operations at indices that are data, or numbers that devices know.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

Axis uncut(const SmallProgram& program, std::int64_t size) {
  return ways_to_hold(size, program.devices(), true)[0];
}

/// Numbers by device: where tiles of a size begin, and others.
std::vector<Index> tables(std::size_t devices, std::int64_t size) {
  std::vector<Index> all(5);
  for (std::size_t device = 0; device < devices; ++device) {
    const auto d = static_cast<std::int64_t>(device);
    all[0].push_back(d % 2 * size);
    all[1].push_back(d * size);
    all[2].push_back(d / 2 * size);
    all[3].push_back(1);
    all[4].push_back(d - 1);
  }
  return all;
}

void make_dynamic(SmallProgram& program, Choices& choices, bool is_update) {
  const std::string opcode = is_update ? "dynamic-update-slice" : "dynamic-slice";
  const std::size_t rank = 1 + choices.below(2);
  // Along the last dimension a start that is a number or data; along the other a constant.
  Index sizes = chosen_sizes(choices, rank, rank == 1 ? 3 : 2);
  const auto axes = chosen_axes(program, choices, sizes, rank > 1);
  const auto parts = chosen_parts(program, choices, "f32", true);
  const std::size_t x = held(program, "f32", axes, parts);
  Index taken = sizes;
  for (std::size_t k = 0; k < rank; ++k) {
    if (k + 1 == rank || choices.below(2) == 1)
      taken[k] = 1 + static_cast<std::int64_t>(choices.below(static_cast<std::size_t>(sizes[k])));
  }
  std::vector<std::size_t> starts = {program.parameter("s32", {}, std::nullopt, {}),
                                     program.constant("s32", "1"), program.constant("s32", "-2")};
  for (const Index& table : tables(program.devices(), taken.back()))
    starts.push_back(program.by_device("s32", table));
  const std::size_t first =
      rank == 1 ? 0 : program.constant("s32", choices.below(2) == 0 ? "0" : "1");
  std::vector<std::size_t> updates = {0};
  if (is_update) {
    // As the operand is held, not cut, and in another way.
    updates.clear();
    for (int way = 0; way < 3; ++way) {
      std::vector<Axis> theirs;
      for (std::size_t k = 0; k < rank; ++k) {
        const auto ways = ways_to_hold(taken[k], program.devices(), true);
        theirs.push_back(way == 0 && taken[k] == sizes[k] ? axes[k] : ways[way == 2 ? 2 : 0]);
      }
      updates.push_back(held(program, "f32", theirs, way == 2 ? HeldParts() : parts));
    }
    if (parts.reducer) updates.push_back(held(program, "f32", std::vector<Axis>(rank, {1, 1, {}})));
  }
  for (const std::size_t update : updates) {
    if (is_update && program.at(update).sizes != taken) continue;
    for (const std::size_t start : starts) {
      Step step{opcode, "f32", {opcode, "", {}}, is_update ? sizes : taken, {x}, "", {}};
      if (is_update) step.operands.push_back(update);
      if (rank == 2) step.operands.push_back(first);
      step.operands.push_back(start);
      if (!is_update) {
        step.form.numbers = {taken};
        step.attributes = ", dynamic_slice_sizes=" + listed(taken);
      }
      step.axes.assign(rank, {});
      program.add(std::move(step));
    }
  }
}

/// Along one dimension indices are data; others are taken whole, in part, or are of a batch.
struct Access {
  std::vector<Axis> table, indices, result;
  Index offset, collapsed, map, batching, of_batches, slices;
  std::int64_t along = 0;
};

/// A dimension that is looked up, and another one that is a window or a batch.
Access chosen_access(SmallProgram& program, Choices& choices) {
  Access access;
  const std::size_t devices = program.devices();
  const bool is_collapsed = choices.below(2) == 0;
  const bool is_batch = choices.below(2) == 1;
  const bool is_last = choices.below(2) == 1;  // the dimension that is looked up
  const auto rows = ways_to_hold(2, devices, true)[choices.below(3)];
  const Axis other = choices.of(ways_to_hold(2, devices, true));
  access.table = is_last ? std::vector<Axis>{other, rows} : std::vector<Axis>{rows, other};
  const std::int64_t row = is_last ? 1 : 0;
  const std::int64_t column = 1 - row;
  access.map = {row};
  access.slices = {1, 1};
  auto& other_slice = access.slices[static_cast<std::size_t>(column)];
  std::vector<Axis> windows;
  if (!is_collapsed) {
    const std::int64_t size = 1 + static_cast<std::int64_t>(choices.below(2));
    access.slices[static_cast<std::size_t>(row)] = size;
    windows.push_back(size == 2 ? rows : uncut(program, 1));
  } else {
    access.collapsed.push_back(row);
  }
  const Axis batch = ways_to_hold(2, devices, false)[choices.below(6)];
  access.indices = {batch};
  if (is_batch) {
    access.batching = {column};
    access.of_batches = {0};
  } else {
    other_slice = 1 + static_cast<std::int64_t>(choices.below(2));
    const Axis window = other_slice == 2 ? other : uncut(program, 1);
    windows.insert(is_last ? windows.begin() : windows.end(), window);
  }
  // With or without a dimension of vectors, before or behind the others.
  access.along = 1;
  const std::size_t vector = choices.below(3);
  if (vector == 1) access.indices.push_back(uncut(program, 1));
  if (vector == 2) {
    access.indices.insert(access.indices.begin(), uncut(program, 1));
    access.along = 0;
    for (std::int64_t& each : access.of_batches) ++each;
  }
  const bool is_first = choices.below(2) == 1;
  for (std::size_t k = 0; k < windows.size(); ++k)
    access.offset.push_back(static_cast<std::int64_t>(k) + (is_first ? 0 : 1));
  access.result = windows;
  access.result.insert(is_first ? access.result.end() : access.result.begin(), batch);
  return access;
}

void make_gather(SmallProgram& program, Choices& choices) {
  const Access access = chosen_access(program, choices);
  const std::size_t x = held(program, "f32", access.table);
  const std::size_t indices = held(program, "s32", access.indices);
  Step step{"gather",     "f32", {"gather", "", {}}, sizes_of(access.result),
            {x, indices}, "",    access.result};
  step.form.numbers = {access.offset,     access.collapsed, access.map,   access.batching,
                       access.of_batches, {access.along},   access.slices};
  step.attributes = fmt::format(
      ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={}, "
      "start_indices_batching_dims={}, index_vector_dim={}, slice_sizes={}",
      listed(access.offset), listed(access.collapsed), listed(access.map), listed(access.batching),
      listed(access.of_batches), access.along, listed(access.slices));
  program.add(std::move(step));
}

void make_scatter(SmallProgram& program, Choices& choices) {
  const Access access = chosen_access(program, choices);
  const std::size_t indices = held(program, "s32", access.indices);
  auto theirs = access.result;
  const std::size_t changed = choices.below(theirs.size() + 1);
  if (changed < theirs.size()) {
    if (choices.below(2) == 0)
      theirs[changed].devices.clear();
    else
      theirs[changed] = ways_to_hold(theirs[changed].size, program.devices(), true)[2];
  }
  const std::size_t updates = held(program, "f32", theirs);
  std::vector<std::size_t> tables = {held(program, "f32", access.table),
                                     program.splat("f32", "0", access.table),
                                     program.splat("f32", "1", access.table)};
  for (const std::size_t x : tables) {
    for (const char* name : {"add", "maximum"}) {
      Step step{"scatter",
                "f32",
                {"scatter", name, {}},
                sizes_of(access.table),
                {x, indices, updates},
                "",
                access.table};
      step.form.numbers = {access.offset,   access.collapsed,  access.map,
                           access.batching, access.of_batches, {access.along}};
      step.attributes = fmt::format(
          ", update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}, "
          "input_batching_dims={}, scatter_indices_batching_dims={}, index_vector_dim={}, "
          "to_apply={}_f32",
          listed(access.offset), listed(access.collapsed), listed(access.map),
          listed(access.batching), listed(access.of_batches), access.along, name);
      program.add(std::move(step));
    }
  }
}

/// A table that is cut by rows: its tiles, and where each begins.
struct Tiles {
  Axis rows;
  Index begins;
};

Tiles chosen_tiles(SmallProgram& program, Choices& choices) {
  const auto size = 1 + static_cast<std::int64_t>(choices.below(2));
  const auto all = ways_to_hold(size, program.devices(), false);
  Tiles tiles{choices.of(all), {}};
  for (std::size_t device = 0; device < program.devices(); ++device) {
    const bool has = !tiles.rows.is_free() && !tiles.rows.devices[device].empty();
    tiles.begins.push_back(has ? tiles.rows.devices[device][0].of
                               : static_cast<std::int64_t>(device) % 2 * size);
  }
  return tiles;
}

std::size_t as_vectors(SmallProgram& program, std::size_t indices) {
  const Step from = program.at(indices);
  Step step{"reshape",
            from.type,
            {"reshape", "", {{from.sizes[0], 1}}},
            {from.sizes[0], 1},
            {indices},
            "",
            {from.axes[0], {1, 1, {}}}};
  step.hints = {{from.axes[0].whole, 1}};
  return program.add(std::move(step));
}

/// Every device looks up what it has, or adds to it; with mistakes by one.
void make_masked(SmallProgram& program, Choices& choices, bool is_scatter) {
  const Tiles tiles = chosen_tiles(program, choices);
  const std::int64_t size = tiles.rows.size;
  const Axis column = ways_to_hold(1, program.devices(), true)[choices.below(3)];
  // Two indices: one would be taken for a vector without a batch.
  const Axis batch = ways_to_hold(2, program.devices(), true)[choices.below(3)];
  const std::string type = choices.of<std::string>({"s32", "u32", "s8"});
  const std::size_t whole = held(program, type, {batch});
  const std::size_t bound = choices.below(3);  // none, right, one too far
  std::size_t index = whole;
  if (bound > 0)
    index = program.apply(
        "clamp",
        {program.splat(type, "0", {batch}), whole,
         program.splat(type,
                       fmt::format("{}", tiles.rows.whole - 2 + static_cast<std::int64_t>(bound)),
                       {batch})});
  const std::size_t mistake = choices.below(4);
  const auto number = [&](const Index& numbers) {
    return program.broadcast(program.by_device(type, numbers), {}, {batch});
  };
  Index begins = tiles.begins, ends;
  if (mistake == 1) ++begins.back();
  for (const std::int64_t each : begins) ends.push_back(each + size - (mistake == 2 ? 1 : 0));
  const std::size_t moved = program.apply("subtract", {index, number(begins)});
  const std::size_t vectors = as_vectors(program, mistake == 3 ? index : moved);
  const std::vector<Axis> table = {tiles.rows, column};
  const std::vector<Axis> result = {batch, column};
  if (is_scatter) {
    const std::size_t updates = held(program, "f32", result);
    const std::vector<std::size_t> all = {held(program, "f32", table),
                                          program.splat("f32", "0", table),
                                          program.splat("f32", "1", table)};
    for (const std::size_t x : all) {
      for (const char* name : {"add", "maximum"}) {
        Step step{"scatter",
                  "f32",
                  {"scatter", name, {{1}, {0}, {0}, {}, {}, {1}}},
                  sizes_of(table),
                  {x, vectors, updates},
                  "",
                  table};
        step.attributes = fmt::format(
            ", update_window_dims={{1}}, inserted_window_dims={{0}}, "
            "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={}_f32",
            name);
        program.add(std::move(step));
      }
    }
    return;
  }
  const bool is_outside = choices.below(2) == 1;
  const std::size_t low =
      program.apply("compare", {index, number(begins)}, "pred", is_outside ? "LT" : "GE");
  const std::size_t high =
      program.apply("compare", {index, number(ends)}, "pred", is_outside ? "GE" : "LT");
  const std::size_t mask = program.apply(is_outside ? "or" : "and", {low, high});
  const std::size_t x = held(program, "f32", table);
  Step step{"gather",
            "f32",
            {"gather", "", {{1}, {0}, {0}, {}, {}, {1}, {1, column.size}}},
            sizes_of(result),
            {x, vectors},
            "",
            result};
  step.attributes = fmt::format(
      ", offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
      "index_vector_dim=1, slice_sizes={{1,{}}}",
      column.size);
  const std::size_t rows = program.add(std::move(step));
  const std::size_t taken = choices.below(2) == 0 ? rows : program.apply("negate", {rows});
  const std::size_t condition = program.broadcast(mask, {0}, result);
  for (const std::size_t other :
       {program.splat("f32", "0", result), program.splat("f32", "1", result)}) {
    program.apply("select", is_outside ? std::vector<std::size_t>{condition, other, taken}
                                       : std::vector<std::size_t>{condition, taken, other});
    program.apply("select", is_outside ? std::vector<std::size_t>{condition, taken, other}
                                       : std::vector<std::size_t>{condition, other, taken});
  }
}

/// All or nothing of a tensor, and what is scattered into it.
void make_choice(SmallProgram& program, Choices& choices) {
  const std::vector<Axis> axes = {ways_to_hold(2, program.devices(), true)[choices.below(3)],
                                  ways_to_hold(1, program.devices(), true)[choices.below(3)]};
  const std::size_t x = held(program, "f32", axes);
  // Every way to choose.
  Index truth;
  for (std::size_t device = 0; device < program.devices(); ++device)
    truth.push_back(static_cast<std::int64_t>(choices.below(2)));
  const std::size_t condition = program.broadcast(program.by_device("pred", truth), {}, axes);
  const Axis rows = choices.of(ways_to_hold(1, program.devices(), false));
  const std::size_t indices = held(program, "s32", {rows, uncut(program, 1)});
  const std::size_t updates = held(program, "f32", {rows, axes[1]});
  for (const char* value : {"0", "1"}) {
    const std::size_t other = program.splat("f32", value, axes);
    for (const bool is_first : {true, false}) {
      const std::size_t chosen =
          program.apply("select", is_first ? std::vector<std::size_t>{condition, x, other}
                                           : std::vector<std::size_t>{condition, other, x});
      for (const char* name : {"add", "maximum"}) {
        Step step{"scatter",
                  "f32",
                  {"scatter", name, {{1}, {0}, {0}, {}, {}, {1}}},
                  sizes_of(axes),
                  {chosen, indices, updates},
                  "",
                  axes};
        step.attributes = fmt::format(
            ", update_window_dims={{1}}, inserted_window_dims={{0}}, "
            "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={}_f32",
            name);
        program.add(std::move(step));
      }
    }
  }
}

std::vector<Index> number_hints(std::size_t rank, std::int64_t size) {
  std::vector<Index> all;
  for (const std::int64_t whole : {1, 2, 3, 4, 6, 8}) {
    Index hint = {0};
    hint.insert(hint.end(), rank, whole);
    all.push_back(hint);
    if (rank == 1) all.push_back({1, 0, whole * size});
  }
  return all;
}

/// Numbers that devices know, iotas that begin there, and what is compared with them.
void make_number(SmallProgram& program, Choices& choices) {
  const std::vector<Axis> axes = {choices.of(
      ways_to_hold(1 + static_cast<std::int64_t>(choices.below(2)), program.devices(), false))};
  const std::int64_t size = axes[0].size;
  auto all = tables(program.devices(), size);
  Index far(program.devices(), 5), least(program.devices(), 0);
  const std::string type = choices.of<std::string>({"s32", "s8", "u16"});
  const bool is_signed = type[0] == 's';
  far.back() = type == "s32" ? 2147483647 : type == "u32" ? 3000000000 : type == "s8" ? 127 : 40000;
  least.back() = is_signed ? (type == "s8" ? -128 : -2147483648) : 0;
  all.push_back(far);
  all.push_back(least);
  Index numbers = choices.of(all);
  if (!is_signed && *std::min_element(numbers.begin(), numbers.end()) < 0) return;
  const std::size_t number = program.by_device(type, numbers);
  const std::size_t wide = program.broadcast(number, {}, axes);
  Step line{"iota", type, {"iota", "", {{0}, {size}}}, {size}, {}, ", iota_dimension=0", axes};
  const std::size_t sum = program.apply("add", {program.add(std::move(line)), wide});
  for (const std::size_t each : {wide, sum}) program.hint(each, number_hints(1, size));
  const std::size_t x = held(program, type, axes);
  program.apply("subtract", {x, wide});
  program.apply("subtract", {wide, x});
  Index more = numbers;
  for (std::int64_t& each : more) each += each < 100 ? 1 : 0;
  const std::size_t end = program.broadcast(program.by_device(type, more), {}, axes);
  std::vector<std::size_t> conditions;
  for (const char* direction : {"LT", "LE", "GT", "GE", "EQ", "NE"}) {
    conditions.push_back(program.apply("compare", {x, wide}, "pred", direction));
    program.apply("compare", {wide, x}, "pred", direction);
  }
  conditions.push_back(program.apply("compare", {x, end}, "pred", "LT"));
  conditions.push_back(program.apply("compare", {x, end}, "pred", "GE"));
  std::vector<std::size_t> both;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t other = 4; other < conditions.size(); ++other) {
      for (const char* name : {"and", "or", "xor"})
        both.push_back(program.apply(name, {conditions[k], conditions[other]}));
    }
    both.push_back(program.apply("not", {conditions[k]}));
  }
  program.apply("not", {both.front()});
  program.apply("or", {both.front(), conditions[0]});
  // Moved, and reduced along a dimension of one element.
  const std::vector<Axis> two = {{1, 1, {}}, axes[0]};
  const std::size_t row = program.broadcast(conditions[3], {1}, two);
  for (const bool is_or : {true, false}) {
    for (const char* first : {"false", "true"}) {
      for (const std::int64_t along : {0, 1}) {
        const Axis& left = two[static_cast<std::size_t>(1 - along)];
        Step step{"reduce",
                  "pred",
                  {"reduce", is_or ? "or" : "and", {{along}}},
                  {left.size},
                  {row, program.constant("pred", first)},
                  "",
                  {left}};
        step.attributes =
            fmt::format(", dimensions={{{}}}, to_apply={}_pred", along, is_or ? "or" : "and");
        program.add(std::move(step));
      }
    }
  }
}

}  // namespace

std::vector<Operations> indexing_operations() {
  return {{"dynamic-slice",
           {"dynamic-slice"},
           [](SmallProgram& program, Choices& choices) { make_dynamic(program, choices, false); }},
          {"dynamic-update-slice",
           {"dynamic-update-slice"},
           [](SmallProgram& program, Choices& choices) { make_dynamic(program, choices, true); }},
          {"gather", {"gather"}, make_gather},
          {"scatter", {"scatter"}, make_scatter},
          {"masked gather",
           {"gather", "select"},
           [](SmallProgram& program, Choices& choices) { make_masked(program, choices, false); },
           150,
           5,
           2000},
          {"masked scatter",
           {"scatter"},
           [](SmallProgram& program, Choices& choices) { make_masked(program, choices, true); },
           150,
           3,
           2000},
          {"choice", {"select", "scatter"}, make_choice},
          {"numbers",
           {"broadcast", "add", "subtract", "compare", "and", "or", "not", "reduce"},
           make_number,
           50}};
}

}  // namespace p2::hlo::small
