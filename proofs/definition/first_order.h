#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include <z3++.h>

#include "engine/collective/language/definition.h"

namespace p2::definition {

/// A definition as formulas of first-order logic, for groups of every size n, any number of chunks
/// k and any number of contributors: what is proved of these holds without a bound.
///
/// Positions, chunks and contributors are integers, and quantifiers stay quantifiers. Numbers that
/// are counted or computed are uninterpreted: of `count`, `sum`, `+`, `-`, `*`, `/` and `%` nothing
/// is assumed but that equal arguments give equal values. So a proof does not depend on arithmetic,
/// nor on where it wraps, and what needs arithmetic is not proved. Only operations on two known
/// numbers are computed, as the interpreter does.
class FirstOrder {
 public:
  /// Both must outlive the formulas. The group has `devices` devices, or any number from 1 on.
  FirstOrder(z3::context& context, const language::Definition& definition,
             std::optional<std::uint32_t> devices = {});

  /// All premises.
  z3::expr legal();
  z3::expr premise(std::size_t index) { return value(definition_.premises[index].formula, {}); }
  /// Whether the device at `position` holds the contribution in `chunk`, before and after.
  z3::expr before(const z3::expr& position, const z3::expr& chunk, const z3::expr& contributor);
  z3::expr after(const z3::expr& position, const z3::expr& chunk, const z3::expr& contributor);

  /// That a term is in the range of a sort.
  z3::expr within(const z3::expr& term, language::Sort sort) const;
  z3::expr integer(const char* name) const { return context_.int_const(name); }
  const z3::expr& group_size() const { return n_; }

 private:
  /// The terms of the variables in scope, by slot.
  using Terms = std::array<std::optional<z3::expr>, language::kMaxVariables>;

  z3::expr value(const language::Expression& expression, const Terms& terms);
  z3::expr connective(const language::Expression& expression, const Terms& terms);
  z3::expr quantified(const language::Expression& expression, Terms terms);
  z3::expr uninterpreted(const language::Expression& expression, const Terms& terms);
  z3::expr argument(const language::Expression& expression, const Terms& terms) const;

  z3::context& context_;
  const language::Definition& definition_;
  z3::expr n_;
  z3::expr k_;
  z3::expr contributors_;
  z3::func_decl holds_;
  std::map<const language::Expression*, unsigned> places_;  ///< of `count` and `sum`
  unsigned bound_ = 0;  ///< how many names of bound variables are in use
};

}  // namespace p2::definition
