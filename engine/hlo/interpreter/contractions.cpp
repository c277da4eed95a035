// Sums of products on one device: dot, convolution.

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"

namespace p2::hlo::interpreter {

/// Sums of the products of rows of the left factor with columns of the right one.
template <typename A>
class LocalOperations<A>::SumsOfProducts {
 public:
  /// Of a dot or a convolution that `operations` executes.
  SumsOfProducts(LocalOperations& operations, const Instruction& instruction,
                 const Operands& operands)
      : operations_(operations),
        instruction_(instruction),
        operands_(operands),
        type_(instruction.shape.array.type) {
    if constexpr (A::kMayRound) rounds_ = operations.arithmetic_.rounds(type_);
  }

  bool rounds() const { return rounds_; }

  /// Takes `columns` columns of `length` elements: element(j, k) is the k-th of the j-th. They are
  /// packed, kColumns beside each other.
  template <typename F>
  void pack(std::size_t columns, std::size_t length, const F& element) {
    columns_ = columns;
    length_ = length;
    packed_.assign((columns + A::kColumns - 1) / A::kColumns * length, typename A::Columns());
    for (std::size_t j = 0; j < columns; ++j) {
      typename A::Columns* const to = packed_.data() + j / A::kColumns * length;
      for (std::size_t k = 0; k < length; ++k) to[k].set(j % A::kColumns, element(j, k));
    }
  }

  /// Multiplies as many rows with all columns: element(i, k) is the k-th of the i-th row. Each sum
  /// is given to put(i, j, sum), row by row.
  template <typename F, typename G>
  void multiply(std::size_t rows, const F& element, const G& put) {
    Cells row(length_);
    const auto block = [&](std::size_t column) {
      return packed_.data() + column / A::kColumns * length_;
    };
    for (std::size_t i = 0; rounds_ && i < rows; ++i) {
      for (std::size_t k = 0; k < length_; ++k) row[k] = element(i, k);
      for (std::size_t j = 0; j < columns_; ++j) {
        operations_.work_.spend(2 * length_);
        put(i, j, rounded(row, block(j), j % A::kColumns));
      }
    }
    for (std::size_t first = 0; !rounds_ && first < rows; first += A::kRows) {
      const std::size_t height = std::min(A::kRows, rows - first);
      sums_.assign(height * columns_, {});
      for (std::size_t j = 0; j < columns_; j += A::kColumns) {
        const std::size_t width = std::min(A::kColumns, columns_ - j);
        for (std::size_t i = 0; i < height; ++i) {
          for (std::size_t k = 0; k < length_; ++k) row[k] = element(first + i, k);
          operations_.work_.spend(length_ * width);
          operations_.arithmetic_.add_products(std::span(sums_).subspan(i * columns_ + j, width),
                                               row, block(j), type_);
        }
      }
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < columns_; ++j) {
          put(first + i, j, operations_.arithmetic_.result(sums_[i * columns_ + j], type_));
        }
      }
    }
  }

 private:
  /// The sum of the products of a row with a column, which is a function of all of them.
  Cell rounded(const Cells& row, const typename A::Columns* columns, std::size_t column) {
    if constexpr (A::kMayRound) {
      Cells factors;
      for (std::size_t k = 0; k < length_; ++k) {
        factors.push_back(row[k]);
        factors.push_back(columns[k].cells[column]);
      }
      // How products are rounded is a part of what the function is.
      std::string precision;
      for (const char* const name : {"operand_precision", "algorithm"}) {
        const auto value = instruction_.attributes.other(name);
        if (value && *value != "{default,default}")
          precision += fmt::format("{}={};", name, *value);
      }
      Algebra::Reduction reduction{instruction_.opcode, type_};
      reduction.precision = precision;
      return operations_.arithmetic_.contracted(
          reduction, factors, {operands_[0]->array.shape.type, operands_[1]->array.shape.type});
    }
    give_up(instruction_, "a sum that is rounded");
  }

  LocalOperations& operations_;
  const Instruction& instruction_;
  const Operands& operands_;
  ElementType type_;
  bool rounds_ = false;
  std::size_t columns_ = 0;
  std::size_t length_ = 0;
  std::vector<typename A::Columns> packed_;
  std::vector<typename A::Accumulator> sums_;
};

/// The elements of a factor of a product of `type`, into which integers are converted.
template <typename A>
auto LocalOperations<A>::factors_of(const Array<Cell>& factor, ElementType type)
    -> std::shared_ptr<const Cells> {
  const ElementType from = factor.shape.type;
  if (from == type || from.is_float()) return factor.cells;
  Cells cells;
  cells.reserve(factor.cells->size());
  for (const Cell& cell : *factor.cells) {
    cells.push_back(apply({Element::Convert, {}, from, type}, {cell}));
  }
  return std::make_shared<const Cells>(std::move(cells));
}

