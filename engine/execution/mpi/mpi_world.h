#pragma once

#include <memory>

#include "engine/execution/processes/rank_board.h"
#include "engine/execution/processes/rank_world.h"

namespace p2::execution {

/// The processes that mpirun started, on one host or several. MPI runs as long as this object
/// lives.
///
/// `board` may be null: then nobody watches, and this process ends itself, and mpirun then the
/// others, when it is kept waiting inside a step for too long.
std::unique_ptr<RankWorld> mpi_world(RankBoard* board);

}  // namespace p2::execution
