// The operations of XLA on the tensors of one device
// (https://openxla.org/xla/operation_semantics), in any arithmetic.

#include "engine/hlo/interpreter/local_operations.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {
namespace {

constexpr std::uint64_t kCheckInterval = 1U << 16U;
/// Symbolic indices are looked up in at most as many places.
constexpr std::int64_t kMaxPlaces = 4096;

void require(bool holds, const Instruction& instruction, const char* what) {
  if (!holds) give_up(instruction, what);
}

std::uint64_t text_hash(std::string_view text, std::uint64_t state) {
  for (const char c : text) state = Algebra::hash(state, static_cast<unsigned char>(c));
  return state;
}

/// An elementwise instruction as an operation on elements; `from`: the type of its last operand.
ElementOperation operation_of(const Instruction& instruction, Element code, ElementType from) {
  ElementOperation operation{code, Direction::Eq, from, instruction.shape.array.type,
                             instruction.opcode};
  if (code == Element::Compare) {
    const auto direction = direction_of(instruction.attributes.direction);
    require(direction.has_value(), instruction, "its direction");
    operation.direction = *direction;
  }
  return operation;
}

/// The start of a window, moved to where it fits. An integer of u64 from 2^63 on is negative here.
std::int64_t clamped_start(std::int64_t value, ElementType type, std::int64_t last) {
  if (value < 0 && type.kind() == ElementType::Kind::Unsigned) return last;
  return std::clamp<std::int64_t>(value, 0, last);
}

}  // namespace

void Work::spend(std::uint64_t operations, std::size_t bytes) {
  done_ += operations;
  if (done_ > most_) {
    throw LimitReached(LimitReached::Kind::Work,
                       "executing the modules takes more operations than the limit");
  }
  if (done_ - checked_ < kCheckInterval) return;
  checked_ = done_;
  limits_.require(bytes, "executing a module");
}

template <typename A>
auto LocalOperations<A>::array(const ArrayShape& shape, Cells cells,
                               const std::vector<const Tree*>& operands) const -> Tree {
  Tree tree;
  tree.array.shape = shape;
  tree.array.cells = std::make_shared<const Cells>(std::move(cells));
  for (const Tree* operand : operands) tree.array.unknown |= operand->array.unknown;
  return tree;
}

template <typename A>
auto LocalOperations<A>::constant(const Instruction& instruction) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  if (!instruction.literal || instruction.literal->elided) {
    return opaque(instruction, {}, text_hash(instruction.name, number_ + 1));
  }
  const Literal& literal = *instruction.literal;
  const auto size = static_cast<std::size_t>(shape.elements());
  work_.spend(size);
  Cells cells;
  if (literal.elements.size() == 1) {
    cells.assign(size, arithmetic_.constant(literal.elements[0], shape.type));
  } else {
    for (const LiteralElement& element : literal.elements) {
      cells.push_back(arithmetic_.constant(element, shape.type));
    }
  }
  require(cells.size() == size, instruction, "the constant has another number of elements");
  return array(shape, std::move(cells), {});
}

template <typename A>
auto LocalOperations<A>::iota(const Instruction& instruction) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const std::vector<std::int64_t>& along = instruction.attributes.dimensions;
  Cells cells;
  require(along.empty() || static_cast<std::size_t>(along[0]) < shape.sizes.size(), instruction,
          "its dimension");
  for_each_index(shape.sizes, [&](const Index& index) {
    const std::int64_t value = along.empty() ? 0 : index[static_cast<std::size_t>(along[0])];
    cells.push_back(arithmetic_.integer(value, shape.type));
  });
  work_.spend(cells.size());
  return array(shape, std::move(cells), {});
}

