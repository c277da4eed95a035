#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "p2/json.h"

namespace p2 {

/// `[{"name":"node","size":4},…]` for the levels of a hierarchy or the axes.
template <typename Parts>
Json parts_json(const Parts& parts) {
  return Json::array_of(parts, [](const auto& part) {
    return Json::object({{"name", part.name}, {"size", part.size}});
  });
}

/// `[[1,8],[4,2]]`: a parallelism matrix, or groups of devices.
inline Json lists_json(const std::vector<std::vector<std::uint32_t>>& rows) {
  return Json::array_of(rows, [](const auto& row) { return Json::array_of(row); });
}

/// The same as text, for certificates. Names need no escaping: they are letters, digits, `_` and
/// `-`.
template <typename Parts>
std::string json_parts(const Parts& parts) {
  std::string text;
  for (const auto& part : parts) {
    text += fmt::format("{}{{\"name\":\"{}\",\"size\":{}}}", text.empty() ? "" : ",", part.name,
                        part.size);
  }
  return "[" + text + "]";
}

inline std::string json_lists(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(row, ","));
  }
  return "[" + text + "]";
}

}  // namespace p2
