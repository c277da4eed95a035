// Products and reductions: dot, convolution, reduce, reduce-window.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

std::vector<WindowDimension> window_of(const Instruction& instruction, std::size_t dimensions) {
  if (instruction.has("window")) return window_of(instruction.attribute("window"), dimensions);
  if (dimensions != 0) malformed("no window");
  return {};
}

std::vector<WindowDimension> window_of(std::string_view text, std::size_t dimensions) {
  std::vector<WindowDimension> window(dimensions);
  for (const auto part : split(stripped(text, '{', '}'), ' ')) {
    const std::size_t equals = part.find('=');
    if (trimmed(part).empty()) continue;
    if (equals == std::string_view::npos) malformed("a window");
    const std::string_view key = part.substr(0, equals);
    const auto values = split(part.substr(equals + 1), 'x');
    if (values.size() != dimensions) malformed("a window of other dimensions");
    for (std::size_t i = 0; i < dimensions; ++i) {
      WindowDimension& each = window[i];
      if (key == "pad") {
        const auto edges = split(values[i], '_');
        if (edges.size() != 2) malformed("the padding of a window");
        each.low = integer(edges[0]);
        each.high = integer(edges[1]);
        continue;
      }
      const std::int64_t number = integer(values[i]);
      if (key == "size")
        each.size = number;
      else if (key == "stride")
        each.stride = number;
      else if (key == "lhs_dilate")
        each.base_dilation = number;
      else if (key == "rhs_dilate")
        each.window_dilation = number;
      else if (key == "rhs_reversal")
        each.is_reversed = number != 0;
      else
        malformed("a window has no " + printable(key));
      if (each.size < 1 || each.stride < 1 || each.base_dilation < 1 || each.window_dilation < 1)
        malformed("a window of this size");
    }
  }
  return window;
}

ConvolutionLabels::ConvolutionLabels(const Instruction& convolution)
    : ConvolutionLabels(convolution.attribute("dim_labels")) {}

ConvolutionLabels::ConvolutionLabels(std::string_view labels) {
  const std::size_t under = labels.find('_');
  const std::size_t arrow = labels.find("->");
  if (under == std::string::npos || arrow == std::string::npos)
    malformed("labels of a convolution");
  in = labels.substr(0, under);
  kernel = labels.substr(under + 1, arrow - under - 1);
  out = labels.substr(arrow + 2);
  const std::size_t rank = in.size();
  if (rank < 2 || rank > 11 || kernel.size() != rank || out.size() != rank)
    malformed("labels of a convolution");
  const std::string spatial = std::string("0123456789").substr(0, rank - 2);
  for (const auto& [text, own] : {std::pair(in, "bf"), {kernel, "io"}, {out, "bf"}}) {
    for (const char label : own + spatial) find(text, label);
  }
}

std::size_t ConvolutionLabels::find(const std::string& text, char label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) malformed("labels of a convolution");
  return at;
}

namespace {

/// Elements converted to the type of the result, in which products are made.
std::vector<Cell> converted(Arithmetic& arithmetic, const Tensor& tensor, const Type& type) {
  if (tensor.type == type) return tensor.cells;
  std::vector<Cell> cells;
  for (const Cell& cell : tensor.cells) {
    const Cell operand[] = {cell};
    cells.push_back(arithmetic.apply({Op::Convert, tensor.type, type}, operand));
  }
  return cells;
}

}  // namespace

void Interpreter::add_product(std::optional<Cell>& total, const Cell& a, const Cell& b,
                              const Type& type) {
  budget_.spend(16);
  const Cell factors[] = {a, b};
  const Cell product = arithmetic_.apply({Op::Multiply, type, type}, factors);
  const Cell terms[] = {total.value_or(product), product};
  total = total ? arithmetic_.apply({Op::Add, type, type}, terms) : product;
}

