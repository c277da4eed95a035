// Symbolic evaluation of operations that move elements: slices, reshapes, collectives. Devices may
// be a function of variables: what is asked of each of them is an affine function of these, or they
// are split. Of related modules, every device's tensor is made of pieces of the inputs of the
// module before partitioning.

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

/// Numbers that devices have, as affine functions of the variables of `devices`; or a refinement,
/// where they are not.
std::variant<IndexMap, Refinement> Evaluation::affine_or_not(Place devices,
                                                             const OfDevice& function) const {
  using Numbers = std::vector<std::int64_t>;
  const Coordinate all = context_.devices_at(devices);
  const auto of = [&](std::int64_t device) { return function(static_cast<std::uint32_t>(device)); };
  const Numbers origin = of(all.base);
  IndexMap result;
  for (const std::int64_t number : origin) result.push_back({number, {}});
  std::vector<Numbers> steps;
  const auto add = [](Numbers& to, const Numbers& more, std::int64_t times) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * more[i];
  };
  const Term* widest = nullptr;
  for (const Term& term : all.terms) {
    const std::int64_t extent = space_.extent(term.variable);
    Numbers step = of(all.base + term.stride);
    add(step, origin, -1);
    Numbers expected = origin;
    for (std::int64_t k = 0; k < extent; ++k, add(expected, step, 1)) {
      if (of(all.base + k * term.stride) == expected) continue;
      // Blocks of k values that are alike, else all values.
      bool alike = extent % k == 0;
      for (std::int64_t block = k; alike && block < extent; block += k) {
        Numbers moved = of(all.base + block * term.stride);
        for (std::int64_t i = 0; alike && i < k; ++i, add(moved, step, 1)) {
          alike = of(all.base + (block + i) * term.stride) == moved;
        }
      }
      return alike ? Refinement{term.variable, {}, k} : space_.singles(term.variable);
    }
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (step[i] != 0) result[i] = result[i] + Coordinate{0, {{term.variable, step[i]}}};
    }
    steps.push_back(std::move(step));
    if (widest == nullptr || extent > space_.extent(widest->variable)) widest = &term;
  }
  if (all.terms.size() < 2) return result;
  std::vector<std::int64_t> at(all.terms.size());
  for (std::size_t i = 0; i < at.size();) {
    std::int64_t device = all.base;
    Numbers expected = origin;
    for (std::size_t k = 0; k < at.size(); ++k) {
      device += at[k] * all.terms[k].stride;
      add(expected, steps[k], at[k]);
    }
    if (of(device) != expected) return space_.singles(widest->variable);
    for (i = 0; i < at.size() && ++at[i] == space_.extent(all.terms[i].variable); ++i) at[i] = 0;
  }
  return result;
}

/// Throws Refinement where it is not affine.
IndexMap Evaluation::affine(Place devices, const OfDevice& function) const {
  auto found = affine_or_not(devices, function);
  if (const auto* refinement = std::get_if<Refinement>(&found)) throw *refinement;
  return std::move(std::get<IndexMap>(found));
}

/// Splits a variable of what differs from device to device into its values.
void Evaluation::refine_devices(const Coordinate& devices) const {
  throw space_.singles(devices.terms.at(0).variable);
}

void Evaluation::require_one_device(Place devices) const {
  const Coordinate all = context_.devices_at(devices);
  if (!all.is_fixed()) refine_devices(all);
}

/// `function`, which `what` tells from others of the same collective.
const IndexMap& Evaluation::of_collective(const Query& query, const Node& node, std::uint32_t what,
                                          const OfDevice& function) {
  const std::tuple key(node.collective, node.op, what, query.device);
  auto found = of_collectives_.find(key);
  if (found == of_collectives_.end()) {
    found = of_collectives_.emplace(key, affine(query.device, function)).first;
  }
  return found->second;
}

/// The operand, at `map`, on all members of a group: of related modules, where their numbers, in
/// whatever order, are in arithmetic progression, as one region.
std::vector<Region> Evaluation::members_of_group(const Query& query, const Node& node,
                                                 const IndexMap& map) {
  using Numbers = std::vector<std::int64_t>;
  constexpr std::uint32_t kProgression = UINT32_MAX;  // no number of a member
  const Collective& all = flow_.collectives[node.collective];
  const auto base = static_cast<std::uint32_t>(context_.devices_at(query.device).base);
  const auto count = static_cast<std::uint32_t>(all.group_of(base).size());
  context_.spend(count);
  const auto with = [&](const Coordinate& device) {
    IndexMap index = map;
    index.push_back(device);
    return index;
  };
  if (context_.relation != nullptr && count > 1 && node.reducer != Reducer::Unknown) {
    const IndexMap& members = of_collective(query, node, kProgression, [&](std::uint32_t device) {
      std::vector<std::uint32_t> group = all.group_of(device);
      std::sort(group.begin(), group.end());
      const auto step = static_cast<std::int64_t>(group[1 % group.size()]) - group[0];
      bool moves_on = group.size() == count;
      for (std::size_t k = 0; k < group.size(); ++k) {
        moves_on = moves_on && group[k] == group[0] + static_cast<std::int64_t>(k) * step;
      }
      return Numbers{moves_on ? 1 : 0, group[0], step};
    });
    if (!members[0].is_fixed()) refine_devices(members[0]);
    if (!members[2].is_fixed()) refine_devices(members[2]);
    if (members[0].base == 1) {
      const std::vector<Variable> own = space_.reuse({count}, with_device(query, with(members[1])));
      return {{with(members[1] + Coordinate{0, {{own[0], members[2].base}}}), own}};
    }
  }
  std::vector<Region> parts;
  for (std::uint32_t k = 0; k < count; ++k) {
    const IndexMap& member = of_collective(query, node, k, [&](std::uint32_t device) {
      const auto& group = all.group_of(device);
      return group.size() == count ? Numbers{1, group[k]} : Numbers{0, 0};
    });
    if (!member[0].is_fixed()) refine_devices(member[0]);
    parts.push_back({with(member[1]), {}});
  }
  return parts;
}

