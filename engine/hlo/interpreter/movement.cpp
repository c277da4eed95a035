// Operations that only move elements, sort and top-k among them.

#include "engine/hlo/interpreter/local_operations.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"

namespace p2::hlo::interpreter {
namespace {

using List = std::vector<std::int64_t>;

void require(bool fits, const Instruction& instruction) {
  if (fits) return;
  throw NotUnderstood(instruction, "its shapes do not fit");
}

/// Dimensions as memory has them, from the outermost to the innermost: their sizes, and how far
/// their indices are apart in row-major numbers.
struct Memory {
  explicit Memory(const ArrayShape& shape) : shape_sizes(shape.sizes) {
    const std::size_t rank = shape.sizes.size();
    const List strides = strides_of(shape.sizes);
    for (std::size_t i = 0; i < rank; ++i) {
      major.push_back(shape.minor_to_major.empty()
                          ? i
                          : static_cast<std::size_t>(shape.minor_to_major[rank - 1 - i]));
      sizes.push_back(shape.sizes[major[i]]);
      steps.push_back(strides[major[i]]);
    }
  }

  /// Of the element with a row-major number.
  List major_index(std::int64_t element) const {
    const List index = index_of(element, shape_sizes);
    List result;
    for (const std::size_t each : major) result.push_back(index[each]);
    return result;
  }

  List shape_sizes, sizes, steps;
  std::vector<std::size_t> major;
};

/// Row-major numbers of the elements in the order of memory.
List memory_order(const ArrayShape& shape) {
  const Memory memory(shape);
  List order;
  order.reserve(static_cast<std::size_t>(shape.elements()));
  for_each_index(memory.sizes,
                 [&](const List& index) { order.push_back(offset_of(index, memory.steps)); });
  return order;
}

class Movement {
 public:
  /// Of the element `only` of the result, if that is given.
  Movement(const Instruction& instruction, const std::vector<ArrayShape>& operands,
           const ArrayShape& result, std::optional<std::int64_t> only)
      : instruction_(instruction),
        attributes_(instruction.attributes),
        operands_(operands),
        result_(result),
        only_(only) {
    require(!operands.empty(), instruction);
    sources_.reserve(only ? 1 : static_cast<std::size_t>(result.elements()));
  }

  std::vector<Source> take() { return std::move(sources_); }

  void reshape() {
    require(operands_[0].elements() == result_.elements(), instruction_);
    const std::int64_t first = only_.value_or(0);
    const std::int64_t end = only_ ? first + 1 : result_.elements();
    for (std::int64_t i = first; i < end; ++i) sources_.push_back({0, i});
  }

  void bitcast() {
    require(operands_[0].elements() == result_.elements(), instruction_);
    if (operands_[0].row_major() && result_.row_major()) return reshape();
    if (only_) {
      const Memory from(operands_[0]), to(result_);
      const std::int64_t place = offset_of(to.major_index(*only_), strides_of(to.sizes));
      return sources_.push_back({0, offset_of(index_of(place, from.sizes), from.steps)});
    }
    const List from = memory_order(operands_[0]);
    const List to = memory_order(result_);
    sources_.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      sources_[static_cast<std::size_t>(to[i])] = {0, from[i]};
    }
  }

  /// The element of the operand whose index the function `place(dimension, index)` gives.
  template <typename Place>
  void at(const Place& place) {
    const List strides = strides_of(operands_[0].sizes);
    const std::size_t rank = operands_[0].sizes.size();
    for_each([&](const List& index) {
      std::int64_t element = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t where = place(i, index);
        require(where >= 0 && where < operands_[0].sizes[i], instruction_);
        element += where * strides[i];
      }
      sources_.push_back({0, element});
    });
  }

  void slice() {
    const std::size_t rank = operands_[0].sizes.size();
    require(attributes_.starts.size() == rank && attributes_.strides.size() == rank &&
                result_.sizes.size() == rank,
            instruction_);
    at([&](std::size_t i, const List& index) {
      return attributes_.starts[i] + index[i] * attributes_.strides[i];
    });
  }