template <typename A>
auto LocalOperations<A>::dot(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() == 2, instruction, "its operands");
  const ArrayShape& shape = instruction.shape.array;
  // Sums of complex numbers are not understood, nor those of booleans.
  if (!shape.type.is_float() && !shape.type.is_integer()) return opaque(instruction, operands, 0);
  const DotDimensions numbers = dot_dimensions(instruction);
  const Array<Cell>& lhs = operands[0]->array;
  const Array<Cell>& rhs = operands[1]->array;
  const Index left = strides_of(lhs.shape.sizes);
  const Index right = strides_of(rhs.shape.sizes);
  // The strides of the result's dimensions in both operands: batch, lhs free, rhs free.
  Index left_steps;
  Index right_steps;
  Index sizes;
  const auto add = [&](std::int64_t size, std::int64_t l, std::int64_t r) {
    sizes.push_back(size);
    left_steps.push_back(l);
    right_steps.push_back(r);
  };
  const auto checked = [&](std::int64_t dimension, const Index& of) {
    const auto at = static_cast<std::size_t>(dimension);
    require(dimension >= 0 && at < of.size(), instruction, "its dimensions");
    return at;
  };
  for (std::size_t i = 0; i < numbers.lhs_batch.size(); ++i) {
    require(i < numbers.rhs_batch.size(), instruction, "its batch dimensions");
    const std::size_t l = checked(numbers.lhs_batch[i], left);
    add(lhs.shape.sizes[l], left[l], right[checked(numbers.rhs_batch[i], right)]);
  }
  const std::size_t rows_begin = sizes.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (contains(numbers.lhs_batch, i) || contains(numbers.lhs_contracting, i)) continue;
    add(lhs.shape.sizes[i], left[i], 0);
  }
  const std::size_t rows_end = sizes.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (contains(numbers.rhs_batch, i) || contains(numbers.rhs_contracting, i)) continue;
    add(rhs.shape.sizes[i], 0, right[i]);
  }
  require(sizes == shape.sizes, instruction, "its shapes do not fit");
  std::vector<std::pair<std::int64_t, std::int64_t>> steps = {{0, 0}};
  for (std::size_t i = 0; i < numbers.lhs_contracting.size(); ++i) {
    require(i < numbers.rhs_contracting.size(), instruction, "its contracted dimensions");
    const std::size_t l = checked(numbers.lhs_contracting[i], left);
    const std::size_t r = checked(numbers.rhs_contracting[i], right);
    require(lhs.shape.sizes[l] == rhs.shape.sizes[r], instruction, "its shapes do not fit");
    std::vector<std::pair<std::int64_t, std::int64_t>> longer;
    for (const auto& [a, b] : steps) {
      for (std::int64_t k = 0; k < lhs.shape.sizes[l]; ++k) {
        longer.emplace_back(a + k * left[l], b + k * right[r]);
      }
    }
    steps = std::move(longer);
  }
  const std::shared_ptr<const Cells> lhs_cells = factors_of(lhs, shape.type);
  const std::shared_ptr<const Cells> rhs_cells = factors_of(rhs, shape.type);
  const std::size_t length = steps.size();
  const Index times = list_attribute(instruction, kBlockSizes);
  SumsOfProducts sums(*this, instruction, operands);
  require(times.empty() || (times.size() == length && !sums.rounds()), instruction, "its blocks");
  Cells cells;
  cells.reserve(static_cast<std::size_t>(shape.elements()));
  const auto offsets = [&](const Index& of, std::size_t begin, std::size_t end) {
    const auto part = [&](const Index& all) {
      return Index(all.begin() + static_cast<std::ptrdiff_t>(begin),
                   all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<std::int64_t> result;
    for_each_index(part(sizes), [&, own = part(of)](const Index& index) {
      result.push_back(offset_of(index, own));
    });
    return result;
  };
  const std::vector<std::int64_t> left_batch = offsets(left_steps, 0, rows_begin);
  const std::vector<std::int64_t> right_batch = offsets(right_steps, 0, rows_begin);
  const std::vector<std::int64_t> rows = offsets(left_steps, rows_begin, rows_end);
  const std::vector<std::int64_t> columns = offsets(right_steps, rows_end, sizes.size());
  const auto cell = [](const Cells& of, std::int64_t at) -> const Cell& {
    return of[static_cast<std::size_t>(at)];
  };
  for (std::size_t batch = 0; batch < left_batch.size(); ++batch) {
    sums.pack(columns.size(), length, [&](std::size_t j, std::size_t k) {
      const Cell& factor = cell(*rhs_cells, right_batch[batch] + columns[j] + steps[k].second);
      return times.empty() ? factor : repeated(factor, times[k], shape.type);
    });
    sums.multiply(
        rows.size(),
        [&](std::size_t i, std::size_t k) -> const Cell& {
          return cell(*lhs_cells, left_batch[batch] + rows[i] + steps[k].first);
        },
        [&](std::size_t, std::size_t, Cell sum) { cells.push_back(std::move(sum)); });
  }
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::convolution(const Instruction& instruction, const Operands& operands)
    -> Tree {
  require(operands.size() == 2, instruction, "its operands");
  const ArrayShape& shape = instruction.shape.array;
  const ConvolutionDimensions numbers = convolution_dimensions(instruction);
  const Array<Cell>& input = operands[0]->array;
  const Array<Cell>& kernel = operands[1]->array;
  const std::size_t spatial = numbers.input_spatial.size();
  require(shape.sizes.size() == spatial + 2 && input.shape.sizes.size() == spatial + 2 &&
              kernel.shape.sizes.size() == spatial + 2 &&
              numbers.kernel_spatial.size() == spatial && numbers.output_spatial.size() == spatial,
          instruction, "its shapes");
  require(input.shape.type.is_float() && kernel.shape.type.is_float(), instruction, "its types");
  const std::vector<WindowDimension> window = window_of(instruction, spatial);
  const Index in = strides_of(input.shape.sizes);
  const Index ker = strides_of(kernel.shape.sizes);
  const auto at = [](const Index& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  };
  Index sizes;
  for (std::size_t i = 0; i < spatial; ++i) {
    require(window[i].size == at(kernel.shape.sizes, numbers.kernel_spatial[i]), instruction,
            "its window");
    sizes.push_back(window[i].size);
  }
  const std::int64_t features = at(kernel.shape.sizes, numbers.kernel_input);
  const std::int64_t outputs = at(shape.sizes, numbers.output_feature);
  require(at(input.shape.sizes, numbers.input_feature) == features * numbers.feature_groups &&
              numbers.feature_groups > 0 && numbers.batch_groups > 0 &&
              outputs % numbers.feature_groups == 0 && outputs % numbers.batch_groups == 0 &&
              at(kernel.shape.sizes, numbers.kernel_output) == outputs,
          instruction, "its features");
  const std::int64_t batch = at(input.shape.sizes, numbers.input_batch) / numbers.batch_groups;
  require(at(shape.sizes, numbers.output_batch) == batch, instruction, "its batch");
  // The features of a run are of one group, and of one part of the batch.
  const std::int64_t run =
      std::gcd(outputs / numbers.feature_groups, outputs / numbers.batch_groups);
  Index positions;  // of the result
  for (const std::int64_t dimension : numbers.output_spatial)
    positions.push_back(at(shape.sizes, dimension));
  const Index out = strides_of(shape.sizes);
  Cells cells(static_cast<std::size_t>(shape.elements()));
  SumsOfProducts sums(*this, instruction, operands);
  for (std::int64_t first = 0; first < outputs; first += run) {
    const std::int64_t group = first / (outputs / numbers.feature_groups);
    const std::int64_t batch_group = first / (outputs / numbers.batch_groups);
    const std::int64_t base = batch_group * batch * at(in, numbers.input_batch) +
                              group * features * at(in, numbers.input_feature);
    Index packed;  // the elements of the kernel of which `sums` has the columns
    for_each_index(positions, [&](const Index& position) {
      Index from;  // the elements of the input below the window
      Index of;    // and of the kernel that they meet
      for_each_index(sizes, [&](const Index& k) {
        work_.spend(1);
        std::int64_t element = base;
        std::int64_t weight = first * at(ker, numbers.kernel_output);
        for (std::size_t i = 0; i < spatial; ++i) {
          const WindowDimension& dimension = window[i];
          const std::int64_t padded =
              position[i] * dimension.stride + k[i] * dimension.window_dilation - dimension.pad_low;
          if (padded < 0 || padded % dimension.base_dilation != 0) return;
          const std::int64_t place = padded / dimension.base_dilation;
          if (place >= at(input.shape.sizes, numbers.input_spatial[i])) return;
          element += place * at(in, numbers.input_spatial[i]);
          weight += (dimension.reversed ? dimension.size - 1 - k[i] : k[i]) *
                    at(ker, numbers.kernel_spatial[i]);
        }
        for (std::int64_t f = 0; f < features; ++f) {
          from.push_back(element + f * at(in, numbers.input_feature));
          of.push_back(weight + f * at(ker, numbers.kernel_input));
        }
      });
      if (packed != of || packed.empty()) {
        packed = of;
        sums.pack(static_cast<std::size_t>(run), of.size(), [&](std::size_t j, std::size_t k) {
          return kernel.at(of[k] + static_cast<std::int64_t>(j) * at(ker, numbers.kernel_output));
        });
      }
      std::int64_t to = first * at(out, numbers.output_feature);
      for (std::size_t i = 0; i < spatial; ++i)
        to += position[i] * at(out, numbers.output_spatial[i]);
      sums.multiply(
          static_cast<std::size_t>(batch),
          [&](std::size_t i, std::size_t k) -> const Cell& {
            return input.at(from[k] + static_cast<std::int64_t>(i) * at(in, numbers.input_batch));
          },
          [&](std::size_t i, std::size_t j, Cell sum) {
            const std::int64_t element =
                to + static_cast<std::int64_t>(i) * at(out, numbers.output_batch) +
                static_cast<std::int64_t>(j) * at(out, numbers.output_feature);
            cells[static_cast<std::size_t>(element)] = std::move(sum);
          });
    });
  }
  return array(shape, std::move(cells), operands);
}

template auto LocalOperations<Numbers>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::convolution(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::convolution(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::convolution(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Ranges>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::convolution(const Instruction&, const Operands&) -> Tree;

}  // namespace p2::hlo::interpreter
