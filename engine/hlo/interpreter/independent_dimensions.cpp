// Dimensions along which two modules compute the same at every index, from the inputs at that index
// alone. Such dimensions are reduced to size 1 before the modules are executed.
//
// Dimensions of arrays that an operation passes on index by index are in one class. Let all of a
// class have size n, let each array have at most one of them, and write x[i] for an array at index
// i of it, or for the array itself where it has none. A class is independent if every operation f
// has, for every i,
//
//   f(x, y, …)[i] = f₁(x[i], y[i], …),
//
// where f₁ is the operation on arrays of size 1. By induction over the instructions, a module M of
// inputs x computes M(x)[i] = M₁(x[i]) on every device, where M₁ is the module of size 1; an array
// without a dimension of the class is the same for all i, as operations that would compute it from
// one that has such a dimension fix the class. The inputs of two modules are in the same classes,
// and so are the outputs. So if M₁ and M'₁ are equal for all inputs, M(x)[i] = M₁(x[i]) = M'₁(x[i])
// = M'(x)[i] for all x and i. If they differ for the input y, then M and M' differ for each x with
// x[0] = y, at index 0. The same holds for one class after the other.
//
// passed_dimensions.cpp names the dimensions that an operation passes on. All others are fixed, and
// so are all of an operation without a rule there and of what it calls.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using interpreter::Dimensions;

/// Dimensions of arrays, by number, in classes of equal size.
class DimensionClasses {
 public:
  std::uint32_t add(std::int64_t size) {
    parents_.push_back(static_cast<std::uint32_t>(parents_.size()));
    sizes_.push_back(size);
    fixed_.push_back(false);
    return parents_.back();
  }
  void fix(std::uint32_t dimension) { fixed_[root(dimension)] = true; }
  /// Puts two dimensions into one class; they are fixed if their sizes differ.
  void tie(std::uint32_t a, std::uint32_t b) {
    if (sizes_[a] != sizes_[b]) {
      fix(a);
      fix(b);
      return;
    }
    a = root(a);
    b = root(b);
    fixed_[b] = fixed_[b] || fixed_[a];
    parents_[a] = b;
  }
  std::uint32_t root(std::uint32_t dimension) {
    while (parents_[dimension] != dimension) {
      dimension = parents_[dimension] = parents_[parents_[dimension]];
    }
    return dimension;
  }
  bool is_reduced(std::uint32_t dimension) {
    return sizes_[dimension] > 1 && !fixed_[root(dimension)];
  }
  /// The sizes of the classes that are reduced, each once, largest first.
  std::vector<std::int64_t> reduced_sizes() {
    std::set<std::int64_t, std::greater<>> all;
    for (std::uint32_t each = 0; each < parents_.size(); ++each) {
      if (is_reduced(each)) all.insert(sizes_[each]);
    }
    return {all.begin(), all.end()};
  }

 private:
  std::vector<std::uint32_t> parents_;
  std::vector<std::int64_t> sizes_;
  std::vector<bool> fixed_;
};

/// The dimensions of an array, or of those of a tuple.
struct ValueDimensions {
  const ArrayShape* shape = nullptr;  ///< null: a tuple
  std::vector<std::uint32_t> numbers = {};
  std::vector<ValueDimensions> parts = {};
};

void append_arrays(const ValueDimensions& value, std::vector<const ValueDimensions*>& all) {
  if (value.shape != nullptr) all.push_back(&value);
  for (const ValueDimensions& part : value.parts) append_arrays(part, all);
}

/// The dimensions of all values of a module.
class ModuleDimensions {
 public:
  ModuleDimensions(const Module& module, DimensionClasses& classes, bool rounded)
      : module_(module), classes_(classes), rounded_(rounded) {
    const std::set<std::uint32_t> reached = called_from(module.entry);
    for (const Computation& computation : module.computations) {
      const bool is_reached = reached.contains(static_cast<std::uint32_t>(values_.size()));
      auto& values = values_.emplace_back();
      values.reserve(computation.instructions.size());
      for (const Instruction& each : computation.instructions) {
        if (is_reached) {
          add(each, values);
        } else {
          values.push_back(of(each.shape));
          fix(values.back());
        }
      }
    }
  }

  /// Fixes dimensions that are in one class with another one of the same array.
  void require_different() const {
    for (const Values& values : values_) {
      for (const ValueDimensions& value : values) require_different(value);
    }
  }

