#pragma once

#include <string_view>

#include "engine/collective/language/definition.h"

namespace p2::language {

/// Reads the definition of one collective (grammar: definition.h). Throws InputError at the first
/// mistake, in the words `found …, expected …`; its position is in `source`. Texts beyond the
/// limits of definition.h are refused as soon as they pass them.
Definition parse_definition(std::string_view source, std::string_view text);

}  // namespace p2::language
