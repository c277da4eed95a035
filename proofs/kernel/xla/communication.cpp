// Collectives: groups of devices, and what their members have afterwards.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

/// Groups of devices. What ids are depends on channel_id and use_global_device_ids (docs/hlo.md).
auto Interpreter::groups_of(const Instruction& instruction, bool reduces) const -> Groups {
  const bool has_channel = instruction.number("channel_id", 0) > 0;
  const auto global = instruction.attributes.find("use_global_device_ids");
  const bool wants_global = global != instruction.attributes.end() && global->second == "true";
  if (wants_global && !has_channel) malformed("ids of devices without a channel");
  std::vector<Index> lists;
  if (instruction.has("replica_groups")) {
    const std::string& text = instruction.attribute("replica_groups");
    const bool has_ids = text.starts_with("mesh") && instruction.has("device_ids");
    lists = text.starts_with("mesh")
                ? mesh_groups(text, has_ids ? instruction.attribute("device_ids") : "")
                : id_lists(text);
  }
  enum class Ids : std::uint8_t { Devices, Replicas, WholeReplicas, Partitions };
  Ids ids = wants_global   ? Ids::Devices
            : !has_channel ? Ids::Replicas
            : reduces      ? Ids::WholeReplicas
                           : Ids::Partitions;
  const bool beyond = std::any_of(lists.begin(), lists.end(), [](const Index& list) {
    return std::any_of(list.begin(), list.end(), [](std::int64_t id) { return id > 0; });
  });
  if (ids == Ids::WholeReplicas && devices_.replicas == 1 && beyond) ids = Ids::Partitions;
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
      require_together(group[0], each);
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
      shape.sizes.at(along) = size;
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
      shape.sizes[along] *= std::ssize(tensors);
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

}  // namespace p2::kernel::xla