template <typename A>
auto LocalOperations<A>::elementwise(const Instruction& instruction, Element code,
                                     const Operands& operands) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const auto size = static_cast<std::size_t>(shape.elements());
  require(!operands.empty() && operands.size() <= 3, instruction, "its operands");
  const ElementOperation operation =
      operation_of(instruction, code, operands.back()->array.shape.type);
  if (operation.from.kind() == ElementType::Kind::Complex ||
      shape.type.kind() == ElementType::Kind::Complex) {
    return opaque(instruction, operands, 0);
  }
  for (const Tree* operand : operands) {
    const std::size_t cells = operand->array.cells->size();
    require(cells == size || operand->array.shape.sizes.empty(), instruction, "its shapes differ");
    if (cells != size && code == Element::BitcastConvert) return opaque(instruction, operands, 0);
  }
  if (code == Element::BitcastConvert && operation.from.bits() != operation.to.bits()) {
    return opaque(instruction, operands, 0);
  }
  work_.spend(size);
  Cells cells(size);
  Cells arguments(operands.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Cells& all = *operands[k]->array.cells;
      arguments[k] = all[all.size() == size ? i : 0];
    }
    cells[i] = arithmetic_.apply(operation, arguments);
  }
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::moved(const Instruction& instruction, const Operands& operands) -> Tree {
  std::vector<ArrayShape> shapes;
  for (const Tree* operand : operands) shapes.push_back(operand->array.shape);
  const auto sources = sources_of(instruction, shapes, instruction.shape.array);
  if (!sources) return opaque(instruction, operands, 0);
  work_.spend(sources->size());
  Cells cells;
  cells.reserve(sources->size());
  for (const Source& source : *sources) {
    cells.push_back(operands[static_cast<std::size_t>(source.operand)]->array.at(source.element));
  }
  return array(instruction.shape.array, std::move(cells), operands);
}

/// The start of a window is a scalar for each dimension or, in older modules, a vector, and the
/// window fits into the tensor.
template <typename A>
void LocalOperations<A>::require_start(const Instruction& instruction, const Operands& operands,
                                       std::size_t first, const Index& sizes,
                                       const Index& window) const {
  const std::size_t rank = sizes.size();
  require(operands.size() > first && window.size() == rank, instruction, "its operands");
  const bool vector = operands[first]->array.shape.sizes.size() == 1;
  require(vector ? operands[first]->array.cells->size() == rank : operands.size() == first + rank,
          instruction, "its start");
  for (std::size_t i = 0; i < rank; ++i) {
    require(window[i] <= sizes[i], instruction, "its window");
    require(vector || operands[first + i]->array.cells->size() == 1, instruction, "its start");
  }
}

template <typename A>
auto LocalOperations<A>::start_index(const Operands& operands, std::size_t first,
                                     const Index& sizes, const Index& window)
    -> std::optional<Index> {
  Index start(sizes.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool vector = operands[first]->array.shape.sizes.size() == 1;
    const Array<Cell>& from = operands[vector ? first : first + i]->array;
    const auto value =
        arithmetic_.as_integer(from.at(vector ? static_cast<std::int64_t>(i) : 0), from.shape.type);
    if (!value || from.unknown) return std::nullopt;
    start[i] = clamped_start(*value, from.shape.type, sizes[i] - window[i]);
  }
  return start;
}

template <typename A>
auto LocalOperations<A>::dynamic_slice(const Instruction& instruction, const Operands& operands)
    -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const Array<Cell>& from = operands[0]->array;
  require(!operands.empty(), instruction, "its operands");
  if (shape.sizes.empty()) return *operands[0];
  require_start(instruction, operands, 1, from.shape.sizes, shape.sizes);
  const auto start = start_index(operands, 1, from.shape.sizes, shape.sizes);
  if (!start) return symbolic_slice(instruction, operands);
  const Index strides = strides_of(from.shape.sizes);
  const std::int64_t base = offset_of(*start, strides);
  Cells cells;
  for_each_index(shape.sizes, [&](const Index& index) {
    cells.push_back(from.at(base + offset_of(index, strides)));
  });
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::dynamic_update_slice(const Instruction& instruction,
                                              const Operands& operands) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  require(operands.size() >= 2, instruction, "its operands");
  const Array<Cell>& update = operands[1]->array;
  if (shape.sizes.empty()) return *operands[1];
  require(operands[0]->array.shape.sizes == shape.sizes, instruction, "its shapes");
  require_start(instruction, operands, 2, shape.sizes, update.shape.sizes);
  const auto start = start_index(operands, 2, shape.sizes, update.shape.sizes);
  if (!start) return symbolic_slice(instruction, operands);
  const Index strides = strides_of(shape.sizes);
  const std::int64_t base = offset_of(*start, strides);
  Cells cells = *operands[0]->array.cells;
  std::size_t next = 0;
  for_each_index(update.shape.sizes, [&](const Index& index) {
    cells[static_cast<std::size_t>(base + offset_of(index, strides))] = (*update.cells)[next++];
  });
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
const std::optional<ElementOperation>& LocalOperations<A>::binary(std::uint32_t computation) {
  const auto [found, added] = binaries_.try_emplace(computation);
  if (!added) return found->second;
  const Computation& called = module_.computations[computation];
  const Instruction& root = called.instructions[called.root];
  const auto code = element_of(root.opcode);
  if (called.instructions.size() != 3 || called.parameters.size() != 2 || !code ||
      root.operands != called.parameters || *code == Element::Compare) {
    return found->second;
  }
  const ElementType type = root.shape.array.type;
  for (const Instruction& instruction : called.instructions) {
    if (instruction.shape.is_tuple || instruction.shape.array.type != type) return found->second;
  }
  found->second = ElementOperation{*code, Direction::Eq, type, type, root.opcode};
  return found->second;
}

