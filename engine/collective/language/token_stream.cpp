#include "engine/collective/language/token_stream.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
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

}  // namespace p2::language
