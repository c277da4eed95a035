// Demand-driven symbolic evaluation: the memoizing evaluator and opaque operations.

#include "engine/hlo/equality/evaluation.h"

#include <algorithm>

#include "engine/base/invariant.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{3} << 30U;
constexpr std::uint64_t kLimitCheckInterval = 1U << 14U;  // in units of work
/// The cost of evaluating a node, in units of one term of a sum.
constexpr std::uint64_t kNodeWork = 16;

}  // namespace

std::uint32_t operand_of_program(const Flow& flow, const Node& node, std::uint32_t device) {
  const std::vector<std::int64_t>& programs = node.instruction->attributes.dimensions;
  const auto own = std::ranges::find(programs, flow.module->program_of[device]);
  return own == programs.end() ? 0 : static_cast<std::uint32_t>(own - programs.begin());
}

AlikeDevices::AlikeDevices(const Flow& flow, const ModuleRelation* relation,
                           const std::vector<Replication>& replication)
    : flow_(flow), relation_(relation), replication_(replication), devices_(flow.devices.count()) {
  all_ = by_key([](std::uint32_t) { return 0; });
  none_ = by_key([](std::uint32_t device) { return device; });
  for (std::uint32_t k = 0; relation != nullptr && k < relation->inputs.size(); ++k) {
    for (const std::uint32_t number : relation->inputs[k].all_numbers()) {
      inputs_[number].push_back(k);
    }
  }
  for (const Node& node : flow.nodes) of_node_.push_back(of(node));
}

/// Devices with the same key are alike.
template <typename Key>
std::uint32_t AlikeDevices::by_key(const Key& key) {
  std::map<decltype(key(0U)), std::uint32_t> first;
  Firsts firsts;
  for (std::uint32_t device = 0; device < devices_; ++device) {
    firsts.push_back(first.emplace(key(device), device).first->second);
  }
  return intern(std::move(firsts));
}

std::uint32_t AlikeDevices::intern(Firsts firsts) {
  const auto [found, added] = numbers_.emplace(firsts, static_cast<std::uint32_t>(firsts_.size()));
  if (added) firsts_.push_back(std::move(firsts));
  return found->second;
}

std::uint32_t AlikeDevices::in_both(std::uint32_t a, std::uint32_t b) {
  if (a == b) return a;
  const auto known = in_both_.find(std::minmax(a, b));
  if (known != in_both_.end()) return known->second;
  const std::uint32_t both = by_key(
      [&](std::uint32_t device) { return std::pair(firsts_[a][device], firsts_[b][device]); });
  in_both_[std::minmax(a, b)] = both;
  return both;
}

std::uint32_t AlikeDevices::of(const Node& node) {
  if (node.impure || node.depends_on_devices) return none_;
  switch (node.op) {
    case Op::Parameter:
      if (!replication_.empty()) {
        return by_key([&](std::uint32_t device) {
          return replication_.at(node.parameter).first_holder(device, flow_.devices);
        });
      }
      return relation_ == nullptr ? none_ : of_parameter(node);
    case Op::PartitionId:
    case Op::ReplicaId:
    case Op::ReduceScatter:
    case Op::AllToAll:
      return none_;
    case Op::AllReduce:
    case Op::AllGather:
    case Op::CollectiveBroadcast:
      return of_collective(node, none_, [&](const Collective& collective, std::uint32_t device) {
        return collective.group[device] == kNone ? device : collective.group_of(device)[0];
      });
    case Op::CollectivePermute:
    case Op::Receive: {
      const std::uint32_t operands = of_operands(node);
      return of_collective(node, operands, [&](const Collective& collective, std::uint32_t device) {
        const std::uint32_t source = collective.source[device];
        if (source != kNone) return std::pair(firsts_[operands][source], std::uint32_t{0});
        return std::pair(node.op == Op::Receive ? device : 0, std::uint32_t{1});
      });
    }
    case Op::OfOwnProgram:
      return by_key([&](std::uint32_t device) {
        const std::uint32_t operand = node.operands[operand_of_program(flow_, node, device)].node;
        return std::pair(operand, firsts_[of_node_[operand]][device]);
      });
    default:
      return of_operands(node);
  }
}

std::uint32_t AlikeDevices::of_operands(const Node& node) {
  std::uint32_t all = all_;
  for (const Ref operand : node.operands) all = in_both(all, of_node_[operand.node]);
  return all;
}

