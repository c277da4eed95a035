// Sums over dimensions on one device: reduce, reduce-window, dot, convolution.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {

template <typename A>
auto LocalOperations<A>::repeated(const Cell& cell, std::int64_t times, ElementType type) -> Cell {
  if (times == 1) return cell;
  // A number of elements is exact, also where bf16 rounds it.
  const ElementType counted = type.is_float() ? *ElementType::from_xla("f64") : type;
  return apply({Element::Multiply, Direction::Eq, type, type, {}},
               {cell, arithmetic_.integer(times, counted)});
}

template <typename A>
void LocalOperations<A>::reduce_into(const Instruction& instruction, Cells& totals,
                                     const Cells& elements) {
  require(instruction.called.size() == 1, instruction, "its reducer");
  if (totals.size() == 1) {
    totals[0] = combine(instruction.called[0], totals[0], elements[0]);
    return;
  }
  Cells arguments = totals;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  totals = call(instruction.called[0], arguments);
  require(totals.size() == elements.size(), instruction, "its reducer's results");
}

template <typename A>
bool LocalOperations<A>::is_ordered(const Instruction& instruction, const Operands& operands) {
  if (is_real(arithmetic_) || instruction.called.size() != 1) return false;
  if constexpr (A::kMayRound) {
    const bool rounds = std::any_of(operands.begin(), operands.end(), [&](const Tree* operand) {
      return arithmetic_.rounds(operand->array.shape.type);
    });
    return rounds || !binary(instruction.called[0]);
  }
  return false;
}

template <typename A>
auto LocalOperations<A>::reduced_list(const Instruction& instruction, const Cells& elements,
                                      const Cells& initial, const std::vector<ElementType>& types,
                                      const std::vector<std::uint32_t>& group) -> Cells {
  Cells results(types.size());
  if constexpr (A::kMayRound) {
    const auto& operation = binary(instruction.called[0]);
    Algebra::Reduction reduction{base_opcode(instruction.opcode), {}, {}, 0, {}, group};
    if (operation && operation->attributes.empty()) {
      reduction.combiner = operation->code;
    } else {
      reduction.fingerprint = fingerprint(instruction.called[0]);
    }
    Cells all = elements;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = arithmetic_.exact(all[i], types[i % types.size()]);
    }
    const bool single = types.size() == 1;
    if (!single) all.insert(all.end(), initial.begin(), initial.end());
    const Cell* const start = single && !initial.empty() ? initial.data() : nullptr;
    work_.spend(all.size() * types.size());
    for (std::size_t k = 0; k < types.size(); ++k) {
      reduction.type = types[k];
      results[k] = arithmetic_.reduced(reduction, all, start, k);
    }
  }
  return results;
}

template <typename A>
auto LocalOperations<A>::reduce(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() % 2 == 0 && !operands.empty(), instruction, "its operands");
  const std::size_t count = operands.size() / 2;
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  require(shapes.size() == count, instruction, "its results");
  const Index& from = operands[0]->array.shape.sizes;
  const Index& over = instruction.attributes.dimensions;
  for (std::size_t k = 0; k < count; ++k) {
    require(operands[k]->array.shape.sizes == from && shapes[k].sizes == shapes[0].sizes &&
                operands[count + k]->array.cells->size() == 1,
            instruction, "its shapes differ");
  }
  const auto results = static_cast<std::size_t>(shapes[0].elements());
  Cells initial;
  for (std::size_t k = 0; k < count; ++k) initial.push_back(operands[count + k]->array.at(0));
  const bool listed = is_ordered(instruction, operands);
  // A maximum of n elements as n − 1 of two would take n² steps. Of few truth values it is also
  // seen which exclude each other.
  constexpr std::int64_t kFew = 64;
  bool at_once = false;
  if constexpr (A::kMayRound) {
    if (count == 1 && instruction.called.size() == 1 && !listed) {
      const auto& reducer = binary(instruction.called[0]);
      const bool is_few = results == 0 || operands[0]->array.shape.elements() <=
                                              kFew * static_cast<std::int64_t>(results);
      at_once = reducer && (reducer->to.is_float() || !is_few) &&
                arithmetic_.extremum(*reducer, initial[0], {});
    }
  }
  std::vector<Cells> totals(results, listed || at_once ? Cells() : initial);
  const Index strides = strides_of(shapes[0].sizes);
  std::int64_t element = 0;
  Cells elements(count);
  const Index times = list_attribute(instruction, kBlockSizes);
  require(times.empty() || (count == 1 && !listed && !at_once), instruction, "its blocks");
  for_each_index(from, [&](const Index& index) {
    std::int64_t to = 0;
    std::size_t kept = 0;
    std::size_t block = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (contains(over, i)) {
        block = block * static_cast<std::size_t>(from[i]) + static_cast<std::size_t>(index[i]);
        continue;
      }
      require(kept < strides.size(), instruction, "its dimensions");
      to += index[i] * strides[kept++];
    }
    for (std::size_t k = 0; k < count; ++k) elements[k] = operands[k]->array.at(element);
    if (!times.empty()) {
      elements[0] = repeated(elements[0], times.at(block), operands[0]->array.shape.type);
    }
    ++element;
    Cells& total = totals[static_cast<std::size_t>(to)];
    if (listed || at_once) {
      total.insert(total.end(), elements.begin(), elements.end());
    } else {
      reduce_into(instruction, total, elements);
    }
  });
  std::vector<ElementType> types;
  for (const ArrayShape& shape : shapes) types.push_back(shape.type);
  for (Cells& total : totals) {
    if (listed) total = reduced_list(instruction, total, initial, types);
    if constexpr (A::kMayRound) {
      if (!at_once) continue;
      work_.spend(total.size());
      total = {*arithmetic_.extremum(*binary(instruction.called[0]), initial[0], total)};
    }
  }
  return arrays(instruction, totals, operands);
}

