// Small programs of windows and convolutions.

#include <fmt/format.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

/// Of one dimension, and how many positions it has along `size` indices.
struct SmallWindow {
  const char* what;  ///< size, stride, padding, dilations and reversal
  std::int64_t size, stride, low, high, base, dilation;

  std::int64_t positions(std::int64_t elements) const {
    const std::int64_t all = (elements - 1) * base + 1 + low + high;
    const std::int64_t extent = (size - 1) * dilation + 1;
    return all < extent ? 0 : (all - extent) / stride + 1;
  }
};
constexpr SmallWindow kOne = {"1 1 0_0 1 1 0", 1, 1, 0, 0, 1, 1};
constexpr SmallWindow kWindows[] = {kOne,
                                    {"1 1 0_0 1 2 1", 1, 1, 0, 0, 1, 2},
                                    {"1 2 0_0 1 1 0", 1, 2, 0, 0, 1, 1},
                                    {"1 1 1_-1 1 1 0", 1, 1, 1, -1, 1, 1},
                                    {"1 1 0_1 1 1 0", 1, 1, 0, 1, 1, 1},
                                    {"1 2 0_1 2 1 0", 1, 2, 0, 1, 2, 1},
                                    {"2 1 1_0 1 1 0", 2, 1, 1, 0, 1, 1},
                                    {"2 1 0_1 1 1 1", 2, 1, 0, 1, 1, 1},
                                    {"2 1 1_1 1 2 0", 2, 1, 1, 1, 1, 2}};

std::string windows_text(const std::vector<SmallWindow>& windows) {
  static const char* const kKeys[] = {"size",       "stride",     "pad",
                                      "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  std::string text = "window={";
  for (std::size_t key = 0; key < 6; ++key) {
    text += fmt::format("{}{}=", key == 0 ? "" : " ", kKeys[key]);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      std::string rest = std::string(windows[i].what) + " ";
      for (std::size_t k = 0; k < key; ++k) rest = rest.substr(rest.find(' ') + 1);
      text += (i == 0 ? "" : "x") + rest.substr(0, rest.find(' '));
    }
  }
  return text + "}";
}

/// Every window along each dimension, the other ones taken one by one.
void make_every_window(SmallProgram& program, Choices& choices) {
  const Index sizes = chosen_sizes(choices, 1 + choices.below(2), 3);
  const auto axes = chosen_axes(program, choices, sizes, sizes.size() > 1);
  const std::size_t x =
      held(program, "f32", axes, chosen_parts(program, choices, "f32", sizes.size() > 1));
  const std::size_t first = program.parameter("f32", {}, std::nullopt, {});
  for (std::size_t along = 0; along < sizes.size(); ++along) {
    for (const SmallWindow& window : kWindows) {
      std::vector<SmallWindow> all(sizes.size(), kOne);
      all[along] = window;
      for (const char* reducer : {"add", "maximum"}) {
        Step step = step_of("reduce-window", program.at(x), x);
        step.operands.push_back(first);
        step.form.opcode = "function";
        step.sizes[along] = window.positions(sizes[along]);
        if (step.sizes[along] < 1) continue;
        step.attributes = fmt::format(", {}, to_apply={}_f32", windows_text(all), reducer);
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
  const std::vector<SmallWindow> windows = {kOne, kWindows[3], kWindows[6], kWindows[8]};
  for (const SmallWindow& window : windows) {
    const Axis own = ways_to_hold(window.size, program.devices(), true)[0];
    const std::size_t kernel =
        held(program, "f32", {own, theirs, result}, is_first ? HeldParts() : parts);
    Step step = step_of("convolution", program.at(x), x);
    step.operands.push_back(kernel);
    step.form.opcode = "function";
    step.sizes = {batch.size, window.positions(line.size), result.size};
    step.attributes = fmt::format(", {}, dim_labels=b0f_0io->b0f", windows_text({window}));
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
