// Execution of a module on all devices: control flow, calls, and what depends on the device.

#include "engine/hlo/interpreter/interpreter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {
namespace {

constexpr int kMaxCallDepth = 128;
constexpr std::int64_t kMaxIterations = 100'000;

/// Whether the shape in the text has the operands, too: only the done uses the result.
bool is_start(const Instruction& instruction) {
  return instruction.opcode.ends_with("-start") || instruction.opcode == "async-update";
}

/// The value with the shapes, and so the layouts, that an instruction declares. Where numbers are
/// not rounded, another type has the same ones.
template <typename Tree>
std::shared_ptr<const Tree> declared(std::shared_ptr<const Tree> tree, const Shape& shape,
                                     const Instruction& instruction, bool real) {
  const auto fits = [&](const auto& self, const Tree& value, const Shape& to) -> bool {
    if (value.is_tuple != to.is_tuple || value.parts.size() != to.parts.size()) {
      give_up(instruction, "its result is of another shape");
    }
    if (!value.is_tuple) {
      const bool sized = value.array.shape.sizes == to.array.sizes;
      if (!sized) give_up(instruction, "its result has other sizes");
      const bool typed = real || value.array.shape.type == to.array.type;
      if (!typed) give_up(instruction, "its type differs from that of its operand");
      return value.array.shape.minor_to_major == to.array.minor_to_major &&
             value.array.shape.type == to.array.type;
    }
    bool all = true;
    for (std::size_t i = 0; i < to.parts.size(); ++i) {
      all = self(self, value.parts[i], to.parts[i]) && all;
    }
    return all;
  };
  if (fits(fits, *tree, shape)) return tree;
  const auto changed = [](const auto& self, const Tree& value, const Shape& to) -> Tree {
    Tree result = value;
    if (!value.is_tuple) result.array.shape = to.array;
    for (std::size_t i = 0; i < to.parts.size(); ++i) {
      result.parts[i] = self(self, value.parts[i], to.parts[i]);
    }
    return result;
  };
  return std::make_shared<const Tree>(changed(changed, *tree, shape));
}

/// What a device has of a value that its program does not compute.
template <typename Tree>
Tree without_cells(const Shape& shape) {
  Tree tree;
  tree.is_tuple = shape.is_tuple;
  tree.array.shape = shape.array;
  for (const Shape& part : shape.parts) tree.parts.push_back(without_cells<Tree>(part));
  return tree;
}

}  // namespace

template <typename A>
auto Interpreter<A>::run(const std::vector<PerDevice>& parameters) -> PerDevice {
  return evaluate(module_.entry, parameters, Active(devices_.count(), true), 0);
}

template <typename A>
template <typename Compute>
auto Interpreter<A>::once_for_same_operands(const Operands& operands, const Active& active,
                                            const Compute& compute) -> PerDevice {
  PerDevice results(active.size());
  std::map<std::vector<const Tree*>, Pointer> known;
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    std::vector<const Tree*> values;
    for (const PerDevice* operand : operands) values.push_back((*operand)[device].get());
    Pointer& result = known[values];
    if (!result) result = std::make_shared<const Tree>(compute(values, device));
    results[device] = result;
  }
  return results;
}

template <typename A>
const std::vector<std::uint32_t>& Interpreter<A>::last_uses_of(std::uint32_t computation) {
  const auto [found, added] = last_uses_.try_emplace(computation);
  if (!added) return found->second;
  const Computation& called = module_.computations[computation];
  found->second.assign(called.instructions.size(), 0);
  for (std::uint32_t i = 0; i < called.instructions.size(); ++i) {
    for (const std::uint32_t operand : called.instructions[i].operands) found->second[operand] = i;
  }
  found->second[called.root] = UINT32_MAX;
  return found->second;
}

