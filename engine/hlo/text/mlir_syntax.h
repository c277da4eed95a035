#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {

/// Parses `tensor<2x4xf32>`, `tuple<…>`, `!stablehlo.token` or a type without elements. Types that
/// XLA's shapes cannot represent (quantized, without fixed sizes, of other dialects) have elements
/// of type `opaque`.
Shape read_mlir_type(TextReader& reader);
/// Parses `(T, U)` or `T`.
std::vector<Shape> read_mlir_types(TextReader& reader);

/// Parses `dense<…> : tensor<…>`: numbers, bit patterns `0xFF800000`, or all bytes as a string.
/// Elements given as a resource count as elided.
Literal read_dense(TextReader& reader);

/// The integers of `array<i64: 1, 2>`, `[1, 2]`, `dense<…> : tensor<…>` or `3 : i64`, in row-major
/// order.
struct IntegerTable {
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> sizes;
};
IntegerTable read_integers(TextReader& reader);

/// The name of a value, symbol or block without its first character: letters, digits, `_$.-`, or
/// a string.
std::string read_mlir_name(TextReader& reader, std::string_view what);

/// Skips `loc(…)`, if it follows.
void skip_location(TextReader& reader);

/// The value of an attribute, unparsed. Empty for a unit attribute. Views the text of the module.
struct MlirAttribute {
  std::string_view text;
  SourcePosition where;
};
using MlirAttributes = std::map<std::string, MlirAttribute, std::less<>>;

/// Parses `name = value, unit}` up to `close`, which is consumed.
MlirAttributes read_entries(TextReader& reader, std::string_view close);
/// Parses `{name = value, unit}`.
MlirAttributes read_dictionary(TextReader& reader);
/// The entries of `#dialect.name<name = value>`, `<name = value>` or `{name = value}`.
MlirAttributes entries_of(const MlirAttribute& attribute);

/// The value of an attribute outside of a dictionary: `[0] x [2]`, `DEFAULT`, `<@mesh, [{}]>`.
std::string_view read_value(TextReader& reader);

/// The word of an enumeration: `DEFAULT` of `#stablehlo<rng_algorithm DEFAULT>` or `DEFAULT`.
std::string enum_word(const MlirAttribute& attribute);
std::string lower_case(std::string_view text);

/// The text that `read` consumes of `reader`, without trailing blanks.
template <typename Read>
std::string_view consumed(TextReader& reader, const Read& read) {
  const std::string_view before = reader.rest();
  read();
  const std::string_view after = reader.rest();
  const std::string_view text = before.substr(0, before.size() - after.size());
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace p2::hlo
