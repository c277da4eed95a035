#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/hlo/module.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {

/// Parses `f32[8,16]{1,0}`, `pred[]` or `(f32[8], (s32[], s32[]))`. Arrays whose sizes are not
/// fixed, `f32[<=8]`, are foreign. Throws InputError for more than kMaxElements, and for tuples
/// nested too deeply.
Shape read_shape(TextReader& reader);

/// Parses the argument of `constant(…)`: a number, or nested braces with the elements of `shape`.
Literal read_literal(TextReader& reader, const ArrayShape& shape);

/// Parses a single element or lists nested in `open` and `close`, and appends all elements to
/// `literal`. The token `elided` in place of an element sets `literal.elided`. Throws InputError
/// for other text, and for more than kMaxLiteralElements.
void read_elements(TextReader& reader, std::string_view open, std::string_view close,
                   const std::optional<std::string_view>& elided, Literal& literal);

/// Throws InputError at the reader's position unless `shape` has at most kMaxElements elements.
void require_addressable(TextReader& reader, const ArrayShape& shape);

/// `text` without blanks outside of strings, for comparison.
std::string without_blanks(std::string_view text);

}  // namespace p2::hlo
