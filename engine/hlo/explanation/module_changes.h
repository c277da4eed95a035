#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/module.h"

namespace p2::hlo {

// Changes of modules by which mistakes are mended.

/// Where an instruction is.
struct Place {
  std::size_t computation = 0;
  std::uint32_t instruction = 0;
};

/// Nothing for an instruction of another module.
std::optional<Place> place_of(const Module& module, const Instruction* instruction);

/// Puts `added` after instruction `after`, whose users then use the last of them; only `user`, if
/// given.
void insert_after(Computation& computation, std::uint32_t after, std::vector<Instruction> added,
                  std::optional<std::uint32_t> user = std::nullopt);

/// An all-reduce of operand `operand`, which `of` computes; a reducer is added to the module where
/// it has none.
Instruction all_reduce(Module& module, const Instruction& of, std::uint32_t operand,
                       Reducer reducer, const Groups& groups);

void set_groups(Instruction& instruction, const Groups& groups);

bool makes_same_shape(const Computation& computation, const Instruction& instruction);

// Repairs at an instruction of a module; nothing where it cannot be changed so. `over`: the groups
// in words.

/// A copy of its first operand in place of a collective or a scaling.
std::optional<Repair> without(const Module& module, const Instruction& instruction);
std::optional<Repair> with_groups(const Module& module, const Instruction& collective,
                                  const Groups& groups, const std::string& over);
/// An all-reduce of what it makes.
std::optional<Repair> with_reduction(const Module& module, const Instruction& instruction,
                                     Reducer reducer, const Groups& groups,
                                     const std::string& over);

/// The instruction becomes a copy of its first operand.
void make_copy(Instruction& instruction);

}  // namespace p2::hlo
