#include "engine/hlo/stablehlo/stablehlo_types.h"

#include <fmt/format.h>

#include "engine/hlo/text/hlo_shapes.h"

namespace p2::hlo {
namespace {

constexpr int kDeepestTuple = 64;

Shape read_type(TextReader& reader, int depth);

/// `2x4xf32` or `f32`, perhaps with an encoding behind a comma.
ArrayShape read_tensor(TextReader& reader) {
  ArrayShape shape;
  const SourcePosition where = reader.position();
  std::string_view text = reader.raw(",>", false, true);
  while (true) {
    const std::size_t end = text.find('x');
    const std::string_view size = text.substr(0, end);
    const bool number = end != std::string_view::npos && !size.empty() &&
                        size.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) break;
    TextReader digits(size, where);
    shape.sizes.push_back(digits.integer("a size", 0, kMostElements));
    text.remove_prefix(end + 1);
  }
  const auto type = ElementType::called_in_mlir(text);
  if (!type) {
    throw InputError(where, fmt::format("'{}' of a tensor, expected sizes that are fixed and an "
                                        "element type",
                                        text));
  }
  shape.type = *type;
  require_addressable(reader, shape);
  if (reader.accept(",")) reader.raw(">", false, true);
  return shape;
}

Shape read_tuple(TextReader& reader, int depth) {
  if (depth == kDeepestTuple) reader.fail("a tuple nested too deeply, expected at most 64 levels");
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
  const bool foreign = reader.accept("!");
  reader.word("a type");
  if (foreign && reader.accept("<")) {
    reader.raw(">", false, true);
    reader.expect(">", "after a type");
  }
  return {};
}

}  // namespace

Shape read_mlir_type(TextReader& reader) { return read_type(reader, 0); }

std::vector<Shape> read_mlir_types(TextReader& reader) {
  std::vector<Shape> types;
  if (!reader.accept("(")) return {read_mlir_type(reader)};
  while (!reader.accept(")")) {
    types.push_back(read_mlir_type(reader));
    if (reader.next_is("{")) reader.raw(",)", false, true);  // attributes of a result
    if (!reader.accept(",") && !reader.next_is(")")) reader.unexpected("',' or ')'");
  }
  return types;
}

Literal read_dense(TextReader& reader) {
  Literal literal;
  if (reader.accept("dense_resource<")) {
    literal.elided = true;
    reader.raw(">", false, true);
  } else {
    reader.expect("dense<", "before the elements of a constant");
    if (reader.next_is("\"")) {
      reader.quoted();
      literal.elided = true;
    } else if (!reader.next_is(">")) {
      read_elements(reader, "[", "]", {}, literal);
    }
  }
  reader.expect(">", "after the elements of a constant");
  reader.expect(":", "before the type of a constant");
  literal.shape = read_mlir_type(reader).array;
  const auto listed = static_cast<std::int64_t>(literal.elements.size());
  const bool splat = listed == 1;
  if (!literal.elided && !splat && listed != literal.shape.elements()) {
    reader.fail(fmt::format("{} elements for {}, expected {}", listed, to_string(literal.shape),
                            literal.shape.elements()));
  }
  return literal;
}

IntegerTable read_integers(TextReader& reader) {
  IntegerTable table;
  const auto list = [&](std::string_view close) {
    while (!reader.accept(close)) {
      table.numbers.push_back(reader.integer("a number", -kMostElements, kMostElements));
      if (!reader.accept(",") && !reader.next_is(close)) reader.unexpected("',' or the end");
    }
    table.sizes = {static_cast<std::int64_t>(table.numbers.size())};
  };
  if (reader.accept("array<")) {
    reader.word("a type");
    if (reader.accept(":")) {
      list(">");
    } else {
      reader.expect(">", "after an array");
    }
  } else if (reader.accept("[")) {
    list("]");
  } else if (reader.next_is("dense")) {
    const Literal literal = read_dense(reader);
    table.sizes = literal.shape.sizes;
    const std::int64_t count = literal.elements.size() == 1 ? literal.shape.elements() : 0;
    if (count > static_cast<std::int64_t>(kMostLiteralElements)) {
      reader.fail("a list of too many integers, expected fewer");
    }
    for (const LiteralElement& element : literal.elements) {
      if (!element.text.empty() || !element.number.is_whole()) reader.fail("expected integers");
      table.numbers.push_back(element.number.numerator);
    }
    if (count > 1) table.numbers.resize(static_cast<std::size_t>(count), table.numbers[0]);
  } else {
    table.numbers = {reader.integer("a number", -kMostElements, kMostElements)};
    table.sizes = {1};
  }
  return table;
}

std::string read_mlir_name(TextReader& reader, std::string_view what) {
  std::string name;
  if (reader.next_is("\"")) return std::string(reader.quoted());
  name = reader.word(what);
  while (reader.touches('$')) {
    reader.accept("$");
    name += "$" + std::string(reader.peek_word());
    if (!reader.peek_word().empty()) reader.word(what);
  }
  return name;
}

}  // namespace p2::hlo