template <typename A>
auto Interpreter<A>::evaluate(std::uint32_t computation, const std::vector<PerDevice>& arguments,
                              const Active& active, int depth) -> PerDevice {
  const Computation& called = module_.computations[computation];
  if (depth > kMaxCallDepth) {
    give_up(called.instructions[called.root], "calls are nested too deeply");
  }
  const std::vector<std::uint32_t>& last_uses = last_uses_of(computation);
  std::vector<PerDevice> values(called.instructions.size());
  for (std::uint32_t i = 0; i < called.instructions.size(); ++i) {
    const Instruction& instruction = called.instructions[i];
    current_ = &called;
    Operands operands;
    if (instruction.opcode == "parameter") {
      const auto index = static_cast<std::size_t>(instruction.attributes.index);
      if (index >= arguments.size()) give_up(instruction, "no such argument");
      values[i] = arguments[index];
    } else {
      for (const std::uint32_t operand : instruction.operands) operands.push_back(&values[operand]);
      const bool is_linked = computation == module_.entry && !module_.programs.empty();
      values[i] = execute(instruction, operands,
                          is_linked ? active_of(instruction, operands) : active, depth);
    }
    Pointer last;
    Pointer changed;
    for (Pointer& value : values[i]) {
      if (!value || is_start(instruction)) continue;
      if (value != last) {
        last = value;
        changed = declared(value, instruction.shape, instruction, is_real(arithmetic_));
      }
      value = changed;
    }
    if (observer_) observer_(instruction, operands, values[i]);
    work_.spend(1);
    for (const std::uint32_t operand : instruction.operands) {
      if (last_uses[operand] == i) values[operand].clear();
    }
  }
  return std::move(values[called.root]);
}

template <typename A>
auto Interpreter<A>::active_of(const Instruction& instruction, const Operands& operands) const
    -> Active {
  Active active(devices_.count(), false);
  if (instruction.program != kEveryProgram) {
    for (const std::uint32_t device : module_.programs[instruction.program].devices) {
      active[device] = true;
    }
  } else {
    for (const PerDevice* operand : operands) {
      for (std::uint32_t device = 0; device < active.size(); ++device) {
        if ((*operand)[device]) active[device] = true;
      }
    }
  }
  const std::string_view opcode = instruction.opcode;
  if (opcode == kMatchedReceive || opcode == kOfOwnProgram || opcode == "tuple") return active;
  for (const PerDevice* operand : operands) {
    for (std::uint32_t device = 0; device < active.size(); ++device) {
      if (active[device] && !(*operand)[device]) {
        throw NotUnderstood(instruction, "an operand that another program computes");
      }
    }
  }
  return active;
}

template <typename A>
auto Interpreter<A>::execute(const Instruction& instruction, const Operands& operands,
                             const Active& active, int depth) -> PerDevice {
  const std::string& opcode = instruction.opcode;
  if (opcode == kMatchedReceive) return collectives_.received(instruction, operands, active);
  if (opcode == kOfOwnProgram) {
    PerDevice results(active.size());
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto program = static_cast<std::size_t>(instruction.attributes.dimensions[k]);
      for (const std::uint32_t device : module_.programs[program].devices) {
        results[device] = (*operands[k])[device];
      }
    }
    return results;
  }
  if (opcode == "tuple" || (is_barrier(instruction) && operands.size() > 1)) {
    return once_for_same_operands(operands, active, [&](const auto& values, std::uint32_t) {
      Tree tree;
      tree.is_tuple = true;
      for (std::size_t k = 0; k < values.size(); ++k) {
        tree.parts.push_back(
            values[k] != nullptr ? *values[k] : without_cells<Tree>(instruction.shape.parts[k]));
      }
      return tree;
    });
  }
  if (is_forwarding(instruction)) {
    if (operands.empty()) give_up(instruction, "it has no operand");
    return *operands[0];
  }
  if (opcode == "get-tuple-element") {
    if (operands.size() != 1) give_up(instruction, "it has not one operand");
    const bool is_of_start = is_start(current_->instructions[instruction.operands[0]]);
    if (is_of_start) give_up(instruction, "it is an element of an operation that has not ended");
    const auto index = static_cast<std::size_t>(instruction.attributes.index);
    return once_for_same_operands(operands, active, [&](const auto& values, std::uint32_t) {
      if (index >= values.at(0)->parts.size()) give_up(instruction, "its operand has fewer parts");
      return values[0]->parts[index];
    });
  }
  if (opcode == "call" || opcode == "fusion" || opcode == "async-start") {
    if (instruction.called.size() != 1) give_up(instruction, "it calls no computation");
    std::vector<PerDevice> arguments;
    for (const PerDevice* operand : operands) arguments.push_back(*operand);
    return evaluate(instruction.called[0], arguments, active, depth + 1);
  }
  if (opcode == "while") {
    if (operands.size() != 1) give_up(instruction, "its operands");
    return execute_while(instruction, *operands[0], active, depth);
  }
  if (opcode == "conditional") return execute_conditional(instruction, operands, active, depth);
  if (opcode == "custom-call") return execute_custom_call(instruction, operands, active);
  if (opcode == "partition-id" || opcode == "replica-id") {
    return execute_ids(instruction, active);
  }
  if (is_collective(base_opcode(opcode))) {
    return collectives_.execute(instruction, operands, active);
  }
  if (opcode == "after-all" || opcode == "create-token") {
    return once_for_same_operands(operands, active, [&](const auto&, std::uint32_t) {
      return local_.array(instruction.shape.array, {}, {});
    });
  }
  if (!is_local(instruction)) return execute_opaque(instruction, operands, active);
  return execute_locally(instruction, operands, active);
}

