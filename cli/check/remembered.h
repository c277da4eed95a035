#pragma once

#include <optional>
#include <string>

#include "cli/check/verdict_cache.h"
#include "proofs/api/engines.h"
#include "engine/msccl/verdict.h"

namespace p2 {

/// As ask(), with the answers of the solvers from the cache where it has them. They are taken only
/// if the certificate beside them is of this very program, is accepted by the checker (p2-check),
/// and says what the explicit engine says now. Judging a program again by the explicit engine takes
/// no longer than replaying a certificate, so that alone is never remembered.
Findings ask_or_remember(const Engines& engines, const ProgramFile& file, const Verdict& verdict,
                         const std::string& text, const Limits& limits, VerdictCache& cache);

/// As msccl::judge(), with refutations from the cache where it has them and they can be replayed on
/// this very algorithm. Nothing shows that an algorithm is valid faster than judging it again.
msccl::Verdict judge_or_remember(const msccl::Algorithm& algorithm, const std::string& text,
                                 const Limits& limits, VerdictCache& cache);

}  // namespace p2
