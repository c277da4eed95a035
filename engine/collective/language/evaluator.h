#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/group_state.h"

namespace p2::language {

/// The values of the variables in scope, by slot.
using Assignment = std::array<std::uint32_t, kMaxVariables>;

/// The value of every expression of one definition in one state, by the rules of definition.h and
/// nothing else. A let called with few different arguments is computed once for each of them. Both
/// arguments must outlive the evaluator.
class Evaluator {
 public:
  Evaluator(const Definition& definition, const GroupState& state)
      : definition_(definition), state_(state), known_(definition.lets.size()) {}

  /// Booleans are 0 and 1.
  std::uint64_t value(const Expression& expression, const Assignment& assignment);

  /// Steps through the assignments to `variables` in lexicographic order, the others staying as
  /// they are. False when there is none, or none any more.
  bool first(const std::vector<Variable>& variables, Assignment& assignment) const;
  bool next(const std::vector<Variable>& variables, Assignment& assignment) const;

 private:
  std::uint64_t operation(const Expression& expression, const Assignment& assignment);
  std::uint64_t fold(const Expression& expression, Assignment assignment);
  std::uint64_t holds(const Expression& expression, const Assignment& assignment);
  std::uint64_t call(const Expression& expression, const Assignment& assignment);
  std::uint32_t index(const Expression& argument, const Assignment& assignment) const;
  std::uint32_t size(Sort sort) const;

  const Definition& definition_;
  const GroupState& state_;
  /// What each let was found to be, by its arguments in lexicographic order; sized when first used.
  std::vector<std::vector<std::optional<std::uint64_t>>> known_;
};

}  // namespace p2::language