/// Of linked programs: the number of the operand that the devices' program computes.
std::uint32_t Evaluation::own_operand(const Query& query, const Node& node) const {
  const IndexMap operand = affine(query.device, [&](std::uint32_t device) {
    return std::vector<std::int64_t>{operand_of_program(flow_, node, device)};
  });
  if (!operand[0].is_fixed()) refine_devices(operand[0]);
  return static_cast<std::uint32_t>(operand[0].base);
}

/// Whether a device holds what `map` names of a whole tensor.
bool Evaluation::is_held(const TensorRelation& relation, std::uint32_t device,
                         const IndexMap& map) {
  return std::ranges::any_of(relation.pieces[device], [&](const Piece& piece) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::vector<std::int64_t> ends = {piece.of[i], piece.of[i] + piece.sizes[i]};
      if (space_.interval_of(map[i], ends) != 1) return false;
    }
    return true;
  });
}

/// An element of one of the tensors whose reduction an input is; `device` of the atom is its
/// number.
Value Evaluation::global_input(const Node& node, std::uint32_t number, const IndexMap& map) {
  const TensorRelation& relation = context_.relation->inputs[number];
  std::vector<Value> parts;
  for (std::uint32_t part = 0; part < relation.parts; ++part) {
    if (relation.parts_are_devices && !is_held(relation, part, map)) continue;
    parts.push_back(values_.atom({ValueKind::Input, number, part, map}));
  }
  if (parts.size() == 1) return parts[0];
  return combine(node, relation.reducer, std::move(parts), relation.whole.type);
}

/// Any number, the device's own: what pads a short tile, what is received from nobody.
Value Evaluation::arbitrary(const Query& query, const IndexMap& map) {
  require_one_device(query.device);
  const auto first = static_cast<std::int64_t>(context_.relation->inputs.size());
  return values_.atom({ValueKind::Input, first + query.ref.node, query.device, map});
}

/// Of the piece of an input that devices hold in a parameter: whether it is there, the part that it
/// is of and, for every dimension, where it begins in the whole and in the parameter, and its size.
const IndexMap& Evaluation::piece_of(const Query& query, std::uint32_t parameter,
                                     std::uint32_t number, std::size_t piece) {
  const std::tuple key(parameter, number, piece, query.device);
  const auto found = pieces_.find(key);
  if (found != pieces_.end()) return found->second;
  const TensorRelation& tensor = context_.relation->inputs[number];
  IndexMap all = affine(query.device, [&](std::uint32_t device) {
    std::vector<std::int64_t> numbers(2 + 3 * tensor.whole.sizes.size());
    if (tensor.number_on(device) != parameter || piece >= tensor.pieces[device].size()) {
      return numbers;
    }
    const Piece& own = tensor.pieces[device][piece];
    numbers[0] = 1;
    numbers[1] = tensor.part_of(device);
    for (std::size_t i = 0; i < own.of.size(); ++i) {
      numbers[2 + 3 * i] = own.of[i];
      numbers[3 + 3 * i] = own.at[i];
      numbers[4 + 3 * i] = own.sizes[i];
    }
    return numbers;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool may_vary = i >= 2 && i % 3 != 1;
    if (!may_vary && !all[i].is_fixed()) refine_devices(all[i]);
  }
  return pieces_.emplace(key, std::move(all)).first->second;
}

Evaluation::Answer Evaluation::parameter(const Query& query, const Node& node,
                                         const IndexMap& map) {
  const ModuleRelation* relation = context_.relation;
  if (relation == nullptr) {
    return values_.atom({ValueKind::Input, node.parameter, query.device, map});
  }
  if (number_ == 0) return global_input(node, node.parameter, map);
  for (const std::uint32_t number : context_.alike[number_].inputs(node.parameter)) {
    for (std::size_t k = 0;; ++k) {
      const IndexMap& piece = piece_of(query, node.parameter, number, k);
      if (piece[0].base == 0) break;
      IndexMap whole;
      for (std::size_t i = 0; i < map.size(); ++i) {
        const Coordinate inside = map[i] + piece[3 + 3 * i].times(-1);
        if (space_.interval_of(inside, {0, piece[4 + 3 * i].base}) != 1) break;
        whole.push_back(inside + piece[2 + 3 * i]);
      }
      if (whole.size() != map.size()) continue;
      const auto part = static_cast<std::uint32_t>(piece[1].base);
      return values_.atom({ValueKind::Input, static_cast<std::int64_t>(number), part, whole});
    }
  }
  return arbitrary(query, map);
}

}  // namespace p2::hlo
