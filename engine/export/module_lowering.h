#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module.h"
#include "engine/hlo/replica_groups.h"
#include "engine/program/program.h"
#include "p2/error.h"
#include "p2/limits.h"

namespace p2::hlo {

/// Lowers a valid program to a module that every device runs as a partition. Parameter and result
/// are f32[chunks], one element per chunk. Between steps the vectors of all devices are as long as
/// that of the device with the most chunks, and start with the chunks held, in ascending order.
///
/// Each step is one collective. Devices without a group form groups of one, or groups among
/// themselves, and keep their chunks. Reduce is an all-reduce whose result only the root keeps. A
/// collective other than AllReduce and Reduce whose groups cannot be made equal in size, as XLA or
/// StableHLO require, is an all-reduce of vectors padded with zeros.
///
/// Throws InputError at `where` unless the goal is allreduce from the initial state of the paper
/// and the program uses the five collectives only.
Module lower_to_module(const Program& program, const SourcePosition& where);
/// A module of the same by a table of the rows of every device, which programs need that are no
/// chain of collectives (module_chain.cpp): in time and memory of devices times chunks.
Module lower_by_rows(const Program& program, const SourcePosition& where);

/// Parses HLO text or StableHLO and decides whether the output is the AllReduce of the input over
/// `classes`, which partition all devices. Throws InputError for text that cannot be parsed.
ModuleDecision check_all_reduce(const std::string& source, const std::string& text,
                                const std::vector<std::vector<std::uint32_t>>& classes,
                                const Limits& limits);

/// A module from lower_to_module in HLO text. Collectives have the channels 1, 2, ….
std::string to_hlo(const Module& module);

/// The same in the pretty form of StableHLO. Groups of an all-reduce that differ in size are padded
/// with -1.
std::string to_stablehlo(const Module& module);

/// A collective of a chain: of a module in which the rows of all devices are in one order but for
/// the first row, so that one transposition rearranges all. Time and memory of chains grow with
/// devices, not with devices times rows.
struct ChainStep {
  const char* opcode = "";  ///< empty: rows are rearranged only
  IdGroups groups = {};     ///< of all devices
  std::int64_t rows = 0;
  /// Before the collective the vector is an array of these sizes, which is transposed; if any.
  std::vector<std::int64_t> sizes = {}, permutation = {};
};

/// The chain that a valid program lowers to; nothing if devices hold rows in different orders, or
/// in one that no transposition makes ascending, keep rows in a step other than a sum that they
/// take no part in, or hold another number of them than the others. Goal and beginning must be the
/// paper's.
std::optional<std::vector<ChainStep>> chain_of(const Program& program);

}  // namespace p2::hlo
