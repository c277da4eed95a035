#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// A program, and the devices that run it.
struct PlacedProgram {
  std::vector<std::uint32_t> devices;  ///< ascending
  std::shared_ptr<const Module> module;
};

/// Links programs that run together, each on devices of its own (MPMD), to one module: what a
/// device receives is what its peer sends, and a collective that spans programs is one instruction.
///
/// The ids of groups, permutations and partition-id are those of the program's own devices if its
/// header counts as many as run it, and devices of the whole if it counts all of them. The pairs of
/// sends and receives are devices of the whole; a message is matched by its channel and its pair.
///
/// Precondition: each of `devices` is in one program. Throws InputError for a program that is made
/// for another number of devices, IllFormed (`unmatched`, `deadlock`, `shapes`, `pairs`, `groups`,
/// `operands`), and NotUnderstood with an instruction of one of the programs.
std::shared_ptr<const Module> link_programs(const std::vector<PlacedProgram>& programs,
                                            std::uint32_t devices);

}  // namespace p2::hlo