/// The results of an instruction, of which `elements` has one of each after the other.
template <typename A>
auto LocalOperations<A>::arrays(const Instruction& instruction, const std::vector<Cells>& elements,
                                const Operands& operands) -> Tree {
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  Tree result;
  result.is_tuple = instruction.shape.is_tuple;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    Cells cells;
    for (const Cells& each : elements) cells.push_back(each[k]);
    Tree part = array(shapes[k], std::move(cells), operands);
    if (!result.is_tuple) return part;
    result.parts.push_back(std::move(part));
  }
  return result;
}

namespace {

/// The element of an array of `sizes` on which a window's one lies; nothing in padding and holes.
std::optional<std::int64_t> element_of_window(const std::vector<WindowDimension>& window,
                                              const std::vector<std::int64_t>& position,
                                              const std::vector<std::int64_t>& at,
                                              const std::vector<std::int64_t>& sizes,
                                              const std::vector<std::int64_t>& strides) {
  std::int64_t element = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const WindowDimension& dimension = window[i];
    const std::int64_t padded =
        position[i] * dimension.stride + at[i] * dimension.window_dilation - dimension.pad_low;
    const std::int64_t place = padded / dimension.base_dilation;
    if (padded < 0 || padded % dimension.base_dilation != 0 || place >= sizes[i])
      return std::nullopt;
    element += place * strides[i];
  }
  return element;
}

std::vector<std::int64_t> sizes_of(const std::vector<WindowDimension>& window) {
  std::vector<std::int64_t> sizes;
  for (const WindowDimension& dimension : window) sizes.push_back(dimension.size);
  return sizes;
}

}  // namespace

template <typename A>
auto LocalOperations<A>::reduce_window(const Instruction& instruction, const Operands& operands)
    -> Tree {
  require(operands.size() % 2 == 0 && !operands.empty(), instruction, "its operands");
  const std::size_t count = operands.size() / 2;
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  require(shapes.size() == count, instruction, "its results");
  const ArrayShape& from = operands[0]->array.shape;
  Cells initial;
  std::vector<ElementType> types;
  for (std::size_t k = 0; k < count; ++k) {
    require(operands[k]->array.shape.sizes == from.sizes && shapes[k].sizes == shapes[0].sizes &&
                shapes[k].sizes.size() == from.sizes.size() &&
                operands[count + k]->array.cells->size() == 1,
            instruction, "its shapes");
    initial.push_back(operands[count + k]->array.at(0));
    types.push_back(shapes[k].type);
  }
  const std::vector<WindowDimension> window = window_of(instruction, from.sizes.size());
  const Index strides = strides_of(from.sizes);
  const Index sizes = sizes_of(window);
  const bool listed = is_ordered(instruction, operands);
  std::vector<Cells> totals;
  Cells elements(count);
  for_each_index(shapes[0].sizes, [&](const Index& index) {
    Cells total = listed ? Cells() : initial;
    for_each_index(sizes, [&](const Index& at) {
      work_.spend(1);
      const auto element = element_of_window(window, index, at, from.sizes, strides);
      if (!element) {
        if (listed) total.insert(total.end(), initial.begin(), initial.end());
        return;
      }
      for (std::size_t k = 0; k < count; ++k) elements[k] = operands[k]->array.at(*element);
      if (listed) {
        total.insert(total.end(), elements.begin(), elements.end());
      } else {
        reduce_into(instruction, total, elements);
      }
    });
    if (listed) total = reduced_list(instruction, total, initial, types);
    totals.push_back(std::move(total));
  });
  return arrays(instruction, totals, operands);
}

