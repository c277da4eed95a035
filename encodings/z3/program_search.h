#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encodings/z3/synthesis.h"
#include "encodings/z3/unrolling.h"

namespace p2::z3_encoding {

/// Everything a query is made of, from the formulas for groups to the solver.
class ProgramSearch {
 public:
  /// The query must outlive the search. Throws OutOfBudget.
  explicit ProgramSearch(const SynthesisQuery& query);

  z3::context& context() { return context_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  bool starts_at_goal() const { return unrolling_.starts_at_goal(); }
  const Meter& meter() const { return meter_; }

  /// Adds one more step to `solver`; the symbol returned demands that programs end there and have
  /// the property.
  z3::expr extend(z3::solver& solver);
  /// The program of a model.
  Choices read(const z3::model& model) const;
  z3::expr other_than(const Choices& program);
  /// Whether the empty program, if it is valid, is asked for.
  bool empty_is_asked_for() const;

 private:
  /// Excludes the known programs of as many steps as there are.
  void exclude_known(z3::solver& solver);
  std::vector<std::string> names() const;
  EndRows ends();
  z3::expr has_property();
  /// The choices that are these steps, if they are instructions.
  std::optional<Choices> choices_of(const std::vector<Step>& steps) const;

  const SynthesisQuery& query_;
  z3::context context_;
  Meter meter_;
  Rulebook rulebook_;
  Lowering lowering_;
  std::vector<Instruction> instructions_;
  Arena arena_;
  Unrolling unrolling_;
};

}  // namespace p2::z3_encoding
