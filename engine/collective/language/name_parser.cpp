#include "engine/collective/language/name_parser.h"

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace p2::language {
namespace {

constexpr std::array<std::string_view, 3> kDomains = {"group", "chunks", "contributors"};
constexpr std::array<std::string_view, 3> kSorts = {"a position", "a chunk", "a contributor"};

std::string_view word_for(Sort sort, const std::array<std::string_view, 3>& words) {
  return words[static_cast<std::size_t>(sort)];
}

}  // namespace

std::vector<Variable> NameParser::variables() {
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

Parsed NameParser::named() {
  const Token name = tokens_.name("an expression");
  const std::optional<std::uint32_t> let = scope_.find_let(name.text);
  if (let) return call(name, *let);
  const Variable* variable = scope_.find_variable(name.text);
  if (variable == nullptr) unknown(name);
  Parsed result = build_.node(Kind::Variable, Type::Integer, name.offset);
  result.expression.index = variable->slot;
  return result;
}

Parsed NameParser::holds() {
  Parsed result = build_.node(Kind::Holds, Type::Boolean, tokens_.take().offset);
  arguments(result, "s", {Sort::Position, Sort::Chunk, Sort::Contributor});
  return result;
}

Parsed NameParser::call(const Token& name, std::uint32_t let) {
  Parsed result = build_.call(let, name.offset);
  std::vector<Sort> sorts;
  for (const Variable& parameter : scope_.let(let).parameters) sorts.push_back(parameter.sort);
  if (!sorts.empty()) {
    arguments(result, name.text, sorts);
  } else if (tokens_.at("(")) {
    tokens_.expected(fmt::format("no arguments: '{}' takes none", name.text));
  }
  return result;
}

void NameParser::arguments(Parsed& application, std::string_view name,
                           const std::vector<Sort>& sorts) {
  const std::string all =
      fmt::format("{} argument{} of '{}'", sorts.size(), sorts.size() == 1 ? "" : "s", name);
  if (!tokens_.accept("(")) tokens_.expected(fmt::format("'(' and {}", all));
  for (std::size_t i = 0; i < sorts.size(); ++i) {
    const std::string what =
        fmt::format("argument {} of '{}', {}", i + 1, name, word_for(sorts[i], kSorts));
    if (i > 0 && !tokens_.accept(",")) tokens_.expected(fmt::format("',' and {}", what));
    build_.adopt(application, argument(what, sorts[i]));
  }
  if (!tokens_.accept(")")) tokens_.expected(fmt::format("')' after {}", all));
}

Parsed NameParser::argument(std::string_view what, Sort sort) {
  const bool position = sort == Sort::Position;
  const Token token = tokens_.peek();
  if (position && token.kind == TokenKind::Number && token.text == "0") {
    return build_.node(Kind::Number, Type::Integer, tokens_.take().offset);
  }
  const std::string wanted = fmt::format("{}: a variable in {}{}", what, word_for(sort, kDomains),
                                         position ? " or 0" : "");
  const Variable* variable = scope_.find_variable(token.text);
  if (token.kind != TokenKind::Word || (variable == nullptr && scope_.find_let(token.text))) {
    tokens_.expected(wanted);
  }
  if (variable == nullptr) unknown(tokens_.name(wanted));
  if (variable->sort != sort) {
    tokens_.fail(token.offset, fmt::format("found '{}', {}, expected {}", token.text,
                                           word_for(variable->sort, kSorts), wanted));
  }
  return named();
}

void NameParser::unknown(const Token& name) const {
  if (tokens_.defines_later(name.text)) {
    tokens_.fail(name.offset, fmt::format("found '{}', expected a name defined above: its let "
                                          "comes only later",
                                          name.text));
  }
  tokens_.fail(name.offset, fmt::format("found '{}', expected a variable in scope or a let defined "
                                        "above",
                                        name.text));
}

}  // namespace p2::language