/// Of every window the source is added, by the scatter function, to the element that the select
/// function keeps of all, one after the other in row-major order.
template <typename A>
auto LocalOperations<A>::select_and_scatter(const Instruction& instruction,
                                            const Operands& operands) -> Tree {
  require(operands.size() == 3 && instruction.called.size() == 2, instruction, "its operands");
  const Array<Cell>& from = operands[0]->array;
  const Array<Cell>& source = operands[1]->array;
  const ArrayShape& shape = instruction.shape.array;
  require(shape.sizes == from.shape.sizes && source.shape.sizes.size() == shape.sizes.size() &&
              operands[2]->array.cells->size() == 1,
          instruction, "its shapes");
  // In which order what several windows give to one element is combined is left open.
  bool is_open = !is_free_of_order(module_.computations[instruction.called[1]]);
  if constexpr (A::kMayRound) is_open = is_open || arithmetic_.rounds(shape.type);
  if (is_open) return opaque(instruction, operands, 0);
  const std::vector<WindowDimension> window = window_of(instruction, shape.sizes.size());
  const Index strides = strides_of(shape.sizes);
  const Index sizes = sizes_of(window);
  const ElementType truth = *ElementType::from_xla("pred");
  const Cell always = arithmetic_.integer(1, truth);
  const auto choice = [&](const Cell& condition, const Cell& yes, const Cell& no,
                          ElementType type) {
    return apply({Element::Select, {}, type, type, {}}, {condition, yes, no});
  };
  Cells cells(from.cells->size(), operands[2]->array.at(0));
  std::int64_t next = 0;
  for_each_index(source.shape.sizes, [&](const Index& index) {
    std::vector<std::pair<std::int64_t, Cell>> kept;  // elements, and whether each is kept
    Cell best;
    for_each_index(sizes, [&](const Index& at) {
      work_.spend(1);
      const auto element = element_of_window(window, index, at, shape.sizes, strides);
      if (!element) return;
      const Cell& own = from.at(*element);
      if (kept.empty()) {
        kept.emplace_back(*element, always);
        best = own;
        return;
      }
      const Cell keeps = combine(instruction.called[0], best, own);
      const auto known = arithmetic_.as_integer(keeps, truth);
      if (known && *known != 0) return;
      if (known) kept.clear();
      work_.spend(kept.size());
      for (auto& [other, is_kept] : kept)
        is_kept = apply({Element::And, {}, truth, truth, {}}, {is_kept, keeps});
      kept.emplace_back(*element,
                        known ? always : apply({Element::Not, {}, truth, truth, {}}, {keeps}));
      best = known ? own : choice(keeps, best, own, from.shape.type);
    });
    const Cell& given = source.at(next++);
    for (const auto& [element, is_kept] : kept) {
      Cell& old = cells[static_cast<std::size_t>(element)];
      old = choice(is_kept, combine(instruction.called[1], old, given), old, shape.type);
    }
  });
  return array(shape, std::move(cells), operands);
}

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
  Index inner;
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
  require(times.empty() || times.size() == length, instruction, "its blocks");
  const auto size = static_cast<std::size_t>(shape.elements());
  Cells cells;
  cells.reserve(size);
  if constexpr (A::kMayRound) {
    if (arithmetic_.rounds(shape.type)) {
      require(times.empty(), instruction, "its blocks");
      for_each_index(sizes, [&](const Index& index) {
        const std::int64_t l = offset_of(index, left_steps);
        const std::int64_t r = offset_of(index, right_steps);
        Cells factors;
        for (const auto& [a, b] : steps) {
          factors.push_back((*lhs_cells)[static_cast<std::size_t>(l + a)]);
          factors.push_back((*rhs_cells)[static_cast<std::size_t>(r + b)]);
        }
        work_.spend(2 * length);
        cells.push_back(contracted(instruction, factors, operands));
      });
      return array(shape, std::move(cells), operands);
    }
  }
  const auto offsets = [&](const Index& of, std::size_t begin, std::size_t end) {
    const auto part = [&](const Index& all) {
      return Index(all.begin() + static_cast<std::ptrdiff_t>(begin),
                   all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<std::size_t> result;
    for_each_index(part(sizes), [&, own = part(of)](const Index& index) {
      result.push_back(static_cast<std::size_t>(offset_of(index, own)));
    });
    return result;
  };
  const std::vector<std::size_t> left_batch = offsets(left_steps, 0, rows_begin);
  const std::vector<std::size_t> right_batch = offsets(right_steps, 0, rows_begin);
  const std::vector<std::size_t> rows = offsets(left_steps, rows_begin, rows_end);
  const std::vector<std::size_t> columns = offsets(right_steps, rows_end, sizes.size());
  // The right operand is packed: kColumns factors, of as many columns, beside each other.
  constexpr std::size_t kColumns = A::kColumns;
  const std::size_t blocks = (columns.size() + kColumns - 1) / kColumns;
  Cells packed(blocks * length * kColumns);
  Cells row(length);
  std::vector<typename A::Accumulator> sums;
  for (std::size_t batch = 0; batch < left_batch.size(); ++batch) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      Cell* to = packed.data() + j / kColumns * length * kColumns + j % kColumns;
      const std::size_t from = right_batch[batch] + columns[j];
      for (std::size_t k = 0; k < length; ++k) {
        const Cell& cell = (*rhs_cells)[from + static_cast<std::size_t>(steps[k].second)];
        to[k * kColumns] = times.empty() ? cell : repeated(cell, times[k], shape.type);
      }
    }
    for (std::size_t first = 0; first < rows.size(); first += A::kRows) {
      const std::size_t height = std::min(A::kRows, rows.size() - first);
      sums.assign(height * columns.size(), {});
      for (std::size_t j = 0; j < columns.size(); j += kColumns) {
        for (std::size_t i = 0; i < height; ++i) {
          const std::size_t from = left_batch[batch] + rows[first + i];
          for (std::size_t k = 0; k < length; ++k) {
            row[k] = (*lhs_cells)[from + static_cast<std::size_t>(steps[k].first)];
          }
          const std::size_t width = std::min(kColumns, columns.size() - j);
          work_.spend(length * width);
          arithmetic_.add_products(std::span(sums).subspan(i * columns.size() + j, width), row,
                                   packed.data() + j * length, shape.type);
        }
      }
      for (auto& sum : sums) cells.push_back(arithmetic_.result(sum, shape.type));
    }
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
  Cells cells;
  for_each_index(shape.sizes, [&](const Index& index) {
    const std::int64_t feature = at(index, numbers.output_feature);
    const std::int64_t group = feature / (outputs / numbers.feature_groups);
    const std::int64_t batch_group = feature / (outputs / numbers.batch_groups);
    const std::int64_t from_base =
        (at(index, numbers.output_batch) + batch_group * batch) * at(in, numbers.input_batch) +
        group * features * at(in, numbers.input_feature);
    typename A::Accumulator sum;
    Cells factors;
    bool listed = false;
    if constexpr (A::kMayRound) listed = arithmetic_.rounds(shape.type);
    for_each_index(sizes, [&](const Index& k) {
      work_.spend(1);
      std::int64_t from = from_base;
      std::int64_t of = feature * at(ker, numbers.kernel_output);
      for (std::size_t i = 0; i < spatial; ++i) {
        const WindowDimension& dimension = window[i];
        const std::int64_t padded = at(index, numbers.output_spatial[i]) * dimension.stride +
                                    k[i] * dimension.window_dilation - dimension.pad_low;
        if (padded < 0 || padded % dimension.base_dilation != 0) return;
        const std::int64_t place = padded / dimension.base_dilation;
        if (place >= at(input.shape.sizes, numbers.input_spatial[i])) return;
        from += place * at(in, numbers.input_spatial[i]);
        of += (dimension.reversed ? dimension.size - 1 - k[i] : k[i]) *
              at(ker, numbers.kernel_spatial[i]);
      }
      work_.spend(static_cast<std::uint64_t>(features));
      for (std::int64_t f = 0; f < features; ++f) {
        const Cell& x = input.at(from + f * at(in, numbers.input_feature));
        const Cell& y = kernel.at(of + f * at(ker, numbers.kernel_input));
        if (listed) {
          factors.insert(factors.end(), {x, y});
        } else {
          arithmetic_.add_product(sum, x, y, shape.type);
        }
      }
    });
    cells.push_back(listed ? contracted(instruction, factors, operands)
                           : arithmetic_.result(sum, shape.type));
  });
  return array(shape, std::move(cells), operands);
}

