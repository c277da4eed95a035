#include "engine/export/hlo/row_choice.h"

#include <algorithm>

namespace p2::hlo {
namespace {

/// Rows that follow each other on every device.
struct Run {
  std::vector<std::int64_t> starts;  ///< by device; kAnyRow where none of its rows matters
  std::int64_t length = 0;

  /// Whether row `at` of the table continues the run.
  bool takes(const RowTable& table, std::size_t at, std::int64_t rows) const {
    if (length == rows) return false;
    for (std::size_t device = 0; device < table.size(); ++device) {
      const std::int64_t row = table[device][at];
      const std::int64_t start = starts[device];
      if (row != kAnyRow && row < length) return false;
      if (row != kAnyRow && start != kAnyRow && start + length != row) return false;
      if (start != kAnyRow && start + length >= rows) return false;
    }
    return true;
  }

  void take(const RowTable& table, std::size_t at) {
    for (std::size_t device = 0; device < table.size(); ++device) {
      const std::int64_t row = table[device][at];
      if (row != kAnyRow) starts[device] = row - length;
    }
    ++length;
  }
};

ModuleBuilder::Value slice_of(ModuleBuilder& builder, ModuleBuilder::Value from, Run run) {
  std::int64_t start = kAnyRow;
  bool same = true;
  for (const std::int64_t each : run.starts) {
    if (each == kAnyRow) continue;
    same = same && (start == kAnyRow || start == each);
    start = each;
  }
  if (same) return builder.slice(from, std::max<std::int64_t>(start, 0), run.length);
  for (std::int64_t& each : run.starts) each = std::max<std::int64_t>(each, 0);
  return builder.slice(from, run.starts, run.length);
}

}  // namespace

ModuleBuilder::Value chosen_rows(ModuleBuilder& builder, ModuleBuilder::Value from,
                                 const RowTable& table) {
  std::vector<ModuleBuilder::Value> parts;
  const Run empty{std::vector<std::int64_t>(table.size(), kAnyRow)};
  Run run = empty;
  for (std::size_t at = 0; at < table[0].size(); ++at) {
    if (!run.takes(table, at, builder.rows(from))) {
      parts.push_back(slice_of(builder, from, std::move(run)));
      run = empty;
    }
    run.take(table, at);
  }
  parts.push_back(slice_of(builder, from, std::move(run)));
  return builder.concatenated(parts);
}

}  // namespace p2::hlo
