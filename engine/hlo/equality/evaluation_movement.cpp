// Symbolic evaluation of operations that move elements: slices, reshapes, collectives.

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {
Evaluation::Answer Evaluation::slice(const Query& query, const Node& node, const IndexMap& map) {
  const Attributes& attributes = node.instruction->attributes;
  IndexMap inner;
  for (std::size_t i = 0; i < map.size(); ++i) {
    inner.push_back(map[i].times(attributes.strides[i]).plus(attributes.starts[i]));
  }
  return demand(node.operands[0], query.device, inner);
}

/// An offset, clamped as slices do. An unknown one becomes a variable.
Coordinate Evaluation::offset(Value value, ElementType type, std::int64_t max) {
  if (const auto number = values_.as_number(value)) {
    const bool huge = type.kind() == ElementType::Kind::Unsigned && number->numerator < 0;
    return {huge ? max : std::clamp<std::int64_t>(number->numerator, 0, max), {}};
  }
  if (max == 0) return {};
  if (!is_element(value, type)) {  // as it wraps around in its type
    const std::string function = fmt::format("an index of {}", type.name());
    value = values_.apply(context_.fingerprints.intern(function), {value}, false);
  }
  return {0, {{values_.offsets().intern(value, max), 1}}};
}

Evaluation::Answer Evaluation::dynamic_slice(const Query& query, const Node& node, IndexMap map) {
  const auto offsets =
      demand_all({node.operands.begin() + 1, node.operands.end()}, query.device, {});
  if (!offsets) return std::nullopt;
  const ArrayShape& from = flow_.shape(node.operands[0]);
  for (std::size_t i = 0; i < map.size(); ++i) {
    const ElementType type = flow_.shape(node.operands[i + 1]).type;
    map[i] = map[i] + offset((*offsets)[i], type, from.sizes[i] - node.outputs[0].sizes[i]);
  }
  return demand(node.operands[0], query.device, map);
}

Evaluation::Answer Evaluation::update_slice(const Query& query, const Node& node, IndexMap map) {
  const auto offsets =
      demand_all({node.operands.begin() + 2, node.operands.end()}, query.device, {});
  if (!offsets) return std::nullopt;
  const ArrayShape& update = flow_.shape(node.operands[1]);
  const ArrayShape& all = flow_.shape(node.operands[0]);
  IndexMap inner;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const ElementType type = flow_.shape(node.operands[i + 2]).type;
    const Coordinate start = offset((*offsets)[i], type, all.sizes[i] - update.sizes[i]);
    const Coordinate shifted = map[i] + start.times(-1);
    if (space_.interval_of(shifted, {0, update.sizes[i]}) != 1) {
      return demand(node.operands[0], query.device, map);
    }
    inner.push_back(shifted);
  }
  return demand(node.operands[1], query.device, inner);
}

Evaluation::Answer Evaluation::reorder(const Query& query, const Node& node, const IndexMap& map) {
  const ArrayShape& from = flow_.shape(node.operands[0]);
  const std::vector<std::int64_t>& dimensions = node.instruction->attributes.dimensions;
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(dimensions[i]); };
  IndexMap inner(from.sizes.size());
  switch (node.op) {
    case Op::Transpose:
      for (std::size_t i = 0; i < map.size(); ++i) inner[at(i)] = map[i];
      break;
    case Op::Broadcast:
      for (std::size_t i = 0; i < inner.size(); ++i) {
        if (from.sizes[i] != 1) inner[i] = map[at(i)];
      }
      break;
    case Op::Reverse:
      inner = map;
      for (std::size_t i = 0; i < dimensions.size(); ++i) {
        inner[at(i)] = map[at(i)].times(-1).plus(from.sizes[at(i)] - 1);
      }
      break;
    default:  // also a bitcast, which is interpreted where it keeps the order of indices
      inner = space_.reshape(map, node.outputs[0].sizes, from.sizes);
      if (from.type != node.outputs[0].type) {
        const Answer value = demand(node.operands[0], query.device, inner);
        if (!value) return std::nullopt;
        return uninterpreted(node, {*value});
      }
  }
  return demand(node.operands[0], query.device, inner);
}

