#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

/// An estimate of the operations on elements that executing a module on all devices takes.
double estimated_operations(const Module& module, const Devices& devices);

/// Compares two modules by executing them on all devices, in two ways: on numbers, which refutes,
/// and by random interpretation, which establishes (algebra.h). Undecided if neither succeeds, or
/// beyond `most` operations on elements. Precondition: `relation` has no mismatch.
ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    double operations, std::uint64_t most, const Limits& limits);

/// Whether two modules that are equal as real numbers are so in a stricter sense, by random
/// interpretation: Established, or Undecided with where they differ in `reason`. Throws
/// LimitReached and IllFormed.
ModuleDecision compare_rounded(const Module& before, const Module& after, const Devices& devices,
                               const ModuleRelation& relation, FloatEquality equality,
                               std::uint64_t most, const Limits& limits);

/// Whether an execution on one draw of numbers shows a difference. Throws NotUnderstood, IllFormed,
/// LimitReached.
bool differ_on_numbers(const Module& before, const Module& after, const Devices& devices,
                       const ModuleRelation& relation, std::uint64_t most, const Limits& limits);

/// One random interpretation of the modules of a comparison: all are executed at the same random
/// point. Throws NotUnderstood, IllFormed, LimitReached.
class RandomInterpretation {
 public:
  using Run = interpreter::Interpreter<interpreter::Algebra>;
  using PerDevice = Run::PerDevice;

  /// At most `most` operations on elements in all runs. `relation` must outlive this.
  RandomInterpretation(const Devices& devices, const ModuleRelation& relation, std::uint64_t most,
                       const Limits& limits);

  PerDevice run(const Module& module, Form form, bool is_before,
                const Run::Observer& observer = {});
  interpreter::Term combine(Reducer reducer, ElementType type, const interpreter::Term& a,
                            const interpreter::Term& b);
  /// `a` times a number.
  interpreter::Term scaled(const interpreter::Term& a, Number factor, ElementType type);

 private:
  Devices devices_;
  const ModuleRelation& relation_;
  interpreter::Algebra algebra_;
  interpreter::Work work_;
};

}  // namespace p2::hlo
