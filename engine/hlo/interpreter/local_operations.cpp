// The operations of XLA on the tensors of one device
// (https://openxla.org/xla/operation_semantics), in any arithmetic.

#include "engine/hlo/interpreter/local_operations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {
namespace {

constexpr std::uint64_t kCheckInterval = 1U << 16U;

std::uint64_t text_hash(std::string_view text, std::uint64_t state) {
  for (const char c : text) state = Algebra::hash(state, static_cast<unsigned char>(c));
  return state;
}

/// An elementwise instruction as an operation on elements; `from`: the type of its last operand.
ElementOperation operation_of(const Instruction& instruction, Element code, ElementType from) {
  ElementOperation operation{code,
                             Direction::Eq,
                             from,
                             instruction.shape.array.type,
                             instruction.attributes.others,
                             instruction.attributes.accuracy};
  if (code == Element::Compare) {
    const auto direction = direction_of(instruction.attributes.direction);
    require(direction.has_value(), instruction, "its direction");
    operation.direction = *direction;
  }
  return operation;
}

/// Whether an operation computes in one floating-point type but has operands or results of others,
/// which it rounds where its text does not say.
bool mixes_types(const Instruction& instruction, const std::vector<ArrayShape>& operands) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "convert" || opcode == "bitcast-convert" || opcode == "bitcast" ||
      opcode == "dot" || opcode == "convolution") {
    return false;
  }
  std::optional<ElementType> common;
  for (const std::vector<ArrayShape>& shapes : {operands, instruction.shape.arrays()}) {
    for (const ArrayShape& shape : shapes) {
      if (!shape.type.is_float()) continue;
      if (common.value_or(shape.type) != shape.type) return true;
      common = shape.type;
    }
  }
  return false;
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

