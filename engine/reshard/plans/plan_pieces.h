#pragma once

#include "engine/reshard/decomposition.h"
#include "engine/reshard/plans/plan.h"

namespace p2::reshard {

/// A part of the tensor with the devices that have it and those that need all of it, in the order
/// of their meshes. `task` is its unit task in decompose(), whose order this is: one piece per task
/// for intersections; per source slice one for every slice of the destination that it meets.
struct Piece {
  Box box;
  std::size_t task = 0;
  std::vector<std::uint32_t> holders;
  std::vector<std::uint32_t> receivers;
};
std::vector<Piece> pieces_of(const Reshard& problem, Decomposition decomposition);

}  // namespace p2::reshard
