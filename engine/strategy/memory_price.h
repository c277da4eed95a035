#pragma once

#include <vector>

#include "engine/strategy/branch_and_bound.h"

namespace p2::strategy {

/// Bytes on a device by vertex and configuration.
using Memory = std::vector<std::vector<Cost>>;

Cost memory_of(const Memory& memory, const Strategy& strategy);

__extension__ using WideCost = __int128;

/// What a byte costs: `price` / 2^32, rounded down for every number of bytes.
using Price = std::int64_t;
inline WideCost worth(Price price, Cost bytes) { return (WideCost{price} * bytes) >> 32U; }

/// The graph where memory has a price. With rest and sum rounded down each: whoever fits costs at
/// least what it costs here less what the limit is worth.
Graph priced(Graph graph, const Memory& memory, Price price);

/// Those of the configurations that are kept.
Memory restricted(const Memory& memory, const Kept& kept);

}  // namespace p2::strategy
