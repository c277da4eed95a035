#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/operator.h"
#include "engine/collective/language/scope.h"
#include "engine/collective/language/token_stream.h"

namespace p2::language {

/// An expression, where it starts in the text, and how deep it is with all lets written out.
struct Parsed {
  Expression expression;
  std::size_t offset = 0;
  std::size_t depth = 1;
};

/// Puts expressions together and keeps them well-typed and within the limits. Both arguments must
/// outlive the builder.
class ExpressionBuilder {
 public:
  ExpressionBuilder(const TokenStream& tokens, Scope& scope) : tokens_(tokens), scope_(scope) {}

  /// An expression without operands yet.
  Parsed node(Kind kind, Type type, std::size_t offset);
  void adopt(Parsed& parent, Parsed operand);
  Parsed combine(const Operator& op, Parsed left, Parsed right);
  Parsed call(std::uint32_t let, std::size_t offset);
  /// Fails with `found a …, expected a … PLACE` where `found` has another type.
  void require_type(const Parsed& found, Type type, std::string_view place) const;

 private:
  void deepen(Parsed& parent, std::size_t below) const;

  const TokenStream& tokens_;
  Scope& scope_;
};

}  // namespace p2::language
