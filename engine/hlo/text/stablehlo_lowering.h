#pragma once

#include "engine/hlo/text/stablehlo_operation.h"

namespace p2::hlo {

/// Translates the operations of StableHLO, CHLO and Shardy into instructions of XLA, as XLA's
/// exporter does (xla/hlo/translate/mhlo_to_hlo, xla/service/spmd/shardy). An operation that it
/// does not know, or of types that XLA does not have, becomes an instruction whose opcode is the
/// name of the operation.
class OperationLowering {
 public:
  OperationLowering(const Meshes& meshes, SymbolTable& symbols)
      : meshes_(meshes), symbols_(symbols) {}

  /// Appends the instructions of an operation, and names its results. Throws InputError.
  void lower(Scope& scope, MlirOperation& operation);

  /// The computation of a function; `attributes` has those of its results, or is empty. Wraps the
  /// results in their shardings.
  static Computation function_of(Scope scope, std::vector<MlirAttributes> attributes);

 private:
  void lower_direct(Scope& scope, MlirOperation& operation, std::string opcode);
  void lower_opaque(Scope& scope, MlirOperation& operation);
  void lower_constant(Scope& scope, MlirOperation& operation);
  void lower_broadcast(Scope& scope, MlirOperation& operation);
  void lower_convert(Scope& scope, MlirOperation& operation);
  void lower_select(Scope& scope, MlirOperation& operation);
  void lower_compare(Scope& scope, MlirOperation& operation);
  void lower_slice(Scope& scope, MlirOperation& operation);
  void lower_dot(Scope& scope, MlirOperation& operation);
  void lower_convolution(Scope& scope, MlirOperation& operation);
  void lower_windowed(Scope& scope, MlirOperation& operation);
  void lower_gather(Scope& scope, MlirOperation& operation);
  void lower_scatter(Scope& scope, MlirOperation& operation);
  void lower_sort(Scope& scope, MlirOperation& operation);
  void lower_fft(Scope& scope, MlirOperation& operation);
  void lower_reduce_precision(Scope& scope, MlirOperation& operation);
  void lower_random(Scope& scope, MlirOperation& operation);
  void lower_barrier(Scope& scope, MlirOperation& operation);
  void lower_call(Scope& scope, MlirOperation& operation);
  void lower_custom_call(Scope& scope, MlirOperation& operation);
  void lower_while(Scope& scope, MlirOperation& operation);
  void lower_conditional(Scope& scope, MlirOperation& operation);
  void lower_square(Scope& scope, MlirOperation& operation);
  void lower_arc_tangent(Scope& scope, MlirOperation& operation);
  void lower_top_k(Scope& scope, MlirOperation& operation);
  void lower_sharding(Scope& scope, MlirOperation& operation);
  void lower_manual_computation(Scope& scope, MlirOperation& operation);

  /// Adds the regions as computations that `instruction` calls. Their captured values become
  /// operands.
  void call_regions(MlirOperation& operation, Instruction& instruction);
  /// Reads the remaining attributes and appends the instruction.
  void complete(Scope& scope, MlirOperation& operation, Instruction instruction);

  using Rule = void (OperationLowering::*)(Scope&, MlirOperation&);
  static Rule rule_of(std::string_view name);

  const Meshes& meshes_;
  SymbolTable& symbols_;
};

}  // namespace p2::hlo
