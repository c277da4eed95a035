#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/instance.h"

namespace p2::brute_force {

/// A system state as the paper writes it: per device k rows of k bits, here one 64-bit word a row.
/// At most 64 devices.
using Matrices = std::vector<std::vector<std::uint64_t>>;

/// One lowered instruction. Two are one instruction when groups and collective are equal.
struct Instruction {
  std::vector<Group> groups;
  Collective collective = Collective::AllReduce;

  auto operator<=>(const Instruction&) const = default;
};

using Program = std::vector<Instruction>;

/// All instructions of a hierarchy, read off the table of forms directly: for every slice, form and
/// level the devices are compared by their coordinates. Shares nothing with engine/program but the
/// hierarchy's levels.
std::vector<Instruction> instructions(const Instance& instance, Dialect dialect);

/// Runs one collective on one group by the table of rules, chunk by chunk. False when refused.
bool apply(Collective collective, const Group& group, Matrices& state);

/// Every valid program of at most `size` steps, by trying all sequences of legal instructions
/// without remembering states. Exponential: small systems only.
std::vector<Program> programs(const Instance& instance, Dialect dialect, std::uint32_t size);

}  // namespace p2::brute_force
