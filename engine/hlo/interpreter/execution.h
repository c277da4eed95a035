#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

/// How many elements of operands an element of a convolution, a reduction of windows or a
/// select-and-scatter is computed from; 0 of any other instruction.
double elements_per_result(const Computation& computation, const Instruction& instruction);

/// An estimate of the operations on elements that executing a computation of a module on all
/// devices takes: the elements of every result, the products of dots and convolutions, and the
/// elements of windows. `elements(i)`: those of the result of its i-th instruction.
template <typename Elements>
double estimated_operations(const Module& module, const Computation& computation,
                            const Devices& devices, const Elements& elements) {
  const bool is_linked = &computation == &module.entry_computation() && !module.programs.empty();
  double all = 0;
  for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    double own = elements(i);
    if (instruction.opcode == "dot" && instruction.operands.size() == 2) {
      own += std::sqrt(own * elements(instruction.operands[0]) * elements(instruction.operands[1]));
    } else {
      own *= 1 + elements_per_result(computation, instruction);
    }
    const bool is_of_program = is_linked && instruction.program != kEveryProgram;
    const std::size_t runs = is_of_program ? module.programs[instruction.program].devices.size()
                                           : std::size_t{devices.count()};
    all += own * static_cast<double>(runs);
  }
  return all;
}
/// Of all its computations, each once.
double estimated_operations(const Module& module, const Devices& devices);

/// Two modules with the dimensions at size 1 along which both do the same at every index, from the
/// inputs at that index alone: they are equal iff the modules are, and what they compute for inputs
/// is what these do at index 0 (independent_dimensions.cpp).
struct ReducedModules {
  std::shared_ptr<const Module> before;
  std::shared_ptr<const Module> after;
  ModuleRelation relation;
  std::vector<std::int64_t> sizes;  ///< of what was reduced, each once, largest first
};
/// Nothing where there are none; of linked programs none are looked for.
std::optional<ReducedModules> reduce_dimensions(const Module& before, const Module& after,
                                                const ModuleRelation& relation,
                                                FloatEquality equality);

/// `decide(before, after, relation, operations)` for two modules or, where executing them takes
/// more than `most` operations on elements, for these with reduced dimensions; the decision says of
/// what sizes. `operations`: an estimate of what executing them takes.
template <typename Decide>
ModuleDecision decide_reduced(const Module& before, const Module& after, const Devices& devices,
                              const ModuleRelation& relation, FloatEquality equality, double most,
                              const Decide& decide) {
  const auto operations = [&](const Module& first, const Module& second) {
    return estimated_operations(first, devices) + estimated_operations(second, devices);
  };
  const double all = operations(before, after);
  const auto reduced = all > most ? reduce_dimensions(before, after, relation, equality)
                                  : std::optional<ReducedModules>();
  if (!reduced) return decide(before, after, relation, all);
  ModuleDecision decision = decide(*reduced->before, *reduced->after, reduced->relation,
                                   operations(*reduced->before, *reduced->after));
  decision.reduced = reduced->sizes;
  return decision;
}

/// Compares two modules by executing them on all devices, in two ways: on numbers, which refutes,
/// and by random interpretation, which establishes (algebra.h). Undecided if neither succeeds, or
/// beyond `most` operations on elements. Precondition: `relation` has no mismatch.
ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    double operations, std::uint64_t most, const Limits& limits);

/// Whether random interpretation finds two modules equal.
bool are_equal_by_interpretation(const Module& before, const Module& after, const Devices& devices,
                                 const ModuleRelation& relation, std::uint64_t most,
                                 const Limits& limits);

/// Refutes two modules that may be too large to be executed, by execution on inputs that are
/// constant on blocks of indices (block_modules.h), which proves nothing: Refuted or Undecided.
/// Of numbers of an iota that are in one block ranges are known. With `every_number` each has a
/// block of its own, which takes longer and tells more: Undecided where ranges tell as much.
/// Precondition: `relation` has no mismatch. Throws LimitReached, IllFormed.
ModuleDecision refute_on_blocks(const Module& before, const Module& after, const Devices& devices,
                                const ModuleRelation& relation, const Limits& limits,
                                bool every_number = false);

/// Compares two modules by asking a solver whether their outputs, as expressions of the inputs, are
/// equal; a difference that it finds counts where an execution on numbers shows one, for its inputs
/// or for drawn ones. Precondition: `relation` has no mismatch.
ModuleDecision compare_by_solver(const Module& before, const Module& after, const Devices& devices,
                                 const ModuleRelation& relation, std::uint64_t most,
                                 const ElementSolver& solver, const Limits& limits);

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

}  // namespace p2::hlo
