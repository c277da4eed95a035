#pragma once

#include <string>
#include <vector>

#include "engine/hlo/equality/verdict.h"

namespace p2::hlo {

/// Reads a module back, from HLO text or StableHLO, and says whether its output is the AllReduce of
/// its input on `classes`, which partition all devices. Throws InputError where it cannot be read.
Verdict judge_all_reduce(const std::string& source, const std::string& text,
                         const std::vector<std::vector<std::uint32_t>>& classes,
                         const Limits& limits);

}  // namespace p2::hlo
