// Small programs of windows and convolutions.

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

}  // namespace

std::vector<Operations> function_operations() {
  return {{"windows", {"reduce-window"}, make_every_window},
          {"convolution", {"convolution"}, make_convolutions, 300, 20, 2000}};
}

}  // namespace p2::hlo::small
