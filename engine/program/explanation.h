#pragma once

#include <string>
#include <string_view>

#include "engine/program/derivation.h"

namespace p2 {

/// A stable name for the rule that a refutation rests on: the premise's name in the definitions
/// (`disjoint`, …), or `master`, `empty-group`, `goal-lacks`, `goal-excess`.
std::string_view rule_name(const Refutation& refutation);

/// One paragraph for people: which step, which group, which rule, which devices, chunk and
/// contributor; or, when all steps are legal, which device lacks or has too much at the end.
std::string explain(const Refutation& refutation, const Program& program, const Instance* instance);

}  // namespace p2
