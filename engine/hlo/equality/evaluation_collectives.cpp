#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

Evaluation::Answer Evaluation::reduce_members(const Query& query, const Node& node,
                                              const IndexMap& map) {
  const auto& group = flow_.collectives[node.collective].group_of(query.device);
  const Ref operand = node.operands[query.ref.output];
  context_.spend(group.size());
  std::vector<Value> members;
  for (const std::uint32_t member : group) {
    if (const Answer answer = ask(operand, member, map)) members.push_back(*answer);
  }
  if (members.size() != group.size()) return std::nullopt;
  return combine(node, node.reducer, std::move(members), node.outputs[query.ref.output].type);
}

Evaluation::Answer Evaluation::all_to_all(const Query& query, const Node& node, IndexMap map) {
  const Collective& all = flow_.collectives[node.collective];
  const auto& group = all.group_of(query.device);
  const std::uint32_t position = all.position[query.device];
  if (node.outputs.size() > 1) {
    return ask(node.operands[position], group[query.ref.output], map);
  }
  const Attributes& attributes = node.instruction->attributes;
  const auto split = static_cast<std::size_t>(attributes.dimensions[0]);
  const auto concat =
      static_cast<std::size_t>(attributes.concat_dimension.value_or(attributes.dimensions[0]));
  const ArrayShape& from = flow_.shape(node.operands[0]);
  const std::int64_t part = from.sizes[split] / static_cast<std::int64_t>(group.size());
  const std::int64_t piece = split == concat ? part : from.sizes[concat];
  const std::int64_t sender = space_.piece_of(map[concat], piece);
  map[concat] = map[concat].plus(-sender * piece);
  map[split] = map[split].plus(position * part);
  return ask(node.operands[0], group[static_cast<std::size_t>(sender)], map);
}

Evaluation::Answer Evaluation::collective(const Query& query, const Node& node, IndexMap map) {
  const Collective& all = flow_.collectives[node.collective];
  const Ref operand = node.operands[node.op == Op::AllToAll ? 0 : query.ref.output];
  const auto zero = [&] { return values_.number({}); };
  switch (node.op) {
    case Op::AllReduce:
      return reduce_members(query, node, map);
    case Op::ReduceScatter: {
      const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
      const std::int64_t part = node.outputs[query.ref.output].sizes[along];
      map[along] = map[along].plus(all.position[query.device] * part);
      return reduce_members(query, node, map);
    }
    case Op::AllGather: {
      const auto along = static_cast<std::size_t>(node.instruction->attributes.dimensions[0]);
      const std::int64_t part = flow_.shape(operand).sizes[along];
      const std::int64_t piece = space_.piece_of(map[along], part);
      map[along] = map[along].plus(-piece * part);
      return ask(operand, all.group_of(query.device)[static_cast<std::size_t>(piece)], map);
    }
    case Op::CollectiveBroadcast:
      if (all.group[query.device] == kNone) return zero();
      return ask(operand, all.group_of(query.device)[0], map);
    case Op::CollectivePermute:
      if (all.source[query.device] == kNone) return zero();
      return ask(operand, all.source[query.device], map);
    default:
      return all_to_all(query, node, map);
  }
}

}  // namespace p2::hlo