template <typename A>
auto LocalOperations<A>::combine(std::uint32_t reducer, const Cell& a, const Cell& b) -> Cell {
  work_.spend(1);
  const Cell operands[] = {a, b};
  if (const auto& operation = binary(reducer)) return arithmetic_.apply(*operation, operands);
  const Cells results = call(reducer, {a, b});
  if (results.size() != 1) {
    give_up(module_.computations[reducer].instructions[0], "it is no reducer of two elements");
  }
  return results[0];
}

/// A dynamic slice or update at an index of which one component depends on inputs: every element is
/// chosen by it. Opaque for several.
template <typename A>
auto LocalOperations<A>::symbolic_slice(const Instruction& instruction, const Operands& operands)
    -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const bool updates = instruction.opcode == "dynamic-update-slice";
  const std::size_t first = updates ? 2 : 1;
  const Array<Cell>& from = operands[0]->array;
  const Index window = updates ? operands[1]->array.shape.sizes : shape.sizes;
  const std::size_t rank = from.shape.sizes.size();
  if constexpr (!A::kSymbolic) return opaque(instruction, operands, 0);
  if constexpr (A::kSymbolic) {
    if (operands.size() != first + rank) return opaque(instruction, operands, 0);
    Index start(rank, 0);
    std::optional<std::size_t> along;
    for (std::size_t i = 0; i < rank; ++i) {
      const Array<Cell>& component = operands[first + i]->array;
      const auto value = arithmetic_.as_integer(component.at(0), component.shape.type);
      const std::int64_t most = from.shape.sizes[i] - window[i];
      if (!value && most > 0) {
        if (along || most > kMaxPlaces) return opaque(instruction, operands, 0);
        along = i;
      }
      start[i] = value ? clamped_start(*value, component.shape.type, most) : 0;
    }
    const auto chosen = along.value_or(0);
    const Array<Cell>& component = operands[first + chosen]->array;
    const std::int64_t places = along ? from.shape.sizes[chosen] - window[chosen] + 1 : 1;
    const Index strides = strides_of(from.shape.sizes);
    const Index window_strides = strides_of(window);
    Cells cells;
    for_each_index(shape.sizes, [&](const Index& index) {
      Cells choices;
      for (std::int64_t place = 0; place < places; ++place) {
        std::int64_t own = 0;
        std::int64_t in_update = 0;
        bool inside = true;
        for (std::size_t i = 0; i < rank; ++i) {
          const std::int64_t begin = along && i == chosen ? place : start[i];
          own += (updates ? index[i] : begin + index[i]) * strides[i];
          inside = inside && index[i] >= begin && index[i] < begin + window[i];
          in_update += (index[i] - begin) * window_strides[i];
        }
        choices.push_back(updates && inside ? operands[1]->array.at(in_update) : from.at(own));
      }
      work_.spend(choices.size());
      cells.push_back(
          arithmetic_.choose(component.at(0), component.shape.type, choices, shape.type));
    });
    return array(shape, std::move(cells), operands);
  }
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
  std::vector<Cells> totals(results, Cells(count));
  for (Cells& total : totals) {
    for (std::size_t k = 0; k < count; ++k) total[k] = operands[count + k]->array.at(0);
  }
  const Index strides = strides_of(shapes[0].sizes);
  std::int64_t element = 0;
  Cells elements(count);
  for_each_index(from, [&](const Index& index) {
    std::int64_t to = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (contains(over, i)) continue;
      require(kept < strides.size(), instruction, "its dimensions");
      to += index[i] * strides[kept++];
    }
    for (std::size_t k = 0; k < count; ++k) elements[k] = operands[k]->array.at(element);
    ++element;
    reduce_into(instruction, totals[static_cast<std::size_t>(to)], elements);
  });
  Tree result;
  result.is_tuple = instruction.shape.is_tuple;
  for (std::size_t k = 0; k < count; ++k) {
    Cells cells;
    for (const Cells& total : totals) cells.push_back(total[k]);
    Tree part = array(shapes[k], std::move(cells), operands);
    if (!result.is_tuple) return part;
    result.parts.push_back(std::move(part));
  }
  return result;
}

