#pragma once

#include <string_view>

#include "engine/hlo/module.h"
#include "engine/hlo/text_reader.h"

namespace p2::hlo {

/// Whether an attribute names computations: `to_apply`, `calls`, `body`, …
bool names_computations(std::string_view attribute);

/// Reads the value of one attribute of an instruction into `attributes`. What does not change what
/// an instruction computes (metadata, sharding, …) is passed over; what is not known is kept in
/// `others`. Precondition: not names_computations(name).
void read_attribute(TextReader& reader, std::string_view name, const Instruction& instruction,
                    Attributes& attributes);

/// Sorts nothing and drops blanks outside of strings: two texts that mean the same become equal.
std::string without_blanks(std::string_view text);

}  // namespace p2::hlo
