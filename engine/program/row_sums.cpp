#include "engine/program/row_sums.h"

namespace p2 {

std::optional<std::vector<std::vector<RowSum>>> row_sums(const StateTable& states,
                                                         std::span<const StateId> before,
                                                         std::span<const StateId> after) {
  const auto row = [&](StateId state, std::uint32_t chunk) {
    return states.sets().members(states.row(state, chunk));
  };
  std::vector<std::vector<RowSum>> all(after.size());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    std::vector<Contributors> rows;
    for (const StateId state : before) rows.push_back(row(state, chunk));
    for (std::uint32_t i = 0; i < after.size(); ++i) {
      const Contributors wanted = row(after[i], chunk);
      if (wanted.empty()) continue;
      auto positions = addends(rows, wanted, i);
      if (!positions) return std::nullopt;
      all[i].push_back({chunk, std::move(*positions)});
    }
  }
  return all;
}

}  // namespace p2