template <typename A>
auto LocalOperations<A>::reduce_window(const Instruction& instruction, const Operands& operands)
    -> Tree {
  require(operands.size() == 2, instruction, "several operands");
  const ArrayShape& shape = instruction.shape.array;
  const Array<Cell>& from = operands[0]->array;
  require(shape.sizes.size() == from.shape.sizes.size() && operands[1]->array.cells->size() == 1,
          instruction, "its shapes");
  const std::vector<WindowDimension> window = window_of(instruction, from.shape.sizes.size());
  const Index strides = strides_of(from.shape.sizes);
  Index sizes;
  for (const WindowDimension& dimension : window) sizes.push_back(dimension.size);
  Cells cells;
  for_each_index(shape.sizes, [&](const Index& index) {
    Cells total = {operands[1]->array.at(0)};
    for_each_index(sizes, [&](const Index& at) {
      std::int64_t element = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const WindowDimension& dimension = window[i];
        const std::int64_t padded =
            index[i] * dimension.stride + at[i] * dimension.window_dilation - dimension.pad_low;
        if (padded < 0 || padded % dimension.base_dilation != 0) return;
        const std::int64_t place = padded / dimension.base_dilation;
        if (place >= from.shape.sizes[i]) return;
        element += place * strides[i];
      }
      reduce_into(instruction, total, {from.at(element)});
    });
    cells.push_back(total[0]);
  });
  return array(shape, std::move(cells), operands);
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
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (contains(numbers.lhs_batch, i) || contains(numbers.lhs_contracting, i)) continue;
    add(lhs.shape.sizes[i], left[i], 0);
  }
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
  const auto exact = [&](const Cell& cell, ElementType from) {
    if (from == shape.type || from.is_float()) return cell;
    return apply({Element::Convert, {}, from, shape.type, "convert"}, {cell});
  };
  Cells cells;
  for_each_index(sizes, [&](const Index& index) {
    const std::int64_t l = offset_of(index, left_steps);
    const std::int64_t r = offset_of(index, right_steps);
    typename A::Accumulator sum;
    for (const auto& [a, b] : steps) {
      arithmetic_.add_product(sum, exact(lhs.at(l + a), lhs.shape.type),
                              exact(rhs.at(r + b), rhs.shape.type), shape.type);
    }
    work_.spend(steps.size());
    cells.push_back(arithmetic_.result(sum, shape.type));
  });
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
    for_each_index(sizes, [&](const Index& k) {
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
        arithmetic_.add_product(sum, input.at(from + f * at(in, numbers.input_feature)),
                                kernel.at(of + f * at(ker, numbers.kernel_input)), shape.type);
      }
    });
    cells.push_back(arithmetic_.result(sum, shape.type));
  });
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::gather(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() == 2, instruction, "its operands");
  const ArrayShape& shape = instruction.shape.array;
  const GatherDimensions numbers = gather_dimensions(instruction);
  const Array<Cell>& from = operands[0]->array;
  const Array<Cell>& indices = operands[1]->array;
  const Index& sizes = from.shape.sizes;
  require(numbers.slice_sizes.size() == sizes.size(), instruction, "its slices");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(numbers.slice_sizes[i] >= 0 && numbers.slice_sizes[i] <= sizes[i], instruction,
            "its slices");
  }
  const IndexedWindows windows(instruction, numbers, from.shape, indices.shape, shape);
  const Index strides = strides_of(sizes);
  Cells cells;
  bool is_opaque = false;
  for_each_index(shape.sizes, [&](const Index& index) {
    if (is_opaque) return;
    const Index batch = windows.batch_of(index);
    Index start = windows.batch_start(batch);
    std::optional<std::pair<std::size_t, Cell>> symbolic;
    for (std::size_t k = 0; k < windows.components(); ++k) {
      const std::size_t dimension = windows.dimension(k);
      const Cell& cell = indices.at(windows.component(batch, k));
      const auto value = arithmetic_.as_integer(cell, indices.shape.type);
      const std::int64_t last = sizes[dimension] - numbers.slice_sizes[dimension];
      if (!value) {
        is_opaque = is_opaque || symbolic.has_value() || !A::kSymbolic || last >= kMaxPlaces;
        symbolic.emplace(dimension, cell);
      } else {
        start[dimension] = clamped_start(*value, indices.shape.type, last);
      }
    }
    if (is_opaque) return;
    const Index window = windows.window_index(index);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(start[i] + window[i] < sizes[i], instruction, "its slices");
    }
    const std::int64_t element = offset_of(start, strides) + offset_of(window, strides);
    if (!symbolic) {
      cells.push_back(from.at(element));
      return;
    }
    if constexpr (A::kSymbolic) {
      const auto [dimension, cell] = *symbolic;
      const std::int64_t places = sizes[dimension] - numbers.slice_sizes[dimension] + 1;
      Cells choices;
      for (std::int64_t place = 0; place < places; ++place) {
        choices.push_back(from.at(element + place * strides[dimension]));
      }
      work_.spend(choices.size());
      cells.push_back(arithmetic_.choose(cell, indices.shape.type, choices, shape.type));
    }
  });
  if (is_opaque) return opaque(instruction, operands, 0);
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::scatter(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() == 3, instruction, "several operands");
  const ArrayShape& shape = instruction.shape.array;
  const ScatterDimensions numbers = scatter_dimensions(instruction);
  const Array<Cell>& indices = operands[1]->array;
  const Array<Cell>& updates = operands[2]->array;
  require(operands[0]->array.shape.sizes == shape.sizes, instruction, "its shapes");
  const IndexedWindows windows(instruction, numbers, shape, indices.shape, updates.shape);
  const std::size_t rank = shape.sizes.size();
  const Index strides = strides_of(shape.sizes);
  Index last = updates.shape.sizes;  // the last index of the updates
  for (std::int64_t& each : last) --each;
  const Index last_in_window = windows.window_index(last);
  Cells cells = *operands[0]->array.cells;
  bool is_opaque = false;
  std::int64_t next_update = 0;
  for_each_index(updates.shape.sizes, [&](const Index& index) {
    const Cell& update = updates.at(next_update++);
    if (is_opaque) return;
    const Index batch = windows.batch_of(index);
    Index start = windows.batch_start(batch);
    const Index window = windows.window_index(index);
    std::optional<std::pair<std::size_t, Cell>> symbolic;
    for (std::size_t k = 0; k < windows.components(); ++k) {
      const std::size_t dimension = windows.dimension(k);
      const Cell& cell = indices.at(windows.component(batch, k));
      const auto value = arithmetic_.as_integer(cell, indices.shape.type);
      if (!value) {
        is_opaque = is_opaque || symbolic.has_value() || !A::kSymbolic ||
                    shape.sizes[dimension] > kMaxPlaces;
        symbolic.emplace(dimension, cell);
      }
      start[dimension] = value.value_or(0);
    }
    if (is_opaque) return;
    // A window that does not fit as a whole is not written.
    std::int64_t element = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      if (start[i] < 0 || start[i] >= shape.sizes[i] - last_in_window[i]) return;
      element += (start[i] + window[i]) * strides[i];
    }
    const std::int64_t places =
        symbolic ? shape.sizes[symbolic->first] - last_in_window[symbolic->first] : 1;
    for (std::int64_t place = 0; place < places; ++place) {
      Cell& old = cells[static_cast<std::size_t>(
          element + (symbolic ? place * strides[symbolic->first] : 0))];
      Cells total = {old};
      reduce_into(instruction, total, {update});
      if (!symbolic) {
        old = total[0];
        continue;
      }
      const ElementType boolean = *ElementType::from_xla("pred");
      const ElementOperation equals{Element::Compare, Direction::Eq, indices.shape.type, boolean,
                                    "compare"};
      const ElementOperation select{Element::Select, {}, shape.type, shape.type, "select"};
      const Cell here =
          apply(equals, {symbolic->second, arithmetic_.integer(place, indices.shape.type)});
      if constexpr (A::kSymbolic) {
        const auto& reducer = binary(instruction.called[0]);
        const bool adds = reducer && reducer->code == Element::Add && shape.type.is_float();
        old = adds ? arithmetic_.sum_where(here, old, update, shape.type)
                   : apply(select, {here, total[0], old});
      }
    }
  });
  if (is_opaque) return opaque(instruction, operands, 0);
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::sort(const Instruction& instruction, const Operands& operands) -> Tree {
  require(!operands.empty() && instruction.called.size() == 1 &&
              instruction.attributes.dimensions.size() == 1,
          instruction, "its attributes");
  const Index& sizes = operands[0]->array.shape.sizes;
  const auto along = static_cast<std::size_t>(instruction.attributes.dimensions[0]);
  require(along < sizes.size(), instruction, "its dimension");
  const Index strides = strides_of(sizes);
  const std::int64_t count = sizes[along];
  std::vector<Cells> results;
  for (const Tree* operand : operands) {
    require(operand->array.shape.sizes == sizes, instruction, "its shapes differ");
    results.push_back(*operand->array.cells);
  }
  Index outer = sizes;
  outer[along] = 1;
  bool is_opaque = false;
  const std::uint64_t function = fingerprint(instruction.called[0]);
  for_each_index(outer, [&](const Index& index) {
    const std::int64_t base = offset_of(index, strides);
    const auto at = [&](std::int64_t i) {
      return static_cast<std::size_t>(base + i * strides[along]);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    bool known = true;
    const auto before = [&](std::int64_t a, std::int64_t b) {
      if (!known) return false;
      Cells arguments;
      for (const Tree* operand : operands) {
        arguments.push_back((*operand->array.cells)[at(a)]);
        arguments.push_back((*operand->array.cells)[at(b)]);
      }
      const auto value = arithmetic_.as_integer(call(instruction.called[0], arguments)[0],
                                                *ElementType::from_xla("pred"));
      known = value.has_value();
      return known && *value != 0;
    };
    std::stable_sort(order.begin(), order.end(), before);
    if constexpr (A::kSymbolic) {
      if (!known) {
        Cells all;
        for (const Tree* operand : operands) {
          for (std::int64_t i = 0; i < count; ++i) {
            all.push_back(
                arithmetic_.exact((*operand->array.cells)[at(i)], operand->array.shape.type));
          }
        }
        for (std::size_t k = 0; k < operands.size(); ++k) {
          for (std::int64_t i = 0; i < count; ++i) {
            results[k][at(i)] = arithmetic_.function(fmt::format("sort {} {} {}", function, k, i),
                                                     all, operands[k]->array.shape.type);
          }
        }
        return;
      }
    }
    is_opaque = is_opaque || !known;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      for (std::int64_t i = 0; i < count; ++i) {
        results[k][at(i)] = (*operands[k]->array.cells)[at(order[static_cast<std::size_t>(i)])];
      }
    }
  });
  if (is_opaque) return opaque(instruction, operands, 0);
  Tree result;
  result.is_tuple = instruction.shape.is_tuple;
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  require(shapes.size() == operands.size(), instruction, "its results");
  for (std::size_t k = 0; k < operands.size(); ++k) {
    Tree part = array(shapes[k], std::move(results[k]), operands);
    if (!result.is_tuple) return part;
    result.parts.push_back(std::move(part));
  }
  return result;
}

