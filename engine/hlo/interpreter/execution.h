#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

/// An estimate of the operations on elements that executing a module on all devices takes.
double estimated_operations(const Module& module, const Devices& devices);

/// Turns a refutation into Disagreement when another engine finds the modules equal, or into
/// Undecided if only infinities differ, which real numbers leave out. `other`: what that engine
/// finds, in words.
void contradict(ModuleDecision& refuted, const std::string& other);

/// Compares two modules by executing them on all devices, in two ways: on numbers, which refutes,
/// and by random interpretation, which establishes (algebra.h). Undecided if neither succeeds, or
/// beyond `most` operations on elements. Precondition: `relation` has no mismatch.
ModuleDecision compare_by_execution(const Module& before, const Module& after,
                                    const Devices& devices, const ModuleRelation& relation,
                                    double operations, std::uint64_t most, const Limits& limits);

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
