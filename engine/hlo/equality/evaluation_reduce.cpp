#include <algorithm>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {
namespace {

/// Reductions of so few elements are put together one by one where nothing else is possible.
constexpr std::int64_t kMostOneByOne = 256;

}  // namespace

std::int64_t Evaluation::indices(const Region& part) const {
  std::int64_t count = 1;
  for (const Variable variable : part.variables) count *= space_.extent(variable);
  return count;
}

/// Cuts every part into single indices, where they are few.
Evaluation::Answer Evaluation::reduce_one_by_one(const Query& query, Reduction& reduction) {
  std::int64_t all = 0;
  for (const Region& part : reduction.parts) {
    const std::int64_t more = indices(part);
    if (more > kMostOneByOne) throw Space::Undecided{};
    all += more;
  }
  if (all > kMostOneByOne) throw Space::Undecided{};
  std::vector<Region> single;
  std::vector<Region> open(reduction.parts.rbegin(), reduction.parts.rend());
  while (!open.empty()) {
    const Region part = open.back();
    open.pop_back();
    if (part.variables.empty()) {
      single.push_back(part);
      continue;
    }
    Refinement refinement{part.variables[0], {}, 0};
    for (std::int64_t i = 1; i < space_.extent(part.variables[0]); ++i)
      refinement.cuts.push_back(i);
    const std::vector<Region> cut = refined(space_, part, refinement);
    open.insert(open.end(), cut.rbegin(), cut.rend());
  }
  reduction.parts = std::move(single);
  wanted_.push_back(query);
  return std::nullopt;
}

/// Whether beginning with a value changes nothing: minus infinity of a maximum, 1 of a product.
bool Evaluation::is_neutral(const Node& node, Value initial) const {
  const ElementType type = node.outputs[0].type;
  if (values_.kind(initial) == ValueKind::Text) {
    const std::string& text = context_.fingerprints.text(values_.fingerprint(initial));
    return (node.reducer == Reducer::Maximum && text == "-inf") ||
           (node.reducer == Reducer::Minimum && text == "inf");
  }
  const auto number = values_.as_number(initial);
  if (!number) return false;
  const std::int64_t high = type.kind() == ElementType::Kind::Boolean ? 1 : -1;
  switch (node.reducer) {
    case Reducer::Add:
    case Reducer::Or:
      return number->is_zero();
    case Reducer::Multiply:
      return *number == Number{1, 1};
    case Reducer::And:
      return *number == wrapped({high, 1}, type);
    case Reducer::Maximum:
      return type.kind() == ElementType::Kind::Unsigned && number->is_zero();
    default:
      return false;
  }
}

/// All of the operand that one element of the result is made of: the kept dimensions at `map`.
Region Evaluation::operand_region(const Node& node, const IndexMap& map) {
  const std::vector<std::int64_t>& over = node.instruction->attributes.dimensions;
  const std::vector<std::int64_t>& sizes = flow_.shape(node.operands[0]).sizes;
  Region part;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool reduced =
        std::find(over.begin(), over.end(), static_cast<std::int64_t>(i)) != over.end();
    if (!reduced) {
      part.map.push_back(map[kept++]);
    } else if (sizes[i] == 1) {
      part.map.emplace_back();
    } else {
      part.variables.push_back(space_.add(sizes[i]));
      part.map.push_back({0, {{part.variables.back(), 1}}});
    }
  }
  return part;
}

Evaluation::Answer Evaluation::reduce(const Query& query, const Node& node, const IndexMap& map) {
  if (node.reducer == Reducer::Unknown) return opaque(query, node, map);
  const Answer initial = ask(node.operands[1], query.device, {});
  if (flow_.shape(node.operands[0]).elements() == 0) return initial;
  const auto [found, added] = reductions_.try_emplace(query);
  Reduction& reduction = found->second;
  if (added) reduction.parts.push_back(operand_region(node, map));
  std::vector<Value> members;
  for (const Region& part : reduction.parts) {
    if (const Answer answer = ask(node.operands[0], query.device, part.map)) {
      members.push_back(*answer);
    }
  }
  if (!initial || members.size() != reduction.parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto bound = bind(node, members[i], reduction.parts[i]);
    if (!bound) return reduce_one_by_one(query, reduction);
    members[i] = *bound;
  }
  if (!is_neutral(node, *initial)) members.insert(members.begin(), *initial);
  return combine(node, node.reducer, std::move(members), node.outputs[0].type);
}

}  // namespace p2::hlo
