#pragma once

#include <optional>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text_reader.h"

namespace p2::hlo {

/// Reads `tensor<2x4xf32>`, `tuple<…>` or a type that holds no numbers. Throws InputError for sizes
/// that are not fixed.
Shape read_mlir_type(TextReader& reader);
/// `(T, U)` or `T`.
std::vector<Shape> read_mlir_types(TextReader& reader);

/// Reads `dense<…> : tensor<…>`. What is given as bytes or elsewhere is taken as elided.
Literal read_dense(TextReader& reader);

/// The integers of `array<i64: 1, 2>`, `[1, 2]`, `dense<…> : tensor<…>` or `3 : i64`, row by row.
struct IntegerTable {
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> sizes;
};
IntegerTable read_integers(TextReader& reader);

/// The name of a value, symbol or block without its first character: letters, digits, `_$.-`.
std::string read_mlir_name(TextReader& reader, std::string_view what);

}  // namespace p2::hlo
