// Execution of modules: calls, loops and conditionals.

#include <algorithm>

#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

auto Interpreter::scalar_function(const std::string& reference) const -> Scalar {
  const Computation& computation = module_.called(reference);
  Scalar function{&computation, {}};
  const Instruction& root = computation.instructions[computation.root];
  if (computation.parameters.size() != 2 || root.operands.size() != 2) return function;
  const auto op = op_called(root.opcode);
  const bool in_order = root.operands[0] == computation.parameters[0] &&
                        root.operands[1] == computation.parameters[1];
  const bool swapped = root.operands[0] == computation.parameters[1] &&
                       root.operands[1] == computation.parameters[0];
  static const Op kCommutative[] = {Op::Add,      Op::And, Op::Maximum, Op::Minimum,
                                    Op::Multiply, Op::Or,  Op::Xor};
  const bool is_commutative = op && std::find(std::begin(kCommutative), std::end(kCommutative),
                                              *op) != std::end(kCommutative);
  if (is_commutative && (in_order || swapped)) function.op = op;
  return function;
}

std::vector<Cell> Interpreter::call(const Scalar& function, const std::vector<Type>& types,
                                    Cells arguments) {
  if (function.op && arguments.size() == 2) {
    for (const std::uint32_t each : function.computation->parameters) {
      const Shape& shape = function.computation->instructions[each].shape;
      if (shape.is_tuple || !shape.sizes.empty() || !fit(shape.type, types[0]))
        malformed("the parameters of a reducer");
    }
    budget_.spend(8);
    return {arithmetic_.apply({*function.op, types[0], types[0]}, arguments)};
  }
  budget_.spend(64);
  std::vector<Value> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto tensor = std::make_shared<const Tensor>(Tensor{types[i], {}, {arguments[i]}});
    values.push_back({std::vector<TensorPtr>(devices_.count(), tensor), {}});
  }
  if (communicates(*function.computation)) not_covered("a reducer that communicates");
  const Value value = evaluate(*function.computation, values);
  std::vector<Cell> results;
  if (!value.devices.empty()) return {value.devices[0]->cells.at(0)};
  for (const Value& part : value.parts) results.push_back(part.devices.at(0)->cells.at(0));
  return results;
}

bool Interpreter::communicates(const Computation& computation) const {
  for (const Instruction& instruction : computation.instructions) {
    const std::string& opcode = instruction.opcode;
    if (opcode.starts_with("all-") || opcode.starts_with("reduce-scatter") ||
        opcode.starts_with("collective-") || opcode == "partition-id" || opcode == "replica-id" ||
        opcode == "custom-call")
      return true;
    for (const char* key :
         {"to_apply", "calls", "body", "condition", "true_computation", "false_computation"}) {
      if (instruction.has(key) && communicates(module_.called(instruction.attribute(key))))
        return true;
    }
    if (instruction.has("branch_computations")) return true;
  }
  return false;
}

Value Interpreter::loop(const Instruction& instruction, const Value& first) {
  const Computation& condition = module_.called(instruction.attribute("condition"));
  const Computation& body = module_.called(instruction.attribute("body"));
  Value state = first;
  for (;;) {
    budget_.spend(1024);
    const Value goes_on = evaluate(condition, {state});
    std::optional<std::int64_t> all;
    for (std::size_t device = 0; device < goes_on.devices.size(); ++device) {
      if (!is_active(device)) continue;
      const TensorPtr& tensor = goes_on.devices[device];
      const auto known = arithmetic_.known(tensor->cells.at(0), tensor->type);
      if (!known) not_covered("a loop whose number of iterations depends on inputs");
      if (all && *all != *known) not_covered("a loop that ends earlier on some devices");
      all = known;
    }
    if (!all) malformed("a loop without condition");
    if (*all == 0) return state;
    state = evaluate(body, {state});
  }
}

/// By device: the value with the number that is taken there.
Value Interpreter::of_devices(const std::vector<std::optional<std::size_t>>& taken,
                              const std::vector<Value>& values) const {
  const Value& some = values.at(taken.at(0).value());
  Value result;
  for (std::size_t k = 0; k < some.parts.size(); ++k) {
    std::vector<Value> parts;
    for (const Value& value : values)
      parts.push_back(k < value.parts.size() ? value.parts[k] : Value{});
    result.parts.push_back(of_devices(taken, parts));
  }
  for (std::size_t device = 0; device < some.devices.size(); ++device)
    result.devices.push_back(values.at(taken[device].value()).devices.at(device));
  return result;
}

