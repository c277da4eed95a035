#include "cli/group_drawing.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace p2 {
namespace {

using language::GroupState;

constexpr const char* kMargin = "   ";

std::string blanks(std::size_t count) { return std::string(count, ' '); }

/// The line of one chunk; every position takes `width` columns.
std::string draw_chunk(const GroupState& state, std::uint32_t chunk, std::size_t width) {
  std::string line;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t c = 0; c < state.contributors(); ++c) {
      line += state.holds(i, chunk, c) ? "█" : "·";
    }
    line += blanks(width - state.contributors());
  }
  return line;
}

}  // namespace

std::string draw_step(const GroupState& before, const GroupState& after) {
  const std::size_t width = std::max<std::size_t>(before.contributors(), 2) + 2;
  const std::size_t half = std::max(width * before.devices(), std::string("before  ").size());
  const std::string gap = blanks(half - width * before.devices()) + kMargin;
  std::string positions;
  for (std::uint32_t i = 0; i < before.devices(); ++i) {
    positions += fmt::format("{:<{}}", fmt::format("p{}", i), width);
  }
  const auto line = [](const std::string& left, const std::string& right) {
    const std::string text = kMargin + left + right;
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string drawing = line(fmt::format("{:<{}}", "before", half) + kMargin, "after");
  drawing += line(positions + gap, positions);
  for (std::uint32_t r = 0; r < before.chunks(); ++r) {
    drawing += line(draw_chunk(before, r, width) + gap, draw_chunk(after, r, width));
  }
  return drawing;
}

}  // namespace p2
