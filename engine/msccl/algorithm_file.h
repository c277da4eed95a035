#pragma once

#include <string>
#include <string_view>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

/// Whether a text is XML rather than any other format that `check` reads.
bool is_xml(std::string_view text);

/// Reads MSCCL XML: `<algo>` › `<gpu>` › `<tb>` › `<step>`. Attributes that nothing here needs are
/// passed over; without `outofplace` a file is for one way of calling it, without `maxBytes`, or
/// with 0, for messages of any size. What a file says wrongly of its steps is for judge() to find;
/// here InputError is thrown for what has no meaning: an element or value that is not expected, a
/// GPU or thread block twice or missing, and step numbers that do not increase.
Algorithm read_algorithm(const std::string& source, const std::string& text);

}  // namespace p2::msccl