/// Found once for all nodes with the same groups and operands that are alike on the same devices.
template <typename Key>
std::uint32_t AlikeDevices::of_collective(const Node& node, std::uint32_t operands,
                                          const Key& key) {
  const std::tuple known(node.op, node.collective, operands);
  const auto found = of_collectives_.find(known);
  if (found != of_collectives_.end()) return found->second;
  const Collective& collective = flow_.collectives[node.collective];
  const std::uint32_t number =
      by_key([&](std::uint32_t device) { return key(collective, device); });
  of_collectives_[known] = number;
  return number;
}

/// Devices that hold the same pieces of the same input, and nothing else.
std::uint32_t AlikeDevices::of_parameter(const Node& node) {
  const std::vector<std::uint32_t>& inputs = inputs_[node.parameter];
  std::map<std::vector<std::int64_t>, std::uint32_t> first;
  Firsts firsts;
  for (std::uint32_t device = 0; device < devices_; ++device) {
    firsts.push_back(device);
    for (const std::uint32_t number : inputs) {
      const TensorRelation& tensor = relation_->inputs[number];
      if (tensor.number_on(device) != node.parameter) continue;
      std::vector<std::int64_t> key = {number, tensor.part_of(device)};
      std::int64_t held = 0;
      for (const Piece& piece : tensor.pieces[device]) {
        held += volume(piece.sizes);
        for (const auto* list : {&piece.of, &piece.at, &piece.sizes}) {
          key.insert(key.end(), list->begin(), list->end());
        }
      }
      if (held == node.outputs[0].elements()) {  // else the rest is the device's own
        firsts[device] = first.emplace(std::move(key), device).first->second;
      }
      break;
    }
  }
  return intern(std::move(firsts));
}

std::uint32_t ComparisonContext::class_of(const Tensor& tensor) const {
  const auto found = classes.find(tensor);
  if (found == classes.end()) throw ClassNeeded{tensor};
  return found->second;
}

void ComparisonContext::spend(std::uint64_t units) {
  const std::uint64_t before = work / kLimitCheckInterval;
  work += units;
  if (work > most_work) {
    throw LimitReached(LimitReached::Kind::Work, "the comparison takes too many steps");
  }
  if (work / kLimitCheckInterval == before) return;
  limits.require(values.bytes(), "the comparison");
  if (values.bytes() > kMaxBytes) {
    throw LimitReached(LimitReached::Kind::Memory, "the comparison takes too much memory");
  }
}

void Evaluation::clear() {
  answers_.clear();
  reductions_.clear();
}

Value Evaluation::evaluate(Ref ref, Place device, const IndexMap& map) {
  stack_.clear();
  demanded_.clear();
  const Answer known = demand(ref, device, map);
  if (known) return *known;
  const Query asked = demanded_.front();
  stack_ = demanded_;
  while (!stack_.empty()) {
    const Query query = stack_.back();
    demanded_.clear();
    Answer answer;
    try {
      answer = compute(query);
    } catch (const Refinement& refinement) {
      if (!refine_reduction(refinement)) throw;
      continue;
    }
    if (!answer) {
      stack_.insert(stack_.end(), demanded_.begin(), demanded_.end());
      continue;
    }
    const ElementType type = flow_.shape(query.ref).type;
    if (context_.names_tensors && type.is_float()) answer = values_.folded(*answer, type);
    const bool fixed = is_fixed(query);
    (fixed ? context_.fixed[number_] : answers_)[query] = *answer;
    stack_.pop_back();
  }
  const bool fixed = is_fixed(asked);
  return (fixed ? context_.fixed[number_] : answers_).at(asked);
}

/// Splits the part of a pending reduction that the variable belongs to, and returns to it.
bool Evaluation::refine_reduction(const Refinement& refinement) {
  for (std::size_t i = stack_.size(); i-- > 0;) {
    const auto found = reductions_.find(stack_[i]);
    if (found == reductions_.end()) continue;
    std::vector<Region>& parts = found->second.parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!parts[k].has(refinement.variable)) continue;
      std::vector<Region> split = split_region(space_, parts[k], refinement);
      for (Region& part : split) part = space_.with_reused(part);
      parts[k] = std::move(split[0]);
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                   std::make_move_iterator(split.begin() + 1),
                   std::make_move_iterator(split.end()));
      stack_.resize(i + 1);
      context_.spend(split.size());
      return true;
    }
  }
  return false;
}

