// Small programs of windows and convolutions.

#include <algorithm>

#include <fmt/format.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

constexpr Window kOne = {};
constexpr Window kWindows[] = {kOne,
                               {1, 1, 0, 0, 1, 2, true},
                               {1, 2, 0, 0, 1, 1, false},
                               {1, 1, 1, -1, 1, 1, false},
                               {1, 1, 0, 1, 1, 1, false},
                               {1, 2, 0, 1, 2, 1, false},
                               {2, 1, 1, 0, 1, 1, false},
                               {2, 1, 0, 1, 1, 1, true},
                               {2, 1, 1, 1, 1, 2, false},
                               {2, 1, 0, 0, 1, 1, false}};

/// Every window along each dimension, the other ones taken one by one.
void make_every_window(SmallProgram& program, Choices& choices) {
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 3);
  const auto axes = chosen_axes(program, choices, sizes, sizes.size() > 1);
  const std::size_t x =
      held(program, "f32", axes, chosen_parts(program, choices, "f32", sizes.size() > 1));
  const std::size_t first = program.parameter("f32", {}, std::nullopt, {});
  for (std::size_t along = 0; along < sizes.size(); ++along) {
    for (const Window& window : kWindows) {
      std::vector<Window> all(sizes.size(), kOne);
      all[along] = window;
      for (const char* reducer : {"add", "maximum"}) {
        Step step = step_of("reduce-window", program.at(x), x);
        step.operands.push_back(first);
        step.form.opcode = "function";
        step.sizes[along] = window.positions(sizes[along]);
        if (step.sizes[along] < 1) continue;
        step.attributes = fmt::format(", {}, to_apply={}_f32", window_text(all), reducer);
        step.form.text = step.attributes;
        program.add(std::move(step));
      }
    }
  }
}

/// Batches, features, one more dimension: each held in its own way, and one of the kernel's in
/// another.
void make_convolutions(SmallProgram& program, Choices& choices) {
  const auto way = [&](std::int64_t size) {
    return choices.of(ways_to_hold(size, program.devices(), true));
  };
  const Axis batch = way(2), features = way(2);
  const Axis line = ways_to_hold(3, program.devices(), true)[choices.below(3)];
  const Axis result = ways_to_hold(2, program.devices(), true)[choices.below(3)];
  const Axis theirs = choices.below(2) == 0 ? features : way(2);
  const HeldParts parts = chosen_parts(program, choices, "f32", true);
  const bool is_first = choices.below(2) == 0;
  const std::size_t x =
      held(program, "f32", {batch, line, features}, is_first ? parts : HeldParts());
  const std::vector<Window> windows = {kOne, kWindows[3], kWindows[6], kWindows[8]};
  for (const Window& window : windows) {
    const Axis own = ways_to_hold(window.size, program.devices(), true)[0];
    const std::size_t kernel =
        held(program, "f32", {own, theirs, result}, is_first ? HeldParts() : parts);
    Step step = step_of("convolution", program.at(x), x);
    step.operands.push_back(kernel);
    step.form.opcode = "function";
    step.sizes = {batch.size, window.positions(line.size), result.size};
    step.attributes = fmt::format(", {}, dim_labels=b0f_0io->b0f", window_text({window}));
    step.form.text = step.attributes;
    program.add(std::move(step));
  }
}

/// A convolution of one batch and feature.
void add_convolution(SmallProgram& program, std::size_t x, std::size_t kernel,
                     const Window& window) {
  Step step = step_of("convolution", program.at(x), x);
  step.operands.push_back(kernel);
  step.form.opcode = "function";
  step.sizes[1] = window.positions(step.sizes[1]);
  if (step.sizes[1] < 1) return;
  step.attributes = fmt::format(", {}, dim_labels=b0f_0io->b0f", window_text({window}));
  step.form.text = step.attributes;
  program.add(std::move(step));
}

Axis all_of(std::int64_t size, std::size_t devices) { return ways_to_hold(size, devices, true)[0]; }