  std::vector<const ValueDimensions*> inputs() const {
    std::vector<const ValueDimensions*> all;
    const Computation& entry = module_.entry_computation();
    for (const std::uint32_t each : entry.parameters)
      append_arrays(values_[module_.entry][each], all);
    return all;
  }
  std::vector<const ValueDimensions*> outputs() const {
    std::vector<const ValueDimensions*> all;
    append_arrays(values_[module_.entry][module_.entry_computation().root], all);
    return all;
  }
  std::shared_ptr<const Module> reduced() const;

 private:
  using Values = std::vector<ValueDimensions>;

  ValueDimensions of(const Shape& shape) {
    ValueDimensions value;
    for (const Shape& part : shape.parts) value.parts.push_back(of(part));
    if (shape.is_tuple) return value;
    value.shape = &shape.array;
    for (const std::int64_t size : shape.array.sizes) value.numbers.push_back(classes_.add(size));
    return value;
  }
  void fix(const ValueDimensions& value) {
    for (const std::uint32_t each : value.numbers) classes_.fix(each);
    for (const ValueDimensions& part : value.parts) fix(part);
  }
  /// A computation and all that it calls.
  std::set<std::uint32_t> called_from(std::uint32_t computation) const {
    std::set<std::uint32_t> all;
    std::vector<std::uint32_t> open = {computation};
    while (!open.empty()) {
      const std::uint32_t next = open.back();
      open.pop_back();
      if (!all.insert(next).second) continue;
      for (const Instruction& each : module_.computations[next].instructions) {
        open.insert(open.end(), each.called.begin(), each.called.end());
      }
    }
    return all;
  }
  void fix_called(const Instruction& instruction) {
    for (const std::uint32_t computation : instruction.called) {
      if (fixed_.contains(computation)) continue;
      for (const std::uint32_t each : called_from(computation)) {
        if (!fixed_.insert(each).second) continue;
        for (const ValueDimensions& value : values_[each]) fix(value);
      }
    }
  }
  void tie(const ValueDimensions& a, const ValueDimensions& b) {
    const bool are_alike = (a.shape == nullptr) == (b.shape == nullptr) &&
                           a.numbers.size() == b.numbers.size() && a.parts.size() == b.parts.size();
    if (!are_alike) {
      fix(a);
      fix(b);
      return;
    }
    for (std::size_t i = 0; i < a.numbers.size(); ++i) classes_.tie(a.numbers[i], b.numbers[i]);
    for (std::size_t i = 0; i < a.parts.size(); ++i) tie(a.parts[i], b.parts[i]);
  }
  void require_different(const ValueDimensions& value) const {
    for (std::size_t i = 0; i < value.numbers.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const bool same = classes_.root(value.numbers[i]) == classes_.root(value.numbers[k]);
        if (same) classes_.fix(value.numbers[i]);
      }
    }
    for (const ValueDimensions& part : value.parts) require_different(part);
  }

  const ValueDimensions* root_of(std::uint32_t computation) const {
    return &values_[computation][module_.computations[computation].root];
  }
  /// Ties the arguments of a call to the parameters; whether they are as many.
  bool pass(std::uint32_t computation, const std::vector<const ValueDimensions*>& arguments) {
    const std::vector<std::uint32_t>& parameters = module_.computations[computation].parameters;
    if (parameters.size() != arguments.size()) return false;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      tie(values_[computation][parameters[k]], *arguments[k]);
    }
    return true;
  }
  void add(const Instruction& instruction, Values& values);
  bool tie_control(const Instruction& instruction, const ValueDimensions& result,
                   const std::vector<const ValueDimensions*>& operands);
  void pass_on(const Instruction& instruction, const std::vector<const ValueDimensions*>& operands,
               const ValueDimensions& result);
  std::optional<ValueDimensions> started(const Instruction& instruction,
                                         const std::vector<const ValueDimensions*>& operands);
  Shape reduced(const ValueDimensions& value) const;
  Instruction reduced(const Instruction& instruction, const ValueDimensions& value,
                      const Values& values) const;

  const Module& module_;
  DimensionClasses& classes_;
  bool rounded_;
  std::vector<Values> values_;
  std::set<std::uint32_t> fixed_;
};

