#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/z3/reading.h"
#include "engine/collective/collective.h"
#include "engine/collective/language/built_in.h"
#include "engine/base/invariant.h"
#include "engine/program/instruction.h"

namespace p2::z3_encoding {

/// The definitions that a query goes by. Those of the paper unless others are given, which must
/// outlive it.
using Definitions = std::span<const language::Definition>;

class Rulebook {
 public:
  explicit Rulebook(Definitions definitions) {
    for (const language::Definition& definition : definitions) rules_.emplace_back(definition);
  }

  const std::vector<Rule>& rules() const { return rules_; }
  /// The rule of that name, which must be there.
  const Rule& called(std::string_view name) const {
    const auto found = std::find_if(rules_.begin(), rules_.end(),
                                    [&](const Rule& rule) { return rule.definition.name == name; });
    invariant(found != rules_.end(), "no definition has the name of a collective");
    return *found;
  }

 private:
  std::vector<Rule> rules_;
};

/// Dialect `published` has AllReduce only with Master: where a group exists at the first instance
/// of the levels below slice, and not everywhere.
inline bool dialect_allows(Dialect dialect, bool everyone_takes_part, std::string_view collective) {
  return dialect == Dialect::Printed || everyone_takes_part ||
         collective == to_string(Collective::AllReduce);
}

}  // namespace p2::z3_encoding
