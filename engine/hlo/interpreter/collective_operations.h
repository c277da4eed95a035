#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/local_operations.h"

namespace p2::hlo::interpreter {

/// The collectives of XLA, executed on all devices at once.
template <typename Arithmetic>
class CollectiveOperations {
 public:
  using Cell = typename Arithmetic::Cell;
  using Tree = ArrayTree<Cell>;
  using Pointer = std::shared_ptr<const Tree>;
  /// One value for each device; empty where a device does not execute an instruction.
  using PerDevice = std::vector<Pointer>;
  using Operands = std::vector<const PerDevice*>;
  using Active = std::vector<bool>;

  CollectiveOperations(const Module& module, const Devices& devices, Arithmetic& arithmetic,
                       Work& work, LocalOperations<Arithmetic>& local)
      : module_(module), devices_(devices), arithmetic_(arithmetic), work_(work), local_(local) {}

  /// Precondition: is_collective of the instruction's base opcode. Throws NotUnderstood, also where
  /// only some members of a group are active, and IllFormed for illegal groups.
  PerDevice execute(const Instruction& instruction, const Operands& operands, const Active& active);

 private:
  Tree reduced(const Instruction& instruction, const std::vector<const Tree*>& members,
               const ArrayShape& shape);
  Tree joined(const std::vector<const Tree*>& parts, std::int64_t dimension,
              const ArrayShape& shape) const;
  Tree part(const Tree& whole, std::int64_t dimension, std::int64_t number, std::int64_t parts,
            const Instruction& instruction) const;
  PerDevice permuted(const Instruction& instruction, const Operands& operands,
                     const Active& active);
  PerDevice exchanged(const Instruction& instruction, const Operands& operands,
                      const Active& active);
  const Collective& collective_of(const Instruction& instruction);

  const Module& module_;
  const Devices& devices_;
  Arithmetic& arithmetic_;
  Work& work_;
  LocalOperations<Arithmetic>& local_;
  std::map<const Instruction*, Collective> collectives_;
};

}  // namespace p2::hlo::interpreter
