#pragma once

#include <string_view>

namespace p2 {

/// The names that hierarchy_kind_called knows, for messages that say what was expected.
inline constexpr std::string_view kHierarchyKindNames = "a, b, c, d, collapsed or lattice";

}  // namespace p2
