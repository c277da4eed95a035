#pragma once

#include "engine/hlo/module.h"
#include "p2/error.h"
#include "engine/program/program.h"

namespace p2::hlo {

/// A valid program as a module that every device runs as a partition: its parameter is f32[chunks],
/// an element for every chunk, and so is its result. Between steps a device keeps the chunks that
/// it holds, in ascending order, and as many rows as the device that holds most.
///
/// A step is one collective. Devices that take no part are groups of one, or among themselves, and
/// keep what they have. Reduce is an all-reduce of which only the root keeps the sum. Where the
/// groups of another collective cannot be made equally large, as XLA or StableHLO want them, it is
/// an all-reduce of whole vectors.
///
/// Throws InputError at `where` for a goal other than allreduce, a beginning other than the paper's
/// and collectives of the user's own.
Module lowered(const Program& program, const SourcePosition& where);

}  // namespace p2::hlo
