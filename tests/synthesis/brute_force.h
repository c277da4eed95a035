#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/instance.h"

namespace p2::brute_force {

/// A system state as the paper writes it: per device one row of bits for every chunk, here one
/// 64-bit word a row. At most 64 devices.
using Matrices = std::vector<std::vector<std::uint64_t>>;

/// One lowered instruction. Two are one instruction when groups and collective are equal.
struct Instruction {
  std::vector<Group> groups;
  Collective collective = Collective::AllReduce;

  auto operator<=>(const Instruction&) const = default;
};

using Program = std::vector<Instruction>;

/// AllToAll, as the first collective that a user defines.
constexpr auto kAllToAll = static_cast<Collective>(kCollectives.size());

/// Where programs begin and where they have to end.
struct Ends {
  Matrices begin;
  Matrices goal;
};

/// All instructions of a hierarchy, read off the table of forms directly: for every slice, form and
/// level the devices are compared by their coordinates. Shares nothing with engine/program but the
/// hierarchy's levels.
std::vector<Instruction> instructions(const Instance& instance, Dialect dialect,
                                      std::span<const Collective> collectives = kCollectives);

/// Runs one of the five or AllToAll on one group by the table of rules, chunk by chunk. False when
/// refused.
bool apply(Collective collective, const Group& group, Matrices& state);

/// Every valid program of at most `size` steps, by trying all sequences of legal instructions
/// without remembering states. Exponential: small systems only.
std::vector<Program> programs(const Instance& instance, Dialect dialect, std::uint32_t size);
/// The same between other ends than the paper's.
std::vector<Program> programs(const std::vector<Instruction>& choices, std::uint32_t size,
                              const Ends& ends);

}  // namespace p2::brute_force
