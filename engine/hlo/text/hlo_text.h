#pragma once

#include <string>
#include <string_view>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// Whether a text is XLA HLO: its first word is `HloModule`.
bool is_hlo(std::string_view text);

/// Reads a module in XLA's HLO text, long or short form. Operands and called computations have to
/// stand before they are used. Throws InputError; whether the instructions fit together is for
/// legality.h.
Module read_hlo(const std::string& source, const std::string& text);

}  // namespace p2::hlo
