#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/text_cursor.h"

namespace p2::hlo {

/// The lexer of HLO and MLIR text: a text cursor with their words, literals, strings and brackets.
/// Comments are `// …` and `/* … */`. Holds views: `source` and `text` must outlive it.
class TextReader : public TextCursor {
 public:
  TextReader(std::string_view source, std::string_view text)
      : TextCursor(source, text, Comments::Slashes) {}
  /// For a part, at `where`, of another text. `where` must outlive the reader.
  TextReader(std::string_view text, const SourcePosition&& where) = delete;
  TextReader(std::string_view text, const SourcePosition& where)
      : TextCursor(text, where, Comments::Slashes) {}

  /// From now on, reading words throws LimitReached where a limit is exceeded. `limits` must
  /// outlive the reader.
  void obey(const Limits& limits) { watch_.emplace(limits, "reading a module"); }

  /// Before an element is appended to a vector of what is read. Throws LimitReached.
  template <typename Vector>
  void require_growth(const Vector& vector) const {
    if (watch_) watch_->require_growth(vector, 1);
  }

  bool next_is(std::string_view token);
  /// Whether `ch` follows without a blank.
  bool touches(char ch) const { return offset() < text().size() && text()[offset()] == ch; }
  /// A word: letters, digits, `_`, `-`, `.`; empty if there is none.
  std::string_view peek_word();
  std::string_view word(std::string_view what);
  /// Accepts a whole word, not a prefix.
  bool accept_word(std::string_view word);
  std::int64_t integer(std::string_view what, std::int64_t low, std::int64_t high);
  /// The text of a number: `-1.5e3`, `inf`, `true`, `0x7F`.
  std::string_view literal();
  /// The content of `"…"`, escapes unresolved.
  std::string_view quoted();
  /// The text up to a byte of `stops` or, with `line`, the end of the line, outside brackets and
  /// strings, without trailing blanks. Brackets must match; with `angles` also `<>`.
  std::string_view raw(std::string_view stops, bool line, bool angles = false);
  /// The value of an attribute of HLO: a word, a string, lists in brackets. What XLA reads as the
  /// next token is no part of it.
  std::string_view value(std::string_view stops);
  /// Throws InputError at the current byte.
  [[noreturn]] void fail(std::string_view message) const { fail_here(message); }

 private:
  enum class End { Stop, Line, Value };
  std::string_view until(std::string_view stops, End ends, bool angles);

  std::optional<LimitWatch> watch_;
};

}  // namespace p2::hlo