/// By device: the value that the condition chooses; the first of two where it holds.
Value Interpreter::chosen(const Value& condition, const std::vector<Value>& choices) {
  Value result;
  for (std::size_t k = 0; k < choices[0].parts.size(); ++k) {
    std::vector<Value> parts;
    for (const Value& choice : choices) parts.push_back(choice.parts.at(k));
    result.parts.push_back(chosen(condition, parts));
  }
  for (std::size_t device = 0; device < choices[0].devices.size(); ++device) {
    const Cell& cell = condition.devices[device]->cells.at(0);
    const Type& by = condition.devices[device]->type;
    const Tensor& first = *choices[0].devices[device];
    if (!by.is_boolean() && (cell.nan || cell.low < 0))
      not_covered("a branch by a number that may be negative");
    Tensor made{first.type, first.sizes, {}};
    budget_.spend(24 * first.cells.size() * choices.size());
    for (std::size_t i = 0; i < first.cells.size(); ++i) {
      std::vector<Cell> cells;
      for (const Value& choice : choices) cells.push_back(choice.devices.at(device)->cells.at(i));
      const Cell sides[] = {cell, cells[0], cells.back()};
      made.cells.push_back(by.is_boolean()
                               ? arithmetic_.apply({Op::Select, first.type, first.type}, sides)
                               : arithmetic_.choose(cell, by, cells, first.type));
    }
    result.devices.push_back(std::make_shared<const Tensor>(std::move(made)));
  }
  return result;
}

Value Interpreter::branch(const Instruction& instruction, const Operands& operands) {
  std::vector<const Computation*> branches;
  if (instruction.has("branch_computations")) {
    const auto names = stripped(instruction.attribute("branch_computations"), '{', '}');
    for (const auto name : split(names))
      branches.push_back(&module_.called(std::string(trimmed(name))));
  } else {
    branches = {&module_.called(instruction.attribute("true_computation")),
                &module_.called(instruction.attribute("false_computation"))};
  }
  const Value& condition = *operands[0];
  if (condition.devices.empty() || operands.size() != branches.size() + 1)
    malformed("a conditional with another number of operands");
  const Type& type = condition.devices[0]->type;
  const auto last = static_cast<std::int64_t>(branches.size()) - 1;
  std::vector<std::optional<std::size_t>> taken(devices_.count());  // by device
  bool is_known = true;
  for (std::size_t device = 0; device < taken.size(); ++device) {
    if (!is_active(device)) continue;
    const auto known = arithmetic_.known(condition.devices[device]->cells.at(0), type);
    is_known = is_known && known.has_value();
    if (!known) continue;
    std::int64_t number = *known < 0 || *known > last ? last : *known;
    if (type.is_boolean()) number = *known != 0 ? 0 : 1;
    taken[device] = static_cast<std::size_t>(number);
  }
  if (is_known) {
    // Every branch is executed by those that take it; what the others have of it is not looked at.
    const std::vector<bool> before = active_;
    std::vector<Value> made(branches.size());
    std::optional<std::size_t> some;
    for (std::size_t k = 0; k < branches.size(); ++k) {
      if (std::find(taken.begin(), taken.end(), std::optional(k)) == taken.end()) continue;
      some = k;
      active_.assign(devices_.count(), false);
      for (std::size_t device = 0; device < taken.size(); ++device)
        active_[device] = taken[device] == k;
      made[k] = evaluate(*branches[k], {*operands[k + 1]});
    }
    active_ = before;
    if (!some) malformed("a conditional on no device");
    for (auto& choice : taken) choice = choice.value_or(*some);
    return of_devices(taken, made);
  }
  // It depends on inputs. Where it is the same on all devices, all are in the same branch.
  bool is_same = active_.empty();
  for (const TensorPtr& tensor : condition.devices)
    is_same = is_same && tensor->cells.at(0).value == condition.devices[0]->cells.at(0).value;
  std::vector<Value> results;
  for (std::size_t k = 0; k < branches.size(); ++k) {
    if (!is_same && communicates(*branches[k]))
      not_covered("a collective that some devices do not take part in");
    results.push_back(evaluate(*branches[k], {*operands[k + 1]}));
  }
  return chosen(condition, results);
}

/// A function of all elements of all operands and its attributes; a custom call, which may exchange

}  // namespace p2::kernel::xla
