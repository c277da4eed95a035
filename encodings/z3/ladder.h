#pragma once

#include <cstdint>
#include <vector>

#include <z3++.h>

namespace p2::z3_encoding {

/// A small integer by thresholds: `step` times the number of rungs that hold, where a rung holds
/// only if all before it do. Comparing counts of chunks this way takes a clause per rung; comparing
/// them in binary takes adders, multipliers and comparators.
struct Ladder {
  /// Longer ones are not worth it: they are quadratic in what they count.
  static constexpr std::size_t kMostRungs = 64;

  std::vector<z3::expr> rungs;  ///< at least one
  std::uint64_t step = 1;

  z3::context& context() const { return rungs[0].ctx(); }
  std::uint64_t most() const { return step * rungs.size(); }
  /// That the value is at least so much, or at most.
  z3::expr at_least(std::uint64_t value) const;
  z3::expr at_most(std::uint64_t value) const { return !at_least(value + 1); }
};

/// The count and one more, which is a ladder of one rung; both in steps of 1.
Ladder one_more(const Ladder& count, const Ladder& more);
Ladder remainder(const Ladder& of, std::uint64_t divisor);
z3::expr equal(const Ladder& a, const Ladder& b);
z3::expr less_equal(const Ladder& a, const Ladder& b);

}  // namespace p2::z3_encoding
