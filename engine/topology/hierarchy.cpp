#include "engine/topology/hierarchy.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

void check_names(const std::vector<Level>& levels, const SourcePosition& where) {
  std::set<std::string_view> seen;
  for (const Level& level : levels) {
    if (!is_plain_name(level.name)) {
      throw InputError(where, fmt::format("\"{}\" cannot name a level, expected letters, digits, "
                                          "'_' and '-', starting with a letter or '_'",
                                          level.name));
    }
    if (level.name == "root") {
      throw InputError(where, "a level is named root, expected another name: root is reserved");
    }
    if (!seen.insert(level.name).second) {
      throw InputError(
          where, fmt::format("two levels are named {}, expected different names", level.name));
    }
  }
}

std::uint32_t count_devices(const std::vector<Level>& levels, const SourcePosition& where) {
  std::uint64_t devices = 1;
  for (const Level& level : levels) {
    if (level.size == 0) {
      throw InputError(where, fmt::format("level {} has size 0, expected at least 1", level.name));
    }
    // Both factors are below 2^32 here, so the product cannot overflow.
    devices *= level.size;
    if (devices > Hierarchy::kMaxDevices) {
      throw InputError(
          where, fmt::format("too many devices, expected at most {}", Hierarchy::kMaxDevices));
    }
  }
  return static_cast<std::uint32_t>(devices);
}

}  // namespace

Hierarchy::Hierarchy(std::vector<Level> levels, const SourcePosition& where)
    : levels_(std::move(levels)) {
  if (levels_.empty()) throw InputError(where, "a hierarchy without levels, expected at least one");
  if (levels_.size() > kMaxLevels) {
    throw InputError(where,
                     fmt::format("{} levels, expected at most {}", levels_.size(), kMaxLevels));
  }
  check_names(levels_, where);
  devices_ = count_devices(levels_, where);
}

Hierarchy parse_hierarchy(std::string_view source, std::string_view text) {
  TextCursor cursor(source, text);
  const SourcePosition start = cursor.position();
  const bool named = !cursor.peek_name().empty();
  std::vector<Level> levels;
  do {
    std::string name = fmt::format("l{}", levels.size());
    if (named) {
      name = cursor.name("the name of a level");
      cursor.expect("=", "after the name of a level");
    }
    const auto size = cursor.integer("the size of a level", 1, Hierarchy::kMaxDevices);
    levels.push_back({std::move(name), static_cast<std::uint32_t>(size)});
  } while (cursor.accept(","));
  expect_end(cursor, "the hierarchy");
  return {std::move(levels), start};
}

std::string to_string(const Hierarchy& hierarchy) {
  std::string text;
  for (const Level& level : hierarchy.levels()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", level.name, level.size);
  }
  return text;
}

}  // namespace p2
