#include "engine/base/text_cursor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
    // To XLA a carriage return ends a comment, too.
    while (offset_ < text_.size() && text_[offset_] != '\n' && text_[offset_] != '\r') ++offset_;
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
    if (is_blank(ch)) {
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

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<std::string> CsvTable::split(std::string_view line, std::size_t number) const {
  std::vector<std::string> values;
  for (;;) {
    line = trimmed(line);
    const bool quoted = line.starts_with('"');
    std::size_t end = line.find(',');
    if (quoted) {
      const std::size_t close = line.find('"', 1);
      if (close == std::string_view::npos) {
        throw InputError({source_, number, 1}, "a quote is not closed, expected another \"");
      }
      values.emplace_back(line.substr(1, close - 1));
      line.remove_prefix(close + 1);
      end = line.find(',');
      if (!trimmed(line.substr(0, end)).empty()) {
        throw InputError({source_, number, 1}, "text after a closing quote, expected a comma");
      }
    } else {
      values.emplace_back(trimmed(line.substr(0, end)));
    }
    if (end == std::string_view::npos) return values;
    line.remove_prefix(end + 1);
  }
}

CsvTable::CsvTable(std::string source, const std::string& text) : source_(std::move(source)) {
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(start, end - start));
    start = end + 1;
    if (line.empty() || line.starts_with('#')) continue;
    Row row{number + 1, split(line, number + 1)};
    if (columns_.values.empty()) {
      columns_ = std::move(row);
      continue;
    }
    if (row.values.size() != columns_.values.size()) {
      throw InputError({source_, row.line, 1},
                       fmt::format("{} values, expected {}: {}", row.values.size(),
                                   columns_.values.size(), fmt::join(columns_.values, ", ")));
    }
    rows_.push_back(std::move(row));
  }
  if (columns_.values.empty()) {
    throw InputError({source_}, "no table, expected a line of column names");
  }
  for (auto name = columns_.values.begin(); name != columns_.values.end(); ++name) {
    if (std::find(columns_.values.begin(), name, *name) == name) continue;
    throw InputError({source_, columns_.line, 1},
                     fmt::format("two columns are named \"{}\", expected different names", *name));
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.values.begin(), columns_.values.end(), column) != columns_.values.end();
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const auto found = std::find(columns_.values.begin(), columns_.values.end(), column);
  if (found == columns_.values.end()) {
    throw InputError({source_, columns_.line, 1},
                     fmt::format("no column \"{}\", expected one", column));
  }
  return rows_[row].values[static_cast<std::size_t>(found - columns_.values.begin())];
}

double CsvTable::positive(std::size_t row, std::string_view column) const {
  const std::string& value = text(row, column);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool decimal = value.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (value.empty() || *end != '\0' || !decimal || !std::isfinite(number) || number <= 0) {
    throw InputError(
        position(row),
        fmt::format("the {} \"{}\" is not a positive number, expected one such as 0.25", column,
                    value));
  }
  return number;
}

SourcePosition CsvTable::position(std::size_t row) const { return {source_, rows_[row].line, 1}; }

void CsvTable::only_columns(const std::vector<std::string_view>& known) const {
  for (const std::string& column : columns_.values) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    throw InputError({source_, columns_.line, 1}, fmt::format("unknown column \"{}\", expected {}",
                                                              column, fmt::join(known, ", ")));
  }
}

}  // namespace p2
