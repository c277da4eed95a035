#pragma once

#include <cstdint>
#include <optional>

#include "proofs/definition/symbolic_step.h"

namespace p2::definition {

/// The definition with its measure cut down to what `chunk` adds to it. Nothing where the measure
/// is not a sum or a count over the chunks.
std::optional<language::Definition> measuring_chunk(const language::Definition& definition,
                                                    std::uint32_t chunk);

/// That in some chunk the measure falls or in every chunk it does not rise. A step that satisfies
/// this in no state raises the measure in every state: what every chunk adds does not fall, and
/// what one of them adds rises. It is far easier on Z3 than the measure of all chunks at once,
/// because no long sums have to be compared. Nothing where the measure is no sum over the chunks,
/// or one that may pass 2^64.
std::optional<z3::expr> measure_stuck_by_chunk(z3::context& context, SymbolicStep& step);

}  // namespace p2::definition
