#pragma once

#include <string>
#include <vector>

#include "engine/hlo/text/stablehlo_operation.h"

namespace p2::hlo {

/// An instruction with the name, position and operands of an operation.
Instruction instruction_for(const MlirOperation& operation, std::string opcode);

/// Appends the instruction and names the results; of several results, elements of its tuple.
void append_results(Scope& scope, const MlirOperation& operation, Instruction instruction);

/// Appends a tuple of `parts`.
std::uint32_t append_tuple(Scope& scope, const MlirOperation& operation,
                           const std::vector<std::uint32_t>& parts);
/// Appends an element of the tuple `whole`.
std::uint32_t append_element(Scope& scope, const MlirOperation& operation, std::uint32_t whole,
                             std::size_t index);

/// The computation of a scope: its root is what it returns, of several values as a tuple.
Computation computation_of(Scope scope);

/// Whether an operand or result has elements of a type that XLA does not have.
bool has_foreign_type(const Scope& scope, const MlirOperation& operation);

/// A tuple of these types, or the only one.
Shape shape_of(const std::vector<Shape>& types);

}  // namespace p2::hlo
