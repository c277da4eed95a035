#pragma once

#include <string>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/flow.h"

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

}  // namespace p2::hlo
