#pragma once

#include <string>

#include "engine/input/input_error.h"
#include "engine/msccl/algorithm.h"
#include "engine/program/program.h"

namespace p2::msccl {

/// What MSCCL calls a goal: `allreduce`, `reduce_scatter`, `allgather`, `reduce` or `broadcast`;
/// empty for any other.
std::string collective_for(const Goal& goal);

/// A valid program on one of its classes as an algorithm for as many GPUs: rank i is the i-th
/// device of the class. MSCCL knows one collective of all ranks, so every class is an algorithm of
/// its own. It has the chunks of the program, is called in place, and its collectives are rings and
/// chains. Throws InputError at `where` for a goal or a collective that MSCCL does not know, a
/// group with devices of several classes, and more than kMostTransfers.
Algorithm lower_class(const Program& program, std::size_t class_index, Protocol protocol,
                      const SourcePosition& where);

constexpr std::size_t kMostTransfers = std::size_t{1} << 22;

}  // namespace p2::msccl
