// Reductions on one device: reduce, reduce-window, select-and-scatter.

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

}  // namespace p2::hlo::interpreter
