#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "encodings/z3/formation.h"

namespace p2::z3_encoding {

/// The groups of at least two devices that an instruction forms, each in the order of positions,
/// ordered by first device.
struct Formed {
  std::vector<Group> groups;
  /// Whether every device takes part. A Master leaves somebody out unless InsideGroup or Parallel
  /// forms the same groups, and then it is not Master (semantics: Dialects).
  bool everyone = true;
};

/// Reads the groups of a given slice, form and level off the formulas: the values are put in for
/// the symbols, and Z3's simplifier says for every device whether it takes part, in whose group,
/// where.
class Lowering {
 public:
  Lowering(z3::context& context, const Instance& instance);

  Formed form(const GroupShape& shape) const;
  std::vector<Group> classes() const;

 private:
  Formation formation_;
  std::uint32_t devices_;
  std::optional<z3::expr> places_;  ///< for every device: takes part, leader, position
};

/// Simplifies all of `terms` in one go, so that what they share is simplified once.
std::vector<z3::expr> simplify_all(z3::context& context, const std::vector<z3::expr>& terms);

}  // namespace p2::z3_encoding
