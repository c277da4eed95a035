#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {

/// Parses `tensor<2x4xf32>`, `tuple<…>` or a type without elements. Throws InputError for dynamic
/// sizes.
Shape read_mlir_type(TextReader& reader);
/// Parses `(T, U)` or `T`.
std::vector<Shape> read_mlir_types(TextReader& reader);

/// Parses `dense<…> : tensor<…>`. Elements given as bytes or as a resource count as elided.
Literal read_dense(TextReader& reader);

/// The integers of `array<i64: 1, 2>`, `[1, 2]`, `dense<…> : tensor<…>` or `3 : i64`, in row-major
/// order.
struct IntegerTable {
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> sizes;
};
IntegerTable read_integers(TextReader& reader);

/// The name of a value, symbol or block without its first character: letters, digits, `_$.-`.
std::string read_mlir_name(TextReader& reader, std::string_view what);

/// The device meshes of a file, by name.
using Meshes = std::map<std::string, std::vector<MeshAxis>>;

/// Parses an attribute of a StableHLO operation into `instruction`. `value` is empty for a unit
/// attribute. Throws InputError.
void read_mlir_attribute(const std::string& name, std::string_view value,
                         const SourcePosition& where, const Meshes& meshes,
                         Instruction& instruction);

/// The opcode of XLA for `stablehlo.broadcast_in_dim`, …; of other operations the name without its
/// dialect.
std::string xla_opcode(std::string_view name);

}  // namespace p2::hlo