/// The value of a start: that of its operation, whatever shape the text gives it.
std::optional<ValueDimensions> ModuleDimensions::started(
    const Instruction& instruction, const std::vector<const ValueDimensions*>& operands) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "async-start" && instruction.called.size() == 1) {
    if (pass(instruction.called[0], operands)) return *root_of(instruction.called[0]);
  } else if (opcode == "copy-start" || opcode == "async-update") {
    if (!operands.empty()) return *operands[0];
  } else if (opcode == "all-reduce-start" || opcode == "collective-permute-start") {
    if (operands.size() == 1) return *operands[0];
    ValueDimensions all;
    for (const ValueDimensions* each : operands) all.parts.push_back(*each);
    return all;
  } else if (opcode == "all-gather-start" && instruction.shape.parts.size() >= 2) {
    return of(instruction.shape.parts[1]);
  }
  return std::nullopt;
}

/// Operations that pass whole values on; false for any other.
bool ModuleDimensions::tie_control(const Instruction& instruction, const ValueDimensions& result,
                                   const std::vector<const ValueDimensions*>& operands) {
  const std::string_view opcode = instruction.opcode;
  const std::vector<std::uint32_t>& called = instruction.called;
  if (opcode == "tuple" || (is_barrier(instruction) && operands.size() > 1)) {
    if (result.parts.size() != operands.size()) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) tie(result.parts[k], *operands[k]);
    return true;
  }
  if (is_forwarding(instruction)) {
    if (operands.empty()) return false;
    tie(result, *operands[0]);
    return true;
  }
  if (opcode == "get-tuple-element") {
    const auto index = static_cast<std::size_t>(instruction.attributes.index);
    if (operands.empty() || index >= operands[0]->parts.size()) return false;
    tie(result, operands[0]->parts[index]);
    return true;
  }
  if (opcode == "call" || opcode == "fusion") {
    if (called.size() != 1 || !pass(called[0], operands)) return false;
    tie(result, *root_of(called[0]));
    return true;
  }
  if (opcode == "while") {
    if (called.size() != 2 || operands.size() != 1) return false;
    if (!pass(called[0], operands) || !pass(called[1], operands)) return false;
    tie(result, *operands[0]);
    tie(*root_of(called[1]), *operands[0]);
    return true;
  }
  if (opcode == "conditional") {
    if (operands.size() != called.size() + 1) return false;
    fix(*operands[0]);
    for (std::size_t k = 0; k < called.size(); ++k) {
      if (!pass(called[k], {operands[k + 1]})) return false;
      tie(result, *root_of(called[k]));
    }
    return true;
  }
  return opcode == "partition-id" || opcode == "replica-id";
}

void ModuleDimensions::add(const Instruction& instruction, Values& values) {
  std::vector<const ValueDimensions*> operands;
  for (const std::uint32_t operand : instruction.operands) operands.push_back(&values[operand]);
  const auto start = started(instruction, operands);
  values.push_back(start ? *start : of(instruction.shape));
  const ValueDimensions& result = values.back();
  if (instruction.opcode == "parameter") return;
  const bool is_collective_start = is_collective(base_opcode(instruction.opcode));
  if (start && !is_collective_start) return;
  if (!start && tie_control(instruction, result, operands)) return;
  const bool ends_start = instruction.opcode.ends_with("-start") && !start;
  fix_called(instruction);
  if (ends_start) {
    for (const ValueDimensions* operand : operands) fix(*operand);
    fix(result);
    return;
  }
  pass_on(instruction, operands, result);
}

/// Ties the dimensions that an operation on arrays passes on, and fixes all others.
void ModuleDimensions::pass_on(const Instruction& instruction,
                               const std::vector<const ValueDimensions*>& operands,
                               const ValueDimensions& result) {
  std::vector<const ValueDimensions*> arrays(operands);
  append_arrays(result, arrays);
  std::vector<const ArrayShape*> shapes;
  std::vector<std::vector<bool>> passes;
  bool has_tuples = false;
  for (const ValueDimensions* each : arrays) {
    has_tuples = has_tuples || each->shape == nullptr;
    shapes.push_back(each->shape);
    passes.emplace_back(each->numbers.size(), false);
  }
  std::optional<interpreter::PassedDimensions> passed;
  if (!has_tuples) {
    const auto first_result = shapes.begin() + static_cast<std::ptrdiff_t>(operands.size());
    passed = interpreter::passed_dimensions(instruction, {shapes.begin(), first_result},
                                            {first_result, shapes.end()}, rounded_);
  }
  if (passed) {
    for (const auto& [array, dimension] : passed->uniform) passes[array][dimension] = true;
    for (const auto& [a, b] : passed->same) {
      passes[a.array][a.dimension] = passes[b.array][b.dimension] = true;
      classes_.tie(arrays[a.array]->numbers[a.dimension], arrays[b.array]->numbers[b.dimension]);
    }
  }
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    for (std::size_t i = 0; i < passes[a].size(); ++i) {
      if (!passes[a][i]) classes_.fix(arrays[a]->numbers[i]);
    }
    for (const ValueDimensions& part : arrays[a]->parts) fix(part);
  }
}

