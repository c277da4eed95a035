#pragma once

#include <cstdint>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

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
