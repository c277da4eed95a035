#pragma once

#include <string>
#include <string_view>

#include "engine/hlo/module.h"
#include "p2/limits.h"

namespace p2::hlo {

/// Whether a text is XLA's HLO: its first word is `HloModule`.
bool is_hlo(std::string_view text);

/// Parses HLO text, long or short form. Operands and called computations must be defined before
/// they are used. Throws InputError for syntax errors and unknown names; shapes and groups are
/// checked by flow_of. Throws LimitReached.
Module read_hlo(const std::string& source, const std::string& text, const Limits& limits = {});

}  // namespace p2::hlo
