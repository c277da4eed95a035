#include "engine/collective/language/expression_parser.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace p2::language {

template <typename Parse>
Parsed ExpressionParser::inside(Parse parse) {
  if (++nesting_ > kMaxDepth) {
    tokens_.fail(tokens_.peek().offset, fmt::format("nested deeper than {}", kMaxDepth));
  }
  Parsed result = parse();
  --nesting_;
  return result;
}

Expression ExpressionParser::of_type(Type type, std::string_view place) {
  Parsed parsed = any();
  build_.require_type(parsed, type, place);
  return std::move(parsed.expression);
}

const Operator* ExpressionParser::next_operator() const {
  const Token& token = tokens_.peek();
  return token.kind == TokenKind::Text ? nullptr : operator_spelled(token.text);
}

Parsed ExpressionParser::at_least(int level) {
  Parsed left = prefixed();
  const Operator* op = next_operator();
  while (op != nullptr && op->level >= level) {
    tokens_.take();
    const bool to_the_right = op->level == kImpliesLevel;
    Parsed right =
        to_the_right ? inside([&] { return at_least(kImpliesLevel); }) : at_least(op->level + 1);
    left = build_.combine(*op, std::move(left), std::move(right));
    const Operator* next = next_operator();
    if (op->level == kComparisonLevel && next != nullptr && next->level == kComparisonLevel) {
      tokens_.expected("the end of the comparison: comparisons do not chain");
    }
    op = next;
  }
  return left;
}

Parsed ExpressionParser::prefixed() {
  if (tokens_.at("forall")) return quantified(Kind::ForAll);
  if (tokens_.at("exists")) return quantified(Kind::Exists);
  if (tokens_.at("count")) return quantified(Kind::Count);
  if (tokens_.at("sum")) return quantified(Kind::Sum);
  if (tokens_.at("not")) return negated();
  if (tokens_.at("(")) return parenthesised();
  return primary();
}

Parsed ExpressionParser::negated() {
  Parsed result = build_.node(Kind::Not, Type::Boolean, tokens_.take().offset);
  Parsed operand = inside([&] { return at_least(kNotLevel); });
  build_.require_type(operand, Type::Boolean, "after 'not'");
  build_.adopt(result, std::move(operand));
  return result;
}

Parsed ExpressionParser::quantified(Kind kind) {
  const Token keyword = tokens_.take();
  const bool formula = kind == Kind::ForAll || kind == Kind::Exists;
  Parsed result = build_.node(kind, formula ? Type::Boolean : Type::Integer, keyword.offset);
  result.expression.variables = names_.variables();
  tokens_.expect(":", fmt::format("after the variables of '{}'", keyword.text));
  Parsed body = inside([&] { return any(); });
  build_.require_type(body, kind == Kind::Sum ? Type::Integer : Type::Boolean,
                      fmt::format("as the body of '{}'", keyword.text));
  scope_.release(result.expression.variables.size());
  build_.adopt(result, std::move(body));
  return result;
}

Parsed ExpressionParser::parenthesised() {
  const std::size_t offset = tokens_.take().offset;
  Parsed inner = inside([&] { return any(); });
  if (!tokens_.accept(")")) tokens_.expected("an operator or ')'");
  inner.offset = offset;
  return inner;
}

Parsed ExpressionParser::leaf(Kind kind, Type type, std::uint64_t number) {
  Parsed result = build_.node(kind, type, tokens_.take().offset);
  result.expression.number = number;
  return result;
}

Parsed ExpressionParser::primary() {
  if (tokens_.peek().kind == TokenKind::Number) return number();
  if (tokens_.at("true")) return leaf(Kind::Truth, Type::Boolean, 1);
  if (tokens_.at("false")) return leaf(Kind::Truth, Type::Boolean, 0);
  if (tokens_.at("n")) return leaf(Kind::GroupSize, Type::Integer);
  if (tokens_.at("k")) return leaf(Kind::ChunkCount, Type::Integer);
  if (tokens_.at("s")) return names_.holds();
  if (tokens_.at("s'")) tokens_.expected("'s': formulas speak of the state before the step");
  return names_.named();
}

Parsed ExpressionParser::number() {
  const std::string_view digits = tokens_.peek().text;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || value > kMaxNumber) {
    tokens_.expected(fmt::format("a number from 0 to {}", kMaxNumber));
  }
  return leaf(Kind::Number, Type::Integer, value);
}

}  // namespace p2::language
