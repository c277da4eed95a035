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
// dimension_classes.cpp makes the classes.

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
#include "engine/hlo/interpreter/dimension_classes.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using interpreter::DimensionClasses;
using interpreter::Dimensions;
using interpreter::ValueDimensions;

/// Those of a module, of which some are independent.
class IndependentDimensions : public interpreter::ModuleDimensions {
 public:
  using ModuleDimensions::ModuleDimensions;

  /// Fixes dimensions that are in one class with another one of the same array.
  void require_different() const {
    for (const Values& values : values_) {
      for (const ValueDimensions& value : values) require_different(value);
    }
  }
  std::shared_ptr<const Module> reduced() const;

 private:
  void require_different(const ValueDimensions& value) const {
    for (std::size_t i = 0; i < value.numbers.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const bool same = classes_.root(value.numbers[i]) == classes_.root(value.numbers[k]);
        if (same) classes_.fix(value.numbers[i]);
      }
    }
    for (const ValueDimensions& part : value.parts) require_different(part);
  }
  Shape reduced(const ValueDimensions& value) const;
  Instruction reduced(const Instruction& instruction, const ValueDimensions& value,
                      const Values& values) const;
};

Shape IndependentDimensions::reduced(const ValueDimensions& value) const {
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

Instruction IndependentDimensions::reduced(const Instruction& instruction,
                                           const ValueDimensions& value,
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

std::shared_ptr<const Module> IndependentDimensions::reduced() const {
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
  IndependentDimensions first(before, classes, rounded);
  IndependentDimensions second(after, classes, rounded);
  first.classify();
  second.classify();
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
