#pragma once

#include <cstdint>
#include <vector>

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
  return Json::array_of(rows, [](const auto& row) { return Json::naturals(row); });
}

}  // namespace p2