  void transpose() {
    const std::size_t rank = operands_[0].sizes.size();
    require(attributes_.dimensions.size() == rank && result_.sizes.size() == rank, instruction_);
    List where(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto from = static_cast<std::size_t>(attributes_.dimensions[i]);
      require(from < rank, instruction_);
      where[from] = static_cast<std::int64_t>(i);
    }
    at([&](std::size_t i, const List& index) { return index[static_cast<std::size_t>(where[i])]; });
  }

  void broadcast() {
    const std::size_t rank = operands_[0].sizes.size();
    require(attributes_.dimensions.size() == rank, instruction_);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto to = static_cast<std::size_t>(attributes_.dimensions[i]);
      require(to < result_.sizes.size(), instruction_);
    }
    at([&](std::size_t i, const List& index) {
      return index[static_cast<std::size_t>(attributes_.dimensions[i])];
    });
  }

  void reverse() {
    require(result_.sizes == operands_[0].sizes, instruction_);
    at([&](std::size_t i, const List& index) {
      for (const std::int64_t dimension : attributes_.dimensions) {
        if (static_cast<std::size_t>(dimension) == i) return operands_[0].sizes[i] - 1 - index[i];
      }
      return index[i];
    });
  }

  void concatenate() {
    require(attributes_.dimensions.size() == 1, instruction_);
    const auto along = static_cast<std::size_t>(attributes_.dimensions[0]);
    require(along < result_.sizes.size(), instruction_);
    for (const ArrayShape& operand : operands_) {
      require(operand.sizes.size() == result_.sizes.size(), instruction_);
      for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
        require(i == along || operand.sizes[i] == result_.sizes[i], instruction_);
      }
    }
    for_each([&](const List& index) {
      List part = index;
      std::size_t operand = 0;
      while (operand < operands_.size() && part[along] >= operands_[operand].sizes[along]) {
        part[along] -= operands_[operand++].sizes[along];
      }
      require(operand < operands_.size(), instruction_);
      sources_.push_back({static_cast<std::int32_t>(operand),
                          offset_of(part, strides_of(operands_[operand].sizes))});
    });
  }

  void pad() {
    const std::size_t rank = operands_[0].sizes.size();
    require(operands_.size() == 2 && attributes_.starts.size() == rank &&
                attributes_.strides.size() == rank && result_.sizes.size() == rank &&
                operands_[1].elements() == 1,
            instruction_);
    const List strides = strides_of(operands_[0].sizes);
    for_each([&](const List& index) {
      Source source{0, 0};
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t step = attributes_.strides[i] + 1;
        const std::int64_t from = index[i] - attributes_.starts[i];
        if (from < 0 || from % step != 0 || from / step >= operands_[0].sizes[i]) {
          source.operand = 1;
        } else {
          source.element += from / step * strides[i];
        }
      }
      if (source.operand == 1) source.element = 0;
      sources_.push_back(source);
    });
  }

 private:
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (only_)
      visit(index_of(*only_, result_.sizes));
    else
      for_each_index(result_.sizes, visit);
  }

  const Instruction& instruction_;
  const Attributes& attributes_;
  const std::vector<ArrayShape>& operands_;
  const ArrayShape& result_;
  std::optional<std::int64_t> only_;
  std::vector<Source> sources_;
};

std::optional<std::vector<Source>> moved_by(const Instruction& instruction,
                                            const std::vector<ArrayShape>& operands,
                                            const ArrayShape& result,
                                            std::optional<std::int64_t> only) {
  const std::string& opcode = instruction.opcode;
  using Step = void (Movement::*)();
  const Step step = opcode == "reshape"       ? &Movement::reshape
                    : opcode == "bitcast"     ? &Movement::bitcast
                    : opcode == "slice"       ? &Movement::slice
                    : opcode == "transpose"   ? &Movement::transpose
                    : opcode == "broadcast"   ? &Movement::broadcast
                    : opcode == "reverse"     ? &Movement::reverse
                    : opcode == "concatenate" ? &Movement::concatenate
                    : opcode == "pad"         ? &Movement::pad
                                              : nullptr;
  if (step == nullptr) return std::nullopt;
  if (opcode == "bitcast" && !operands.empty() && operands[0].type != result.type) {
    return std::nullopt;
  }
  Movement movement(instruction, operands, result, only);
  (movement.*step)();
  return movement.take();
}

}  // namespace

