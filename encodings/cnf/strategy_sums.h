#pragma once

#include <cstddef>
#include <optional>

#include "encodings/cnf/strategy_terms.h"

namespace p2::cnf {

/// After every term but the last, ascending, which sums of the terms so far are worth telling
/// apart: where no strategy costs less than `bound`, it is enough to know of every sum the last of
/// these that it reaches to see so. They are as few as that: as long as the vertices that have
/// terms to come keep their configurations, all sums from what is too much for the terms to come up
/// to what the terms so far cost at least are as good as each other. Nothing where there are more
/// than `most` such choices of configurations in all.
std::optional<std::vector<std::vector<strategy::Cost>>> telling_sums(
    const strategy::Graph& graph, const std::vector<CostTerm>& terms, strategy::Cost bound,
    std::size_t most);

}  // namespace p2::cnf