Tensor Interpreter::dot(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Tensor& y = *operands[1];
  const Index x_batch = instruction.numbers("lhs_batch_dims");
  const Index y_batch = instruction.numbers("rhs_batch_dims");
  const Index x_sum = instruction.numbers("lhs_contracting_dims");
  const Index y_sum = instruction.numbers("rhs_contracting_dims");
  if (x_batch.size() != y_batch.size() || x_sum.size() != y_sum.size()) not_covered("this dot");
  const auto free_of = [](const Tensor& tensor, const Index& batch, const Index& sum) {
    Index free;
    for (std::int64_t i = 0; i < std::ssize(tensor.sizes); ++i) {
      const auto dimension = static_cast<std::size_t>(i);
      if (!contains(batch, dimension) && !contains(sum, dimension)) free.push_back(i);
    }
    return free;
  };
  const Index x_free = free_of(x, x_batch, x_sum);
  const Index y_free = free_of(y, y_batch, y_sum);
  if (instruction.shape.sizes.size() != x_batch.size() + x_free.size() + y_free.size())
    malformed("the shape of a dot");
  Index expected;
  for (std::size_t i = 0; i < x_batch.size(); ++i) {
    expected.push_back(x.sizes.at(static_cast<std::size_t>(x_batch[i])));
    if (y.sizes.at(static_cast<std::size_t>(y_batch[i])) != expected.back())
      malformed("a dot of other sizes");
  }
  for (const std::int64_t each : x_free)
    expected.push_back(x.sizes[static_cast<std::size_t>(each)]);
  for (const std::int64_t each : y_free)
    expected.push_back(y.sizes[static_cast<std::size_t>(each)]);
  if (expected != instruction.shape.sizes) malformed("the shape of a dot");
  const Type& type = instruction.shape.type;
  const auto left = converted(arithmetic_, x, type);
  const auto right = converted(arithmetic_, y, type);
  Index summed;
  for (std::size_t i = 0; i < x_sum.size(); ++i) {
    summed.push_back(x.sizes.at(static_cast<std::size_t>(x_sum[i])));
    if (y.sizes.at(static_cast<std::size_t>(y_sum[i])) != summed.back())
      malformed("a dot of other sizes");
  }
  Index of_x(x.sizes.size());
  Index of_y(y.sizes.size());
  const auto set = [](Index& index, std::int64_t dimension, std::int64_t value) {
    index.at(static_cast<std::size_t>(dimension)) = value;
  };
  return filled(instruction.shape, [&](const Index& index) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < x_batch.size(); ++i, ++next) {
      set(of_x, x_batch[i], index[next]);
      set(of_y, y_batch[i], index[next]);
    }
    for (const std::int64_t each : x_free) set(of_x, each, index[next++]);
    for (const std::int64_t each : y_free) set(of_y, each, index[next++]);
    std::optional<Cell> total;
    for_each_index(summed, [&](const Index& at) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        set(of_x, x_sum[i], at[i]);
        set(of_y, y_sum[i], at[i]);
      }
      add_product(total, left[place_of(x.sizes, of_x)], right[place_of(y.sizes, of_y)], type);
    });
    return total.value_or(arithmetic_.integer(0, type));
  });
}

Tensor Interpreter::convolution(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Tensor& y = *operands[1];
  const Type& type = instruction.shape.type;
  const ConvolutionLabels labels(instruction);
  const std::string& in = labels.in;
  const std::string& kernel = labels.kernel;
  const std::string& out = labels.out;
  if (in.size() != x.sizes.size() || kernel.size() != y.sizes.size() ||
      out.size() != instruction.shape.sizes.size())
    malformed("labels of a convolution");
  const auto find = ConvolutionLabels::find;
  const std::size_t spatial = in.size() - 2;
  const auto window = window_of(instruction, spatial);
  const std::int64_t groups = instruction.number("feature_group_count", 1);
  const std::int64_t batch_groups = instruction.number("batch_group_count", 1);
  const std::size_t in_batch = find(in, 'b'), in_feature = find(in, 'f');
  const std::size_t kernel_in = find(kernel, 'i'), kernel_out = find(kernel, 'o');
  const std::size_t out_batch = find(out, 'b'), out_feature = find(out, 'f');
  const std::int64_t features = y.sizes[kernel_out];
  if (groups < 1 || batch_groups < 1 || features % groups != 0 || features % batch_groups != 0 ||
      x.sizes[in_feature] != y.sizes[kernel_in] * groups || x.sizes[in_batch] % batch_groups != 0)
    malformed("groups of a convolution");
  Index summed = {y.sizes[kernel_in]};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t dimension = find(kernel, static_cast<char>('0' + i));
    const auto label = static_cast<char>('0' + i);
    if (window[i].size != y.sizes[dimension] ||
        instruction.shape.sizes[find(out, label)] != window[i].positions(x.sizes[find(in, label)]))
      malformed("the window of a convolution");
    summed.push_back(window[i].size);
  }
  if (instruction.shape.sizes[out_feature] != features ||
      instruction.shape.sizes[out_batch] != x.sizes[in_batch] / batch_groups)
    malformed("the shape of a convolution");
  const auto left = converted(arithmetic_, x, type);
  const auto right = converted(arithmetic_, y, type);
  Index of_x(x.sizes.size());
  Index of_y(y.sizes.size());
  return filled(instruction.shape, [&](const Index& index) {
    const std::int64_t feature = index[out_feature];
    const std::int64_t group = feature / (features / groups);
    const std::int64_t batch_group = feature / (features / batch_groups);
    of_x[in_batch] = index[out_batch] + batch_group * (x.sizes[in_batch] / batch_groups);
    of_y[kernel_out] = feature;
    std::optional<Cell> total;
    for_each_index(summed, [&](const Index& at) {
      of_x[in_feature] = group * y.sizes[kernel_in] + at[0];
      of_y[kernel_in] = at[0];
      for (std::size_t i = 0; i < spatial; ++i) {
        const auto label = static_cast<char>('0' + i);
        const std::size_t dimension = find(in, label);
        const auto element =
            window[i].element(index[find(out, label)], at[i + 1], x.sizes[dimension]);
        if (!element) return;
        of_x[dimension] = *element;
        of_y[find(kernel, label)] = at[i + 1];
      }
      add_product(total, left[place_of(x.sizes, of_x)], right[place_of(y.sizes, of_y)], type);
    });
    return total.value_or(arithmetic_.integer(0, type));
  });
}