/// The k largest or smallest along the last dimension, in order; equal ones by their position.
template <typename A>
auto LocalOperations<A>::top_k(const Instruction& instruction, const Operands& operands,
                               std::int64_t k, bool largest) -> Tree {
  require(!operands.empty() && !operands[0]->array.shape.sizes.empty(), instruction,
          "its operands");
  const Array<Cell>& from = operands[0]->array;
  const std::int64_t count = from.shape.sizes.back();
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  require(shapes.size() == 2 && k <= count, instruction, "its results");
  Cells values;
  Cells positions;
  const ElementOperation greater{Element::Compare, Direction::Gt, from.shape.type,
                                 *ElementType::from_xla("pred"), "compare"};
  for (std::int64_t base = 0; base < from.shape.elements(); base += count) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    bool known = true;
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      if (!known) return false;
      if (!largest) std::swap(a, b);
      const auto value = arithmetic_.as_integer(
          apply(greater, {from.at(base + a), from.at(base + b)}), greater.to);
      known = value.has_value();
      return known && *value != 0;
    });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t position = order[static_cast<std::size_t>(i)];
      if constexpr (A::kSymbolic) {
        if (!known) {
          Cells all;
          for (std::int64_t at = base; at < base + count; ++at) {
            all.push_back(arithmetic_.exact(from.at(at), from.shape.type));
          }
          const char* const kind = largest ? "largest" : "smallest";
          values.push_back(
              arithmetic_.function(fmt::format("{} {}", kind, i), all, shapes[0].type));
          positions.push_back(
              arithmetic_.function(fmt::format("{} {} at", kind, i), all, shapes[1].type));
          continue;
        }
      }
      values.push_back(from.at(base + position));
      positions.push_back(arithmetic_.integer(position, shapes[1].type));
    }
  }
  Tree result;
  result.is_tuple = true;
  result.parts.push_back(array(shapes[0], std::move(values), operands));
  result.parts.push_back(array(shapes[1], std::move(positions), operands));
  return result;
}

