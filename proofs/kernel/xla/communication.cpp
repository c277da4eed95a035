// Collectives: groups of devices, and what their members have afterwards.
// Execution of modules: calls, loops and conditionals.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

/// Computations that an instruction calls, by their names.
std::vector<std::string> called_by(const Instruction& instruction) {
  std::vector<std::string> names;
  for (const auto& [key, value] : instruction.attributes) {
    if (!names_computations(key)) continue;
    for (const auto name : split(value.starts_with('{') ? stripped(value, '{', '}') : value))
      if (!trimmed(name).empty()) names.emplace_back(trimmed(name));
  }
  return names;
}

/// No computation calls itself, and all that one calls, each time counted, are not too many.
class Calls {
 public:
  explicit Calls(const Module& module) : module_(module) {}

  double of(const Computation& computation, int depth = 0) {
    constexpr double kMost = 1 << 20;
    if (depth > 200) not_covered("computations that call each other too deep");
    const auto [known, is_new] = counts_.emplace(&computation, 0);
    if (!is_new && known->second == 0) malformed("a computation that calls itself");
    if (!is_new) return known->second;
    double count = 1;
    for (const Instruction& each : computation.instructions) {
      for (const std::string& name : called_by(each)) count += of(module_.called(name), depth + 1);
    }
    if (count > kMost) not_covered("computations that are called too often");
    return counts_[&computation] = count;
  }

 private:
  const Module& module_;
  std::unordered_map<const Computation*, double> counts_;
};

}  // namespace

bool names_computations(std::string_view key) {
  return is_one_of(key, {"body", "branch_computations", "called_computations", "calls", "condition",
                         "false_computation", "scatter", "select", "to_apply", "true_computation"});
}

void require_calls(const Module& module) {
  Calls calls(module);
  for (const auto& [name, computation] : module.computations) calls.of(computation);
}

/// Groups of devices. What ids are depends on channel_id and use_global_device_ids (docs/hlo.md).
auto Interpreter::groups_of(const Instruction& instruction, bool reduces) const -> const Groups& {
  const bool has_channel = instruction.number("channel_id", 0) > 0;
  const auto global = instruction.attributes.find("use_global_device_ids");
  const bool wants_global = global != instruction.attributes.end() && global->second == "true";
  if (wants_global && !has_channel) malformed("ids of devices without a channel");
  std::string text, ids_of_mesh;
  if (instruction.has("replica_groups")) text = instruction.attribute("replica_groups");
  const bool has_mesh = text.starts_with("mesh");
  if (has_mesh && instruction.has("device_ids")) ids_of_mesh = instruction.attribute("device_ids");
  const std::string key = std::string(has_channel ? "c" : "") + (wants_global ? "g" : "") +
                          (reduces ? "r" : "") + " " + text + " " + ids_of_mesh;
  auto known = groups_.find(key);
  if (known == groups_.end()) {
    std::vector<Index> lists;
    if (instruction.has("replica_groups"))
      lists = has_mesh ? mesh_groups(text, ids_of_mesh) : id_lists(text);
    known =
        groups_.emplace(key, numbered_groups(std::move(lists), has_channel, wants_global, reduces))
            .first;
  }
  if (active_.empty()) return known->second;
  for (const auto& group : known->second) {
    for (const std::size_t each : group) require_together(group[0], each);
  }
  return known->second;
}

/// It is executed on the numbers of devices, from 1; nobody's is 0.
std::vector<std::optional<std::size_t>> Interpreter::senders_of(const Computation& computation,
                                                                const Instruction& permute) {
  const Type type = type_called("s32");
  Value value;
  for (std::size_t id = 0; id < devices_.count(); ++id)
    value.devices.push_back(std::make_shared<const Tensor>(
        Tensor{type, {}, {arithmetic_.integer(static_cast<std::int64_t>(id) + 1, type)}}));
  value = result(computation, permute, {&value});
  std::vector<std::optional<std::size_t>> senders(devices_.count());
  for (std::size_t id = 0; id < senders.size(); ++id) {
    const std::int64_t sender = arithmetic_.known(value.devices[id]->cells.at(0), type).value();
    if (sender != 0) senders[id] = static_cast<std::size_t>(sender - 1);
  }
  return senders;
}

