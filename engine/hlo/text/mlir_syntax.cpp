// Types, names and attributes in the textual form of MLIR (MLIR Language Reference).

#include "engine/hlo/text/mlir_syntax.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

constexpr int kMaxTypeDepth = 64;
/// The largest number of equal integers that an attribute may stand for.
constexpr std::int64_t kMaxSplat = 65536;

Shape read_type(TextReader& reader, int depth);

ElementType opaque_type() { return *ElementType::from_xla("opaque"); }

/// The sizes before the element type of `2x?xf32`; -1 for `?`. Advances `text` to the element type.
std::vector<std::int64_t> sizes_of(std::string_view& text, const SourcePosition& where) {
  std::vector<std::int64_t> sizes;
  while (true) {
    const std::size_t end = text.find('x');
    if (end == std::string_view::npos || end == 0) return sizes;
    const std::string_view size = text.substr(0, end);
    if (size == "?") {
      sizes.push_back(-1);
    } else if (size.find_first_not_of("0123456789") == std::string_view::npos) {
      TextReader digits(size, where);
      sizes.push_back(digits.integer("a size", 0, kMaxElements));
    } else {
      return sizes;
    }
    text.remove_prefix(end + 1);
  }
}

/// Replaces the sizes `?` by their bounds: `#stablehlo.bounds<?, 8>`; by 1 without a bound.
void bound_sizes(std::vector<std::int64_t>& sizes, std::string_view encoding,
                 const SourcePosition& where) {
  const std::size_t start = encoding.find_last_of("<[");
  if (start != std::string_view::npos) {
    TextReader reader(encoding.substr(start + 1), where);
    for (std::int64_t& size : sizes) {
      if (!reader.accept("?") && !reader.peek_word().empty()) {
        const std::int64_t bound = reader.integer("a bound", 0, kMaxElements);
        if (size < 0) size = bound;
      }
      reader.accept(",");
    }
  }
  std::ranges::replace(sizes, -1, 1);
}

/// `2x4xf32` or `f32`, optionally followed by a comma and an encoding.
ArrayShape read_tensor(TextReader& reader) {
  ArrayShape shape;
  const SourcePosition where = reader.position();
  const std::string_view text = reader.raw(",>", false, true);
  std::string_view type_name = text;
  shape.sizes = sizes_of(type_name, where);
  const std::string_view encoding =
      reader.accept(",") ? reader.raw(">", false, true) : std::string_view{};
  const bool dynamic = std::find(shape.sizes.begin(), shape.sizes.end(), -1) != shape.sizes.end();
  const auto type = type_name.starts_with('!') ? opaque_type() : ElementType::from_mlir(type_name);
  if (!type) {
    throw InputError(where,
                     fmt::format("'{}' of a tensor, expected sizes and an element type", text));
  }
  if (dynamic) bound_sizes(shape.sizes, encoding, where);
  shape.type = dynamic ? opaque_type() : *type;
  if (shape.type == opaque_type()) {
    shape.foreign = fmt::format("tensor<{}{}{}>", text, encoding.empty() ? "" : ", ", encoding);
  }
  require_addressable(reader, shape);
  return shape;
}

Shape read_tuple(TextReader& reader, int depth) {
  if (depth == kMaxTypeDepth) reader.fail("a tuple nested too deeply, expected at most 64 levels");
  Shape shape{true, {}, {}};
  while (!reader.accept(">")) {
    shape.parts.push_back(read_type(reader, depth + 1));
    if (!reader.accept(",") && !reader.next_is(">")) reader.unexpected("',' or '>'");
  }
  return shape;
}

Shape read_type(TextReader& reader, int depth) {
  if (reader.accept("tensor<")) {
    Shape shape{false, read_tensor(reader), {}};
    reader.expect(">", "after the type of a tensor");
    return shape;
  }
  if (reader.accept("tuple<")) return read_tuple(reader, depth);
  const bool of_dialect = reader.accept("!");
  const std::string_view name = reader.word("a type");
  const bool parameters = reader.touches('<');
  if (parameters) {
    reader.expect("<", "after the name of a type");
    reader.raw(">", false, true);
    reader.expect(">", "after a type");
  }
  const bool token = of_dialect && name.ends_with(".token");
  Shape shape;
  if (!token && (of_dialect || parameters)) shape.array.type = opaque_type();
  return shape;
}

/// Skips one bracket, string, `#name<…>`, `@name` or `word<…>`.
void skip_value(TextReader& reader) {
  const auto skip_bracket = [&](std::string_view open, std::string_view close) {
    if (!reader.accept(open)) return false;
    reader.raw(close, false, true);
    reader.expect(close, "after a value");
    return true;
  };
  if (skip_bracket("[", "]") || skip_bracket("{", "}") || skip_bracket("(", ")") ||
      skip_bracket("<", ">")) {
    return;
  }
  if (reader.next_is("\"")) {
    reader.quoted();
  } else if (reader.accept("@")) {
    read_mlir_name(reader, "a symbol");
  } else {
    reader.accept("#");
    reader.word("the value of an attribute");
    if (reader.touches('<')) skip_bracket("<", ">");
  }
}

