#include "engine/collective/language/parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/invariant.h"
#include "engine/base/text_cursor.h"
#include "engine/collective/language/definition.h"
#include "p2/error.h"

namespace p2::language {
namespace {

constexpr std::array<std::string_view, 26> kReserved = {
    "collective", "let", "require", "ensure",  "measure", "forall",       "exists",
    "count",      "sum", "in",      "group",   "chunks",  "contributors", "iff",
    "implies",    "or",  "and",     "not",     "true",    "false",        "n",
    "k",          "s",   "s'",      "traffic", "of"};

/// Longer spellings first, so that `<=` is not read as `<`.
constexpr std::array<std::string_view, 15> kSymbols = {"!=", "<=", ">=", "<", ">", "=", "+", "-",
                                                       "*",  "/",  "%",  "(", ")", ",", ":"};

bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
bool starts_word(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}
bool continues_word(char ch) { return starts_word(ch) || is_digit(ch); }

/// The first character of `text`, all bytes of it where it is not ASCII.
std::string_view first_character(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U) {
    ++length;
  }
  return text.substr(0, length);
}

}  // namespace

TokenStream::TokenStream(std::string_view source, std::string_view text)
    : source_(source), text_(text) {
  const std::size_t bad = first_not_utf8(text);
  if (bad < text.size()) {  // names and texts are written to JSON, which is UTF-8
    fail(bad, fmt::format("found the byte 0x{:02x}, expected text in UTF-8",
                          static_cast<unsigned char>(text[bad])));
  }
  TextCursor cursor(source, text);
  do {
    tokens_.push_back(scan(cursor));
  } while (tokens_.back().kind != TokenKind::End);
}

Token TokenStream::scan(TextCursor& cursor) const {
  const std::string_view rest = cursor.rest();
  const auto offset = static_cast<std::size_t>(rest.data() - text_.data());
  if (rest.empty()) return {TokenKind::End, {}, offset};
  if (rest[0] == '"') {
    const std::string_view quoted = cursor.take(length_of_text(rest, offset));
    return {TokenKind::Text, quoted.substr(1, quoted.size() - 2), offset};
  }
  if (is_digit(rest[0])) {
    const std::size_t length = std::min(rest.find_first_not_of("0123456789"), rest.size());
    return {TokenKind::Number, cursor.take(length), offset};
  }
  if (starts_word(rest[0])) return {TokenKind::Word, cursor.take(length_of_word(rest)), offset};
  return {TokenKind::Symbol, cursor.take(length_of_symbol(rest, offset)), offset};
}

std::size_t TokenStream::length_of_word(std::string_view rest) const {
  const bool premise = !tokens_.empty() && tokens_.back().kind == TokenKind::Word &&
                       tokens_.back().text == "require";
  std::size_t length = 0;
  while (length < rest.size() &&
         (continues_word(rest[length]) || (premise && rest[length] == '-'))) {
    ++length;
  }
  return rest.substr(0, length) == "s" && rest.substr(length, 1) == "'" ? length + 1 : length;
}

std::size_t TokenStream::length_of_text(std::string_view rest, std::size_t offset) const {
  const std::size_t end = rest.find_first_of("\"\n", 1);
  if (end == std::string_view::npos || rest[end] == '\n') {
    fail(offset, "found '\"', expected a text that ends with '\"' on the same line");
  }
  return end + 1;
}

std::size_t TokenStream::length_of_symbol(std::string_view rest, std::size_t offset) const {
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return symbol.size();
  }
  fail(offset, fmt::format("found '{}', expected a name, a number, a text or one of {}",
                           first_character(rest), fmt::join(kSymbols, " ")));
}

const Token& TokenStream::take() {
  const Token& token = tokens_[next_];
  if (token.kind != TokenKind::End) ++next_;
  return token;
}

bool TokenStream::at(std::string_view spelling) const {
  const Token& token = peek();
  return (token.kind == TokenKind::Word || token.kind == TokenKind::Symbol) &&
         token.text == spelling;
}

bool TokenStream::accept(std::string_view spelling) {
  if (!at(spelling)) return false;
  take();
  return true;
}

void TokenStream::expect(std::string_view spelling, std::string_view context) {
  if (!accept(spelling)) expected(fmt::format("'{}' {}", spelling, context));
}

std::string TokenStream::text(std::string_view what) {
  if (peek().kind != TokenKind::Text) expected(fmt::format("{} in double quotes", what));
  return std::string(take().text);
}

const Token& TokenStream::name(std::string_view what) {
  const Token& token = peek();
  if (token.kind != TokenKind::Word) expected(what);
  if (std::find(kReserved.begin(), kReserved.end(), token.text) != kReserved.end()) {
    expected(fmt::format("{}; '{}' is a word of the language", what, token.text));
  }
  return take();
}

bool TokenStream::defines_later(std::string_view name) const {
  for (std::size_t i = next_; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i].kind == TokenKind::Word && tokens_[i].text == "let" &&
        tokens_[i + 1].text == name) {
      return true;
    }
  }
  return false;
}

void TokenStream::expected(std::string_view what) const {
  const Token& token = peek();
  std::string found = fmt::format("'{}'", token.text);
  if (token.kind == TokenKind::End) found = "the end";
  if (token.kind == TokenKind::Text) found = "a text";
  fail(token.offset, fmt::format("found {}, expected {}", found, what));
}

void TokenStream::fail(std::size_t offset, std::string_view message) const {
  throw InputError(position_at(source_, text_, offset), message);
}

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