/// The attributes of a dot or a convolution that say how its products are rounded.
template <typename A>
auto LocalOperations<A>::contracted(const Instruction& instruction, const Cells& factors,
                                    const Operands& operands) -> Cell {
  if constexpr (A::kMayRound) {
    std::string precision;
    for (const char* const name : {"operand_precision", "algorithm"}) {
      const auto value = instruction.attributes.other(name);
      if (value && *value != "{default,default}") precision += fmt::format("{}={};", name, *value);
    }
    Algebra::Reduction reduction{instruction.opcode, instruction.shape.array.type};
    reduction.precision = precision;
    return arithmetic_.contracted(reduction, factors,
                                  {operands[0]->array.shape.type, operands[1]->array.shape.type});
  }
  give_up(instruction, "a sum that is rounded");
}

template auto LocalOperations<Numbers>::repeated(const Cell&, std::int64_t, ElementType) -> Cell;
template auto LocalOperations<Numbers>::is_ordered(const Instruction&, const Operands&) -> bool;
template auto LocalOperations<Numbers>::reduced_list(const Instruction&, const Cells&, const Cells&,
                                                     const std::vector<ElementType>&,
                                                     const std::vector<std::uint32_t>&) -> Cells;
template auto LocalOperations<Numbers>::reduce_into(const Instruction&, Cells&, const Cells&)
    -> void;