/// Whether the `x` between the lists of two operands follows: `[0] x [2]`.
bool accept_product(TextReader& reader) {
  if (!reader.next_is("x")) return false;
  const TextReader::Mark before = reader.mark();
  reader.accept("x");
  if (reader.next_is("[")) return true;
  reader.reset(before);
  return false;
}

}  // namespace

Shape read_mlir_type(TextReader& reader) { return read_type(reader, 0); }

std::vector<Shape> read_mlir_types(TextReader& reader) {
  std::vector<Shape> types;
  if (!reader.accept("(")) return {read_mlir_type(reader)};
  while (!reader.accept(")")) {
    types.push_back(read_mlir_type(reader));
    if (!reader.accept(",") && !reader.next_is(")")) reader.unexpected("',' or ')'");
  }
  return types;
}

IntegerTable read_integers(TextReader& reader) {
  IntegerTable table;
  const auto number = [&] {
    if (reader.accept_word("true")) return std::int64_t{1};
    if (reader.accept_word("false")) return std::int64_t{0};
    return reader.integer("a number", -kMaxElements, kMaxElements);
  };
  const auto list = [&](std::string_view open, std::string_view close) {
    int depth = 1;
    while (depth > 0) {
      if (reader.accept(close)) {
        --depth;
      } else if (!open.empty() && reader.accept(open)) {
        ++depth;
        continue;
      } else {
        table.numbers.push_back(number());
      }
      if (depth > 0 && !reader.accept(",") && !reader.next_is(close)) {
        reader.unexpected("',' or the end");
      }
    }
    table.sizes = {static_cast<std::int64_t>(table.numbers.size())};
  };
  if (reader.accept("array<")) {
    reader.word("a type");
    if (reader.accept(":")) {
      list("", ">");
    } else {
      reader.expect(">", "after an array");
      table.sizes = {0};
    }
  } else if (reader.accept("[")) {
    list("[", "]");
  } else if (reader.next_is("dense")) {
    const Literal literal = read_dense(reader);
    table.sizes = literal.shape.sizes;
    const std::int64_t count = literal.elements.size() == 1 ? literal.shape.elements() : 0;
    if (count > kMaxSplat) {
      reader.fail("a list of too many integers, expected fewer");
    }
    if (literal.elided) reader.fail("a list without its integers, expected them");
    for (const LiteralElement& element : literal.elements) {
      if (!element.text.empty() || !element.number.is_whole()) reader.fail("expected integers");
      table.numbers.push_back(element.number.numerator);
    }
    if (count > 1) table.numbers.resize(static_cast<std::size_t>(count), table.numbers[0]);
    if (count == 0 && literal.elements.size() == 1) table.numbers.clear();
  } else {
    table.numbers = {number()};
    table.sizes = {1};
  }
  return table;
}

std::string read_mlir_name(TextReader& reader, std::string_view what) {
  std::string name;
  if (reader.next_is("\"")) return std::string(reader.quoted());
  if (!reader.next_is("$")) name = reader.word(what);
  while (reader.touches('$')) {
    reader.accept("$");
    name += "$";
    const bool ends = reader.touches(' ') || reader.peek_word().empty();
    if (!ends) name += reader.word(what);
  }
  return name;
}

void skip_location(TextReader& reader) {
  if (!reader.accept_word("loc")) return;
  reader.expect("(", "before a location");
  reader.raw(")", false, true);
  reader.expect(")", "after a location");
}

MlirAttributes read_entries(TextReader& reader, std::string_view close) {
  MlirAttributes entries;
  while (!reader.accept(close)) {
    const std::string name = read_mlir_name(reader, "an attribute");
    MlirAttribute& entry = entries[name];
    const bool has_value = reader.accept("=");
    entry.where = reader.position();
    entry.text = has_value ? reader.raw(",}>", false, true) : std::string_view{};
    if (has_value && entry.text.empty()) reader.unexpected("the value of an attribute");
    if (!reader.accept(",") && !reader.next_is(close)) {
      reader.unexpected(fmt::format("',' or '{}'", close));
    }
  }
  return entries;
}

MlirAttributes read_dictionary(TextReader& reader) {
  reader.expect("{", "before attributes");
  return read_entries(reader, "}");
}

MlirAttributes entries_of(const MlirAttribute& attribute) {
  TextReader reader(attribute.text, attribute.where);
  if (reader.accept("#")) reader.word("the name of an attribute");
  if (reader.accept("{")) return read_entries(reader, "}");
  reader.expect("<", "before the entries of an attribute");
  return read_entries(reader, ">");
}

std::string_view read_value(TextReader& reader) {
  return consumed(reader, [&] {
    skip_value(reader);
    while (reader.accept("->") || accept_product(reader)) skip_value(reader);
  });
}

std::string enum_word(const MlirAttribute& attribute) {
  std::string_view text = attribute.text;
  if (text.ends_with('>')) text.remove_suffix(1);
  return std::string(text.substr(text.find_last_of(" <") + 1));
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char ch) {
    return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  });
  return result;
}

}  // namespace p2::hlo
