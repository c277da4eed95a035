#pragma once

#include "engine/hlo/module.h"
#include "engine/hlo/text_reader.h"

namespace p2::hlo {

/// Reads `f32[8,16]{1,0}`, `pred[]` or `(f32[8], (s32[], s32[]))`. Throws InputError for sizes that
/// are not fixed, for more than kMostElements, and for tuples that are nested deeply.
Shape read_shape(TextReader& reader);

/// Reads what stands in `constant(…)`: a number, or nested braces of numbers that `shape` holds.
Literal read_literal(TextReader& reader, const ArrayShape& shape);

/// Whatever nests between `open` and `close` or stands alone, element by element: numbers, or the
/// text of what is none. An element may be `elided`, which the literal then says. Throws InputError
/// for what is neither, and for more than kMostLiteralElements.
void read_elements(TextReader& reader, std::string_view open, std::string_view close,
                   const std::optional<std::string_view>& elided, Literal& literal);

/// Throws InputError at the reader unless the sizes multiply to at most kMostElements.
void require_addressable(TextReader& reader, const ArrayShape& shape);

}  // namespace p2::hlo
