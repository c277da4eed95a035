#pragma once

#include "proofs/definition/claim.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {

/// That the step breaks the claim, if it is legal: the words of claim.h once more, for Z3.
z3::expr broken(z3::context& context, Claim claim, SymbolicStep& step);

}  // namespace p2::definition
