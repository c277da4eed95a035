#pragma once

#include <memory>
#include <string>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/flow.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

ModuleDecision undecided(const Devices& devices, std::string reason);
/// Refuted: a module is ill-formed.
ModuleDecision ill_formed(const Fault& fault, const Devices& devices);
/// Refuted: the inputs or outputs of two modules do not correspond.
ModuleDecision different_signatures(const Devices& devices, std::string reason);

/// The sentence about an element that differs.
std::string explain(const ElementDifference& element);

/// Turns a refutation into Disagreement when another engine finds the modules equal, or into
/// Undecided if only infinities differ, which real numbers leave out. `other`: what that engine
/// finds, in words.
void contradict(ModuleDecision& refuted, const std::string& other);

// engines.cpp

/// Decides whether the outputs of two modules are equal as real numbers, by the engine of the
/// options, or by those that are affordable, in the order that decides soonest. Throws LimitReached
/// before it compares, and IllFormed.
ModuleDecision compare_under_relation(const std::shared_ptr<const Module>& before,
                                      const std::shared_ptr<const Module>& after,
                                      const Devices& devices, const ModuleRelation& relation,
                                      const ComparisonOptions& options, const Limits& limits);

/// What the other engines find, with what a solver finds: Disagreement where both are sure of
/// different answers.
ModuleDecision agreed(ModuleDecision decision, ModuleDecision solver);

/// Two modules.
struct ModulePair {
  std::shared_ptr<const Module> before;
  std::shared_ptr<const Module> after;
};

/// Where the two modules have one number, of either sign, both in f16 or bf16 and in a wider type,
/// the modules with exact constants: the literals of all narrow ones, of wide ones that have such a
/// number, and of all that have a number listed with one, become those of f64, under instructions
/// of the types that they had. So one number in one type is one real number everywhere.
///
/// Other constants stand for the simplest fraction that their type rounds to them, which is another
/// one for 0.1 in bf16, 1/10, than for the same number in f32, 205/2048; a compiler that computes
/// in f32 what is written in bf16 (XLA's float normalization) writes the latter for the former.
ModulePair with_exact_constants(ModulePair modules);

}  // namespace p2::hlo
