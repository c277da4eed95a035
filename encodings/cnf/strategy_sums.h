#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/strategy/additions.h"

namespace p2::cnf {

/// For every addition, ascending, which of the sums it makes are worth telling apart: where no
/// strategy costs less than `bound`, it is enough to know of every sum the last of these that it
/// reaches to see so. They are few: as long as the vertices of its scope keep their configurations,
/// any number between what a sum must reach for that and what it is at least will do. Of the last
/// addition that is `bound`. Nothing where the choices that its scopes leave open are more than
/// `most` in all.
std::optional<std::vector<std::vector<strategy::Cost>>> telling_sums(
    const strategy::Graph& graph, const std::vector<strategy::Addition>& additions,
    strategy::Cost bound, std::size_t most);

}  // namespace p2::cnf
