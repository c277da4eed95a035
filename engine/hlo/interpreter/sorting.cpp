// Sort and top-k on one device.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {

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
  // An unstable sort leaves open in which order elements are that are equal to the comparator.
  const bool is_stable = text_attribute(instruction, "is_stable") == "true";
  const std::uint64_t function = fingerprint(instruction.called[0]) + (is_stable ? 0 : 1);
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
      const auto are_alike = [&](std::int64_t a, std::int64_t b) {
        return std::ranges::all_of(operands, [&](const Tree* operand) {
          const Cells& cells = *operand->array.cells;
          return arithmetic_.equal(cells[at(a)], cells[at(b)], operand->array.shape.type);
        });
      };
      for (std::size_t i = 1; i < order.size() && known && !is_stable; ++i) {
        const bool is_tie = !before(order[i - 1], order[i]) && known;
        known = known && (!is_tie || are_alike(order[i - 1], order[i]));
      }
      if (!known) {
        note_opaque(instruction);
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
                                 *ElementType::from_xla("pred")};
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
          note_opaque(instruction);
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

template auto LocalOperations<Numbers>::sort(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::top_k(const Instruction&, const Operands&, std::int64_t,
                                              bool) -> Tree;

template auto LocalOperations<Algebra>::sort(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::top_k(const Instruction&, const Operands&, std::int64_t,
                                              bool) -> Tree;

template auto LocalOperations<Expressions>::sort(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::top_k(const Instruction&, const Operands&, std::int64_t,
                                                  bool) -> Tree;

}  // namespace p2::hlo::interpreter