auto Interpreter::numbered_groups(std::vector<Index> lists, bool has_channel, bool wants_global,
                                  bool reduces) const -> Groups {
  enum class Ids : std::uint8_t { Devices, Replicas, WholeReplicas, Partitions };
  Ids ids = wants_global   ? Ids::Devices
            : !has_channel ? Ids::Replicas
            : reduces      ? Ids::WholeReplicas
                           : Ids::Partitions;
  if (lists.empty()) {
    Index all(static_cast<std::size_t>(ids == Ids::Devices ? devices_.replicas * devices_.partitions
                                       : ids == Ids::Partitions ? devices_.partitions
                                                                : devices_.replicas));
    std::iota(all.begin(), all.end(), 0);
    lists.push_back(std::move(all));
  }
  Groups groups;
  const auto device = [&](std::int64_t replica, std::int64_t partition) {
    if (replica < 0 || replica >= devices_.replicas || partition < 0 ||
        partition >= devices_.partitions)
      malformed("a group with an id that does not exist");
    return static_cast<std::size_t>(replica * devices_.partitions + partition);
  };
  for (const Index& list : lists) {
    if (ids == Ids::Devices || ids == Ids::WholeReplicas) {
      auto& group = groups.emplace_back();
      for (const std::int64_t id : list) {
        if (ids == Ids::Devices) {
          group.push_back(device(id / devices_.partitions, id % devices_.partitions));
          continue;
        }
        for (std::int64_t p = 0; p < devices_.partitions; ++p) group.push_back(device(id, p));
      }
      continue;
    }
    const bool by_replica = ids == Ids::Replicas;
    for (std::int64_t k = 0; k < (by_replica ? devices_.partitions : devices_.replicas); ++k) {
      auto& group = groups.emplace_back();
      for (const std::int64_t id : list)
        group.push_back(by_replica ? device(id, k) : device(k, id));
    }
  }
  std::vector<bool> seen(devices_.count(), false);
  for (const auto& group : groups) {
    for (const std::size_t each : group) {
      if (seen[each]) malformed("a device in two groups");
      seen[each] = true;
    }
  }
  return groups;
}

/// Of the devices that communicate all are in the same branch, or none.
void Interpreter::require_together(std::size_t one, std::size_t other) const {
  if (is_active(one) != is_active(other))
    not_covered("a collective that some devices do not take part in");
}

/// What every member of every group has afterwards; every device has to be in one.
Value Interpreter::over_groups(const Instruction& instruction, const Value& operand,
                               const Groups& groups,
                               const std::function<TensorPtr(const std::vector<std::size_t>& group,
                                                             std::size_t position)>& member) {
  if (operand.devices.empty()) not_covered(instruction.opcode + " of a tuple");
  Value result;
  result.devices.resize(devices_.count());
  for (const auto& group : groups) {
    for (std::size_t position = 0; position < group.size(); ++position)
      result.devices[group[position]] = member(group, position);
  }
  for (TensorPtr& tensor : result.devices) {
    if (!tensor) not_covered("a device in no group of " + instruction.opcode);
  }
  return result;
}