/// Products as the convolutions that they are written as for TPUs: with a window's dimension that
/// both have, or the kernel alone; and such that are nearly those.
void make_products(SmallProgram& program, Choices& choices) {
  const auto way = [&](std::int64_t size) {
    return choices.of(ways_to_hold(size, program.devices(), true));
  };
  const Axis batch = way(2), features = way(2), result = way(2);
  const Axis line = way(2 + static_cast<std::int64_t>(choices.below(2)));
  const Axis theirs = choices.below(4) == 0 ? way(line.size) : line;
  const bool are_both = choices.below(2) == 0;
  const Axis one = ways_to_hold(1, program.devices(), true)[0];
  const HeldParts parts = chosen_parts(program, choices, "f32", true);
  const bool is_first = choices.below(2) == 0;
  const std::size_t x = held(program, "f32", {batch, are_both ? line : one, features},
                             is_first ? parts : HeldParts());
  const std::size_t kernel =
      held(program, "f32", {theirs, features, result}, is_first ? HeldParts() : parts);
  const std::int64_t n = line.size;
  const std::vector<Window> windows = {{n, n - 1, 0, 0, n, 1, false},
                                       {n, 1, n - 1, n - 1, 1, 1, true},
                                       {n, n, 0, 0, n, 1, false},
                                       {n, 1, n - 1, n - 1, 1, 1, false},
                                       {n, n - 1, 0, 0, n, 1, true},
                                       {n, 1, n - 1, 0, 1, 1, true},
                                       {n, n - 1, 0, n - 1, n - 1, 1, false},
                                       {n, 1, n, n - 2, 1, 1, true}};
  const std::string labels = choices.below(2) == 0 ? "b0f_0io->b0f" : "b0f_0io->0bf";
  for (const Window& window : windows) {
    Step step = step_of("convolution", program.at(x), x);
    step.operands.push_back(kernel);
    step.form.opcode = "function";
    const std::int64_t positions = window.positions(are_both ? n : 1);
    if (positions < 1) continue;
    step.sizes = {batch.size, positions, result.size};
    if (labels.ends_with("0bf")) std::swap(step.sizes[0], step.sizes[1]);
    step.attributes = fmt::format(", {}, dim_labels={}", window_text({window}), labels);
    step.form.text = step.attributes;
    program.add(std::move(step));
  }
}

/// Windows that slide over parts, each from another index on, with halos and holes.
void make_sliding_windows(SmallProgram& program, Choices& choices) {
  const std::int64_t size = 2 + static_cast<std::int64_t>(choices.below(4));
  const auto step = static_cast<std::int64_t>(choices.below(5));
  const auto first = static_cast<std::int64_t>(choices.below(2));
  const auto begin = static_cast<std::int64_t>(choices.below(2));
  const auto count = static_cast<std::int64_t>(program.devices());
  Axis line{size, first + (count - 1) * step + size - begin, {}};
  for (std::int64_t device = 0; device < count; ++device)
    line.devices.push_back({{begin, first + device * step, size - begin}});
  const Axis one = all_of(1, program.devices());
  const std::size_t x = held(program, "f32", {one, line, one});
  const std::size_t zero = program.constant("f32", "0");
  const Window window = {1 + static_cast<std::int64_t>(choices.below(3)),
                         1 + static_cast<std::int64_t>(choices.below(3)),
                         static_cast<std::int64_t>(choices.below(2)),
                         static_cast<std::int64_t>(choices.below(2)),
                         1,
                         1 + static_cast<std::int64_t>(choices.below(2)),
                         choices.below(2) == 1};
  if (window.positions(size) < 1) return;
  Step reduction = step_of("reduce-window", program.at(x), x);
  reduction.operands.push_back(zero);
  reduction.form.opcode = "function";
  reduction.sizes[1] = window.positions(size);
  reduction.attributes =
      fmt::format(", {}, to_apply=maximum_f32", window_text({kOne, window, kOne}));
  reduction.form.text = reduction.attributes;
  program.add(std::move(reduction));
  const std::size_t kernel =
      held(program, "f32", {all_of(window.size, program.devices()), one, one});
  add_convolution(program, x, kernel, window);
}

