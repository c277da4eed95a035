#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"
#include "proofs/definition/claim.h"

/// What is proved of a definition without a bound on the group, the chunks and the contributors: by
/// Z3 in first-order logic (first_order.h), or by the form of the text.
namespace p2::definition {

/// Of each claim, whether it is proved for every n, k and number of contributors. A claim that is
/// not may still hold.
using ProvedClaims = std::array<bool, kClaims.size()>;

ProvedClaims proved_for_every_size(const language::Definition& definition, const Limits& limits);

/// Whether Z3 proves that the premises in `premises` hold of no group of two or more devices that
/// holds something, or of none of `devices` devices, whatever the number of chunks. False where it
/// is not so, needs arithmetic, or a limit was met.
bool never_legal(const language::Definition& definition, const std::vector<std::size_t>& premises,
                 std::optional<std::uint32_t> devices, const Limits& limits);

}  // namespace p2::definition
