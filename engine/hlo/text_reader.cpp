#include "engine/hlo/text_reader.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

bool in_word(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
         ch == '_' || ch == '-' || ch == '.';
}

char closing(char open, bool angles) {
  switch (open) {
    case '<':
      return angles ? '>' : '\0';
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    default:
      return '\0';
  }
}

}  // namespace

void TextReader::step() {
  if (text_[offset_++] == '\n') {
    ++line_;
    line_start_ = offset_;
    column_offset_ = 0;
  }
}

void TextReader::skip_comment() {
  if (text_[offset_ + 1] == '/') {
    while (offset_ < text_.size() && text_[offset_] != '\n') ++offset_;
    return;
  }
  offset_ += 2;
  while (offset_ < text_.size() && text_.substr(offset_, 2) != "*/") step();
  if (offset_ == text_.size()) fail("the comment is not closed, expected '*/'");
  offset_ += 2;
}

void TextReader::skip_blanks() {
  while (offset_ < text_.size()) {
    const char ch = text_[offset_];
    if (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n') {
      step();
    } else if (ch == '/' && offset_ + 1 < text_.size() &&
               (text_[offset_ + 1] == '/' || text_[offset_ + 1] == '*')) {
      skip_comment();
    } else {
      return;
    }
  }
}

bool TextReader::at_end() {
  skip_blanks();
  return offset_ == text_.size();
}

char TextReader::peek() { return at_end() ? '\0' : text_[offset_]; }

bool TextReader::next_is(std::string_view token) {
  skip_blanks();
  return text_.substr(offset_, token.size()) == token;
}

bool TextReader::accept(std::string_view token) {
  if (!next_is(token)) return false;
  offset_ += token.size();
  return true;
}

void TextReader::expect(std::string_view token, std::string_view context) {
  if (!accept(token)) unexpected(fmt::format("'{}' {}", token, context));
}

std::string_view TextReader::peek_word() {
  skip_blanks();
  std::size_t end = offset_;
  while (end < text_.size() && in_word(text_[end])) {
    if (text_[end] == '-' && text_.substr(end, 2) == "->") break;
    ++end;
  }
  return text_.substr(offset_, end - offset_);
}

std::string_view TextReader::word(std::string_view what) {
  const std::string_view found = peek_word();
  if (found.empty()) unexpected(what);
  offset_ += found.size();
  return found;
}

bool TextReader::accept_word(std::string_view word) { return peek_word() == word && accept(word); }

std::int64_t TextReader::integer(std::string_view what, std::int64_t low, std::int64_t high) {
  skip_blanks();
  const char* const begin = text_.data() + offset_;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (end == begin) unexpected(fmt::format("{} from {} to {}", what, low, high));
  if (error != std::errc() || value < low || value > high) {
    fail(fmt::format("found {}, expected {} from {} to {}", std::string_view(begin, end), what, low,
                     high));
  }
  offset_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::string_view TextReader::literal() {
  skip_blanks();
  std::size_t end = offset_;
  while (end < text_.size() && (in_word(text_[end]) || text_[end] == '+')) ++end;
  if (end == offset_) unexpected("a number");
  const std::string_view found = text_.substr(offset_, end - offset_);
  offset_ = end;
  return found;
}

std::string_view TextReader::quoted() {
  expect("\"", "to start a string");
  const std::size_t start = offset_;
  while (offset_ < text_.size() && text_[offset_] != '"') {
    if (text_[offset_] == '\\' && offset_ + 1 < text_.size()) step();
    step();
  }
  if (offset_ == text_.size()) fail("the string is not closed, expected '\"'");
  const std::string_view found = text_.substr(start, offset_ - start);
  ++offset_;
  return found;
}

std::string_view TextReader::raw(std::string_view stops, bool line, bool angles) {
  skip_blanks();
  const std::size_t start = offset_;
  std::string open;
  while (offset_ < text_.size()) {
    const char ch = text_[offset_];
    if (open.empty() && (stops.find(ch) != std::string_view::npos || (line && ch == '\n'))) break;
    if (ch == '"') {
      quoted();
      continue;
    }
    const bool arrow = ch == '>' && offset_ > 0 && text_[offset_ - 1] == '-';
    if (const char close = closing(ch, angles); close != '\0') open.push_back(close);
    if (ch == ')' || ch == ']' || ch == '}' || (angles && ch == '>' && !arrow)) {
      if (open.empty() || open.back() != ch) unexpected("brackets that fit");
      open.pop_back();
    }
    step();
  }
  if (!open.empty()) fail(fmt::format("found the end, expected '{}'", open.back()));
  std::string_view found = text_.substr(start, offset_ - start);
  while (!found.empty() && std::string_view(" \t\r\n").find(found.back()) != std::string_view::npos)
    found.remove_suffix(1);
  return found;
}

SourcePosition TextReader::position() {
  skip_blanks();
  return {std::string(source_), line_, offset_ - line_start_ + 1 + column_offset_};
}

TextReader::Mark TextReader::mark() {
  skip_blanks();
  return {offset_, line_, line_start_, column_offset_};
}

void TextReader::back_to(const Mark& mark) {
  offset_ = mark.offset;
  line_ = mark.line;
  line_start_ = mark.line_start;
  column_offset_ = mark.column_offset;
}

void TextReader::fail(const std::string& message) {
  const std::size_t column = std::min(offset_, text_.size()) - line_start_ + 1 + column_offset_;
  throw InputError({std::string(source_), line_, column}, message);
}

void TextReader::unexpected(std::string_view expected) {
  const char ch = peek();
  const auto byte = static_cast<unsigned char>(ch);
  fail(ch == '\0'    ? fmt::format("found the end, expected {}", expected)
       : byte < 0x80 ? fmt::format("found '{}', expected {}", ch, expected)
                     : fmt::format("found the byte 0x{:02x}, expected {}", byte, expected));
}

}  // namespace p2::hlo
