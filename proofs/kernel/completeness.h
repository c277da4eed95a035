#pragma once

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// The claim `synthesis-complete`: the programs that problem.json lists are all the valid programs
/// of at most `size` steps. Each is replayed; that there is no other is refuted by proof.lrat on
/// clauses that this checker makes itself. Returns the claim in words, or objects.
std::string judge_completeness(const Files& files);

}  // namespace p2::kernel
