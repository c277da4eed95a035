#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2 {

/// `[{"name":"node","size":4},…]` for the levels of a hierarchy or the axes. Names need no
/// escaping: they are letters, digits, `_` and `-`.
template <typename Parts>
std::string json_parts(const Parts& parts) {
  std::string text;
  for (const auto& part : parts) {
    text += fmt::format("{}{{\"name\":\"{}\",\"size\":{}}}", text.empty() ? "" : ",", part.name,
                        part.size);
  }
  return "[" + text + "]";
}

/// `[[1,8],[4,2]]`: a parallelism matrix, or groups of devices.
inline std::string json_lists(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(row, ","));
  }
  return "[" + text + "]";
}

}  // namespace p2
