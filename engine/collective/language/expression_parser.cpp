#include "engine/collective/language/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

namespace p2::language {

/// A binary operator of the text and its translation: `kind` applied to the operands, in exchanged
/// order if `swapped`, under a Not if `negated`.
struct Operator {
  std::string_view spelling;
  int level;  ///< how tightly it binds
  Kind kind;
  Type operands;
  Type result;
  bool swapped = false;
  bool negated = false;
};

namespace {

constexpr int kLoosest = 0;
constexpr int kImpliesLevel = 1;
/// `not` binds tighter than `and` and looser than the comparisons.
constexpr int kNotLevel = 4;
constexpr int kComparisonLevel = 5;

constexpr Type B = Type::Boolean;
constexpr Type I = Type::Integer;

constexpr Operator kOperators[] = {{"iff", kLoosest, Kind::Iff, B, B},
                                   {"implies", kImpliesLevel, Kind::Implies, B, B},
                                   {"or", 2, Kind::Or, B, B},
                                   {"and", 3, Kind::And, B, B},
                                   {"=", kComparisonLevel, Kind::Equal, I, B},
                                   {"!=", kComparisonLevel, Kind::Equal, I, B, false, true},
                                   {"<", kComparisonLevel, Kind::Less, I, B},
                                   {"<=", kComparisonLevel, Kind::LessEqual, I, B},
                                   {">", kComparisonLevel, Kind::Less, I, B, true},
                                   {">=", kComparisonLevel, Kind::LessEqual, I, B, true},
                                   {"+", 6, Kind::Add, I, I},
                                   {"-", 6, Kind::Subtract, I, I},
                                   {"*", 7, Kind::Multiply, I, I},
                                   {"/", 7, Kind::Divide, I, I},
                                   {"%", 7, Kind::Modulo, I, I}};

/// The operator, or null if nothing is spelled so.
const Operator* find_operator(std::string_view spelling) {
  for (const Operator& op : kOperators) {
    if (op.spelling == spelling) return &op;
  }
  return nullptr;
}

}  // namespace

void Scope::check_new(const Token& name) const {
  const bool variable = find_variable(name.text) != nullptr;
  if (!variable && !find_let(name.text)) return;
  tokens_.fail(name.offset, fmt::format("'{}' is already a {} here, expected another name",
                                        name.text, variable ? "variable" : "let"));
}

Variable Scope::bind(const Token& name, Sort sort) {
  check_new(name);
  const auto slot = static_cast<std::uint32_t>(variables_.size());
  variables_.push_back({std::string(name.text), sort, slot});
  count_variables(variables_.size(), name.offset);
  return variables_.back();
}

void Scope::release(std::size_t count) { variables_.resize(variables_.size() - count); }

const Variable* Scope::find_variable(std::string_view name) const {
  const auto found = std::find_if(variables_.begin(), variables_.end(),
                                  [&](const Variable& known) { return known.name == name; });
  return found == variables_.end() ? nullptr : &*found;
}

void Scope::define(Let let, const Extent& extent) {
  lets_.push_back(std::move(let));
  extents_.push_back(extent);
}

std::optional<std::uint32_t> Scope::find_let(std::string_view name) const {
  for (std::uint32_t i = 0; i < lets_.size(); ++i) {
    if (lets_[i].name == name) return i;
  }
  return std::nullopt;
}

void Scope::add_node(std::size_t offset) { count_nodes(1, offset); }

std::size_t Scope::add_call(std::uint32_t let, std::size_t offset) {
  const Extent& extent = extents_[let];
  count_nodes(extent.nodes, offset);
  count_variables(variables_.size() + extent.variables, offset);
  return extent.depth;
}

void Scope::count_variables(std::size_t variables, std::size_t offset) {
  max_variables_ = std::max(max_variables_, variables);
  if (variables <= kMaxVariables) return;
  tokens_.fail(offset, fmt::format("more than {} variables bound at one place, lets inlined",
                                   kMaxVariables));
}

void Scope::count_nodes(std::size_t nodes, std::size_t offset) {
  nodes_ += nodes;
  if (nodes_ <= kMaxNodes) return;
  tokens_.fail(offset, fmt::format("the definition has more than {} operations and operands, lets "
                                   "inlined",
                                   kMaxNodes));
}

namespace {

std::string_view name_of(Type type) { return type == Type::Boolean ? "a boolean" : "an integer"; }

}  // namespace

Parsed ExpressionParser::node(Kind kind, Type type, std::size_t offset) {
  scope_.add_node(offset);
  Parsed result;
  result.expression.kind = kind;
  result.expression.type = type;
  result.offset = offset;
  return result;
}

void ExpressionParser::adopt(Parsed& parent, Parsed operand) {
  deepen(parent, operand.depth);
  parent.expression.operands.push_back(std::move(operand.expression));
}

void ExpressionParser::deepen(Parsed& parent, std::size_t below) const {
  parent.depth = std::max(parent.depth, below + 1);
  if (parent.depth <= kMaxDepth) return;
  tokens_.fail(parent.offset,
               fmt::format("the expression is nested deeper than {}, lets inlined", kMaxDepth));
}

Parsed ExpressionParser::combine(const Operator& op, Parsed left, Parsed right) {
  const std::size_t offset = left.offset;
  require_type(left, op.operands, fmt::format("to the left of '{}'", op.spelling));
  require_type(right, op.operands, fmt::format("to the right of '{}'", op.spelling));
  if (op.swapped) std::swap(left, right);
  Parsed result = node(op.kind, op.result, offset);
  adopt(result, std::move(left));
  adopt(result, std::move(right));
  if (!op.negated) return result;
  Parsed negation = node(Kind::Not, Type::Boolean, offset);
  adopt(negation, std::move(result));
  return negation;
}

void ExpressionParser::require_type(const Parsed& found, Type type, std::string_view place) const {
  if (found.expression.type == type) return;
  tokens_.fail(found.offset, fmt::format("found {}, expected {} {}", name_of(found.expression.type),
                                         name_of(type), place));
}

namespace {

constexpr std::array<std::string_view, 3> kDomains = {"group", "chunks", "contributors"};
constexpr std::array<std::string_view, 3> kSorts = {"a position", "a chunk", "a contributor"};

std::string_view word_for(Sort sort, const std::array<std::string_view, 3>& words) {
  return words[static_cast<std::size_t>(sort)];
}

}  // namespace

std::vector<Variable> ExpressionParser::variables() {
  std::vector<Variable> bound;
  do {
    std::vector<Token> names;
    do {
      names.push_back(tokens_.name("the name of a variable"));
    } while (tokens_.accept(","));
    if (!tokens_.accept("in")) tokens_.expected("',' or 'in' after the name of a variable");
    std::size_t domain = 0;
    while (domain < kDomains.size() && !tokens_.accept(kDomains[domain])) ++domain;
    if (domain == kDomains.size()) tokens_.expected("'group', 'chunks' or 'contributors'");
    for (const Token& name : names) bound.push_back(scope_.bind(name, static_cast<Sort>(domain)));
  } while (tokens_.accept(","));
  return bound;
}

Parsed ExpressionParser::named() {
  const Token name = tokens_.name("an expression");
  const std::optional<std::uint32_t> let = scope_.find_let(name.text);
  if (let) return call(name, *let);
  const Variable* variable = scope_.find_variable(name.text);
  if (variable == nullptr) fail_unknown(name);
  Parsed result = node(Kind::Variable, Type::Integer, name.offset);
  result.expression.index = variable->slot;
  return result;
}

Parsed ExpressionParser::holds() {
  Parsed result = node(Kind::Holds, Type::Boolean, tokens_.take().offset);
  arguments(result, "s", {Sort::Position, Sort::Chunk, Sort::Contributor});
  return result;
}

Parsed ExpressionParser::call(const Token& name, std::uint32_t let) {
  Parsed result = node(Kind::Call, scope_.let(let).body.type, name.offset);
  result.expression.index = let;
  deepen(result, scope_.add_call(let, name.offset));
  std::vector<Sort> sorts;
  for (const Variable& parameter : scope_.let(let).parameters) sorts.push_back(parameter.sort);
  if (!sorts.empty()) {
    arguments(result, name.text, sorts);
  } else if (tokens_.at("(")) {
    tokens_.expected(fmt::format("no arguments: '{}' takes none", name.text));
  }
  return result;
}

void ExpressionParser::arguments(Parsed& application, std::string_view name,
                                 const std::vector<Sort>& sorts) {
  const std::string all =
      fmt::format("{} argument{} of '{}'", sorts.size(), sorts.size() == 1 ? "" : "s", name);
  if (!tokens_.accept("(")) tokens_.expected(fmt::format("'(' and {}", all));
  for (std::size_t i = 0; i < sorts.size(); ++i) {
    const std::string what =
        fmt::format("argument {} of '{}', {}", i + 1, name, word_for(sorts[i], kSorts));
    if (i > 0 && !tokens_.accept(",")) tokens_.expected(fmt::format("',' and {}", what));
    adopt(application, argument(what, sorts[i]));
  }
  if (!tokens_.accept(")")) tokens_.expected(fmt::format("')' after {}", all));
}

Parsed ExpressionParser::argument(std::string_view what, Sort sort) {
  const bool position = sort == Sort::Position;
  const Token token = tokens_.peek();
  if (position && token.kind == TokenKind::Number && token.text == "0") {
    return node(Kind::Number, Type::Integer, tokens_.take().offset);
  }
  const std::string wanted = fmt::format("{}: a variable in {}{}", what, word_for(sort, kDomains),
                                         position ? " or 0" : "");
  const Variable* variable = scope_.find_variable(token.text);
  if (token.kind != TokenKind::Word || (variable == nullptr && scope_.find_let(token.text))) {
    tokens_.expected(wanted);
  }
  if (variable == nullptr) fail_unknown(tokens_.name(wanted));
  if (variable->sort != sort) {
    tokens_.fail(token.offset, fmt::format("found '{}', {}, expected {}", token.text,
                                           word_for(variable->sort, kSorts), wanted));
  }
  return named();
}

void ExpressionParser::fail_unknown(const Token& name) const {
  if (tokens_.defines_later(name.text)) {
    tokens_.fail(name.offset, fmt::format("found '{}', expected a name defined above: its let "
                                          "comes only later",
                                          name.text));
  }
  tokens_.fail(name.offset, fmt::format("found '{}', expected a variable in scope or a let defined "
                                        "above",
                                        name.text));
}

template <typename Parse>
Parsed ExpressionParser::inside(Parse parse) {
  if (++nesting_ > kMaxDepth) {
    tokens_.fail(tokens_.peek().offset, fmt::format("nested deeper than {}", kMaxDepth));
  }
  Parsed result = parse();
  --nesting_;
  return result;
}

Parsed ExpressionParser::any() { return at_least(kLoosest); }

Expression ExpressionParser::of_type(Type type, std::string_view place) {
  Parsed parsed = any();
  require_type(parsed, type, place);
  return std::move(parsed.expression);
}

const Operator* ExpressionParser::next_operator() const {
  const Token& token = tokens_.peek();
  return token.kind == TokenKind::Text ? nullptr : find_operator(token.text);
}

Parsed ExpressionParser::at_least(int level) {
  Parsed left = prefixed();
  const Operator* op = next_operator();
  while (op != nullptr && op->level >= level) {
    tokens_.take();
    const bool to_the_right = op->level == kImpliesLevel;
    Parsed right =
        to_the_right ? inside([&] { return at_least(kImpliesLevel); }) : at_least(op->level + 1);
    left = combine(*op, std::move(left), std::move(right));
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
  Parsed result = node(Kind::Not, Type::Boolean, tokens_.take().offset);
  Parsed operand = inside([&] { return at_least(kNotLevel); });
  require_type(operand, Type::Boolean, "after 'not'");
  adopt(result, std::move(operand));
  return result;
}

Parsed ExpressionParser::quantified(Kind kind) {
  const Token keyword = tokens_.take();
  const bool formula = kind == Kind::ForAll || kind == Kind::Exists;
  Parsed result = node(kind, formula ? Type::Boolean : Type::Integer, keyword.offset);
  result.expression.variables = variables();
  tokens_.expect(":", fmt::format("after the variables of '{}'", keyword.text));
  Parsed body = inside([&] { return any(); });
  require_type(body, kind == Kind::Sum ? Type::Integer : Type::Boolean,
               fmt::format("as the body of '{}'", keyword.text));
  scope_.release(result.expression.variables.size());
  adopt(result, std::move(body));
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
  Parsed result = node(kind, type, tokens_.take().offset);
  result.expression.number = number;
  return result;
}

Parsed ExpressionParser::primary() {
  if (tokens_.peek().kind == TokenKind::Number) return number();
  if (tokens_.at("true")) return leaf(Kind::Truth, Type::Boolean, 1);
  if (tokens_.at("false")) return leaf(Kind::Truth, Type::Boolean, 0);
  if (tokens_.at("n")) return leaf(Kind::GroupSize, Type::Integer);
  if (tokens_.at("k")) return leaf(Kind::ChunkCount, Type::Integer);
  if (tokens_.at("s")) return holds();
  if (tokens_.at("s'")) tokens_.expected("'s': formulas speak of the state before the step");
  return named();
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
