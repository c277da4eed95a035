#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/expression_builder.h"
#include "engine/collective/language/scope.h"
#include "engine/collective/language/token_stream.h"

namespace p2::language {

/// Reads whatever brings names into scope or refers to them. All arguments must outlive the parser.
class NameParser {
 public:
  NameParser(TokenStream& tokens, Scope& scope, ExpressionBuilder& build)
      : tokens_(tokens), scope_(scope), build_(build) {}

  /// Variables with their domains; they stay in scope until released.
  std::vector<Variable> variables();
  /// A variable, or a call of a let.
  Parsed named();
  /// s(position, chunk, contributor); the next word is `s`.
  Parsed holds();

 private:
  Parsed call(const Token& name, std::uint32_t let);
  void arguments(Parsed& application, std::string_view name, const std::vector<Sort>& sorts);
  Parsed argument(std::string_view what, Sort sort);
  [[noreturn]] void unknown(const Token& name) const;

  TokenStream& tokens_;
  Scope& scope_;
  ExpressionBuilder& build_;
};

}  // namespace p2::language
