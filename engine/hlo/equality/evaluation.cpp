#include "engine/hlo/equality/evaluation.h"

#include "engine/base/invariant.h"

namespace p2::hlo {
namespace {

/// What one look at a node costs, where one term of a sum costs 1.
constexpr std::uint64_t kStep = 16;

}  // namespace

void Evaluation::forget() {
  answers_.clear();
  reductions_.clear();
}

Value Evaluation::at(Ref ref, std::uint32_t device, const IndexMap& map) {
  open_.clear();
  wanted_.clear();
  const Answer known = ask(ref, device, map);
  if (known) return *known;
  const Query asked = wanted_.front();
  open_ = wanted_;
  while (!open_.empty()) {
    const Query query = open_.back();
    wanted_.clear();
    Answer answer;
    try {
      answer = compute(query);
    } catch (const Refinement& refinement) {
      if (!refine_reduction(refinement)) throw;
      continue;
    }
    if (!answer) {
      open_.insert(open_.end(), wanted_.begin(), wanted_.end());
      continue;
    }
    const bool fixed = is_fixed(values_.map(query.map));
    (fixed ? context_.fixed[number_] : answers_)[query] = *answer;
    open_.pop_back();
  }
  const bool fixed = is_fixed(values_.map(asked.map));
  return (fixed ? context_.fixed[number_] : answers_).at(asked);
}

/// Cuts the part of a reduction that the variable belongs to, and goes on from there.
bool Evaluation::refine_reduction(const Refinement& refinement) {
  for (std::size_t i = open_.size(); i-- > 0;) {
    const auto found = reductions_.find(open_[i]);
    if (found == reductions_.end()) continue;
    std::vector<Region>& parts = found->second.parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!parts[k].has(refinement.variable)) continue;
      std::vector<Region> cut = refined(space_, parts[k], refinement);
      parts[k] = std::move(cut[0]);
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                   std::make_move_iterator(cut.begin() + 1), std::make_move_iterator(cut.end()));
      open_.resize(i + 1);
      context_.spend(cut.size());
      return true;
    }
  }
  return false;
}

/// The same for all devices whose answer is the same anyway.
std::uint32_t Evaluation::canonical_device(Ref ref, std::uint32_t device) const {
  const Node& node = flow_.node(ref);
  switch (node.op) {
    case Op::Constant:
    case Op::Iota:
      return 0;
    case Op::AllReduce:
    case Op::AllGather:
    case Op::CollectiveBroadcast: {
      const Collective& collective = flow_.collectives[node.collective];
      return collective.group[device] == kNone ? device : collective.group_of(device)[0];
    }
    default:
      return device;
  }
}

Evaluation::Answer Evaluation::ask(Ref ref, std::uint32_t device, const IndexMap& map) {
  const Query query{ref, canonical_device(ref, device), values_.intern_map(map)};
  const Answers& known = is_fixed(map) ? context_.fixed[number_] : answers_;
  const auto found = known.find(query);
  if (found != known.end()) return found->second;
  wanted_.push_back(query);
  return std::nullopt;
}

Evaluation::Operands Evaluation::ask_all(const std::vector<Ref>& refs, std::uint32_t device,
                                         const IndexMap& map) {
  std::vector<Value> all;
  for (const Ref ref : refs) {
    if (const Answer answer = ask(ref, device, map)) all.push_back(*answer);
  }
  if (all.size() != refs.size()) return std::nullopt;
  return all;
}

Evaluation::Answer Evaluation::compute(const Query& query) {
  const Node& node = flow_.node(query.ref);
  context_.spend(kStep + node.operands.size());
  const IndexMap map = values_.map(query.map);
  if (node.op == Op::Opaque) return opaque(query, node, map);
  try {
    return understood(query, node, map);
  } catch (const Space::Undecided&) {
    wanted_.clear();
    return opaque(query, node, map);
  }
}

Evaluation::Answer Evaluation::understood(const Query& query, const Node& node,
                                          const IndexMap& map) {
  if (node.collective != kNone) return collective(query, node, map);
  switch (node.op) {
    case Op::Parameter:
      return values_.atom({ValueKind::Input, node.parameter, query.device, map});
    case Op::Constant:
    case Op::Iota:
    case Op::PartitionId:
    case Op::ReplicaId:
      return constant(query, node, map);
    case Op::Slice:
      return slice(query, node, map);
    case Op::DynamicSlice:
      return dynamic_slice(query, node, map);
    case Op::DynamicUpdateSlice:
      return update_slice(query, node, map);
    case Op::Concatenate:
      return concatenate(query, node, map);
    case Op::Pad:
      return pad(query, node, map);
    case Op::Elementwise:
      return elementwise(query, node, map);
    case Op::Reduce:
      return reduce(query, node, map);
    default:
      return reorder(query, node, map);
  }
}

/// The classes of all tensors that the result depends on, after what tells devices apart.
std::vector<std::int64_t> Evaluation::opaque_operands(const Query& query, const Node& node) const {
  std::vector<std::int64_t> sequence = {node.fingerprint};
  const auto add = [&](std::uint32_t device) {
    for (const Ref operand : node.operands) {
      sequence.push_back(context_.class_of({number_, operand, canonical_device(operand, device)}));
    }
  };
  if (node.impure) {
    sequence.insert(sequence.end(), {-1, number_, query.ref.node, query.device});
  } else if (node.collective != kNone && node.op == Op::CollectivePermute) {
    const std::uint32_t source = flow_.collectives[node.collective].source[query.device];
    sequence.push_back(-2);
    if (source != kNone) add(source);
  } else if (node.collective != kNone) {
    const Collective& all = flow_.collectives[node.collective];
    sequence.insert(sequence.end(), {-3, all.position[query.device]});
    for (const std::uint32_t member : all.group_of(query.device)) add(member);
  } else if (node.asks_devices) {
    sequence.insert(sequence.end(), {-4, query.device});
    for (std::uint32_t device = 0; device < flow_.devices.count(); ++device) add(device);
  } else {
    add(query.device);
  }
  return sequence;
}

Value Evaluation::opaque(const Query& query, const Node& node, const IndexMap& map) {
  std::vector<std::int64_t> sequence = opaque_operands(query, node);
  context_.spend(sequence.size());
  sequence.push_back(query.ref.output);
  context_.uninterpreted.insert(node.instruction->opcode);
  return values_.atom({ValueKind::Element, context_.opaque.of(sequence), 0, map});
}

}  // namespace p2::hlo
