#include "engine/placement/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/text_cursor.h"

namespace p2 {

void check_placement(const Placement& placement, const Hierarchy& hierarchy, const Axes& axes,
                     const SourcePosition& where) {
  const auto& levels = hierarchy.levels();
  if (placement.factors.size() != axes.count()) {
    throw InputError(where, fmt::format("the placement has {} rows, expected {}: one per axis",
                                        placement.factors.size(), axes.count()));
  }
  std::vector<std::uint64_t> columns(levels.size(), 1);
  for (std::size_t i = 0; i < axes.count(); ++i) {
    const auto& row = placement.factors[i];
    if (row.size() != levels.size()) {
      throw InputError(where, fmt::format("row {} of the placement has {} entries, expected {}: "
                                          "one per hierarchy level",
                                          i, row.size(), levels.size()));
    }
    std::uint64_t product = 1;
    for (std::size_t j = 0; j < row.size(); ++j) {
      // Every factor divides a size of at most 2^20, so a larger product cannot be repaired.
      product = std::min(product * row[j], std::uint64_t{1} << 32);
      columns[j] = std::min(columns[j] * row[j], std::uint64_t{1} << 32);
    }
    if (product != axes[i].size) {
      throw InputError(where, fmt::format("row {} of the placement multiplies to {}, expected {}: "
                                          "the size of axis {}",
                                          i, product, axes[i].size, axes[i].name));
    }
  }
  for (std::size_t j = 0; j < levels.size(); ++j) {
    if (columns[j] != levels[j].size) {
      throw InputError(where, fmt::format("column {} of the placement multiplies to {}, expected "
                                          "{}: the size of level {}",
                                          j, columns[j], levels[j].size, levels[j].name));
    }
  }
}

Placement parse_placement(std::string_view source, std::string_view text,
                          const Hierarchy& hierarchy, const Axes& axes) {
  TextCursor cursor(source, text);
  const SourcePosition where = cursor.position();
  Placement placement;
  cursor.expect("[", "before the rows of a placement");
  while (!cursor.accept("]")) {
    cursor.expect("[", "before a row of a placement");
    auto& row = placement.factors.emplace_back();
    while (!cursor.accept("]")) {
      row.push_back(static_cast<std::uint32_t>(
          cursor.integer("a parallelism factor", 1, Hierarchy::kMostDevices)));
      cursor.accept(",");
    }
    cursor.accept(",");
  }
  expect_end(cursor, "the placement");
  check_placement(placement, hierarchy, axes, where);
  return placement;
}

std::string to_string(const Placement& placement) {
  std::vector<std::string> rows;
  for (const auto& row : placement.factors)
    rows.push_back(fmt::format("[{}]", fmt::join(row, " ")));
  return fmt::format("[{}]", fmt::join(rows, " "));
}

}  // namespace p2
