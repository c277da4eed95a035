#pragma once

#include <cstdint>
#include <vector>

#include "encodings/z3/instruction_set.h"

namespace p2::z3_encoding {

/// The devices whose states are unrolled. Where no instruction leaves a reduction class ((d),
/// collapsed, lattice) one class with the chunks of the whole system stands for all: the argument
/// is that of engine/program/problem.h.
struct Arena {
  std::uint32_t devices = 0;
  std::vector<Group> classes;
  /// The groups of every instruction among these devices, numbered anew.
  std::vector<std::vector<Group>> groups;
};

Arena arena_of(const Instance& instance, const Lowering& lowering,
               const std::vector<Instruction>& instructions);

}  // namespace p2::z3_encoding