Shape ModuleDimensions::reduced(const ValueDimensions& value) const {
  Shape shape;
  shape.is_tuple = value.shape == nullptr;
  for (const ValueDimensions& part : value.parts) shape.parts.push_back(reduced(part));
  if (shape.is_tuple) return shape;
  shape.array = *value.shape;
  for (std::size_t i = 0; i < value.numbers.size(); ++i) {
    if (classes_.is_reduced(value.numbers[i])) shape.array.sizes[i] = 1;
  }
  return shape;
}

/// A constant at index 0 of the dimensions that are reduced.
std::shared_ptr<const Literal> reduced_literal(const Literal& literal, const ArrayShape& shape) {
  if (literal.elements.size() == 1) {
    return std::make_shared<const Literal>(Literal{shape, literal.elements, literal.elided});
  }
  Literal result{shape, {}, literal.elided};
  const std::vector<std::int64_t> strides = interpreter::strides_of(literal.shape.sizes);
  interpreter::for_each_index(shape.sizes, [&](const std::vector<std::int64_t>& index) {
    result.elements.push_back(literal.at(interpreter::offset_of(index, strides)));
  });
  return std::make_shared<const Literal>(std::move(result));
}

Instruction ModuleDimensions::reduced(const Instruction& instruction, const ValueDimensions& value,
                                      const Values& values) const {
  Instruction result = instruction;
  result.shape = reduced(value);
  const Shape& shape = result.shape;
  const auto is_reduced = [&](const ValueDimensions& of, std::size_t i) {
    return i < of.numbers.size() && classes_.is_reduced(of.numbers[i]);
  };
  if (instruction.literal && !shape.is_tuple &&
      !shape.array.same_sizes(instruction.literal->shape)) {
    result.literal = reduced_literal(*instruction.literal, shape.array);
  }
  for (std::size_t i = 0; i < result.attributes.limits.size(); ++i) {
    if (instruction.opcode == "slice" && is_reduced(value, i)) result.attributes.limits[i] = 1;
  }
  for (std::size_t i = 0; i < result.attributes.slice_sizes.size(); ++i) {
    if (is_reduced(value, i)) result.attributes.slice_sizes[i] = 1;
  }
  if (instruction.opcode != "gather" || instruction.operands.empty()) return result;
  const ValueDimensions& from = values[instruction.operands[0]];
  const auto old = instruction.attributes.other("slice_sizes");
  if (!old ||
      std::ranges::none_of(from.numbers, [&](auto each) { return classes_.is_reduced(each); }))
    return result;
  Dimensions sizes = interpreter::list_attribute(instruction, "slice_sizes");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (is_reduced(from, i)) sizes[i] = 1;
  }
  const auto at = static_cast<std::size_t>(old->data() - instruction.attributes.others.data());
  result.attributes.others.replace(at, old->size(), fmt::format("{{{}}}", fmt::join(sizes, ",")));
  return result;
}

std::shared_ptr<const Module> ModuleDimensions::reduced() const {
  auto result = std::make_shared<Module>(module_);
  for (std::size_t c = 0; c < values_.size(); ++c) {
    for (std::size_t i = 0; i < values_[c].size(); ++i) {
      Instruction& instruction = result->computations[c].instructions[i];
      instruction = reduced(instruction, values_[c][i], values_[c]);
    }
  }
  return result;
}

/// Whether every device holds all of a tensor, where it is not elsewhere in parts of it, along
/// dimension `i`.
bool is_whole_along(const TensorRelation& relation, const ArrayShape& shard, std::size_t i) {
  if (i >= relation.whole.sizes.size() || i >= shard.sizes.size()) return false;
  const std::int64_t size = relation.whole.sizes[i];
  if (shard.sizes[i] != size) return false;
  for (const std::vector<Piece>& pieces : relation.pieces) {
    std::int64_t covered = 0;
    for (const Piece& piece : pieces) {
      if (piece.of[i] != 0 || piece.at[i] != 0 || piece.sizes[i] != size) return false;
      covered += volume(piece.sizes);
    }
    if (covered != shard.elements()) return false;
  }
  return true;
}