template <typename A>
auto LocalOperations<A>::map(const Instruction& instruction, const Operands& operands) -> Tree {
  require(!operands.empty() && instruction.called.size() == 1, instruction, "its function");
  const ArrayShape& shape = instruction.shape.array;
  for (const Tree* operand : operands) {
    require(operand->array.shape.sizes == shape.sizes, instruction, "its shapes differ");
  }
  Cells cells;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    Cells arguments;
    for (const Tree* operand : operands) arguments.push_back(operand->array.at(i));
    cells.push_back(call(instruction.called[0], arguments).at(0));
  }
  return array(shape, std::move(cells), operands);
}

template <typename A>
std::uint64_t LocalOperations<A>::fingerprint(std::uint32_t computation) {
  if (fingerprints_.size() <= computation) fingerprints_.resize(module_.computations.size(), 0);
  if (fingerprints_[computation] != 0) return fingerprints_[computation];
  const Computation& called = module_.computations[computation];
  std::uint64_t state = Algebra::hash(0xC0, called.root);
  for (const Instruction& instruction : called.instructions) {
    const Attributes& attributes = instruction.attributes;
    state = text_hash(instruction.opcode, state);
    state = text_hash(to_string(instruction.shape), state);
    state = text_hash(attributes.others, state);
    state = text_hash(attributes.direction, state);
    for (const auto* list : {&attributes.dimensions, &attributes.starts, &attributes.limits,
                             &attributes.strides, &attributes.slice_sizes}) {
      state = Algebra::hash(state, list->size());
      for (const std::int64_t each : *list) {
        state = Algebra::hash(state, static_cast<std::uint64_t>(each));
      }
    }
    state = Algebra::hash(state, static_cast<std::uint64_t>(attributes.index));
    if (instruction.literal) {
      for (const LiteralElement& element : instruction.literal->elements) {
        state = text_hash(element.text.empty() ? to_string(element.number) : element.text, state);
      }
    }
    for (const std::uint32_t operand : instruction.operands) state = Algebra::hash(state, operand);
    for (const std::uint32_t inner : instruction.called) {
      state = Algebra::hash(state, fingerprint(inner));
    }
  }
  return fingerprints_[computation] = state | 1U;
}

