#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/expression_builder.h"
#include "engine/collective/language/name_parser.h"
#include "engine/collective/language/scope.h"
#include "engine/collective/language/token_stream.h"

namespace p2::language {

/// Reads the expressions of a definition and checks names, sorts and types on the way: whatever it
/// returns is well-typed. Because every name is defined before its use, one pass is enough. Both
/// arguments must outlive the parser, which stays where it was made.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Scope& scope)
      : tokens_(tokens), scope_(scope), build_(tokens, scope), names_(tokens, scope, build_) {}
  ExpressionParser(const ExpressionParser&) = delete;
  ExpressionParser& operator=(const ExpressionParser&) = delete;

  /// An expression of either type.
  Parsed any() { return at_least(kLoosest); }
  /// An expression of type `type`; `place` says for what (`as the formula of a premise`).
  Expression of_type(Type type, std::string_view place);
  /// Variables with their domains; they stay in scope until released.
  std::vector<Variable> variables() { return names_.variables(); }

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
  /// What `parse` reads one level further inside.
  template <typename Parse>
  Parsed inside(Parse parse);

  TokenStream& tokens_;
  Scope& scope_;
  ExpressionBuilder build_;
  NameParser names_;
  std::size_t nesting_ = 0;
};

}  // namespace p2::language
