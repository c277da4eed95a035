#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace p2::operations {

/// Exact in between: products of what a machine and an operation may be do not overflow it.
__extension__ using Wide = __int128;

/// The nearest whole number, halves to the even one. `denominator` > 0, `numerator` ≥ 0.
Wide rounded(Wide numerator, Wide denominator);

/// One level of a machine, such as the devices of a node or the nodes of a rack.
struct Level {
  std::string name;
  std::int64_t size = 1;       ///< how many of the level below
  std::int64_t bandwidth = 1;  ///< of a device, bytes a second, to others in the same instance
};

/// What computes and what carries data. The levels stand with the innermost first.
struct Machine {
  std::int64_t flops = 1;  ///< of a device, a second
  std::int64_t word_bytes = 8;
  std::vector<Level> levels;

  std::int64_t devices() const;
  /// How many operations a device computes while it sends or receives `words`/`parts` words, with
  /// `group` devices next to each other taking part: at the bandwidth of the slowest level that
  /// they span.
  Wide cost_of_words(Wide words, Wide parts, std::int64_t group) const;
};

}  // namespace p2::operations
