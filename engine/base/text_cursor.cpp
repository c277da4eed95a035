#include "engine/base/text_cursor.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2 {
namespace {

bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
bool starts_name(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}
bool continues_name(char ch) { return starts_name(ch) || is_digit(ch) || ch == '-' || ch == '.'; }

std::string found(char ch) {
  if (ch == '\0') return "the end";
  const auto byte = static_cast<unsigned char>(ch);
  return byte < 0x80 ? fmt::format("'{}'", ch) : fmt::format("the byte 0x{:02x}", byte);
}

}  // namespace

bool TextCursor::starts_comment() const {
  if (comments_ == Comments::Hash) return text_[offset_] == '#';
  return text_[offset_] == '/' && offset_ + 1 < text_.size() &&
         (text_[offset_ + 1] == '/' || text_[offset_ + 1] == '*');
}

void TextCursor::skip_comment() {
  if (comments_ == Comments::Hash || text_[offset_ + 1] == '/') {
    while (offset_ < text_.size() && text_[offset_] != '\n') ++offset_;
    return;
  }
  offset_ += 2;
  while (offset_ < text_.size() && text_.substr(offset_, 2) != "*/") step();
  if (offset_ == text_.size()) fail_here("the comment is not closed, expected '*/'");
  offset_ += 2;
}

void TextCursor::skip_blanks() {
  while (offset_ < text_.size()) {
    const char ch = text_[offset_];
    if (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n') {
      step();
    } else if (starts_comment()) {
      skip_comment();
    } else {
      return;
    }
  }
}

bool TextCursor::at_end() {
  skip_blanks();
  return offset_ == text_.size();
}

char TextCursor::peek() { return at_end() ? '\0' : text_[offset_]; }

bool TextCursor::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(offset_, token.size()) != token) return false;
  offset_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token, std::string_view context) {
  if (!accept(token)) unexpected(fmt::format("'{}' {}", token, context));
}

std::string_view TextCursor::rest() {
  skip_blanks();
  return text_.substr(offset_);
}

std::string_view TextCursor::take(std::size_t length) {
  const std::string_view taken = rest().substr(0, length);
  offset_ += taken.size();
  return taken;
}

std::string_view TextCursor::peek_name() {
  skip_blanks();
  if (offset_ == text_.size() || !starts_name(text_[offset_])) return {};
  std::size_t end = offset_ + 1;
  while (end < text_.size() && continues_name(text_[end])) ++end;
  return text_.substr(offset_, end - offset_);
}

std::string TextCursor::name(std::string_view what) {
  const std::string_view word = peek_name();
  if (word.empty()) unexpected(what);
  offset_ += word.size();
  return std::string(word);
}

std::uint64_t TextCursor::integer(std::string_view what, std::uint64_t low, std::uint64_t high) {
  const auto complain = [&](std::string_view seen) {
    fail(fmt::format("found {}, expected {} from {} to {}", seen, what, low, high));
  };
  if (!is_digit(peek())) complain(found(peek()));
  const std::size_t start = offset_;
  std::size_t end = start;
  std::uint64_t value = 0;
  bool fits = true;
  for (; end < text_.size() && is_digit(text_[end]); ++end) {
    const auto digit = static_cast<std::uint64_t>(text_[end] - '0');
    fits = fits && digit <= high && value <= (high - digit) / 10;
    if (fits) value = value * 10 + digit;
  }
  if (!fits || value < low || value > high) complain(text_.substr(start, end - start));
  offset_ = end;
  return value;
}

SourcePosition TextCursor::position() {
  skip_blanks();
  return {std::string(source_), line_, offset_ - line_start_ + 1 + column_offset_};
}

void TextCursor::fail(std::string_view message) { throw InputError(position(), message); }

void TextCursor::fail_here(std::string_view message) const {
  const std::size_t column = std::min(offset_, text_.size()) - line_start_ + 1 + column_offset_;
  throw InputError({std::string(source_), line_, column}, message);
}

void TextCursor::unexpected(std::string_view expected) {
  fail(fmt::format("found {}, expected {}", found(peek()), expected));
}

TextCursor::Mark TextCursor::mark() {
  skip_blanks();
  return {offset_, line_, line_start_, column_offset_};
}

void TextCursor::reset(const Mark& mark) {
  offset_ = mark.offset;
  line_ = mark.line;
  line_start_ = mark.line_start;
  column_offset_ = mark.column_offset;
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && starts_name(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char ch) { return continues_name(ch) && ch != '.'; });
}

void expect_end(TextCursor& cursor, std::string_view what) {
  if (!cursor.at_end()) {
    cursor.fail(
        fmt::format("unexpected {} after {}, expected the end", found(cursor.peek()), what));
  }
}

namespace {

/// What a character that begins with `first` is like: how many bytes it has, 0 where none begins
/// so, and the range of its second byte.
struct Form {
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xbf;
};

Form form_of(unsigned first) {
  if (first < 0x80) return {1};
  if (first < 0xc2) return {};
  if (first < 0xe0) return {2};
  if (first == 0xe0) return {3, 0xa0};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first < 0xf0) return {3};
  if (first == 0xf0) return {4, 0x90};
  if (first < 0xf4) return {4};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {};
}

}  // namespace

std::size_t first_not_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t at = 0;
  while (at < text.size()) {
    Form form = form_of(byte(at));
    if (form.length == 0 || form.length > text.size() - at) return at;
    for (std::size_t i = 1; i < form.length; ++i) {
      if (byte(at + i) < form.low || byte(at + i) > form.high) return at;
      form.low = 0x80;
      form.high = 0xbf;
    }
    at += form.length;
  }
  return at;
}

}  // namespace p2
