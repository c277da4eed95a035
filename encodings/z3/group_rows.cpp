#include "encodings/z3/group_rows.h"

#include <algorithm>
#include <map>

namespace p2::z3_encoding {

GroupRows::GroupRows(std::vector<z3::expr> rows, std::uint32_t positions)
    : rows_(std::move(rows)), positions_(positions) {
  if (!rows_.empty()) contributors_ = rows_[0].get_sort().bv_size();
  constant_ =
      std::all_of(rows_.begin(), rows_.end(), [](const z3::expr& row) { return row.is_numeral(); });
  alike_.resize(rows_.size() / positions);
  std::map<std::vector<unsigned>, std::size_t> class_of;
  std::vector<unsigned> column(positions);
  for (std::uint32_t chunk = 0; chunk < chunks(); ++chunk) {
    for (std::uint32_t i = 0; i < positions; ++i) column[i] = row(i, chunk).id();
    const auto [place, fresh] = class_of.emplace(column, classes_.size());
    if (fresh) classes_.push_back({chunk, 0});
    ++classes_[place->second].count;
    alike_[chunk] = classes_[place->second].first;
  }
}

}  // namespace p2::z3_encoding