/// One device for all devices with the same result, so that the result is memoized once.
Place Evaluation::canonical_device(Ref ref, Place device) {
  const AlikeDevices& alike = context_.alike[number_];
  const std::uint32_t number = alike.number(ref);
  if (device < kFirstPlace) return alike.first(number, device);
  const auto [found, added] = canonical_.try_emplace({number, device}, device);
  if (added) {
    const auto firsts = affine_or_not(device, [&](std::uint32_t each) -> std::vector<std::int64_t> {
      return {alike.first(number, each)};
    });
    if (const auto* first = std::get_if<IndexMap>(&firsts)) {
      found->second = context_.place_of((*first)[0]);
    }
  }
  return found->second;
}

/// An element of a tensor that has a name.
Evaluation::Answer Evaluation::named(Ref ref, const IndexMap& map) {
  if (number_ != 0 || context_.named.empty() || !context_.named[ref.node]) return std::nullopt;
  const ComparisonContext::NamedTensor& tensor = *context_.named[ref.node];
  Linear value = tensor.value;
  for (LinearTerm& part : value.terms) {
    Atom atom = values_.as_atom(part.value);
    for (Coordinate& coordinate : atom.map) {
      Coordinate at{coordinate.base, {}};
      for (const Term& term : coordinate.terms) {
        const auto own = std::ranges::find(tensor.index, term.variable);
        const auto dimension = static_cast<std::size_t>(own - tensor.index.begin());
        at = at + (own == tensor.index.end() ? Coordinate{0, {term}}
                                             : map[dimension].times(term.stride));
      }
      coordinate = at;
    }
    part.value = values_.atom(atom);
  }
  return values_.from_linear(std::move(value), flow_.shape(ref).type);
}

/// Names the terms of a sum, or a long sum as a whole; nothing if they cannot be named.
std::optional<Linear> Evaluation::name(std::uint32_t node, std::int64_t piece, Value value) {
  constexpr std::size_t kMaxTerms = 8;
  Linear linear = values_.as_linear(value);
  if (linear.terms.size() > kMaxTerms) linear = {{}, {{value, {1, 1}}}};
  for (std::size_t i = 0; i < linear.terms.size(); ++i) {
    LinearTerm& term = linear.terms[i];
    if (values_.is_atom(term.value)) continue;
    if (values_.kind(term.value) == ValueKind::Text) return std::nullopt;
    const std::uint32_t source = context_.opaque.intern(
        std::vector<std::int64_t>{-6, node, piece, static_cast<std::int64_t>(i)});
    const auto atom = values_.define(source, term.value);
    if (!atom) return std::nullopt;
    term.value = values_.atom(*atom);
  }
  return linear;
}

/// Named is every floating-point tensor that is computed. Where its elements are several functions
/// of the index, these are, but it has none itself.
void Evaluation::name_tensors() {
  constexpr std::int64_t kMaxPieces = 16;
  const auto adds_up = [](const Node& node) {
    return node.op == Op::Reduce && node.reducer == Reducer::Add;
  };
  std::vector<bool> is_used(flow_.nodes.size());  // by anything but a sum over its dimensions
  for (const Ref output : flow_.outputs) is_used[output.node] = true;
  for (const Node& node : flow_.nodes) {
    for (const Ref operand : node.operands) {
      if (!adds_up(node)) is_used[operand.node] = true;
    }
  }
  context_.named.resize(flow_.nodes.size());
  for (std::uint32_t number = 0; number < flow_.nodes.size(); ++number) {
    const Node& node = flow_.nodes[number];
    const bool computes = node.op == Op::Elementwise || node.op == Op::Reduce || node.op == Op::Dot;
    if (!computes || node.outputs.size() != 1 || !node.outputs[0].type.is_float()) continue;
    const ArrayShape& shape = node.outputs[0];
    if (shape.elements() == 0 || (adds_up(node) && !is_used[number])) continue;
    ComparisonContext::NamedTensor tensor;
    std::vector<std::int64_t> extents = shape.sizes;
    std::erase(extents, 1);
    Region whole{{}, space_.reuse(extents, {})};
    auto next = whole.variables.begin();
    for (const std::int64_t size : shape.sizes) {
      tensor.index.push_back(size == 1 ? kBinder : *next);  // kBinder: no variable
      whole.map.push_back(size == 1 ? Coordinate{} : Coordinate{0, {{*next++, 1}}});
    }
    std::vector<Region> open = {whole};
    for (std::int64_t piece = 0; !open.empty() && piece < kMaxPieces; ++piece) {
      const Region region = open.back();
      open.pop_back();
      try {
        const auto value = name(number, piece, evaluate({number, 0}, 0, region.map));
        if (!value || region.map != whole.map) continue;
        tensor.value = *value;
        context_.named[number] = tensor;
      } catch (const Refinement& refinement) {
        for (const Region& part : split_region(space_, region, refinement)) {
          open.push_back(space_.with_reused(part));
        }
      } catch (const ClassNeeded&) {  // not named
      }
    }
  }
  clear();
}

