#include "engine/hlo/interpreter/random_interpretation.h"

#include "engine/hlo/interpreter/execution_tensors.h"

namespace p2::hlo {

using namespace interpreter;

RandomInterpretation::RandomInterpretation(const Devices& devices, const ModuleRelation& relation,
                                           std::uint64_t most, const Limits& limits)
    : devices_(devices), relation_(relation), algebra_(kFirstSeed), work_(limits, most) {}

auto RandomInterpretation::run(const Module& module, Form form, bool is_before,
                               const Run::Observer& observer) -> PerDevice {
  Run run(module, is_before ? 1 : 2, devices_, algebra_, work_);
  run.observe(observer);
  return run.run(Inputs(devices_, relation_).of(algebra_, module, form, kDraws[0], kFirstSeed));
}

Term RandomInterpretation::combine(Reducer reducer, ElementType type, const Term& a,
                                   const Term& b) {
  return algebra_.exact(combined(algebra_, reducer, type, a, b), type);
}

Term RandomInterpretation::scaled(const Term& a, Number factor, ElementType type) {
  return combine(Reducer::Multiply, type, algebra_.constant({factor, {}}, type), a);
}

}  // namespace p2::hlo
