#pragma once

#include <string>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// The claim `reshard-plan`: the programs in plan.json bring the tensor of problem.json from the
/// one mesh to the other, whatever its devices do first.
std::string judge_plan(const Files& files);
/// The claim `reshard-plan-wrong`: they do not; refutation.json names the rule that one of their
/// operations, or all together, break.
std::string judge_wrong_plan(const Files& files);

}  // namespace p2::kernel
