#pragma once

#include "engine/strategy/additions.h"

namespace p2::strategy {

/// The configurations of all vertices that an addition's sum and part depend on, and where every
/// choice of them stands in three tables: the sum's, the part's, and that of what is made. The last
/// vertex of a scope varies fastest.
struct OpenChoices {
  std::vector<std::size_t> sizes;       ///< configurations, by vertex
  std::vector<std::size_t> strides[3];  ///< how far a vertex moves in a table
  std::size_t count = 1;                ///< of choices
  std::size_t made = 1;                 ///< of cells in the table of what is made

  /// Calls visit(sum's cell, part's, made) for every choice.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<std::size_t> choice(sizes.size(), 0);
    std::size_t at[] = {0, 0, 0};
    for (std::size_t n = 0; n < count; ++n) {
      visit(at[0], at[1], at[2]);
      for (std::size_t i = sizes.size(); i-- > 0;) {
        const bool carry = ++choice[i] == sizes[i];
        for (std::size_t table = 0; table < 3; ++table) {
          at[table] += strides[table][i];
          if (carry) at[table] -= strides[table][i] * sizes[i];
        }
        if (!carry) break;
        choice[i] = 0;
      }
    }
  }
};

/// By addition. Nothing where there are more than `most` choices in all.
std::optional<std::vector<OpenChoices>> open_choices(const Graph& graph,
                                                     const std::vector<Addition>& additions,
                                                     std::size_t most);

/// Costs by addition and cell of what it makes.
using AddedTables = std::vector<std::vector<Cost>>;

/// What every sum is at least, by the configurations of its scope; the terms cost what they cost in
/// `graph`.
AddedTables least_sums(const Graph& graph, const std::vector<Addition>& additions,
                       const std::vector<OpenChoices>& choices);

/// What all terms outside of a sum are at least, likewise.
AddedTables least_rests(const Graph& graph, const std::vector<Addition>& additions,
                        const std::vector<OpenChoices>& choices, const AddedTables& least);

}  // namespace p2::strategy
