#include "engine/collective/language/state_json.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::language {

std::string state_json(const GroupState& state) {
  std::vector<std::string> positions;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    std::vector<std::string> chunks;
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      std::vector<std::uint32_t> held;
      for (std::uint32_t c = 0; c < state.contributors(); ++c) {
        if (state.holds(i, r, c)) held.push_back(c);
      }
      chunks.push_back(fmt::format("[{}]", fmt::join(held, ",")));
    }
    positions.push_back(fmt::format("[{}]", fmt::join(chunks, ",")));
  }
  return fmt::format("[{}]", fmt::join(positions, ","));
}

}  // namespace p2::language
