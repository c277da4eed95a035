#pragma once

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/placement/placement.h"

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

/// `[[1,8],[4,2]]`.
inline std::string json_matrix(const Placement& placement) {
  std::string text;
  for (const auto& row : placement.factors) {
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(row, ","));
  }
  return "[" + text + "]";
}

}  // namespace p2
