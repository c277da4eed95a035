#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/z3/reading.h"
#include "proofs/definition/question.h"

namespace p2::definition {

/// How a definition relates to another collective or to one after the other: wherever both have a
/// legal step, both end in the same state, and for every group of the scope there is such a state.
struct Relation {
  enum class Kind : std::uint8_t {
    Equal,     ///< both have the same legal steps
    Stronger,  ///< its premises are stronger: the other has more legal steps
    Weaker,    ///< its premises are weaker
    Agrees     ///< each has legal steps that the other has not
  };
  Kind kind = Kind::Agrees;
  std::vector<std::string> to;  ///< one collective, or two in the order in which they run

  bool operator==(const Relation&) const = default;
};

/// `equal`, `stronger`, `weaker`, `agrees`
std::string_view to_string(Relation::Kind kind);
/// `= Reduce; Broadcast`, with words for a premise that differs
std::string to_string(const Relation& relation);

struct Relations {
  std::vector<Relation> found;
  bool decided = true;  ///< false where a limit was met: what was found is all right, and not all
  std::vector<Difference> differences;
};

/// The relations to `known` and to every pair of them. What two states tell apart is left to the
/// explicit engine; whatever it cannot tell apart, Z3 has to prove.
Relations find_relations(const Subject& own, std::span<const z3_encoding::Rule* const> known,
                         const Scope& scope);

}  // namespace p2::definition
