#pragma once

#include <optional>

#include <z3++.h>

#include "encodings/z3/reading.h"
#include "proofs/definition/shape.h"

namespace p2::definition {

/// One step of a collective on a group in a symbolic state, as Z3 is told of it: the definition
/// compiled to bit-vectors by encodings/z3.
class SymbolicStep {
 public:
  /// The context and the rule must outlive the step.
  SymbolicStep(z3::context& context, const z3_encoding::Rule& rule, z3_encoding::GroupRows before);

  const z3_encoding::GroupRows& before() const { return before_; }
  const z3_encoding::GroupRows& after() const { return *after_; }
  const z3_encoding::Rule& rule() const { return rule_; }

  z3::expr premise(std::size_t index) { return reading_.premise(index); }
  /// All premises hold and somebody holds something.
  z3::expr legal();
  z3::expr measure_rises();

 private:
  z3::context& context_;
  const z3_encoding::Rule& rule_;
  z3_encoding::GroupRows before_;
  z3_encoding::Reading reading_;
  std::optional<z3_encoding::GroupRows> after_;
};

/// A state of symbols, one for each row.
z3_encoding::GroupRows symbolic_rows(z3::context& context, const Shape& shape);

/// The state that a model gives to the symbols.
language::GroupState state_in(const z3::model& model, const z3_encoding::GroupRows& rows);

z3::expr holds_something(const z3_encoding::GroupRows& rows);
z3::expr same_rows(const z3_encoding::GroupRows& a, const z3_encoding::GroupRows& b);

}  // namespace p2::definition