/// Kernels of which each device has a part, of elements that begin there, or elsewhere.
void make_cut_windows(SmallProgram& program, Choices& choices) {
  const auto number = [&](std::int64_t from, std::size_t count) {
    return from + static_cast<std::int64_t>(choices.below(count));
  };
  const std::int64_t size = number(1, 2), stride = number(1, 2), dilation = number(1, 2),
                     positions = number(1, 2), more = number(0, 2), rest_of_whole = number(0, 2),
                     shift = number(-1, 3), way = number(0, 3);
  const bool are_all_shifted = choices.below(2) == 1;
  const auto count = static_cast<std::int64_t>(program.devices());
  const std::int64_t rest = (positions - 1) * stride + 1 + more;
  const std::int64_t parts = way == 2 ? 2 : count;
  Axis kernel{size, parts * size, {}};
  Axis line{(size - 1) * dilation + rest, (kernel.whole - 1) * dilation + rest + rest_of_whole, {}};
  for (std::int64_t device = 0; device < count; ++device) {
    const std::int64_t part = way == 0 ? device : way == 1 ? count - 1 - device : device % 2;
    kernel.devices.push_back({{0, part * size, size}});
    const std::int64_t begin =
        part * size * dilation + (are_all_shifted || device == 0 ? shift : 0);
    const std::int64_t low = std::max<std::int64_t>(0, -begin);
    const std::int64_t most = std::min(line.size, line.whole - begin) - low;
    line.devices.emplace_back();
    if (most > 0) line.devices.back().push_back({low, begin + low, most});
  }
  const Axis one = all_of(1, program.devices());
  const std::size_t x = held(program, "f32", {one, line, one});
  const std::size_t y = held(program, "f32", {kernel, one, one});
  for (const bool is_reversed : {false, true}) {
    for (const std::int64_t low : {0, 1})
      add_convolution(program, x, y, {size, stride, low, 0, 1, dilation, is_reversed});
  }
}

/// Windows that choose, side by side or not, of parts that begin with one or not.
void make_selections(SmallProgram& program, Choices& choices) {
  const auto number = [&](std::int64_t from, std::size_t count) {
    return from + static_cast<std::int64_t>(choices.below(count));
  };
  const Window window = {number(1, 3), number(1, 3), number(0, 2), 0, 1, 1, false};
  const std::int64_t size = number(2, 5), begin = number(0, 3), first = number(0, 3),
                     step = number(0, 5), of = number(0, 3);
  const auto count = static_cast<std::int64_t>(program.devices());
  const std::int64_t windows = window.positions(size);
  if (windows < 1 || begin >= size) return;
  const std::int64_t whole = first + (count - 1) * step + size - begin;
  if (window.positions(whole) < 1) return;
  Axis line{size, whole, {}}, own{windows, window.positions(whole), {}};
  for (std::int64_t device = 0; device < count; ++device) {
    line.devices.push_back({{begin, first + device * step, size - begin}});
    // The windows that lie in what a device has, or others.
    const std::int64_t skipped = (begin + window.stride - 1) / window.stride;
    const std::int64_t to = (first + device * step - begin) / window.stride + skipped + of - 1;
    const std::int64_t most =
        std::min(windows - skipped, own.whole - std::max<std::int64_t>(0, to));
    own.devices.emplace_back();
    if (to >= 0 && most > 0) own.devices.back().push_back({skipped, to, most});
  }
  const std::size_t x = held(program, "f32", {line});
  const std::size_t source = held(program, "f32", {own});
  const std::size_t zero = program.constant("f32", "0");
  Step selection = step_of("select-and-scatter", program.at(x), x);
  selection.operands = {x, source, zero};
  selection.form.opcode = "function";
  selection.attributes = fmt::format(", {}, select=ge_f32, scatter=add_f32", window_text({window}));
  selection.form.text = selection.attributes;
  program.add(std::move(selection));
}

}  // namespace

std::vector<Operations> function_operations() {
  return {{"windows", {"reduce-window"}, make_every_window},
          {"convolution", {"convolution"}, make_convolutions, 300, 20, 2000},
          {"products as convolutions", {"convolution"}, make_products, 300, 0, 2000},
          {"windows over parts", {"reduce-window", "convolution"}, make_sliding_windows},
          {"windows that are cut", {"convolution"}, make_cut_windows, 300, 20},
          {"windows that choose", {"select-and-scatter"}, make_selections, 3000, 0, 30000}};
}

}  // namespace p2::hlo::small
