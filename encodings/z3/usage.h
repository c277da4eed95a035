#pragma once

#include <cstdint>
#include <unordered_map>

#include "engine/collective/language/definition.h"

namespace p2::z3_encoding {

/// A set of variables of a definition: bit s stands for the variable in slot s.
using Slots = std::uint8_t;
static_assert(language::kMaxVariables <= 8);

/// How an expression depends on the variables around it.
struct Usage {
  Slots free = 0;     ///< those it depends on
  Slots numeric = 0;  ///< those whose index matters, not only which row of the state it picks
  Slots chunk = 0;    ///< those that pick a chunk of the state
  Slots single = 0;   ///< those that need one value at a time: for any other contributor the
                      ///< expression has a value for all contributors at once
};

/// The usage of every expression of one definition, by the expression's address: the definition
/// must outlive this and stay where it is.
class UsageTable {
 public:
  explicit UsageTable(const language::Definition& definition);

  const Usage& of(const language::Expression& expression) const { return usages_.at(&expression); }

 private:
  Usage note(const language::Expression& expression);
  Usage of_call(const language::Expression& expression) const;
  Usage of_parts(const language::Expression& expression);

  const language::Definition& definition_;
  std::unordered_map<const language::Expression*, Usage> usages_;
};

}  // namespace p2::z3_encoding
