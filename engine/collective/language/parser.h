#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/text_cursor.h"
#include "engine/collective/language/definition.h"

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

struct Operator;

/// The size of a let with its own calls inlined, which counts for every expression that calls it.
struct Extent {
  std::size_t nodes = 0;
  std::size_t depth = 0;
  std::size_t variables = 0;  ///< most in scope together in its body, without parameters
};

/// The names in scope at one place of a definition, and how much of the limits of definition.h is
/// used up. Errors are reported through `tokens`, which must outlive the scope.
class Scope {
 public:
  explicit Scope(const TokenStream& tokens) : tokens_(tokens) {}

  /// Fails if `name` is in scope already.
  void check_new(const Token& name) const;
  /// Adds the variable `name`.
  Variable bind(const Token& name, Sort sort);
  /// Removes the last `count` variables.
  void release(std::size_t count);
  const Variable* find_variable(std::string_view name) const;

  /// Adds a let; it can be called from here on.
  void define(Let let, const Extent& extent);
  std::optional<std::uint32_t> find_let(std::string_view name) const;
  const Let& let(std::uint32_t index) const { return lets_[index]; }
  std::vector<Let> take_lets() { return std::move(lets_); }

  /// Counts one more node.
  void add_node(std::size_t offset);
  /// Counts the nodes and variables of an inlined call and returns its depth.
  std::size_t add_call(std::uint32_t let, std::size_t offset);
  /// Nodes so far, and the most variables in scope together since `forget_variables`.
  std::size_t nodes() const { return nodes_; }
  std::size_t max_variables() const { return max_variables_; }
  void forget_variables() { max_variables_ = 0; }

 private:
  void count_variables(std::size_t variables, std::size_t offset);
  void count_nodes(std::size_t nodes, std::size_t offset);

  const TokenStream& tokens_;
  std::vector<Variable> variables_;
  std::vector<Let> lets_;
  std::vector<Extent> extents_;
  std::size_t nodes_ = 0;
  std::size_t max_variables_ = 0;
};

/// An expression, where it starts in the text, and how deep it is with all lets inlined.
struct Parsed {
  Expression expression;
  std::size_t offset = 0;
  std::size_t depth = 1;
};

/// A precedence-climbing parser for the expressions of a definition. Resolves names and checks
/// sorts and types on the way, so that whatever it returns is well-typed; one pass is enough
/// because every name is defined before its use. Both arguments must outlive the parser.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Scope& scope) : tokens_(tokens), scope_(scope) {}

  /// An expression of either type.
  Parsed any();
  /// An expression of type `type`; `place` says for what (`as the formula of a premise`).
  Expression of_type(Type type, std::string_view place);
  /// Variables with their domains; they stay in scope until released.
  std::vector<Variable> variables();

 private:
  const Operator* next_operator() const;
  /// An expression whose operators outside parentheses bind at least as tightly as `level`.
  Parsed at_least(int level);
  Parsed prefixed();
  Parsed negated();
  Parsed quantified(Kind kind);
  Parsed parenthesised();
  Parsed primary();
  Parsed leaf(Kind kind, Type type, std::uint64_t number = 0);
  Parsed number();
  /// A variable, or a call of a let.
  Parsed named();
  /// s(position, chunk, contributor); the next word is `s`.
  Parsed holds();
  Parsed call(const Token& name, std::uint32_t let);
  void arguments(Parsed& application, std::string_view name, const std::vector<Sort>& sorts);
  Parsed argument(std::string_view what, Sort sort);
  [[noreturn]] void fail_unknown(const Token& name) const;
  /// `parse()` one nesting level deeper.
  template <typename Parse>
  Parsed inside(Parse parse);

  /// A node without operands yet; checks kMaxNodes.
  Parsed node(Kind kind, Type type, std::size_t offset);
  /// Appends an operand.
  void adopt(Parsed& parent, Parsed operand);
  Parsed combine(const Operator& op, Parsed left, Parsed right);
  /// Records that the operands of `parent` have depth `below`; checks kMaxDepth.
  void deepen(Parsed& parent, std::size_t below) const;
  /// Fails with `found a …, expected a … PLACE` where `found` has another type.
  void require_type(const Parsed& found, Type type, std::string_view place) const;

  TokenStream& tokens_;
  Scope& scope_;
  std::size_t nesting_ = 0;
};

/// Reads what follows the word `traffic`. Throws InputError where it is malformed, or where the
/// part is not more than 0 for every group size.
Traffic parse_traffic(TokenStream& tokens);

}  // namespace p2::language
