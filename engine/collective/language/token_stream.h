#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text_cursor.h"

namespace p2::language {

enum class TokenKind : std::uint8_t { Word, Number, Text, Symbol, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;   ///< as written; a Text without its quotes
  std::size_t offset = 0;  ///< of its first byte
};

/// The lexer of the language: cuts the whole text into tokens, then serves them from left to right.
/// The word after `require` may contain hyphens, and `s'` is one word. Holds views: `source` and
/// `text` must outlive it.
class TokenStream {
 public:
  /// Throws InputError at the first byte that is not UTF-8, or that starts no token.
  TokenStream(std::string_view source, std::string_view text);

  const Token& peek() const { return tokens_[next_]; }
  /// The next token, consumed; at the end, End again and again.
  const Token& take();
  /// Whether the word or symbol `spelling` comes next.
  bool at(std::string_view spelling) const;
  bool accept(std::string_view spelling);
  /// Consumes `spelling` or fails with `found …, expected 'SPELLING' CONTEXT`.
  void expect(std::string_view spelling, std::string_view context);
  /// The next token, if it is a text or a name: a word without a meaning of its own.
  std::string text(std::string_view what);
  const Token& name(std::string_view what);
  /// Whether a let of that name follows.
  bool defines_later(std::string_view name) const;

  /// Fails at the next token with `found …, expected WHAT`.
  [[noreturn]] void expected(std::string_view what) const;
  [[noreturn]] void fail(std::size_t offset, std::string_view message) const;

 private:
  /// The next token of the text.
  Token scan(TextCursor& cursor) const;
  std::size_t length_of_word(std::string_view rest) const;
  std::size_t length_of_text(std::string_view rest, std::size_t offset) const;
  std::size_t length_of_symbol(std::string_view rest, std::size_t offset) const;

  std::string_view source_;
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

}  // namespace p2::language
