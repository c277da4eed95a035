#pragma once

#include <string>

#include "engine/onesided/plan.h"
#include "engine/program/program.h"
#include "p2/error.h"

namespace p2::onesided {

/// Lowers a valid program on one of its classes to a one-sided plan for as many GPUs, in place,
/// with one thread block each. In every step the members of a group meet by signals, then AllReduce
/// and ReduceScatter read the peers' chunks of the own part (and AllReduce writes the sum to all),
/// Reduce reads those of all, AllGather and Broadcast put; then they meet again. Throws InputError
/// at `where` for a goal other than allreduce, reducescatter, allgather and broadcast, a collective
/// of the user's own, and a group with devices of several classes.
Plan lower_class(const Program& program, std::size_t class_index, const SourcePosition& where);

/// A plan without packets, ports, switches and groups of thread blocks in the text format.
std::string to_text(const Plan& plan);

}  // namespace p2::onesided
