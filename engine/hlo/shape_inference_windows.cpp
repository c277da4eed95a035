// Shape inference for contractions, and for what reads and writes windows of an array.

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/shape_inference.h"

namespace p2::hlo {
namespace {

using interpreter::WindowDimension;
using Sizes = InstructionShapes::Sizes;

std::size_t at(std::int64_t dimension) { return static_cast<std::size_t>(dimension); }

/// How often a window fits into a dimension.
std::int64_t places(std::int64_t size, const WindowDimension& window) {
  const auto dilated = [](std::int64_t n, std::int64_t by) {
    return n == 0 ? 0 : (n - 1) * by + 1;
  };
  const std::int64_t padded =
      dilated(size, window.base_dilation) + window.pad_low + window.pad_high;
  const std::int64_t taken = dilated(window.size, window.window_dilation);
  return padded < taken ? 0 : (padded - taken) / window.stride + 1;
}

class WindowRule {
 public:
  explicit WindowRule(const InstructionShapes& of) : of_(of), instruction_(of.instruction) {}

  void check() const {
    const std::string& opcode = instruction_.opcode;
    if (opcode == "dot") return dot();
    if (opcode == "convolution") return convolution();
    if (opcode == "gather") return gather();
    if (opcode == "scatter") return scatter();
    if (opcode == "reduce-window") return reduce_window();
    select_and_scatter();
  }

 private:
  // A product may have any type: it is asked for by `preferred_element_type`.
  void dot() const {
    if (of_.operands.size() != 2) return;  // a sparse one
    const auto sizes = interpreter::dot_sizes(interpreter::dot_dimensions(instruction_),
                                              of_.operand(0), of_.operand(1));
    of_.require(sizes.has_value(), "its dimension numbers do not fit its operands");
    of_.require_sizes(*sizes);
  }

  /// `base` seen through a window; of an array whose dimensions are all in the window.
  Sizes seen_through(const std::vector<WindowDimension>& window, const Sizes& base) const {
    Sizes sizes;
    for (std::size_t i = 0; i < base.size(); ++i) {
      const WindowDimension& each = window[i];
      for (const std::int64_t factor : {each.base_dilation, each.window_dilation}) {
        of_.require(factor <= kMaxElements / std::max({base[i], each.size, std::int64_t{1}}),
                    "a dilation is too large");
      }
      sizes.push_back(places(base[i], each));
    }
    return sizes;
  }

  void convolution() const {
    const interpreter::ConvolutionDimensions numbers =
        interpreter::convolution_dimensions(instruction_);
    of_.require_operands(2);
    const ArrayShape& input = of_.operand(0);
    const ArrayShape& kernel = of_.operand(1);
    const std::size_t rank = numbers.input_spatial.size() + 2;
    for (const ArrayShape* each : {&input, &kernel, &of_.result()}) {
      of_.require(each->sizes.size() == rank, "dim_labels have another rank");
    }
    of_.require(
        numbers.kernel_spatial.size() + 2 == rank && numbers.output_spatial.size() + 2 == rank,
        "dim_labels have different ranks");
    const auto window = interpreter::window_of(instruction_, rank - 2);
    Sizes spatial;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      spatial.push_back(input.sizes[at(numbers.input_spatial[i])]);
      of_.require(window[i].size == kernel.sizes[at(numbers.kernel_spatial[i])],
                  "the window is not that of the kernel");
    }
    spatial = seen_through(window, spatial);
    const std::int64_t batch = input.sizes[at(numbers.input_batch)];
    const std::int64_t features = input.sizes[at(numbers.input_feature)];
    const std::int64_t made = kernel.sizes[at(numbers.kernel_output)];
    of_.require(numbers.feature_groups > 0 && numbers.batch_groups > 0 &&
                    features == kernel.sizes[at(numbers.kernel_input)] * numbers.feature_groups &&
                    made % numbers.feature_groups == 0 && made % numbers.batch_groups == 0 &&
                    batch % numbers.batch_groups == 0,
                "features or groups do not fit the kernel");
    Sizes expected(rank);
    expected[at(numbers.output_batch)] = batch / numbers.batch_groups;
    expected[at(numbers.output_feature)] = made;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      expected[at(numbers.output_spatial[i])] = spatial[i];
    }
    of_.require_sizes(expected);
  }

  template <typename Numbers>
  void require_windows(const Numbers& numbers, const ArrayShape& operand, const ArrayShape& indices,
                       const ArrayShape& windows) const {
    of_.require(indices.type.is_integer(), "its indices are not integers");
    bool fits = true;
    try {
      interpreter::IndexedWindows(instruction_, numbers, operand, indices, windows);
    } catch (const InputError&) {
      fits = false;
    }
    of_.require(fits, "its dimension numbers do not fit the sizes");
  }

  void gather() const {
    of_.require_operands(2);
    of_.require_type(of_.operand().type);
    require_windows(interpreter::gather_dimensions(instruction_), of_.operand(0), of_.operand(1),
                    of_.result());
  }

  void scatter() const {
    const std::size_t count = of_.results.size();
    of_.require_operands(2 * count + 1);
    const auto numbers = interpreter::scatter_dimensions(instruction_);
    std::vector<ElementType> types;
    for (std::size_t k = 0; k < count; ++k) {
      const ArrayShape& updates = of_.operand(count + 1 + k);
      types.push_back(of_.operand(k).type);
      of_.require_type(of_.operand(k).type, k);
      of_.require_type(updates.type, k);
      of_.require_sizes(of_.operand(k).sizes, k);
      require_windows(numbers, of_.operand(k), of_.operand(count), updates);
    }
    require_reducer(of_, of_.called(), types);
  }

  void reduce_window() const {
    require_reduction(of_);
    const auto window = interpreter::window_of(instruction_, of_.operand().sizes.size());
    const Sizes sizes = seen_through(window, of_.operand().sizes);
    for (std::size_t k = 0; k < of_.results.size(); ++k) of_.require_sizes(sizes, k);
  }

  void select_and_scatter() const {
    of_.require(of_.operands.size() == 3 && of_.results.size() == 1,
                "an operand, a source and an initial value are expected");
    const auto window = interpreter::window_of(instruction_, of_.operand().sizes.size());
    of_.require_sizes(of_.operand().sizes);
    for (const ArrayShape* each : of_.operands) of_.require_type(each->type);
    of_.require(of_.operand(1).sizes == seen_through(window, of_.operand().sizes),
                "the source is not of the size of the windows");
    of_.require(of_.operand(2).sizes.empty(), "the initial value must be a scalar");
    require_reducer(of_, of_.called(1), {of_.operand().type});
  }

  const InstructionShapes& of_;
  const Instruction& instruction_;
};

}  // namespace

void check_windowed_shapes(const InstructionShapes& of) {
  try {
    WindowRule(of).check();
  } catch (const InputError&) {
    // Its attributes are in a form that is not known, and so is the operation.
  }
}

}  // namespace p2::hlo
