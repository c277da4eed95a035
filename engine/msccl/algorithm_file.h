#pragma once

#include <string>
#include <string_view>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// Whether a text is XML rather than any other format that `check` reads.
bool is_xml(std::string_view text);

/// Reads MSCCL XML: `<algo>` › `<gpu>` › `<tb>` › `<step>`. Unused attributes are ignored. Without
/// `outofplace` an algorithm is in place or out of place, never both; without `maxBytes`, or with
/// 0, it is for messages of any size. Throws InputError for a file without a meaning: an unexpected
/// element or value, a duplicate or missing GPU or thread block, step numbers that do not increase.
/// Faults of the algorithm itself are found by judge().
Algorithm read_algorithm(const std::string& source, const std::string& text);

/// Writes MSCCL XML that read_algorithm() reads back.
std::string to_xml(const Algorithm& algorithm);

}  // namespace p2::msccl