template <typename A>
auto LocalOperations<A>::opaque(const Instruction& instruction, const Operands& operands,
                                std::uint64_t salt) -> Tree {
  Cells all;
  // What is a function of the elements also depends on how they are arranged.
  std::uint64_t state = text_hash(instruction.opcode, Algebra::hash(0x0A, salt));
  state = text_hash(to_string(instruction.shape), state);
  const auto collect = [&](const auto& self, const Tree& tree) -> void {
    if (tree.is_tuple) {
      for (const Tree& part : tree.parts) self(self, part);
    } else if (tree.array.cells) {
      state = text_hash(to_string(tree.array.shape), state);
      for (const Cell& cell : *tree.array.cells) {
        all.push_back(arithmetic_.exact(cell, tree.array.shape.type));
      }
    }
  };
  for (const Tree* operand : operands) collect(collect, *operand);
  work_.spend(all.size());
  state = text_hash(instruction.attributes.others, state);
  state = text_hash(instruction.attributes.direction, state);
  // Where a custom call may look at its sharding; others cannot.
  if (instruction.opcode == "custom-call")
    state = text_hash(instruction.attributes.sharding, state);
  for (const std::int64_t each : instruction.attributes.dimensions) {
    state = Algebra::hash(state, static_cast<std::uint64_t>(each));
  }
  for (const std::uint32_t called : instruction.called) {
    state = Algebra::hash(state, fingerprint(called));
  }
  std::size_t output = 0;
  const auto build = [&](const auto& self, const Shape& shape) -> Tree {
    Tree tree;
    tree.is_tuple = shape.is_tuple;
    for (const Shape& part : shape.parts) tree.parts.push_back(self(self, part));
    if (shape.is_tuple) return tree;
    const auto size = static_cast<std::size_t>(shape.array.elements());
    work_.spend(size);
    Cells cells(size);
    if constexpr (A::kSymbolic) {
      const Cell whole = arithmetic_.function(fmt::format("opaque {} {}", state, output++), all,
                                              *ElementType::from_xla("f32"));
      for (std::size_t i = 0; i < size; ++i) {
        cells[i] =
            arithmetic_.function(fmt::format("element {}", i), Cells{whole}, shape.array.type);
      }
    }
    tree.array.shape = shape.array;
    tree.array.cells = std::make_shared<const Cells>(std::move(cells));
    tree.array.unknown = !A::kSymbolic;
    return tree;
  };
  return build(build, instruction.shape);
}

