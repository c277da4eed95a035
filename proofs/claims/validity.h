#pragma once

#include <vector>

#include "proofs/claims/subject.h"

namespace p2::claims {

/// The moves that lemmas B.3 (for groups that a hierarchy forms), B.4, B.5 and B.6 say no valid
/// program uses: those whose groups vary over a factor outside the reduction axes; the same for
/// instructions of one form; and for Master those that vary over or pin such a factor. Groups that
/// several forms give count for each of them.
std::vector<bool> reduces_outside(const Subject& subject);
std::vector<bool> parallel_reduces_outside(const Subject& subject);
std::vector<bool> inside_group_reduces_outside(const Subject& subject);
std::vector<bool> master_reaches_outside(const Subject& subject);

}  // namespace p2::claims