template <typename A>
auto Interpreter<A>::execute_ids(const Instruction& instruction, const Active& active)
    -> PerDevice {
  PerDevice results(active.size());
  const ArrayShape& shape = instruction.shape.array;
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    const LogicalDevice own = logical_device(module_, devices_, device);
    const std::int64_t id = instruction.opcode == "partition-id" ? own.partition : own.replica;
    results[device] = std::make_shared<const Tree>(
        local_.array(shape, {arithmetic_.integer(id, shape.type)}, {}));
  }
  return results;
}

template <typename A>
auto Interpreter<A>::execute_locally(const Instruction& instruction, const Operands& operands,
                                     const Active& active) -> PerDevice {
  return once_for_same_operands(operands, active, [&](const auto& values, std::uint32_t) {
    return local_.evaluate(instruction, values);
  });
}

template <typename A>
auto Interpreter<A>::execute_while(const Instruction& instruction, const PerDevice& initial,
                                   const Active& active, int depth) -> PerDevice {
  if (instruction.called.size() != 2) give_up(instruction, "its condition and body");
  PerDevice state = initial;
  Active running = active;
  for (std::int64_t iteration = 0; iteration < kMaxIterations; ++iteration) {
    const PerDevice goes_on = evaluate(instruction.called[0], {state}, running, depth + 1);
    Active runs_on(running.size(), false);
    bool is_known = true;
    for (std::uint32_t device = 0; device < running.size(); ++device) {
      if (!running[device]) continue;
      const Array<Cell>& condition = goes_on[device]->array;
      const auto value = arithmetic_.as_integer(condition.at(0), condition.shape.type);
      is_known = is_known && value && !condition.unknown;
      runs_on[device] = value.value_or(0) != 0;
    }
    if (!is_known && running == active) {
      return loop_of_unknown_length(instruction, state, active, depth);
    }
    if (!is_known) give_up(instruction, "how often it runs depends on inputs");
    running = std::move(runs_on);
    if (std::ranges::find(running, true) == running.end()) return state;
    PerDevice next = evaluate(instruction.called[1], {state}, running, depth + 1);
    for (std::uint32_t device = 0; device < running.size(); ++device) {
      if (running[device]) state[device] = std::move(next[device]);
    }
  }
  give_up(instruction, "it runs too often");
}

