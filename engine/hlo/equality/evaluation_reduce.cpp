// Symbolic evaluation of reductions over dimensions: in closed form with bound variables, or
// unrolled.

#include <algorithm>
#include <tuple>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {
namespace {

/// A bound variable: its extent, and its stride in every coordinate of an index.
struct Bound {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides;
};

/// Whether one variable, of the product of the extents, can replace both.
bool are_nested(const Bound& outer, const Bound& inner) {
  for (std::size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

/// Removes a variable from an index.
Bound remove_variable(IndexMap& map, Variable variable, std::int64_t extent) {
  Bound bound{extent, {}};
  for (Coordinate& coordinate : map) {
    std::int64_t stride = 0;
    for (const Term& term : coordinate.terms) {
      if (term.variable == variable) stride = term.stride;
    }
    std::erase_if(coordinate.terms, [&](const Term& term) { return term.variable == variable; });
    bound.strides.push_back(stride);
  }
  return bound;
}

bool occurs(const Bound& bound) {
  return std::any_of(bound.strides.begin(), bound.strides.end(),
                     [](std::int64_t stride) { return stride != 0; });
}

/// Sorts the variables and merges nested ones: the normal form of a set of bound variables.
void normalize(std::vector<Bound>& all) {
  std::sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
    return std::tie(b.strides, b.extent) < std::tie(a.strides, a.extent);
  });
  for (std::size_t i = 0; i + 1 < all.size();) {
    if (!are_nested(all[i], all[i + 1])) {
      ++i;
      continue;
    }
    all[i + 1].extent *= all[i].extent;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
}

/// The largest reduction that is unrolled.
constexpr std::int64_t kMaxUnrolled = 256;

}  // namespace

/// The atom with the variables of `part` bound, in normal form. Multiplies `times` by the extents
/// of those that do not occur in it.
std::optional<Value> Evaluation::bind_atom(Reducer reducer, const Atom& atom, const Region& part,
                                           std::int64_t& times) const {
  if (!atom.binders.empty() && atom.reducer != reducer) return std::nullopt;
  if (atom.kind == ValueKind::Position) return std::nullopt;
  Atom bound = atom;
  std::vector<Bound> all;
  for (std::size_t i = 0; i < atom.binders.size(); ++i) {
    all.push_back(remove_variable(bound.map, kBinder + static_cast<Variable>(i), atom.binders[i]));
  }
  for (const Variable variable : part.variables) {
    const Bound removed = remove_variable(bound.map, variable, space_.extent(variable));
    if (occurs(removed)) {
      all.push_back(removed);
    } else {
      times *= removed.extent;
    }
  }
  normalize(all);
  bound.binders.clear();
  bound.reducer = reducer;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Variable variable = kBinder + static_cast<Variable>(k);
    bound.binders.push_back(all[k].extent);
    for (std::size_t i = 0; i < bound.map.size(); ++i) {
      if (all[k].strides[i] == 0) continue;
      bound.map[i] = bound.map[i] + Coordinate{0, {{variable, all[k].strides[i]}}};
    }
  }
  return values_.atom(bound);
}

/// The reduction of a value over all variables of a part; nothing if it has no closed form.
std::optional<Value> Evaluation::bind(const Node& node, Value value, const Region& part) {
  const ElementType type = node.outputs[0].type;
  if (part.variables.empty()) return value;
  if (node.reducer == Reducer::Unknown || node.reducer == Reducer::Multiply || keeps_order(type)) {
    return std::nullopt;
  }
  const bool adds = node.reducer == Reducer::Add;
  Linear linear = values_.as_linear(value);
  if (!adds) linear = {{}, {{value, {1, 1}}}};
  Linear result;
  const auto constant = product(linear.constant, {indices(part), 1});
  if (!constant) return std::nullopt;
  result.constant = *constant;
  for (const LinearTerm& term : linear.terms) {
    std::int64_t times = 1;
    std::optional<Value> bound = term.value;
    if (!values_.depends_on(term.value, part.variables)) {
      times = indices(part);
    } else if (values_.is_atom(term.value)) {
      bound = bind_atom(node.reducer, values_.as_atom(term.value), part, times);
    } else {
      return std::nullopt;
    }
    const auto coefficient = product(term.coefficient, {times, 1});
    if (!bound || !coefficient) return std::nullopt;
    if (!adds) return bound;
    result.terms.push_back({*bound, *coefficient});
  }
  return adds ? values_.from_linear(std::move(result), type) : std::optional<Value>(value);
}

std::int64_t Evaluation::indices(const Region& part) const {
  std::int64_t count = 1;
  for (const Variable variable : part.variables) count *= space_.extent(variable);
  return count;
}

/// Splits all parts into single elements. Throws UnknownOffset if they are too many.
Evaluation::Answer Evaluation::unroll(const Query& query, Reduction& reduction) {
  std::int64_t all = 0;
  for (const Region& part : reduction.parts) {
    const std::int64_t more = indices(part);
    if (more > kMaxUnrolled) throw Space::UnknownOffset{};
    all += more;
  }
  if (all > kMaxUnrolled) throw Space::UnknownOffset{};
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
    const std::vector<Region> cut = split_region(space_, part, refinement);
    open.insert(open.end(), cut.rbegin(), cut.rend());
  }
  reduction.parts = std::move(single);
  demanded_.push_back(query);
  return std::nullopt;
}

/// Whether an initial value is the neutral element of the reduction.
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
      return *number == wrap_around({high, 1}, type);
    case Reducer::Maximum:
      return type.kind() == ElementType::Kind::Unsigned && number->is_zero();
    default:
      return false;
  }
}

/// The elements of the operand that one element of the result, at `map`, is reduced from.
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
  const Answer initial = demand(node.operands[1], query.device, {});
  if (flow_.shape(node.operands[0]).elements() == 0) return initial;
  const auto [found, added] = reductions_.try_emplace(query);
  Reduction& reduction = found->second;
  if (added) reduction.parts.push_back(operand_region(node, map));
  std::vector<Value> members;
  for (const Region& part : reduction.parts) {
    if (const Answer answer = demand(node.operands[0], query.device, part.map)) {
      members.push_back(*answer);
    }
  }
  if (!initial || members.size() != reduction.parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto bound = bind(node, members[i], reduction.parts[i]);
    if (!bound) return unroll(query, reduction);
    members[i] = *bound;
  }
  if (!is_neutral(node, *initial)) members.insert(members.begin(), *initial);
  return combine(node, node.reducer, std::move(members), node.outputs[0].type);
}

}  // namespace p2::hlo
