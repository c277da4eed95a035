#include "engine/program/row_sums.h"

namespace p2 {

std::optional<std::vector<std::vector<RowSum>>> row_sums(const StateTable& states,
                                                         const Group& group,
                                                         const SystemState& before,
                                                         const SystemState& after) {
  const auto row = [&](StateId state, std::uint32_t chunk) {
    return states.sets().members(states.row(state, chunk));
  };
  std::vector<std::vector<RowSum>> all(group.size());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    std::vector<Contributors> rows;
    for (const std::uint32_t device : group) rows.push_back(row(before[device], chunk));
    for (std::uint32_t i = 0; i < group.size(); ++i) {
      const Contributors wanted = row(after[group[i]], chunk);
      if (wanted.empty()) continue;
      auto positions = addends(rows, wanted, i);
      if (!positions) return std::nullopt;
      all[i].push_back({chunk, std::move(*positions)});
    }
  }
  return all;
}

}  // namespace p2
