#include "engine/collective/language/token_stream.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "p2/error.h"
#include "engine/base/text_cursor.h"

namespace p2::language {
namespace {

constexpr std::array<std::string_view, 24> kReserved = {
    "collective",   "let",   "require", "ensure", "measure", "forall",
    "exists",       "count", "sum",     "in",     "group",   "chunks",
    "contributors", "iff",   "implies", "or",     "and",     "not",
    "true",         "false", "n",       "k",      "s",       "s'"};

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
  if (bad < text.size()) {  // its names and texts come to stand in JSON, which has UTF-8 alone
    fail(bad, fmt::format("found the byte 0x{:02x}, expected text in UTF-8",
                          static_cast<unsigned char>(text[bad])));
  }
  do {
    tokens_.push_back(scan());
  } while (tokens_.back().kind != TokenKind::End);
}

void TokenStream::skip_blanks() {
  while (offset_ < text_.size()) {
    const char ch = text_[offset_];
    if (ch == '#') {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else if (ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r') {
      ++offset_;
    } else {
      return;
    }
  }
}

Token TokenStream::scan() {
  skip_blanks();
  if (offset_ == text_.size()) return {TokenKind::End, {}, offset_};
  const std::size_t start = offset_;
  const char ch = text_[start];
  if (ch == '"') return scan_text();
  if (!continues_word(ch)) return scan_symbol();
  const bool digits = is_digit(ch);
  const bool premise = !tokens_.empty() && tokens_.back().kind == TokenKind::Word &&
                       tokens_.back().text == "require";
  while (offset_ < text_.size()) {
    const char next = text_[offset_];
    if (!(digits ? is_digit(next) : continues_word(next) || (premise && next == '-'))) break;
    ++offset_;
  }
  if (text_.substr(start, offset_ - start) == "s" && text_.substr(offset_, 1) == "'") ++offset_;
  const TokenKind kind = digits ? TokenKind::Number : TokenKind::Word;
  return {kind, text_.substr(start, offset_ - start), start};
}

Token TokenStream::scan_text() {
  const std::size_t start = offset_;
  const std::size_t end = text_.find_first_of("\"\n", start + 1);
  if (end == std::string_view::npos || text_[end] == '\n') {
    fail(start, "found '\"', expected a text that ends with '\"' on the same line");
  }
  offset_ = end + 1;
  return {TokenKind::Text, text_.substr(start + 1, end - start - 1), start};
}

Token TokenStream::scan_symbol() {
  const std::string_view rest = text_.substr(offset_);
  for (const std::string_view symbol : kSymbols) {
    if (!rest.starts_with(symbol)) continue;
    offset_ += symbol.size();
    return {TokenKind::Symbol, symbol, offset_ - symbol.size()};
  }
  fail(offset_, fmt::format("found '{}', expected a name, a number, a text or one of {}",
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
