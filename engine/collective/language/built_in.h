#pragma once

#include <string_view>
#include <vector>

#include "engine/collective/language/definition.h"

namespace p2::language {

/// The five collectives of the paper: AllReduce, ReduceScatter, AllGather, Reduce, Broadcast, from
/// the texts engine/collective/*.p2c, which are part of the program.
const std::vector<Definition>& built_in_definitions();

/// AllToAll: no built-in collective, but what the goal alltoall asks for
/// (examples/collectives/sound/alltoall.p2c).
const Definition& all_to_all();

/// The one called `name`, which must be one of the five.
const Definition& built_in(std::string_view name);

}  // namespace p2::language
