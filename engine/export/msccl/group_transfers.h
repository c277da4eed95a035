#pragma once

#include "engine/collective/collective.h"
#include "engine/export/msccl/transfer.h"

namespace p2::msccl {

/// The chunks that a rank holds, ascending.
using Held = std::vector<std::uint32_t>;

/// Appends what the ranks of one group of at least two do for a collective, and moves `held`, by
/// rank, on to what they hold then. AllReduce, ReduceScatter and AllGather go round a ring, Reduce
/// and Broadcast along a chain with the first rank at its end. Runs that do not lie side by side go
/// one after the other, so that no rank sends twice before it receives; those round a ring have at
/// most `longest_run` chunks. Precondition: the step is legal.
void append_transfers(p2::Collective collective, const std::vector<std::uint32_t>& group,
                      std::uint32_t longest_run, std::vector<Held>& held, Transfers& transfers);

}  // namespace p2::msccl