/// Ties the inputs or outputs of two modules, or fixes what devices hold only parts of.
void tie_related(const std::vector<const ValueDimensions*>& before,
                 const std::vector<const ValueDimensions*>& after, const ModuleRelation& relation,
                 const std::vector<TensorRelation>& tensors, DimensionClasses& classes) {
  if (!relation.is_mixed()) {
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (std::size_t i = 0; i < before[k]->numbers.size(); ++i) {
        classes.tie(before[k]->numbers[i], after[k]->numbers[i]);
      }
    }
    return;
  }
  const bool global_first = relation.before == Form::Global;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const ValueDimensions& whole = *(global_first ? before : after)[k];
    const ValueDimensions& shard = *(global_first ? after : before)[tensors[k].number];
    for (std::size_t i = 0; i < whole.numbers.size(); ++i) {
      if (is_whole_along(tensors[k], *shard.shape, i)) {
        classes.tie(whole.numbers[i], shard.numbers[i]);
      } else {
        classes.fix(whole.numbers[i]);
        classes.fix(shard.numbers.at(i));
      }
    }
  }
}

/// Whether the inputs or outputs of two modules can be tied.
bool are_alike(const std::vector<const ValueDimensions*>& before,
               const std::vector<const ValueDimensions*>& after, const ModuleRelation& relation,
               const std::vector<TensorRelation>& tensors) {
  const auto same_rank = [](const ValueDimensions* a, const ValueDimensions* b) {
    return a->numbers.size() == b->numbers.size();
  };
  if (!relation.is_mixed()) {
    return std::equal(before.begin(), before.end(), after.begin(), after.end(), same_rank);
  }
  const bool global_first = relation.before == Form::Global;
  const auto& wholes = global_first ? before : after;
  const auto& shards = global_first ? after : before;
  if (tensors.size() != wholes.size() || tensors.size() != shards.size()) return false;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const bool is_one = tensors[k].numbers.empty() && tensors[k].number < shards.size();
    if (!is_one || !same_rank(wholes[k], shards[tensors[k].number])) return false;
  }
  return true;
}

/// The tensors of a relation at their sizes in the reduced module before partitioning.
void reduce_tensors(std::vector<TensorRelation>& tensors, const std::vector<ArrayShape>& wholes) {
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    TensorRelation& tensor = tensors[k];
    for (std::size_t i = 0; i < tensor.whole.sizes.size(); ++i) {
      if (wholes[k].sizes[i] == tensor.whole.sizes[i]) continue;
      tensor.whole.sizes[i] = 1;
      for (std::vector<Piece>& pieces : tensor.pieces) {
        for (Piece& piece : pieces) piece.sizes[i] = 1;
      }
    }
  }
}

}  // namespace

std::optional<ReducedModules> reduce_dimensions(const Module& before, const Module& after,
                                                const ModuleRelation& relation,
                                                FloatEquality equality) {
  if (relation.mismatch || !before.programs.empty() || !after.programs.empty()) return std::nullopt;
  DimensionClasses classes;
  const bool rounded = equality != FloatEquality::Real;
  const ModuleDimensions first(before, classes, rounded);
  const ModuleDimensions second(after, classes, rounded);
  const bool fit = are_alike(first.inputs(), second.inputs(), relation, relation.inputs) &&
                   are_alike(first.outputs(), second.outputs(), relation, relation.outputs);
  if (!fit) return std::nullopt;
  tie_related(first.inputs(), second.inputs(), relation, relation.inputs, classes);
  tie_related(first.outputs(), second.outputs(), relation, relation.outputs, classes);
  first.require_different();
  second.require_different();
  ReducedModules result{nullptr, nullptr, relation, classes.reduced_sizes()};
  if (result.sizes.empty()) return std::nullopt;
  result.before = first.reduced();
  result.after = second.reduced();
  const bool global_first = relation.before == Form::Global;
  for (const ArrayShape& each : inputs_of(global_first ? before : after)) {
    result.relation.drawn_sizes.push_back(each.sizes);
  }
  if (relation.is_mixed()) {
    const Module& global = global_first ? *result.before : *result.after;
    reduce_tensors(result.relation.inputs, inputs_of(global));
    reduce_tensors(result.relation.outputs, outputs_of(global));
  }
  return result;
}

}  // namespace p2::hlo
