#include "cli/table.h"

#include <algorithm>
#include <ostream>

namespace p2 {
namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char ch) { return (ch & 0xc0) != 0x80; }));
}

}  // namespace

void print_table(const TableRows& rows, std::size_t right_aligned, std::ostream& out) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i < right_aligned) out << padding;
      out << row[i];
      if (i >= right_aligned && i + 1 < row.size()) out << padding;
      out << (i + 1 < row.size() ? "  " : "\n");
    }
  }
}

}  // namespace p2
