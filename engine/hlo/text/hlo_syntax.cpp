// Shapes and constants in HLO text.

#include "engine/hlo/text/hlo_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo {
namespace {

constexpr int kMaxTupleDepth = 64;

/// `[8,4]`, or `[<=8,?]` for sizes that are not fixed.
void read_sizes(TextReader& reader, ArrayShape& shape) {
  reader.expect("[", "after the element type");
  if (reader.accept("]")) return;
  std::vector<std::string> sizes;
  bool fixed = true;
  do {
    const bool unbounded = reader.accept("?");
    const bool bounded = !unbounded && reader.accept("<=");
    fixed = fixed && !unbounded && !bounded;
    shape.sizes.push_back(unbounded ? 1 : reader.integer("a size", 0, kMaxElements));
    sizes.push_back(unbounded ? "?" : fmt::format("{}{}", bounded ? "<=" : "", shape.sizes.back()));
  } while (reader.accept(","));
  reader.expect("]", "after the sizes");
  if (!fixed) {
    shape.foreign = fmt::format("{}[{}]", shape.type.name(), fmt::join(sizes, ","));
    shape.type = *ElementType::from_xla("opaque");
  }
  require_addressable(reader, shape);
}

/// `{1,0}` or `{1,0:T(8,128)}`: tiling does not change the logical order of the elements.
void read_layout(TextReader& reader, ArrayShape& shape) {
  reader.expect("{", "before a layout");
  std::vector<bool> seen(shape.sizes.size());
  while (!reader.next_is("}") && !reader.next_is(":")) {
    const auto dimension = static_cast<std::size_t>(
        reader.integer("a dimension", 0, static_cast<std::int64_t>(shape.sizes.size()) - 1));
    if (seen[dimension]) reader.fail("duplicate dimension in a layout, expected each once");
    seen[dimension] = true;
    shape.minor_to_major.push_back(static_cast<std::int64_t>(dimension));
    if (!reader.accept(",") && !reader.next_is("}") && !reader.next_is(":")) {
      reader.unexpected("',' or '}'");
    }
  }
  if (reader.accept(":")) reader.raw("}", false);
  reader.expect("}", "after a layout");
  if (!shape.minor_to_major.empty() && shape.minor_to_major.size() != shape.sizes.size()) {
    reader.fail("a layout with missing dimensions, expected all of them");
  }
}

Shape read_nested(TextReader& reader, int depth) {
  Shape shape;
  if (reader.accept("(")) {
    if (depth == kMaxTupleDepth)
      reader.fail("a tuple nested too deeply, expected at most 64 levels");
    shape.is_tuple = true;
    while (!reader.accept(")")) {
      shape.parts.push_back(read_nested(reader, depth + 1));
      if (!reader.accept(",") && !reader.next_is(")")) reader.unexpected("',' or ')'");
    }
    return shape;
  }
  const SourcePosition where = reader.position();
  const std::string_view name = reader.word("a shape");
  const auto type = ElementType::from_xla(name);
  if (!type) {
    throw InputError(where, fmt::format("unknown element type '{}', expected one of XLA's", name));
  }
  shape.array.type = *type;
  read_sizes(reader, shape.array);
  if (reader.touches('{')) read_layout(reader, shape.array);
  return shape;
}

LiteralElement read_element(TextReader& reader) {
  if (reader.next_is("(")) return {{}, std::string(reader.raw(",}])", false))};
  const std::string_view text = reader.literal();
  if (const auto number = Number::read(text)) {
    return {*number, {}, number->is_zero() && text.starts_with('-')};
  }
  if (text.ends_with("nan") && reader.touches('(')) {  // with a payload: `nan(0x7f)`
    return {{}, fmt::format("{}{}", text, reader.raw(",}", false))};
  }
  return {{}, std::string(text)};
}

}  // namespace

void require_addressable(TextReader& reader, const ArrayShape& shape) {
  Wide product = 1;
  for (const std::int64_t size : shape.sizes) {
    product *= size;
    if (product > kMaxElements) reader.fail("a tensor of more than 2^52 elements, expected fewer");
  }
}

Shape read_shape(TextReader& reader) { return read_nested(reader, 0); }

void read_elements(TextReader& reader, std::string_view open, std::string_view close,
                   const std::optional<std::string_view>& elided, Literal& literal) {
  std::size_t depth = 0;
  do {
    if (elided && reader.accept(*elided)) {
      literal.elided = true;
    } else if (reader.accept(open)) {
      ++depth;
    } else if (depth > 0 && reader.accept(close)) {
      --depth;
    } else if (!reader.accept(",")) {
      if (literal.elements.size() == kMaxLiteralElements) {
        reader.fail(fmt::format("a constant of more than {} elements, expected fewer",
                                kMaxLiteralElements));
      }
      literal.elements.push_back(read_element(reader));
    }
  } while (depth > 0);
}

Literal read_literal(TextReader& reader, const ArrayShape& shape) {
  Literal literal{shape, {}};
  read_elements(reader, "{", "}", "...", literal);
  const auto listed = static_cast<std::int64_t>(literal.elements.size());
  if (literal.elided && listed > 0) reader.fail("some of the elements, expected all or '...'");
  if (!literal.elided && listed != shape.elements()) {
    reader.fail(
        fmt::format("{} elements for {}, expected {}", listed, to_string(shape), shape.elements()));
  }
  return literal;
}

std::string without_blanks(std::string_view text) {
  std::string kept;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') kept.push_back(text[i++]);
    if (i == text.size()) break;
    if (in_string || !is_blank(text[i])) kept.push_back(text[i]);
  }
  return kept;
}

}  // namespace p2::hlo