/// An element of a constant. Real numbers may be stated more exactly than in the constant's type,
/// by which ranges are disturbed.
template <typename A>
auto LocalOperations<A>::listed_element(const Instruction& constant, const LiteralElement& element)
    -> Cell {
  const ElementType type = constant.shape.array.type;
  const bool is_stated = type.is_float() && is_real(arithmetic_) && !A::kHasRanges;
  return arithmetic_.constant(element, is_stated ? constant.literal->shape.type : type);
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
    cells.assign(size, listed_element(instruction, literal.elements[0]));
  } else {
    for (const LiteralElement& element : literal.elements) {
      cells.push_back(listed_element(instruction, element));
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
  const Index first = list_attribute(instruction, kFirstNumbers);  // of a module on blocks
  const Index last = list_attribute(instruction, kLastNumbers);
  const auto size = static_cast<std::size_t>(shape.elements());
  for_each_index(shape.sizes, [&](const Index& index) {
    if (cells.size() % kCheckInterval == 0)
      work_.spend(std::min(kCheckInterval, size - cells.size()));
    const std::int64_t value = along.empty() ? 0 : index[static_cast<std::size_t>(along[0])];
    if (first.empty()) {
      cells.push_back(arithmetic_.integer(value, shape.type));
      return;
    }
    const auto block = static_cast<std::size_t>(value);
    if (first.at(block) == last.at(block)) {
      cells.push_back(arithmetic_.integer(first[block], shape.type));
    } else if constexpr (A::kHasRanges) {
      cells.push_back(arithmetic_.range(first[block], last[block], shape.type));
    } else {
      cells.push_back(arithmetic_.arbitrary(Algebra::hash(0x10A, block), shape.type));
    }
  });
  return array(shape, std::move(cells), {});
}

template <typename A>
auto LocalOperations<A>::elementwise(const Instruction& instruction, Element code,
                                     const Operands& operands) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const auto size = static_cast<std::size_t>(shape.elements());
  require(operands.size() == number_of_operands(code), instruction, "its operands");
  const ElementOperation operation =
      operation_of(instruction, code, operands.back()->array.shape.type);
  if (operation.from.is_complex() || shape.type.is_complex()) {
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
  Cells cells(size);
  Cells arguments(operands.size());
  const bool is_with_itself =
      code == Element::Compare && operands[0]->array.cells == operands[1]->array.cells;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % kCheckInterval == 0) work_.spend(std::min(kCheckInterval, size - i));
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Cells& all = *operands[k]->array.cells;
      arguments[k] = all[all.size() == size ? i : 0];
    }
    if constexpr (std::is_same_v<A, Numbers>) {
      if (is_with_itself && std::isfinite(arguments[0].error))
        arguments[0].error = arguments[1].error = 0;
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
const std::optional<ElementOperation>& LocalOperations<A>::binary(std::uint32_t computation) {
  const auto [found, added] = binaries_.try_emplace(computation);
  if (!added) return found->second;
  const Computation& called = module_.computations[computation];
  const Instruction& root = called.instructions[called.root];
  const auto code = element_of(root.opcode);
  if (called.instructions.size() != 3 || called.parameters.size() != 2 || !code ||
      root.operands != called.parameters || *code == Element::Compare ||
      number_of_operands(*code) != 2) {
    return found->second;
  }
  const ElementType type = root.shape.array.type;
  for (const Instruction& instruction : called.instructions) {
    if (instruction.shape.is_tuple || instruction.shape.array.type != type) return found->second;
  }
  found->second = ElementOperation{*code, Direction::Eq,          type,
                                   type,  root.attributes.others, root.attributes.accuracy};
  return found->second;
}

template <typename A>
auto LocalOperations<A>::either(const Cell& a, const Cell& b, ElementType type) -> Cell {
  const Cell any = arithmetic_.arbitrary(0, *ElementType::from_xla("pred"));
  return apply({Element::Select, {}, type, type}, {any, a, b});
}

template <typename A>
auto LocalOperations<A>::combine(std::uint32_t reducer, const Cell& a, const Cell& b) -> Cell {
  std::size_t members = 1;
  if constexpr (A::kMayRound) members = arithmetic_.members_of(a) + arithmetic_.members_of(b);
  work_.spend(members);
  const Cell operands[] = {a, b};
  if (const auto& operation = binary(reducer)) return arithmetic_.apply(*operation, operands);
  const Cells results = call(reducer, {a, b});
  if (results.size() != 1) {
    give_up(module_.computations[reducer].instructions[0], "it is not a reducer of two elements");
  }
  return results[0];
}

/// A dynamic slice or update at an index of which one component depends on inputs: every element is
/// chosen by it. Opaque for several.
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
void LocalOperations<A>::note_opaque(const Instruction& instruction) {
  if (std::find(opaque_.begin(), opaque_.end(), &instruction) == opaque_.end()) {
    opaque_.push_back(&instruction);
  }
}

template <typename A>
std::uint64_t LocalOperations<A>::fingerprint(std::uint32_t computation) {
  if (fingerprints_.size() <= computation) fingerprints_.resize(module_.computations.size(), 0);
  if (fingerprints_[computation] != 0) return fingerprints_[computation];
  const Computation& called = module_.computations[computation];
  std::vector<std::uint64_t> values;  // of instructions, whatever their order
  for (const Instruction& instruction : called.instructions) {
    std::uint64_t state = text_hash(instruction.opcode, 0xC0);
    state = text_hash(to_string(instruction.shape) + layouts_text(instruction.shape), state);
    state = text_hash(attributes_text(instruction), state);
    // Two executions of these are not the same.
    const bool is_unlike_others =
        is_impure(instruction) || (instruction.literal && instruction.literal->elided);
    if (is_unlike_others) state = text_hash(instruction.name, Algebra::hash(state, number_ + 1));
    if (instruction.literal) {
      for (const LiteralElement& element : instruction.literal->elements) {
        state = Algebra::hash(text_hash(to_string(element), state), ' ');
      }
    }
    for (const std::uint32_t operand : instruction.operands) {
      state = Algebra::hash(state, values[operand]);
    }
    for (const std::uint32_t inner : instruction.called) {
      state = Algebra::hash(state, fingerprint(inner));
    }
    values.push_back(state);
  }
  return fingerprints_[computation] = values[called.root] | 1U;
}

template <typename A>
std::uint64_t LocalOperations<A>::digest(const std::vector<const Tree*>& values) {
  std::uint64_t state = Algebra::hash(0xD0, values.size());
  const auto add = [&](const auto& self, const Tree& tree) -> void {
    for (const Tree& part : tree.parts) self(self, part);
    if (tree.is_tuple || !tree.array.cells) return;
    state = text_hash(to_string(tree.array.shape), state);
    work_.spend(tree.array.cells->size());
    if constexpr (A::kSymbolic) {
      for (const Cell& cell : *tree.array.cells) {
        state = Algebra::hash(state, arithmetic_.exact(cell, tree.array.shape.type).value);
      }
    }
  };
  for (const Tree* value : values) add(add, *value);
  return state;
}

template <typename A>
auto LocalOperations<A>::filled_like(
    const Tree& value,
    const std::function<Cell(std::size_t number, ElementType type)>& element) const -> Tree {
  std::size_t number = 0;
  const auto fill = [&](const auto& self, const Tree& like) -> Tree {
    Tree tree;
    tree.is_tuple = like.is_tuple;
    for (const Tree& part : like.parts) tree.parts.push_back(self(self, part));
    if (like.is_tuple || !like.array.cells) return tree;
    work_.spend(like.array.cells->size());
    Cells cells;
    for (std::size_t i = 0; i < like.array.cells->size(); ++i) {
      cells.push_back(element(number++, like.array.shape.type));
    }
    tree.array.shape = like.array.shape;
    tree.array.cells = std::make_shared<const Cells>(std::move(cells));
    return tree;
  };
  return fill(fill, value);
}

template <typename A>
auto LocalOperations<A>::opaque(const Instruction& instruction, const Operands& operands,
                                std::uint64_t salt) -> Tree {
  note_opaque(instruction);
  Cells all;
  // What is a function of the elements also depends on how they are arranged.
  std::uint64_t state = text_hash(instruction.opcode, Algebra::hash(0x0A, salt));
  state = text_hash(to_string(instruction.shape), state);
  const auto collect = [&](const auto& self, const Tree& tree) -> void {
    if (tree.is_tuple) {
      for (const Tree& part : tree.parts) self(self, part);
    } else if (tree.array.cells) {
      state = text_hash(to_string(tree.array.shape), state);
      work_.spend(tree.array.cells->size());
      for (const Cell& cell : *tree.array.cells) {
        all.push_back(arithmetic_.exact(cell, tree.array.shape.type));
      }
    }
  };
  for (const Tree* operand : operands) collect(collect, *operand);
  state = text_hash(attributes_text(instruction), state);
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
        if (i % 1024 == 0) work_.spend(9 * std::min<std::size_t>(size - i, 1024));
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
    if (!is_real(arithmetic_)) {
      std::vector<ArrayShape> shapes;
      for (const std::uint32_t operand : instruction.operands) {
        shapes.push_back(called.instructions[operand].shape.array);
      }
      const bool packs = opcode == "tuple" || opcode == "get-tuple-element";
      require(packs || !mixes_types(instruction, shapes), instruction, "it mixes types");
    }
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
        values.push_back({listed_element(instruction, instruction.literal->elements[0])});
        continue;
      }
      // A bitcast to another type is of the bits.
      const bool of_bits =
          opcode == "bitcast" && instruction.operands.size() == 1 &&
          called.instructions[instruction.operands[0]].shape.array.type != shape.type;
      const auto code = of_bits ? Element::BitcastConvert : element_of(opcode);
      if (!code) {
        const bool same = opcode == "copy" || opcode == "bitcast" || opcode == "reshape" ||
                          opcode == "broadcast" || is_forwarding(instruction);
        require(same && operands.size() == 1, instruction, "in a function of scalars");
        values.push_back(std::move(operands));
        continue;
      }
      require(operands.size() == number_of_operands(*code), instruction, "its operands");
      const Instruction& last = called.instructions[instruction.operands.back()];
      const bool is_complex = shape.type.is_complex() || last.shape.array.type.is_complex();
      require(!is_complex, instruction, "complex numbers in a function of scalars");
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
  if (!is_real(arithmetic_)) {
    std::vector<ArrayShape> shapes;
    shapes.reserve(operands.size());
    for (const Tree* operand : operands) shapes.push_back(operand->array.shape);
    if (mixes_types(instruction, shapes)) return opaque(instruction, operands, 0);
  }
  const auto is_complex = [](const ArrayShape& shape) { return shape.type.is_complex(); };
  const bool computes = !instruction.called.empty() || opcode == "dot" || opcode == "convolution";
  if (computes && std::ranges::any_of(instruction.shape.arrays(), is_complex))
    return opaque(instruction, operands, 0);
  if (const auto code = element_of(opcode)) return elementwise(instruction, *code, operands);
  if (opcode == "constant") return constant(instruction);
  if (opcode == "iota") return iota(instruction);
  if (opcode == "dynamic-slice") return dynamic_slice(instruction, operands);
  if (opcode == "dynamic-update-slice") return dynamic_update_slice(instruction, operands);
  if (opcode == "reduce") return reduce(instruction, operands);
  if (opcode == "reduce-window") return reduce_window(instruction, operands);
  if (opcode == "select-and-scatter") return select_and_scatter(instruction, operands);
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
template class LocalOperations<Expressions>;

template class LocalOperations<Ranges>;

}  // namespace p2::hlo::interpreter
