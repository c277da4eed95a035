#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"
#include "proofs/definition/claim.h"

/// What is proved of a definition without a bound on the group, the chunks and the contributors: by
/// Z3 in first-order logic (first_order.h), or by the form of the text.
namespace p2::definition {

/// That the Boolean rules are right for numbers. A device's number for a chunk means the sum of the
/// contributions that its row holds, and a collective adds up the numbers of the group, copies one,
/// or keeps none. The rows say what the numbers are in any commutative monoid, for every size of
/// the group and any number of contributors, because
///  - the sum of a union of two disjoint rows is the sum of their sums: by induction on the number
///    of contributors;
///  - so the numbers of a group whose rows are pairwise disjoint add up to the sum of the union of
///    the rows: by induction on the size of the group;
///  - and the definition leaves each row as the union of the group's rows, which are then disjoint,
///    or as a row of the root or of the device itself, or empty: row_is_number.
/// Z3 proves the bases and the steps; that induction is sound is left to the reader.

/// What is added up.
enum class Carrier : std::uint8_t {
  AnyMonoid,  ///< numbers of which nothing is known but the laws that are assumed
  Integers,   ///< without bound; their laws are facts
  Words       ///< 32 bits that wrap round, likewise
};

/// What the steps of the induction assume.
struct Assumptions {
  bool commutative = true;
  bool associative = true;
  bool neutral = true;   ///< adding zero changes nothing
  bool disjoint = true;  ///< no contribution is in two rows
};

/// A base or a step of the two inductions.
struct Obligation {
  std::string name;
  bool proved = false;
};

/// All of them; with fewer assumptions some cannot be proved. A limit leaves them not proved.
std::vector<Obligation> sum_obligations(const Limits& limits, const Assumptions& assumptions = {},
                                        Carrier carrier = Carrier::AnyMonoid);

/// Whether Z3 proves for groups of every size that after each legal step every row is the union of
/// the group's rows of its chunk, which are then pairwise disjoint, or the root's row, or the
/// device's own, or empty. False where it is not so, needs arithmetic, or a limit was met.
bool row_is_number(const language::Definition& definition, const Limits& limits);

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
