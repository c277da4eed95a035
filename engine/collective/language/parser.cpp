#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/file_kind.h"
#include "engine/base/invariant.h"
#include "engine/collective/language/built_in_texts.h"
#include "engine/collective/language/expression_parser.h"
#include "engine/collective/language/traffic.h"

namespace p2::language {

namespace {

class DefinitionParser {
 public:
  DefinitionParser(std::string_view source, std::string_view text) : tokens_(source, text) {}

  Definition parse();

 private:
  void let();
  void premise();
  void post_state();
  void measure();

  TokenStream tokens_;
  Scope scope_{tokens_};
  ExpressionParser expressions_{tokens_, scope_};
  Definition result_;
};

Definition DefinitionParser::parse() {
  tokens_.expect("collective", "at the start of a definition");
  result_.name = tokens_.name("the name of the collective").text;
  result_.description = tokens_.text("a description of the collective");
  while (tokens_.at("let") || tokens_.at("require")) {
    const bool is_let = tokens_.take().text == "let";
    is_let ? let() : premise();
  }
  post_state();
  measure();
  if (tokens_.accept("traffic")) result_.traffic = parse_traffic(tokens_);
  if (tokens_.peek().kind != TokenKind::End) {
    tokens_.expected(result_.traffic ? "an operator or the end: the traffic is the last clause"
                                     : "an operator, 'traffic' or the end");
  }
  result_.lets = scope_.take_lets();
  return std::move(result_);
}

void DefinitionParser::let() {
  const Token name = tokens_.name("the name of a let");
  Let let;
  let.name = name.text;
  if (tokens_.accept("(")) {
    let.parameters = expressions_.variables();
    tokens_.expect(")", "after the parameters of a let");
  }
  scope_.check_new(name);
  tokens_.expect("=", "before the body of a let");
  const std::size_t nodes_before = scope_.nodes();
  scope_.forget_variables();
  Parsed body = expressions_.any();
  const std::size_t bound = std::max(scope_.max_variables(), let.parameters.size());
  scope_.release(let.parameters.size());
  const Extent extent = {scope_.nodes() - nodes_before, body.depth, bound - let.parameters.size()};
  let.body = std::move(body.expression);
  scope_.define(std::move(let), extent);
}

void DefinitionParser::premise() {
  const Token name = tokens_.name("the name of a premise");
  for (const Premise& known : result_.premises) {
    if (known.name == name.text) {
      tokens_.fail(name.offset,
                   fmt::format("'{}' is already a premise, expected another name", name.text));
    }
  }
  Premise premise;
  premise.name = name.text;
  premise.description = tokens_.text("a description of the premise");
  tokens_.expect(":", "before the formula of a premise");
  premise.formula = expressions_.of_type(Type::Boolean, "as the formula of a premise");
  result_.premises.push_back(std::move(premise));
}

void DefinitionParser::post_state() {
  if (!tokens_.accept("ensure")) tokens_.expected("'let', 'require' or 'ensure'");
  tokens_.expect("s'", "after 'ensure'");
  tokens_.expect("(", "after 's''");
  constexpr Sort sorts[] = {Sort::Position, Sort::Chunk, Sort::Contributor};
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0) tokens_.expect(",", "and the next of the three variables of 's''");
    const Token name = tokens_.name("the name of a variable");
    result_.post_state.variables[i] = scope_.bind(name, sorts[i]);
  }
  tokens_.expect(")", "after the three variables of 's''");
  tokens_.expect("=", "before the formula of the post-state");
  result_.post_state.formula =
      expressions_.of_type(Type::Boolean, "as the formula of the post-state");
  scope_.release(3);
}

void DefinitionParser::measure() {
  tokens_.expect("measure", "after the post-state");
  result_.measure = expressions_.of_type(Type::Integer, "as the measure");
}

}  // namespace

Definition parse_definition(std::string_view source, std::string_view text) {
  return read_as({FileKind::Definition}, std::string(source), text,
                 [&] { return DefinitionParser(source, text).parse(); });
}

const std::vector<Definition>& built_in_definitions() {
  static const std::vector<Definition> definitions = [] {
    std::vector<Definition> parsed;
    for (const BuiltInText& built_in : built_in_texts()) {
      parsed.push_back(parse_definition(built_in.source, built_in.text));
    }
    return parsed;
  }();
  return definitions;
}

const Definition& all_to_all() {
  static const Definition definition =
      parse_definition(all_to_all_text().source, all_to_all_text().text);
  return definition;
}

const Definition& built_in(std::string_view name) {
  const std::vector<Definition>& all = built_in_definitions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Definition& definition) {
    return definition.name == name;
  });
  invariant(found != all.end(), "no built-in collective of that name");
  return *found;
}

}  // namespace p2::language
