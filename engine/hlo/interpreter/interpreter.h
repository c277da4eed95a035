#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/module.h"
#include "engine/hlo/sharding.h"

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
  /// What devices receive of linked programs. Without a source it is arbitrary.
  PerDevice received(const Instruction& instruction, const Operands& operands,
                     const Active& active);

 private:
  Tree reduced(const Instruction& instruction, const std::vector<const Tree*>& members,
               const std::vector<std::uint32_t>& group);
  Tree joined(const std::vector<const Tree*>& parts, std::int64_t dimension,
              const ArrayShape& shape) const;
  Tree part(const Tree& whole, std::int64_t dimension, std::int64_t number, std::int64_t parts,
            const Instruction& instruction) const;
  void require_dimensions(const Instruction& instruction, const Operands& operands,
                          const Active& active) const;
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

/// Executes a module on all devices at once, instruction by instruction, in an arithmetic: Numbers,
/// Algebra or Expressions. Devices whose operands are the same tensors share the result.
///
/// A module before partitioning has tensors of global shape, which are the same on every device;
/// `SPMDFullToShardShape` and `xla.sdy.GlobalToLocalShape` take every device's shard of them.
template <typename Arithmetic>
class Interpreter {
 public:
  using Cell = typename Arithmetic::Cell;
  using Tree = ArrayTree<Cell>;
  using Pointer = std::shared_ptr<const Tree>;
  /// One value for each device; empty where a device does not execute an instruction.
  using PerDevice = std::vector<Pointer>;
  using Operands = std::vector<const PerDevice*>;
  /// Sees every instruction that is executed, inner ones of calls first: its operands, its result.
  using Observer = std::function<void(const Instruction&, const Operands&, const PerDevice&)>;

  /// `module` must outlive this. `number` distinguishes the modules of one comparison.
  Interpreter(const Module& module, std::uint64_t number, const Devices& devices,
              Arithmetic& arithmetic, Work& work)
      : module_(module),
        number_(number),
        devices_(devices),
        arithmetic_(arithmetic),
        work_(work),
        local_(module, number, arithmetic, work),
        collectives_(module, devices_, arithmetic, work, local_) {}

  /// The results of the entry computation for one value of every parameter. Throws NotUnderstood,
  /// IllFormed for illegal groups, LimitReached.
  PerDevice run(const std::vector<PerDevice>& parameters);
  void observe(Observer observer) { observer_ = std::move(observer); }
  /// What memory contains that nobody has written to: elements of the arrays that are allocated, by
  /// their number in the order of execution. Without this they are arbitrary.
  using Memory = std::function<Cell(std::uint64_t array, std::uint64_t element,
                                    std::uint32_t device, ElementType type)>;
  void fill_memory(Memory memory) { memory_ = std::move(memory); }

  /// The instructions that were uninterpreted functions or arbitrary, in the order of execution.
  const std::vector<const Instruction*>& opaque_instructions() const {
    return local_.opaque_instructions();
  }

 private:
  using Active = std::vector<bool>;

  PerDevice evaluate(std::uint32_t computation, const std::vector<PerDevice>& arguments,
                     const Active& active, int depth);
  PerDevice execute(const Instruction& instruction, const Operands& operands, const Active& active,
                    int depth);
  PerDevice execute_locally(const Instruction& instruction, const Operands& operands,
                            const Active& active);
  PerDevice execute_ids(const Instruction& instruction, const Active& active);
  PerDevice execute_while(const Instruction& instruction, const PerDevice& initial,
                          const Active& active, int depth);
  PerDevice loop_of_unknown_length(const Instruction& instruction, const PerDevice& state,
                                   const Active& active, int depth);
  PerDevice execute_conditional(const Instruction& instruction, const Operands& operands,
                                const Active& active, int depth);
  PerDevice execute_custom_call(const Instruction& instruction, const Operands& operands,
                                const Active& active);
  PerDevice allocated(const Instruction& instruction, const Active& active);
  /// An uninterpreted function of the device and the operands of all devices.
  PerDevice execute_opaque(const Instruction& instruction, const Operands& operands,
                           const Active& active);
  /// The tiles of a manual group's tensor, of shape `local`, that its devices hold, by the sharding
  /// `text`; nothing where every device holds all of it.
  std::optional<Sharding> manual_tiles(const Instruction& instruction, const std::string& text,
                                       const ArrayShape& local) const;
  /// How an array is cut between the module and a manual part, by the sharding `text`; nothing
  /// unless it is tiles and copies.
  std::optional<Sharding> plain_sharding(const Instruction& instruction, const std::string& text,
                                         const ArrayShape& shape) const;
  PerDevice shards_of(const Instruction& instruction, const Operands& operands,
                      const Active& active);
  PerDevice whole_of(const Instruction& instruction, const Operands& operands,
                     const Active& active);

  Tree chosen(const Cell& condition, const Tree& yes, const Tree& no);
  /// Every result computed once for devices with the same operands.
  template <typename Compute>
  PerDevice once_for_same_operands(const Operands& operands, const Active& active,
                                   const Compute& compute);
  /// Of linked programs: the devices that execute an instruction of the entry.
  Active active_of(const Instruction& instruction, const Operands& operands) const;
  const std::vector<std::uint32_t>& last_uses_of(std::uint32_t computation);

  const Module& module_;
  std::uint64_t number_;
  Devices devices_;
  Arithmetic& arithmetic_;
  Work& work_;
  LocalOperations<Arithmetic> local_;
  CollectiveOperations<Arithmetic> collectives_;
  const Computation* current_ = nullptr;
  std::map<std::uint32_t, std::vector<std::uint32_t>> last_uses_;
  Observer observer_;
  Memory memory_;
  std::uint64_t allocated_arrays_ = 0;
};

}  // namespace p2::hlo::interpreter