/// A loop is a function of what its condition and its body compute of any state, and of the state
/// with which it begins on all devices.
template <typename A>
auto Interpreter<A>::loop_of_unknown_length(const Instruction& instruction, const PerDevice& state,
                                            const Active& active, int depth) -> PerDevice {
  if constexpr (!A::kSymbolic) {
    give_up(instruction, "how often it runs depends on inputs");
  } else {
    // Elements that may be infinite or no numbers, as those of a later state may be.
    const auto functions_called = [&](const std::string& name) {
      PerDevice values(active.size());
      for (std::uint32_t device = 0; device < active.size(); ++device) {
        if (!active[device]) continue;
        const auto element = [&](std::size_t number, ElementType type) {
          return arithmetic_.function(fmt::format("{} {} {}", name, device, number), {}, type);
        };
        values[device] = std::make_shared<const Tree>(local_.filled_like(*state[device], element));
      }
      return values;
    };
    const PerDevice any = functions_called("state");
    const PerDevice goes_on = evaluate(instruction.called[0], {any}, active, depth + 1);
    const PerDevice next = evaluate(instruction.called[1], {any}, active, depth + 1);
    std::uint64_t loop = 0x100F;
    for (std::uint32_t device = 0; device < active.size(); ++device) {
      if (!active[device]) continue;
      const std::vector<const Tree*> parts = {goes_on[device].get(), next[device].get(),
                                              state[device].get()};
      loop = Algebra::hash(Algebra::hash(loop, device), local_.digest(parts));
    }
    return functions_called(fmt::format("loop {}", loop));
  }
}

template <typename A>
auto Interpreter<A>::chosen(const Cell& condition, const Tree& yes, const Tree& no) -> Tree {
  Tree result = yes;
  for (std::size_t i = 0; i < yes.parts.size(); ++i) {
    result.parts[i] = chosen(condition, yes.parts[i], no.parts.at(i));
  }
  if (yes.is_tuple) return result;
  const ElementType type = yes.array.shape.type;
  std::vector<Cell> cells;
  const ElementOperation select{Element::Select, {}, type, type};
  for (std::size_t i = 0; i < yes.array.cells->size(); ++i) {
    cells.push_back(
        local_.apply(select, {condition, (*yes.array.cells)[i], no.array.cells->at(i)}));
  }
  result.array.cells = std::make_shared<const std::vector<Cell>>(std::move(cells));
  result.array.unknown = yes.array.unknown || no.array.unknown;
  return result;
}

template <typename A>
auto Interpreter<A>::execute_conditional(const Instruction& instruction, const Operands& operands,
                                         const Active& active, int depth) -> PerDevice {
  const std::size_t branches = instruction.called.size();
  if (branches == 0 || operands.size() != branches + 1) give_up(instruction, "its branches");
  const ElementType type = instruction.operands.empty()
                               ? ElementType()
                               : current_->instructions[instruction.operands[0]].shape.array.type;
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  std::vector<Active> chooses(branches, Active(active.size(), false));
  Active open(active.size(), false);
  bool is_open = false;
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    const Array<Cell>& index = (*operands[0])[device]->array;
    const auto value = arithmetic_.as_integer(index.at(0), index.shape.type);
    if (!value || index.unknown) {
      open[device] = is_open = true;
      continue;
    }
    const auto last = static_cast<std::int64_t>(branches) - 1;
    const std::int64_t branch = boolean                       ? (*value != 0 ? 0 : 1)
                                : *value < 0 || *value > last ? last
                                                              : *value;
    chooses[static_cast<std::size_t>(branch)][device] = true;
  }
  PerDevice results(active.size());
  std::vector<PerDevice> all;
  if (is_open) {
    const bool collective = std::ranges::any_of(
        instruction.called, [&](std::uint32_t each) { return has_collective(module_, each); });
    const Cell* first = nullptr;
    for (std::uint32_t device = 0; device < open.size() && collective; ++device) {
      if (!active[device]) continue;
      const Array<Cell>& index = (*operands[0])[device]->array;
      if (first == nullptr) first = &index.at(0);
      if (!open[device] || index.unknown || !arithmetic_.equal(*first, index.at(0), type)) {
        give_up(instruction, "devices may take different branches with collectives");
      }
    }
  }
  for (std::size_t k = 0; k < branches; ++k) {
    Active taken = chooses[k];
    bool any = false;
    for (std::uint32_t device = 0; device < taken.size(); ++device) {
      taken[device] = taken[device] || open[device];
      any = any || taken[device];
    }
    all.emplace_back(active.size());
    if (!any) continue;
    all[k] = evaluate(instruction.called[k], {*operands[k + 1]}, taken, depth + 1);
    for (std::uint32_t device = 0; device < taken.size(); ++device) {
      if (taken[device]) {
        all[k][device] =
            declared(all[k][device], instruction.shape, instruction, is_real(arithmetic_));
      }
      if (chooses[k][device]) results[device] = all[k][device];
    }
  }
  for (std::uint32_t device = 0; device < open.size(); ++device) {
    if (!open[device]) continue;
    const Array<Cell>& index = (*operands[0])[device]->array;
    // Any index that is no branch's number chooses the last.
    Tree tree = *all[branches - 1][device];
    for (std::size_t k = branches - 1; k-- > 0;) {
      const ElementOperation is{Element::Compare, Direction::Eq, type,
                                *ElementType::from_xla("pred")};
      const Cell condition =
          boolean ? index.at(0)
                  : local_.apply(
                        is, {index.at(0), arithmetic_.integer(static_cast<std::int64_t>(k), type)});
      tree = chosen(condition, *all[k][device], tree);
    }
    if (index.unknown) {
      const auto mark = [](const auto& self, Tree& each) -> void {
        each.array.unknown = true;
        for (Tree& inner : each.parts) self(self, inner);
      };
      mark(mark, tree);
    }
    results[device] = std::make_shared<const Tree>(std::move(tree));
  }
  return results;
}