namespace {

/// The arrays that a reduction reads, and its initial values.
struct Reduced {
  std::vector<const Tensor*> arrays;
  std::vector<Type> types;
  std::vector<Cell> first;

  explicit Reduced(const std::vector<const Tensor*>& operands) {
    if (operands.size() % 2 != 0 || operands.empty()) malformed("operands of a reduction");
    const std::size_t half = operands.size() / 2;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      types.push_back(operands[k % half]->type);
      if (k < half)
        arrays.push_back(operands[k]);
      else
        first.push_back(operands[k]->cells.at(0));
    }
    for (const Tensor* array : arrays) {
      if (array->sizes != arrays[0]->sizes) malformed("arrays of a reduction");
    }
  }
  /// The accumulators, then one element of every array, or the initial values.
  std::vector<Cell> arguments(const std::vector<Cell>& totals,
                              std::optional<std::size_t> place) const {
    std::vector<Cell> all = totals;
    for (std::size_t k = 0; k < arrays.size(); ++k)
      all.push_back(place ? arrays[k]->cells.at(*place) : first.at(k));
    return all;
  }
};

}  // namespace

Value Interpreter::reduce(const Instruction& instruction, const Operands& operands) {
  const Scalar function = scalar_function(instruction.attribute("to_apply"));
  const Index dimensions = instruction.numbers("dimensions");
  const auto shapes = arrays_of(instruction.shape);
  return every_result(
      instruction, operands, [&](std::size_t k, std::size_t, const Tensors& tensors) {
        const Reduced reduced(tensors);
        const Tensor& x = *reduced.arrays[0];
        if (reduced.first.size() != shapes.size()) malformed("results of a reduction");
        Index summed;
        Index kept;
        for (std::int64_t i = 0; i < std::ssize(x.sizes); ++i) {
          (contains(dimensions, static_cast<std::size_t>(i)) ? summed : kept).push_back(i);
        }
        Index expected;
        for (const std::int64_t each : kept)
          expected.push_back(x.sizes[static_cast<std::size_t>(each)]);
        if (expected != shapes[k].sizes || summed.size() != dimensions.size())
          malformed("the shape of a reduction");
        Index sizes;
        for (const std::int64_t each : summed)
          sizes.push_back(x.sizes[static_cast<std::size_t>(each)]);
        Index at(x.sizes.size());
        return filled(shapes[k], [&](const Index& index) {
          for (std::size_t i = 0; i < kept.size(); ++i)
            at[static_cast<std::size_t>(kept[i])] = index[i];
          std::vector<Cell> totals = reduced.first;
          for_each_index(sizes, [&](const Index& inner) {
            for (std::size_t i = 0; i < summed.size(); ++i)
              at[static_cast<std::size_t>(summed[i])] = inner[i];
            totals =
                call(function, reduced.types, reduced.arguments(totals, place_of(x.sizes, at)));
          });
          return totals.at(k);
        });
      });
}

Value Interpreter::reduce_window(const Instruction& instruction, const Operands& operands) {
  const Scalar function = scalar_function(instruction.attribute("to_apply"));
  const auto shapes = arrays_of(instruction.shape);
  const auto window = window_of(instruction, shapes.at(0).sizes.size());
  Index offsets;
  for (const WindowDimension& each : window) offsets.push_back(each.size);
  return every_result(
      instruction, operands, [&](std::size_t k, std::size_t, const Tensors& tensors) {
        const Reduced reduced(tensors);
        const Tensor& x = *reduced.arrays[0];
        if (x.sizes.size() != window.size() || reduced.first.size() != shapes.size())
          malformed("the shape of a window");
        for (std::size_t i = 0; i < window.size(); ++i) {
          if (shapes[k].sizes.at(i) != window[i].positions(x.sizes[i]))
            malformed("the shape of a window");
        }
        Index at(x.sizes.size());
        return filled(shapes[k], [&](const Index& index) {
          // StableHLO pads with the initial value, which XLA leaves out.
          std::vector<Cell> totals = reduced.first;
          std::optional<std::vector<Cell>> padded;
          for_each_index(offsets, [&](const Index& offset) {
            budget_.spend(1);
            std::optional<std::size_t> place;
            bool is_inside = true;
            for (std::size_t i = 0; i < window.size() && is_inside; ++i) {
              const auto element = window[i].element(index[i], offset[i], x.sizes[i]);
              is_inside = element.has_value();
              at[i] = element.value_or(0);
            }
            if (is_inside) place = place_of(x.sizes, at);
            if (!place && !padded) padded = totals;
            if (padded) padded = call(function, reduced.types, reduced.arguments(*padded, place));
            if (place) totals = call(function, reduced.types, reduced.arguments(totals, place));
          });
          for (std::size_t i = 0; padded && i < totals.size(); ++i) {
            if (!arithmetic_.same(totals[i], (*padded)[i], reduced.types[i]))
              not_covered("a window whose padding is not neutral");
          }
          return totals.at(k);
        });
      });
}

}  // namespace p2::kernel::xla
