#pragma once

#include <cstdint>
#include <string>

#include "engine/base/rational.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/language/parser.h"

namespace p2::language {

/// Reads what follows the word `traffic`. Throws InputError where it is malformed, or where the
/// part is not more than 0 for every group size.
Traffic parse_traffic(TokenStream& tokens);

/// The part for groups of n ≥ 2 devices. Throws InputError, in the name of the definition, where it
/// is not more than 0.
Rational traffic_part(const Definition& definition, std::uint32_t n);

/// `AllReduce of 1 / (4 * n)`.
std::string to_string(const Traffic& traffic);

}  // namespace p2::language
