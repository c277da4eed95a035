#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "p2/error.h"

namespace p2::hlo {

/// Reads HLO and MLIR text from left to right, and knows line and column. Blanks and the comments
/// `// …` and `/* … */` are skipped before every token. Holds views: `source` and `text` must
/// outlive it.
class TextReader {
 public:
  TextReader(std::string_view source, std::string_view text) : source_(source), text_(text) {}
  /// Part of another text, which stands at `where`; that must outlive it too.
  TextReader(std::string_view text, const SourcePosition&& where) = delete;
  TextReader(std::string_view text, const SourcePosition& where)
      : source_(where.source), text_(text), line_(where.line), column_offset_(where.column - 1) {}

  bool at_end();
  char peek();  ///< the next byte that is not blank; 0 at the end
  bool next_is(std::string_view token);
  /// Without a blank in between.
  bool touches(char ch) const { return offset_ < text_.size() && text_[offset_] == ch; }
  bool accept(std::string_view token);
  void expect(std::string_view token, std::string_view context);
  /// A word: letters, digits, `_`, `-`, `.`; empty where none starts here.
  std::string_view peek_word();
  std::string_view word(std::string_view what);
  /// Accepts a whole word, not the start of a longer one.
  bool accept_word(std::string_view word);
  std::int64_t integer(std::string_view what, std::int64_t low, std::int64_t high);
  /// A number or a name of one, as it stands: `-1.5e3`, `inf`, `true`, `0x7F`.
  std::string_view literal();
  /// `"…"` with its escapes as they stand.
  std::string_view quoted();
  /// Everything up to a byte of `stops` or, with `line`, the end of the line, outside brackets and
  /// strings. Brackets have to close; with `angles` also `<>`. Blanks at the end are left out.
  std::string_view raw(std::string_view stops, bool line, bool angles = false);

  SourcePosition position();
  /// Where the next token starts in the text, for looking back.
  struct Mark {
    std::size_t offset, line, line_start, column_offset;
  };
  Mark mark();
  void back_to(const Mark& mark);
  std::string_view source() const { return source_; }
  [[noreturn]] void fail(const std::string& message);
  /// `found 'x', expected WHAT`
  [[noreturn]] void unexpected(std::string_view expected);

 private:
  void skip_blanks();
  void skip_comment();
  void step();

  std::string_view source_;
  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t column_offset_ = 0;  ///< of the first line, where the text is part of another
};

}  // namespace p2::hlo