std::optional<Value> Interpreter::collective(const Instruction& instruction,
                                             const Operands& operands) {
  std::string opcode = instruction.opcode;
  if (opcode.ends_with("-start")) opcode.resize(opcode.size() - 6);
  if (opcode == "collective-permute") {
    Value all;
    for (const Value* operand : operands) all.parts.push_back(permuted(instruction, *operand));
    return operands.size() > 1 ? all : std::move(all.parts.at(0));
  }
  if (opcode == "collective-broadcast") {
    const Groups groups = groups_of(instruction, false);
    Value result = zeros_like(*operands.at(0));
    for (const auto& group : groups) {
      for (const std::size_t each : group)
        result.devices[each] = operands[0]->devices.at(group.at(0));
    }
    return result;
  }
  const bool is_reduce = opcode == "all-reduce" || opcode == "reduce-scatter";
  if (!is_reduce && opcode != "all-gather" && opcode != "all-to-all") return std::nullopt;
  const Groups groups = groups_of(instruction, opcode != "all-to-all");
  Value all;
  if (opcode == "all-to-all" && !instruction.has("dimensions")) {
    // Part j of the result is what member j has as its operand of the own number.
    for (std::size_t part = 0; part < operands.size(); ++part) {
      all.parts.push_back(
          over_groups(instruction, *operands[part], groups,
                      [&](const std::vector<std::size_t>& group, std::size_t position) {
                        if (group.size() != operands.size()) malformed("operands of an all-to-all");
                        return operands[position]->devices.at(group[part]);
                      }));
    }
    return all;
  }
  const auto shapes = arrays_of(instruction.shape);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Value& operand = *operands[k];
    const auto along = static_cast<std::size_t>(
        instruction.has("dimensions") ? instruction.numbers("dimensions").at(0) : 0);
    std::map<std::vector<std::size_t>, TensorPtr> reduced;
    /// Elements [first, first + size) along the dimension.
    const auto piece = [&](const Tensor& tensor, std::int64_t first, std::int64_t size) {
      Shape shape{false, tensor.type, tensor.sizes, {}, {}, {}};
      shape.sizes.set(along, size);
      const Index strides = strides_of(tensor.sizes);
      return filled(shape, [&](const Index& index) {
        std::int64_t place = first * strides[along];
        for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * strides[i];
        return tensor.cells.at(static_cast<std::size_t>(place));
      });
    };
    const auto joined = [&](const std::vector<Tensor>& tensors) {
      Shape shape{false, tensors.at(0).type, tensors[0].sizes, {}, {}, {}};
      const std::int64_t each = shape.sizes.at(along);
      shape.sizes.set(along, each * std::ssize(tensors));
      const Index strides = strides_of(tensors[0].sizes);
      return std::make_shared<const Tensor>(filled(shape, [&](const Index& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < index.size(); ++i)
          place += (i == along ? index[i] % each : index[i]) * strides[i];
        const auto number = static_cast<std::size_t>(each == 0 ? 0 : index[along] / each);
        return tensors.at(number).cells.at(static_cast<std::size_t>(place));
      }));
    };
    const auto sum = [&](const std::vector<std::size_t>& group) {
      TensorPtr& total = reduced[group];
      if (total) return total;
      const Scalar function = scalar_function(instruction.attribute("to_apply"));
      Tensor made = *operand.devices.at(group.at(0));
      for (std::size_t i = 1; i < group.size(); ++i) {
        const Tensor& other = *operand.devices.at(group[i]);
        budget_.spend(8 * made.cells.size());
        for (std::size_t c = 0; c < made.cells.size(); ++c) {
          const Cell arguments[] = {made.cells[c], other.cells.at(c)};
          made.cells[c] = call(function, {made.type, made.type}, arguments).at(0);
        }
      }
      return total = std::make_shared<const Tensor>(std::move(made));
    };
    all.parts.push_back(over_groups(
        instruction, operand, groups,
        [&](const std::vector<std::size_t>& group, std::size_t position) -> TensorPtr {
          const auto count = std::ssize(group);
          const auto own = static_cast<std::int64_t>(position);
          if (opcode == "all-reduce") return sum(group);
          const std::int64_t size = operand.devices.at(group[0])->sizes.at(along);
          if (opcode == "all-gather") {
            TensorPtr& whole = reduced[group];
            if (whole) return whole;
            std::vector<Tensor> tensors;
            for (const std::size_t each : group) tensors.push_back(*operand.devices.at(each));
            return whole = joined(tensors);
          }
          if (size % count != 0) malformed("a dimension that the group does not divide");
          if (opcode == "reduce-scatter")
            return std::make_shared<const Tensor>(
                piece(*sum(group), own * (size / count), size / count));
          std::vector<Tensor> tensors;
          for (const std::size_t each : group)
            tensors.push_back(piece(*operand.devices.at(each), own * (size / count), size / count));
          return joined(tensors);
        }));
    // A start's shape also has its operands.
    const Shape& shape = instruction.opcode == "all-gather-start" ? shapes.back() : shapes.at(k);
    if (all.parts.back().devices.at(0)->sizes != shape.sizes && operands.size() == 1)
      malformed("the shape of " + printable(instruction.name));
  }
  if (operands.size() > 1) return all;
  return std::move(all.parts.at(0));
}