Evaluation::Answer Evaluation::demand(Ref ref, Place device, const IndexMap& map) {
  if (const Answer name = named(ref, map)) return name;
  const Query query{ref, canonical_device(ref, device), values_.intern_map(map)};
  const Answers& known = is_fixed(query) ? context_.fixed[number_] : answers_;
  const auto found = known.find(query);
  if (found != known.end()) return found->second;
  demanded_.push_back(query);
  return std::nullopt;
}

Evaluation::Answer Evaluation::demand_at(Ref ref, const IndexMap& map) {
  return demand(ref, context_.place_of(map.back()), {map.begin(), map.end() - 1});
}

Evaluation::Operands Evaluation::demand_all(const std::vector<Ref>& refs, Place device,
                                            const IndexMap& map) {
  std::vector<Value> all;
  for (const Ref ref : refs) {
    if (const Answer answer = demand(ref, device, map)) all.push_back(*answer);
  }
  if (all.size() != refs.size()) return std::nullopt;
  return all;
}

Evaluation::Answer Evaluation::compute(const Query& query) {
  const Node& node = flow_.node(query.ref);
  context_.spend(kNodeWork + node.operands.size());
  const IndexMap map = values_.map(query.map);
  if (node.op == Op::Opaque) return opaque(query, node, map);
  try {
    return interpret(query, node, map);
  } catch (const Space::UnknownOffset&) {
    demanded_.clear();
    return opaque(query, node, map);
  }
}

Evaluation::Answer Evaluation::interpret(const Query& query, const Node& node,
                                         const IndexMap& map) {
  if (node.collective != kNone) return collective(query, node, map);
  switch (node.op) {
    case Op::Parameter:
      return parameter(query, node, map);
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
    case Op::OfOwnProgram:
      return demand(node.operands[own_operand(query, node)], query.device, map);
    case Op::Dot:
      return keeps_order(node.outputs[0].type) ? opaque(query, node, map) : dot(query, node, map);
    default:
      return reorder(query, node, map);
  }
}

/// The operation and the classes of all operands that the result depends on. The negative numbers
/// separate the forms of dependence on devices.
std::vector<std::int64_t> Evaluation::opaque_operands(const Query& query, const Node& node) {
  std::vector<std::int64_t> sequence = {node.fingerprint};
  const auto add = [&](std::uint32_t device) {
    for (const Ref operand : node.operands) {
      sequence.push_back(context_.class_of({number_, operand, canonical_device(operand, device)}));
    }
  };
  if (node.impure) {
    sequence.insert(sequence.end(), {-1, number_, query.ref.node, query.device});
  } else if (node.op == Op::CollectivePermute || node.op == Op::Receive) {
    const std::uint32_t source = flow_.collectives[node.collective].source[query.device];
    sequence.push_back(-2);
    if (source != kNone) {
      add(source);
    } else if (node.op == Op::Receive) {  // arbitrary
      sequence.insert(sequence.end(), {-5, number_, query.ref.node, query.device});
    }
  } else if (node.collective != kNone) {
    const Collective& all = flow_.collectives[node.collective];
    sequence.insert(sequence.end(), {-3, all.position[query.device]});
    for (const std::uint32_t member : all.group_of(query.device)) add(member);
  } else if (node.depends_on_devices) {
    sequence.insert(sequence.end(), {-4, query.device});
    const std::vector<std::uint32_t>& program = flow_.module->program_of;
    for (std::uint32_t device = 0; device < flow_.devices.count(); ++device) {
      if (program.empty() || program[device] == program[query.device]) add(device);
    }
  } else {
    add(query.device);
  }
  return sequence;
}

Value Evaluation::opaque(const Query& query, const Node& node, const IndexMap& map) {
  require_one_device(query.device);
  std::vector<std::int64_t> sequence = opaque_operands(query, node);
  context_.spend(sequence.size());
  sequence.push_back(query.ref.output);
  context_.uninterpreted.insert(node.instruction->opcode);
  return values_.atom({ValueKind::Element, context_.opaque.intern(sequence), 0, map});
}

}  // namespace p2::hlo
