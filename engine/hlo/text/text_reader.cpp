#include "engine/hlo/text/text_reader.h"

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

bool TextReader::next_is(std::string_view token) {
  skip_blanks();
  return text().substr(offset(), token.size()) == token;
}

std::string_view TextReader::peek_word() {
  skip_blanks();
  std::size_t end = offset();
  while (end < text().size() && in_word(text()[end])) {
    if (text()[end] == '-' && text().substr(end, 2) == "->") break;
    ++end;
  }
  return text().substr(offset(), end - offset());
}

std::string_view TextReader::word(std::string_view what) {
  if (watch_) watch_->step();
  const std::string_view found = peek_word();
  if (found.empty()) unexpected(what);
  set_offset(offset() + found.size());
  return found;
}

bool TextReader::accept_word(std::string_view word) { return peek_word() == word && accept(word); }

std::int64_t TextReader::integer(std::string_view what, std::int64_t low, std::int64_t high) {
  skip_blanks();
  const char* const begin = text().data() + offset();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text().data() + text().size(), value);
  if (end == begin) unexpected(fmt::format("{} from {} to {}", what, low, high));
  if (error != std::errc() || value < low || value > high) {
    fail(fmt::format("found {}, expected {} from {} to {}", std::string(begin, end), what, low,
                     high));
  }
  set_offset(offset() + static_cast<std::size_t>(end - begin));
  return value;
}

std::string_view TextReader::literal() {
  skip_blanks();
  std::size_t end = offset();
  while (end < text().size() && (in_word(text()[end]) || text()[end] == '+')) ++end;
  if (end == offset()) unexpected("a number");
  const std::string_view found = text().substr(offset(), end - offset());
  set_offset(end);
  return found;
}

std::string_view TextReader::quoted() {
  expect("\"", "to start a string");
  const std::size_t start = offset();
  while (offset() < text().size() && text()[offset()] != '"') {
    if (text()[offset()] == '\\' && offset() + 1 < text().size()) step();
    step();
  }
  if (offset() == text().size()) fail_here("the string is not closed, expected '\"'");
  const std::string_view found = text().substr(start, offset() - start);
  set_offset(offset() + 1);
  return found;
}

std::string_view TextReader::raw(std::string_view stops, bool line, bool angles) {
  return until(stops, line ? End::Line : End::Stop, angles);
}

std::string_view TextReader::value(std::string_view stops) {
  return until(stops, End::Value, false);
}

std::string_view TextReader::until(std::string_view stops, End ends, bool angles) {
  const bool is_value = ends == End::Value;
  skip_blanks();
  const std::size_t start = offset();
  std::string open;
  while (offset() < text().size()) {
    const char ch = text()[offset()];
    const bool is_comment = is_value && text().substr(offset(), 2) == "/*";
    const bool is_next = ch == '%' && offset() > start;  // a name
    const bool ends_value =
        is_value && (is_blank(ch) || is_next || is_comment || text().substr(offset(), 2) == "//");
    const bool ends_here =
        ends_value || (ends == End::Line && ch == '\n') || stops.find(ch) != std::string_view::npos;
    if (open.empty() && ends_here) break;
    if (is_comment) {
      const std::size_t end = text().find("*/", offset() + 2);
      if (end == std::string_view::npos) fail_here("the comment is not closed, expected '*/'");
      while (offset() < end + 2) step();
      continue;
    }
    if (ch == '"') {
      quoted();
      if (is_value && open.empty()) break;
      continue;
    }
    const bool arrow = ch == '>' && offset() > 0 && text()[offset() - 1] == '-';
    if (const char close = closing(ch, angles); close != '\0') open.push_back(close);
    if (ch == ')' || ch == ']' || ch == '}' || (angles && ch == '>' && !arrow)) {
      if (open.empty() || open.back() != ch) unexpected("matching brackets");
      open.pop_back();
    }
    step();
    if (is_value && open.empty() && ch == '}') break;
  }
  if (!open.empty()) fail_here(fmt::format("found the end, expected '{}'", open.back()));
  std::string_view found = text().substr(start, offset() - start);
  while (!found.empty() && is_blank(found.back())) found.remove_suffix(1);
  return found;
}

}  // namespace p2::hlo
