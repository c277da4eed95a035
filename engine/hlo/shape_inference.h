#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// Requires that the shape of every instruction, in every computation, follows from those of its
/// operands, its attributes and what it calls, as XLA defines it (ShapeInference, HloVerifier).
/// Operations without a meaning here are not looked at, and neither are arrays whose sizes are not
/// fixed. Types are alike (are_alike()): XLA's passes make operations of several floating-point
/// types, which round. Throws IllFormed, rule `shapes` or `operands`.
void check_shapes(const Module& module);

/// Requires that the sizes of a collective's results follow from those of its operands and the
/// number of members in a group, which check_shapes does not know.
void check_collective_shapes(const Flow& flow, const Node& node);

/// An instruction with the arrays that it takes and makes, those in tuples one after the other.
struct InstructionShapes {
  const Module& module;
  const Computation& computation;  ///< of the instruction
  const Instruction& instruction;
  std::vector<const ArrayShape*> operands = {};
  std::vector<const ArrayShape*> results = {};

  using Sizes = std::vector<std::int64_t>;

  const ArrayShape& operand(std::size_t k = 0) const { return *operands[k]; }
  const ArrayShape& result(std::size_t k = 0) const { return *results[k]; }
  const Attributes& attributes() const { return instruction.attributes; }
  /// Throws IllFormed where it calls fewer.
  const Computation& called(std::size_t k = 0) const;

  /// Throws IllFormed, with `what` and all shapes, unless `holds`.
  void require(bool holds, const std::string& what) const;
  void require_operands(std::size_t number) const;
  void require_sizes(const Sizes& expected, std::size_t k = 0) const;
  /// Requires the elements of result `k` to be of a type that is alike.
  void require_type(ElementType type, std::size_t k = 0) const;
};

/// Whether these are different dimensions of a shape.
bool are_dimensions(const std::vector<std::int64_t>& dimensions, const ArrayShape& shape);

/// The rules for tuples and for what calls a computation: `tuple`, `get-tuple-element`, `call`,
/// `fusion`, `while`, `conditional`, `map`, `reduce`, `sort`.
void check_calling_shapes(const InstructionShapes& of);
/// The rules for `dot`, `convolution`, `gather`, `scatter`, `reduce-window`, `select-and-scatter`.
void check_windowed_shapes(const InstructionShapes& of);
/// Requires an initial value for every array, and a reducer of their types, of `reduce` and
/// `reduce-window`.
void require_reduction(const InstructionShapes& of);
/// Requires that a computation takes two scalars of each of `types` and makes one of each.
void require_reducer(const InstructionShapes& of, const Computation& reducer,
                     const std::vector<ElementType>& types);

}  // namespace p2::hlo