template <typename A>
auto Interpreter<A>::execute_custom_call(const Instruction& instruction, const Operands& operands,
                                         const Active& active) -> PerDevice {
  const std::string target = text_attribute(instruction, "custom_call_target");
  if (target == "SPMDFullToShardShape" || target == "xla.sdy.GlobalToLocalShape") {
    return shards_of(instruction, operands, active);
  }
  if (target == "SPMDShardToFullShape" || target == "xla.sdy.LocalToGlobalShape") {
    return whole_of(instruction, operands, active);
  }
  if (target == "TopK") {
    for (const std::uint32_t called : instruction.called) {
      if (!orders_largest_first(module_.computations[called]))
        give_up(instruction, "its comparator may not be `greater than`");
    }
    return execute_locally(instruction, operands, active);
  }
  if (allocates_memory(instruction) && !instruction.shape.is_tuple) {
    return allocated(instruction, active);
  }
  return execute_opaque(instruction, operands, active);
}

template <typename A>
auto Interpreter<A>::allocated(const Instruction& instruction, const Active& active) -> PerDevice {
  const ArrayShape& shape = instruction.shape.array;
  const auto size = static_cast<std::uint64_t>(shape.elements());
  const std::uint64_t number = allocated_arrays_++;
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    work_.spend(size, size * sizeof(Cell));
    const std::uint64_t own = Algebra::hash(Algebra::hash(number_, number), device);
    std::vector<Cell> cells;
    for (std::uint64_t i = 0; i < size; ++i) {
      cells.push_back(memory_ ? memory_(number, i, device, shape.type)
                              : arithmetic_.arbitrary(Algebra::hash(own, i), shape.type));
    }
    results[device] = std::make_shared<const Tree>(local_.array(shape, std::move(cells), {}));
  }
  return results;
}

template <typename A>
auto Interpreter<A>::execute_opaque(const Instruction& instruction, const Operands& operands,
                                    const Active& active) -> PerDevice {
  if (is_impure(instruction)) give_up(instruction, "it has a side effect");
  std::vector<const Tree*> all;  // it may exchange with other devices
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    for (const PerDevice* operand : operands) {
      if (active[device]) all.push_back((*operand)[device].get());
    }
  }
  const std::uint64_t exchanged = local_.digest(all);
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    std::vector<const Tree*> own;
    for (const PerDevice* operand : operands) own.push_back((*operand)[device].get());
    results[device] = std::make_shared<const Tree>(
        local_.opaque(instruction, own, Algebra::hash(exchanged, device + 1)));
  }
  return results;
}

template class Interpreter<Numbers>;
template class Interpreter<Algebra>;
template class Interpreter<Expressions>;

template class Interpreter<Ranges>;

}  // namespace p2::hlo::interpreter
