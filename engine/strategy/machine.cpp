#include "engine/strategy/machine.h"

#include <algorithm>

namespace p2::operations {

Wide rounded(Wide numerator, Wide denominator) {
  const Wide whole = numerator / denominator;
  const Wide rest = 2 * (numerator % denominator);
  const bool up = rest > denominator || (rest == denominator && whole % 2 != 0);
  return whole + (up ? 1 : 0);
}

std::int64_t Machine::devices() const {
  std::int64_t product = 1;
  for (const Level& level : levels) product *= level.size;
  return product;
}

Wide Machine::cost_of_words(Wide words, Wide parts, std::int64_t group) const {
  std::int64_t bandwidth = levels.front().bandwidth;
  std::int64_t spanned = levels.front().size;
  for (std::size_t l = 1; l < levels.size() && spanned < group; ++l) {
    bandwidth = std::min(bandwidth, levels[l].bandwidth);
    spanned *= levels[l].size;
  }
  return rounded(words * flops * word_bytes, parts * bandwidth);
}

}  // namespace p2::operations