template <typename A>
auto LocalOperations<A>::call(std::uint32_t computation, const Cells& arguments) -> Cells {
  const Computation& called = module_.computations[computation];
  std::vector<Cells> values;
  values.reserve(called.instructions.size());
  for (const Instruction& instruction : called.instructions) {
    const std::string& opcode = instruction.opcode;
    if (opcode == "parameter") {
      const auto index = static_cast<std::size_t>(instruction.attributes.index);
      require(index < arguments.size() && !instruction.shape.is_tuple, instruction,
              "no such argument");
      values.push_back({arguments[index]});
      continue;
    }
    Cells operands;
    for (const std::uint32_t operand : instruction.operands) {
      operands.insert(operands.end(), values[operand].begin(), values[operand].end());
    }
    if (opcode == "tuple") {
      values.push_back(std::move(operands));
    } else if (opcode == "get-tuple-element") {
      const auto index = static_cast<std::size_t>(instruction.attributes.index);
      require(index < operands.size(), instruction, "its operand has fewer parts");
      values.push_back({operands[index]});
    } else if (opcode == "call" || opcode == "fusion") {
      require(instruction.called.size() == 1, instruction, "its function");
      values.push_back(call(instruction.called[0], operands));
    } else {
      require(!instruction.shape.is_tuple && instruction.shape.array.elements() == 1, instruction,
              "no function of scalars");
      const ArrayShape& shape = instruction.shape.array;
      if (opcode == "constant") {
        require(instruction.literal && !instruction.literal->elided, instruction, "its value");
        values.push_back({arithmetic_.constant(instruction.literal->elements[0], shape.type)});
        continue;
      }
      // A bitcast to another type is of the bits.
      const bool of_bits =
          opcode == "bitcast" && instruction.operands.size() == 1 &&
          called.instructions[instruction.operands[0]].shape.array.type != shape.type;
      const auto code = of_bits ? Element::BitcastConvert : element_of(opcode);
      if (!code) {
        const bool same =
            opcode == "copy" || opcode == "bitcast" || opcode == "reshape" || opcode == "broadcast";
        require(same && operands.size() == 1, instruction, "in a function of scalars");
        values.push_back(std::move(operands));
        continue;
      }
      const Instruction& last = called.instructions[instruction.operands.back()];
      values.push_back(
          {arithmetic_.apply(operation_of(instruction, *code, last.shape.array.type), operands)});
    }
  }
  work_.spend(called.instructions.size());
  return values[called.root];
}

template <typename A>
auto LocalOperations<A>::evaluate(const Instruction& instruction, const Operands& operands)
    -> Tree {
  const std::string& opcode = instruction.opcode;
  for (const Tree* operand : operands) {
    if (operand->is_tuple) return opaque(instruction, operands, 0);
  }
  if (const auto code = element_of(opcode)) return elementwise(instruction, *code, operands);
  if (opcode == "constant") return constant(instruction);
  if (opcode == "iota") return iota(instruction);
  if (opcode == "dynamic-slice") return dynamic_slice(instruction, operands);
  if (opcode == "dynamic-update-slice") return dynamic_update_slice(instruction, operands);
  if (opcode == "reduce") return reduce(instruction, operands);
  if (opcode == "reduce-window") return reduce_window(instruction, operands);
  if (opcode == "dot") return dot(instruction, operands);
  if (opcode == "convolution") return convolution(instruction, operands);
  if (opcode == "gather") return gather(instruction, operands);
  if (opcode == "scatter") return scatter(instruction, operands);
  if (opcode == "sort") return sort(instruction, operands);
  if (opcode == "map") return map(instruction, operands);
  if (opcode == "topk") {
    return top_k(instruction, operands, integer_attribute(instruction, "k").value_or(0),
                 text_attribute(instruction, "largest") != "false");
  }
  if (opcode == "custom-call" && text_attribute(instruction, "custom_call_target") == "TopK") {
    const std::vector<ArrayShape> shapes = instruction.shape.arrays();
    require(!shapes.empty() && !shapes[0].sizes.empty(), instruction, "its results");
    return top_k(instruction, operands, shapes[0].sizes.back(), true);
  }
  return moved(instruction, operands);
}

template class LocalOperations<Numbers>;
template class LocalOperations<Algebra>;

}  // namespace p2::hlo::interpreter