template auto LocalOperations<Numbers>::reduce(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::reduce_window(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::select_and_scatter(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Numbers>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::convolution(const Instruction&, const Operands&) -> Tree;

template auto LocalOperations<Algebra>::repeated(const Cell&, std::int64_t, ElementType) -> Cell;
template auto LocalOperations<Algebra>::is_ordered(const Instruction&, const Operands&) -> bool;
template auto LocalOperations<Algebra>::reduced_list(const Instruction&, const Cells&, const Cells&,
                                                     const std::vector<ElementType>&,
                                                     const std::vector<std::uint32_t>&) -> Cells;
template auto LocalOperations<Algebra>::reduce_into(const Instruction&, Cells&, const Cells&)
    -> void;
template auto LocalOperations<Algebra>::reduce(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::reduce_window(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::select_and_scatter(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Algebra>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::convolution(const Instruction&, const Operands&) -> Tree;

template auto LocalOperations<Expressions>::repeated(const Cell&, std::int64_t, ElementType)
    -> Cell;
template auto LocalOperations<Expressions>::is_ordered(const Instruction&, const Operands&) -> bool;
template auto LocalOperations<Expressions>::reduced_list(const Instruction&, const Cells&,
                                                         const Cells&,
                                                         const std::vector<ElementType>&,
                                                         const std::vector<std::uint32_t>&)
    -> Cells;
template auto LocalOperations<Expressions>::reduce_into(const Instruction&, Cells&, const Cells&)
    -> void;
template auto LocalOperations<Expressions>::reduce(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::reduce_window(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Expressions>::select_and_scatter(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Expressions>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::convolution(const Instruction&, const Operands&)
    -> Tree;

template auto LocalOperations<Ranges>::repeated(const Cell&, std::int64_t, ElementType) -> Cell;
template auto LocalOperations<Ranges>::is_ordered(const Instruction&, const Operands&) -> bool;
template auto LocalOperations<Ranges>::reduced_list(const Instruction&, const Cells&, const Cells&,
                                                    const std::vector<ElementType>&,
                                                    const std::vector<std::uint32_t>&) -> Cells;
template auto LocalOperations<Ranges>::reduce_into(const Instruction&, Cells&, const Cells&)
    -> void;
template auto LocalOperations<Ranges>::reduce(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::reduce_window(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::select_and_scatter(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Ranges>::dot(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::convolution(const Instruction&, const Operands&) -> Tree;

}  // namespace p2::hlo::interpreter