Evaluation::Answer Evaluation::concatenate(const Query& query, const Node& node, IndexMap map) {
  const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
  std::vector<std::int64_t> ends;
  for (const Ref operand : node.operands) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + flow_.shape(operand).sizes[along]);
  }
  const std::size_t part = space_.interval_of(map[along], ends);
  if (part > 0) map[along] = map[along].plus(-ends[part - 1]);
  return demand(node.operands[part], query.device, map);
}

Evaluation::Answer Evaluation::pad(const Query& query, const Node& node, IndexMap map) {
  const ArrayShape& from = flow_.shape(node.operands[0]);
  for (std::size_t i = 0; i < map.size(); ++i) {
    map[i] = map[i].plus(-node.instruction->attributes.starts[i]);
    if (space_.interval_of(map[i], {0, from.sizes[i]}) != 1) {
      return demand(node.operands[1], query.device, {});
    }
  }
  return demand(node.operands[0], query.device, map);
}

Evaluation::Answer Evaluation::all_to_all(const Query& query, const Node& node, IndexMap map) {
  require_one_device(query.device);
  const Collective& all = flow_.collectives[node.collective];
  const auto& group = all.group_of(query.device);
  const std::uint32_t position = all.position[query.device];
  if (node.outputs.size() > 1) {
    return demand(node.operands[position], group[query.ref.output], map);
  }
  const Attributes& attributes = node.instruction->attributes;
  const auto split = static_cast<std::size_t>(attributes.dimensions[0]);
  const auto concat =
      static_cast<std::size_t>(attributes.concat_dimension.value_or(attributes.dimensions[0]));
  const ArrayShape& from = flow_.shape(node.operands[0]);
  const std::int64_t part = from.sizes[split] / static_cast<std::int64_t>(group.size());
  const std::int64_t piece = split == concat ? part : from.sizes[concat];
  const std::int64_t sender = space_.block_of(map[concat], piece);
  map[concat] = map[concat].plus(-sender * piece);
  map[split] = map[split].plus(position * part);
  return demand(node.operands[0], group[static_cast<std::size_t>(sender)], map);
}

Evaluation::Answer Evaluation::collective(const Query& query, const Node& node, IndexMap map) {
  const Collective& all = flow_.collectives[node.collective];
  const Ref operand = node.operands[node.op == Op::AllToAll ? 0 : query.ref.output];
  using Numbers = std::vector<std::int64_t>;
  constexpr std::uint32_t kPosition = UINT32_MAX - 1;  // no number of a member
  switch (node.op) {
    case Op::AllReduce:
      return reduce_members(query, node, map);
    case Op::ReduceScatter: {
      const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
      const std::int64_t part = node.outputs[query.ref.output].sizes[along];
      const IndexMap& position = of_collective(query, node, kPosition, [&](std::uint32_t device) {
        return Numbers{all.position[device]};
      });
      map[along] = map[along] + position[0].times(part);
      return reduce_members(query, node, map);
    }
    case Op::AllGather: {
      const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
      const std::int64_t part = flow_.shape(operand).sizes[along];
      const std::int64_t piece = space_.block_of(map[along], part);
      map[along] = map[along].plus(-piece * part);
      const auto number = static_cast<std::uint32_t>(piece);
      const IndexMap& member = of_collective(query, node, number, [&](std::uint32_t device) {
        return Numbers{all.group_of(device)[number]};
      });
      return demand(operand, context_.place_of(member[0]), map);
    }
    case Op::CollectiveBroadcast:
    case Op::Receive:
    case Op::CollectivePermute: {
      const IndexMap& source = of_collective(query, node, 0, [&](std::uint32_t device) {
        const bool broadcasts = node.op == Op::CollectiveBroadcast;
        if ((broadcasts ? all.group : all.source)[device] == kNone) return Numbers{0, 0};
        return Numbers{1, broadcasts ? all.group_of(device)[0] : all.source[device]};
      });
      if (!source[0].is_fixed()) refine_devices(source[0]);
      if (source[0].base == 1) return demand(operand, context_.place_of(source[1]), map);
      return node.op == Op::Receive ? arbitrary(query, map) : values_.number({});
    }
    default:
      return all_to_all(query, node, map);
  }
}

}  // namespace p2::hlo
