#pragma once

#include <functional>
#include <optional>
#include <string>

#include "encodings/z3/ends.h"
#include "encodings/z3/lowering.h"
#include "encodings/z3/rulebook.h"

namespace p2::z3_encoding {

/// A program as terms, step by step: the conditions under which each step is legal and the rows it
/// leaves. All arguments must outlive it; `lowering` is needed where a step has a shape.
class Execution {
 public:
  Execution(z3::context& context, const Program& program, const Lowering* lowering, Dialect dialect,
            const Rulebook& rulebook);

  /// A condition of a valid program, by the name of its rule: a premise of the definition,
  /// `master`, `empty-group`, `goal-lacks` or `goal-excess`. Returns whether to go on.
  using Condition = std::function<bool(const std::string& rule, const z3::expr& holds)>;

  /// Gives the conditions of a step, in the order in which they are checked, and takes the step.
  /// False when `condition` wanted no more; the rows then mean nothing.
  bool take(const Step& step, const Condition& condition);
  /// Gives the conditions under which the present rows are the goal.
  bool finish(const Condition& condition) const;

  SystemRows& rows() { return rows_; }

 private:
  Execution(z3::context& context, const Program& program, const Lowering* lowering, Dialect dialect,
            const Rulebook& rulebook, EndRows ends);
  bool take(const Rule& rule, const Group& group, bool of_instruction, const Condition& condition);

  z3::context* context_;
  const Program& program_;
  const Lowering* lowering_;
  Dialect dialect_;
  const Rulebook& rulebook_;
  SystemRows rows_;
  SystemRows goal_;
};

}  // namespace p2::z3_encoding
