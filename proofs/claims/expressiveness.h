#pragma once

#include <vector>

#include "proofs/claims/subject.h"

namespace p2::claims {

/// The moves of `from` whose lowered groups and collective no instruction of `to` has: `to` ≥
/// `from` holds exactly if no valid program uses one (semantics: x ≥ y). Whether a program is valid
/// does not depend on the hierarchy it is written over.
std::vector<bool> not_expressible(const Subject& subject);
/// The same for the instructions of one form: the cases of lemmas B.7 and B.8.
std::vector<bool> inside_group_not_expressible(const Subject& subject);
std::vector<bool> parallel_not_expressible(const Subject& subject);
std::vector<bool> master_not_expressible(const Subject& subject);

}  // namespace p2::claims
