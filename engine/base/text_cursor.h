#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"

namespace p2 {

inline bool is_blank(char ch) { return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n'; }

/// Reads a small text language from left to right, remembering where it stands so that every
/// complaint names a line and a column. Blanks and `#` comments (to the end of the line) are
/// skipped before every token. Holds views: `source` and `text` must outlive it.
class TextCursor {
 public:
  /// How comments are written: `# …`, or `// …` and `/* … */`.
  enum class Comments : std::uint8_t { Hash, Slashes };

  TextCursor(std::string_view source, std::string_view text, Comments comments = Comments::Hash)
      : source_(source), text_(text), comments_(comments) {}
  /// For a part, at `where`, of another text. `where` must outlive the cursor.
  TextCursor(std::string_view text, const SourcePosition& where, Comments comments)
      : source_(where.source),
        text_(text),
        comments_(comments),
        line_(where.line),
        column_offset_(where.column - 1) {}

  /// True when only blanks and comments are left.
  bool at_end();
  /// The next byte that is not blank, or '\0' at the end; nothing is consumed.
  char peek();
  /// Consumes `token` if the text goes on with it.
  bool accept(std::string_view token);
  /// Consumes `token` or fails with `expected TOKEN CONTEXT`.
  void expect(std::string_view token, std::string_view context);
  /// A name: letters, digits, `_`, `-`, `.`, not starting with a digit, `-` or `.`.
  std::string name(std::string_view what);
  /// The same, but consumes nothing and returns an empty view where no name follows.
  std::string_view peek_name();
  /// An unsigned decimal integer from `low` to `high`.
  std::uint64_t integer(std::string_view what, std::uint64_t low, std::uint64_t high);

  /// The unread text from the next token on: for languages with tokens of their own.
  std::string_view rest();
  /// Consumes the first `length` bytes of rest(), which contain no line break, and returns them.
  std::string_view take(std::size_t length);

  /// Where the next token starts. Constant time: line breaks are counted as they are skipped.
  SourcePosition position();
  std::string_view source() const { return source_; }
  /// Throws InputError at the next token.
  [[noreturn]] void fail(std::string_view message);
  /// Fails with `found 'x', expected WHAT`.
  [[noreturn]] void unexpected(std::string_view expected);

  /// The start of the next token, for backtracking.
  struct Mark {
    std::size_t offset, line, line_start, column_offset;
  };
  Mark mark();
  void reset(const Mark& mark);

 protected:
  // For languages with tokens of their own.
  void skip_blanks();
  /// Consumes one byte.
  void step() {
    if (text_[offset_++] == '\n') {
      ++line_;
      line_start_ = offset_;
      column_offset_ = 0;
    }
  }
  std::string_view text() const { return text_; }
  std::size_t offset() const { return offset_; }
  /// Moves within the line.
  void set_offset(std::size_t offset) { offset_ = offset; }
  /// Throws InputError at the current byte.
  [[noreturn]] void fail_here(std::string_view message) const;

 private:
  bool starts_comment() const;
  void skip_comment();

  std::string_view source_;
  std::string_view text_;
  Comments comments_;
  std::size_t offset_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t column_offset_ = 0;  ///< of the first line, for a part of another text
};

/// Whether `text` may name a level or an axis: letters, digits, `_` and `-`, starting with a letter
/// or `_`. No `.`, since `level.axis` names a factor.
bool is_plain_name(std::string_view text);

/// Fails unless the whole text has been read: `unexpected 'x' after WHAT, expected the end`.
void expect_end(TextCursor& cursor, std::string_view what);

/// The offset of the first byte that is not UTF-8 (RFC 3629: no surrogates, no longer forms than
/// needed); the length of the text where all of it is.
std::size_t first_not_utf8(std::string_view text);

/// A table in comma-separated values: a line of column names, then one line per row. Values with a
/// comma stand in double quotes; blank lines and lines that start with `#` are skipped; blanks
/// around values are not part of them.
class CsvTable {
 public:
  /// Throws InputError for a table without columns, a column named twice, a row with more or fewer
  /// values than there are columns, and a quote that is not closed or closed too early.
  CsvTable(std::string source, const std::string& text);

  std::size_t rows() const { return rows_.size(); }
  bool has(std::string_view column) const;
  /// The value as text. Throws InputError when there is no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// The value as a positive finite decimal number. Throws InputError when it is none.
  double positive(std::size_t row, std::string_view column) const;
  /// Where a row stands.
  SourcePosition position(std::size_t row) const;
  /// Throws InputError when there is a column that is not one of `known`.
  void only_columns(const std::vector<std::string_view>& known) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> values;
  };

  std::vector<std::string> split(std::string_view line, std::size_t number) const;

  std::string source_;
  Row columns_;
  std::vector<Row> rows_;
};

}  // namespace p2