std::optional<std::vector<Source>> sources_of(const Instruction& instruction,
                                              const std::vector<ArrayShape>& operands,
                                              const ArrayShape& result) {
  return moved_by(instruction, operands, result, {});
}

std::optional<Source> source_of(const Instruction& instruction,
                                const std::vector<ArrayShape>& operands, const ArrayShape& result,
                                std::int64_t element) {
  const auto sources = moved_by(instruction, operands, result, element);
  return sources ? std::optional(sources->at(0)) : std::nullopt;
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
  // An unstable sort leaves open in which order elements are that are equal to the comparator.
  const bool is_stable = text_attribute(instruction, "is_stable") == "true";
  const std::uint64_t function = fingerprint(instruction.called[0]) + (is_stable ? 0 : 1);
  for_each_index(outer, [&](const Index& index) {
    work_.spend(static_cast<std::uint64_t>(count) * operands.size());
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
        const Cell line[] = {arithmetic_.function(fmt::format("sort {}", function), all,
                                                  operands[0]->array.shape.type)};
        for (std::size_t k = 0; k < operands.size(); ++k) {
          for (std::int64_t i = 0; i < count; ++i) {
            results[k][at(i)] = arithmetic_.function(fmt::format("sorted {} {}", k, i), line,
                                                     operands[k]->array.shape.type);
          }
        }
        return;
      }
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Array<Cell>& from = operands[k]->array;
      for (std::int64_t i = 0; i < count; ++i) {
        results[k][at(i)] =
            known ? from.at(base + order[static_cast<std::size_t>(i)] * strides[along])
                  : arithmetic_.arbitrary(0, from.shape.type);
      }
    }
    // Of numbers, each of those that are equal to the comparator may be at the place of each.
    if constexpr (!A::kSymbolic) {
      std::int64_t first = 0;  // of those that are equal
      for (std::int64_t i = 1; i <= count && known && !is_stable; ++i) {
        if (i < count &&
            !before(order[static_cast<std::size_t>(i) - 1], order[static_cast<std::size_t>(i)]))
          continue;
        for (std::size_t k = 0; k < operands.size() && i - first > 1; ++k) {
          Cells& cells = results[k];
          Cell any = cells[at(first)];
          for (std::int64_t j = first + 1; j < i; ++j)
            any = either(any, cells[at(j)], operands[k]->array.shape.type);
          for (std::int64_t j = first; j < i; ++j) cells[at(j)] = any;
        }
        first = i;
      }
    }
  });
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
  Index sizes = from.shape.sizes;
  sizes.back() = k;
  const bool fits =
      std::ranges::all_of(shapes, [&](const ArrayShape& shape) { return shape.sizes == sizes; });
  require(shapes.size() == 2 && k >= 0 && k <= count && fits, instruction, "its results");
  Cells values;
  Cells positions;
  const ElementOperation greater{Element::Compare, Direction::Gt, from.shape.type,
                                 *ElementType::from_xla("pred")};
  for (std::int64_t base = 0; base < from.shape.elements(); base += count) {
    work_.spend(static_cast<std::uint64_t>(count));
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
    if constexpr (A::kSymbolic) {
      if (!known) {
        note_opaque(instruction);
        Cells all;
        for (std::int64_t at = base; at < base + count; ++at)
          all.push_back(arithmetic_.exact(from.at(at), from.shape.type));
        const char* const kind = largest ? "largest" : "smallest";
        const Cell line[] = {arithmetic_.function(kind, all, from.shape.type)};
        for (std::int64_t i = 0; i < k; ++i) {
          values.push_back(
              arithmetic_.function(fmt::format("{} {}", kind, i), line, shapes[0].type));
          positions.push_back(
              arithmetic_.function(fmt::format("{} {} at", kind, i), line, shapes[1].type));
        }
        continue;
      }
    }
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t position = order[static_cast<std::size_t>(i)];
      values.push_back(known ? from.at(base + position) : arithmetic_.arbitrary(0, shapes[0].type));
      positions.push_back(known ? arithmetic_.integer(position, shapes[1].type)
                                : arithmetic_.arbitrary(0, shapes[1].type));
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

template auto LocalOperations<Ranges>::sort(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::top_k(const Instruction&, const Operands&, std::int64_t,
                                             bool) -> Tree;

}  // namespace p2::hlo::interpreter
