#pragma once

#include "engine/program/program.h"

namespace p2 {

/// One AllReduce of all ranks.
inline Program single_allreduce(std::uint32_t ranks) {
  Group everybody(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) everybody[rank] = rank;
  return {ranks, {everybody}, {{Collective::AllReduce, {everybody}, {}}}};
}

}  // namespace p2