/// Zeros of the same shape on every device.
Value Interpreter::zeros_like(const Value& value) const {
  if (value.devices.empty()) not_covered("a collective of a tuple");
  const Tensor& like = *value.devices[0];
  std::vector<Cell> cells(like.cells.size(), arithmetic_.integer(0, like.type));
  const auto zeros =
      std::make_shared<const Tensor>(Tensor{like.type, like.sizes, std::move(cells)});
  return {std::vector<TensorPtr>(devices_.count(), zeros), {}};
}

/// Who is no target has zeros.
Value Interpreter::permuted(const Instruction& instruction, const Value& operand) {
  if (instruction.has("slice_sizes")) not_covered("a collective-permute of slices");
  Value result = zeros_like(operand);
  const bool by_partition = instruction.number("channel_id", 0) > 0;
  std::vector<bool> sent(devices_.count(), false);
  std::vector<bool> received(devices_.count(), false);
  for (const Index& pair : id_lists(instruction.attribute("source_target_pairs"))) {
    const std::int64_t ids = by_partition ? devices_.partitions : devices_.replicas;
    if (pair.size() != 2 || std::min(pair[0], pair[1]) < 0 || std::max(pair[0], pair[1]) >= ids)
      malformed("a pair of a collective-permute");
    for (std::int64_t k = 0; k < (by_partition ? devices_.replicas : devices_.partitions); ++k) {
      const auto device = [&](std::int64_t id) {
        return static_cast<std::size_t>(by_partition ? k * devices_.partitions + id
                                                     : id * devices_.partitions + k);
      };
      if (sent[device(pair[0])] || received[device(pair[1])]) malformed("a source or target twice");
      sent[device(pair[0])] = received[device(pair[1])] = true;
      require_together(device(pair[0]), device(pair[1]));
      result.devices[device(pair[1])] = operand.devices[device(pair[0])];
    }
  }
  return result;
}

auto Interpreter::scalar_function(const std::string& reference) const -> Scalar {
  const Computation& computation = module_.called(reference);
  return {&computation, commutative_op(computation)};
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
    if (depends_on_device(instruction.opcode)) return true;
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
    const double end = std::ldexp(1, by.bits - (by.kind == Type::Kind::Signed ? 1 : 0));
    if (!by.is_boolean() && (cell.nan || cell.low < 0 || cell.high >= end))
      not_covered("a branch by a number that may be negative, or wrap around");
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

std::vector<std::string> branches_of(const Instruction& conditional) {
  if (!conditional.has("branch_computations"))
    return {conditional.attribute("true_computation"), conditional.attribute("false_computation")};
  std::vector<std::string> names;
  for (const auto name : split(stripped(conditional.attribute("branch_computations"), '{', '}')))
    names.emplace_back(trimmed(name));
  return names;
}

Value Interpreter::branch(const Instruction& instruction, const Operands& operands) {
  std::vector<const Computation*> branches;
  for (const std::string& name : branches_of(instruction))
    branches.push_back(&module_.called(name));
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
