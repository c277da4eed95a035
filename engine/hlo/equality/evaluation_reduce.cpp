// Symbolic evaluation of reductions over dimensions: in closed form with bound variables, or
// unrolled.

#include <algorithm>
#include <tuple>

#include "engine/hlo/equality/evaluation.h"
#include "engine/hlo/interpreter/dimension_numbers.h"

namespace p2::hlo {
namespace {

std::size_t at(std::int64_t dimension) { return static_cast<std::size_t>(dimension); }

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
    all.push_back(take_out(bound.map, {kBinder + static_cast<Variable>(i), atom.binders[i]}));
  }
  for (const Variable variable : part.variables) {
    const Bound removed = take_out(bound.map, {variable, space_.extent(variable)});
    if (removed.occurs()) {
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

/// The reduction of a term that depends on variables of a part, over those that occur in it.
/// Factors that do not depend on them are taken out of a sum, but for infinite constants: of
/// members of both signs the sum is no number.
std::optional<Value> Evaluation::bind_term(Reducer reducer, ElementType type, Value value,
                                           const Region& part) {
  std::vector<Value> factors;
  if (reducer == Reducer::Add && values_.kind(value) == ValueKind::Product) {
    std::vector<Value> inside;
    for (const auto& [factor, exponent] : values_.factors(value)) {
      const bool is_infinite = values_.finiteness(factor) == Finiteness::HasNonFinite &&
                               values_.kind(factor) != ValueKind::Apply &&
                               values_.kind(factor) != ValueKind::Closed;
      const bool stays = is_infinite || values_.depends_on(factor, part.variables);
      auto& side = stays ? inside : factors;
      side.insert(side.end(), static_cast<std::size_t>(exponent), factor);
    }
    if (!factors.empty()) {
      const auto rest = values_.combine(Reducer::Multiply, inside, type);
      if (!rest) return std::nullopt;
      value = *rest;
    }
  }
  std::int64_t times = 1;
  std::vector<BoundVariable> bounds;
  for (const Variable variable : part.variables) {
    if (values_.depends_on(value, {variable})) {
      bounds.push_back({variable, space_.extent(variable)});
    } else if (reducer == Reducer::Add) {
      times *= space_.extent(variable);
    }
  }
  factors.push_back(values_.reduction(reducer, value, bounds));
  if (times != 1) factors.push_back(values_.number({times, 1}));
  return factors.size() == 1 ? factors[0] : values_.combine(Reducer::Multiply, factors, type);
}

/// The reduction of a value over all variables of a part; nothing if it has no closed form. Of
/// related modules all reductions have the form whose parts can be joined.
std::optional<Value> Evaluation::bind(Reducer reducer, ElementType type, Value value,
                                      const Region& part) {
  if (part.variables.empty()) return value;
  if (reducer == Reducer::Unknown || reducer == Reducer::Multiply || keeps_order(type)) {
    return std::nullopt;
  }
  const bool adds = reducer == Reducer::Add;
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
    } else {
      bound.reset();
      if (values_.is_atom(term.value) && context_.relation == nullptr) {
        bound = bind_atom(reducer, values_.as_atom(term.value), part, times);
      }
      if (!bound) {
        times = 1;
        bound = bind_term(reducer, type, term.value, part);
      }
    }
    const auto coefficient = product(term.coefficient, {times, 1});
    if (!bound || !coefficient) return std::nullopt;
    if (!adds) return bound;
    for (const LinearTerm& each : values_.as_linear(*bound).terms) {
      const auto scaled = product(each.coefficient, *coefficient);
      if (!scaled) return std::nullopt;
      result.terms.push_back({each.value, *scaled});
    }
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
    const std::vector<Region> cut = split_region(space_, part, space_.singles(part.variables[0]));
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

/// A coordinate for every size, with a new variable of `part` where it is not 1; `map` says which
/// variables are taken.
std::vector<Coordinate> Evaluation::bound_coordinates(const std::vector<std::int64_t>& sizes,
                                                      const IndexMap& map, Region& part) {
  std::vector<std::int64_t> extents = sizes;
  std::erase(extents, 1);
  part.variables = space_.reuse(extents, map);
  std::vector<Coordinate> coordinates(sizes.size());
  auto next = part.variables.begin();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) coordinates[i].terms.push_back({*next++, 1});
  }
  return coordinates;
}

/// The indices of the operand that one element of the result, at `map`, is reduced from, and the
/// device.
Region Evaluation::operand_region(const Query& query, const Node& node, const IndexMap& map) {
  const std::vector<std::int64_t>& over = node.instruction->attributes.dimensions;
  const std::vector<std::int64_t>& sizes = flow_.shape(node.operands[0]).sizes;
  Region part;
  std::vector<std::int64_t> reduced;
  for (const std::int64_t dimension : over) reduced.push_back(sizes[at(dimension)]);
  const std::vector<Coordinate> bound = bound_coordinates(reduced, with_device(query, map), part);
  std::vector<std::optional<Coordinate>> index(sizes.size());
  for (std::size_t i = 0; i < over.size(); ++i) index[at(over[i])] = bound[i];
  auto kept = map.begin();
  for (const std::optional<Coordinate>& coordinate : index) {
    part.map.push_back(coordinate ? *coordinate : *kept++);
  }
  part.map = with_device(query, std::move(part.map));
  return part;
}

/// The indices of both operands of a dot, one after the other, and the device.
Region Evaluation::dot_region(const Query& query, const Node& node, const IndexMap& map) {
  const interpreter::DotDimensions numbers = interpreter::dot_dimensions(*node.instruction);
  const std::vector<std::int64_t>& left = flow_.shape(node.operands[0]).sizes;
  Region part;
  std::vector<std::int64_t> contracted;
  for (const std::int64_t dimension : numbers.lhs_contracting) {
    contracted.push_back(left[at(dimension)]);
  }
  const std::vector<Coordinate> bound =
      bound_coordinates(contracted, with_device(query, map), part);
  std::vector<std::optional<Coordinate>> a(left.size());
  std::vector<std::optional<Coordinate>> b(flow_.shape(node.operands[1]).sizes.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    a[at(numbers.lhs_contracting[i])] = b[at(numbers.rhs_contracting[i])] = bound[i];
  }
  auto next = map.begin();  // batch dimensions, free ones of the left operand, of the right one
  for (std::size_t i = 0; i < numbers.lhs_batch.size(); ++i, ++next) {
    a[at(numbers.lhs_batch[i])] = b[at(numbers.rhs_batch[i])] = *next;
  }
  for (const auto* side : {&a, &b}) {
    for (const std::optional<Coordinate>& coordinate : *side) {
      part.map.push_back(coordinate ? *coordinate : *next++);
    }
  }
  part.map = with_device(query, std::move(part.map));
  return part;
}

/// The values of all parts; nothing if operands have been demanded first.
template <typename Member>
Evaluation::Operands Evaluation::members_of(const Reduction& reduction, const Member& member) {
  std::vector<Value> members;
  for (const Region& part : reduction.parts) {
    if (const Answer answer = member(part)) members.push_back(*answer);
  }
  if (members.size() != reduction.parts.size()) return std::nullopt;
  return members;
}

/// The reductions of the parts' values; nothing if one has no closed form.
Evaluation::Operands Evaluation::bind_all(Reducer reducer, ElementType type,
                                          const std::vector<Value>& members,
                                          const Reduction& reduction) {
  std::vector<Value> all;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto bound = bind(reducer, type, members[i], reduction.parts[i]);
    if (!bound) return std::nullopt;
    all.push_back(*bound);
  }
  return all;
}

/// A product of tensors: the sum, over the contracted indices, of products of elements.
Evaluation::Answer Evaluation::dot(const Query& query, const Node& node, const IndexMap& map) {
  const auto [found, added] = reductions_.try_emplace(query);
  Reduction& reduction = found->second;
  if (added) reduction.parts.push_back(dot_region(query, node, map));
  const ElementType type = node.outputs[0].type;
  const auto left = static_cast<std::ptrdiff_t>(flow_.shape(node.operands[0]).sizes.size());
  const Operands members = members_of(reduction, [&](const Region& part) -> Answer {
    const auto middle = part.map.begin() + left;
    const Place device = context_.place_of(part.map.back());
    const Answer a = demand(node.operands[0], device, {part.map.begin(), middle});
    const Answer b = demand(node.operands[1], device, {middle, part.map.end() - 1});
    if (!a || !b) return std::nullopt;
    return combine(node, Reducer::Multiply, {*a, *b}, type);
  });
  if (!members) return std::nullopt;
  Operands bound = bind_all(Reducer::Add, type, *members, reduction);
  if (!bound) throw Space::UnknownOffset{};
  return combine(node, Reducer::Add, std::move(*bound), type);
}

/// The reduction over the members of a device's group.
Evaluation::Answer Evaluation::reduce_members(const Query& query, const Node& node,
                                              const IndexMap& map) {
  const auto [found, added] = reductions_.try_emplace(query);
  Reduction& reduction = found->second;
  if (added) {
    try {
      reduction.parts = members_of_group(query, node, map);
    } catch (...) {
      reductions_.erase(query);
      throw;
    }
  }
  const Operands members = members_of(reduction, [&](const Region& part) {
    return demand_at(node.operands[query.ref.output], part.map);
  });
  if (!members) return std::nullopt;
  const ElementType type = node.outputs[query.ref.output].type;
  Operands bound = bind_all(node.reducer, type, *members, reduction);
  if (!bound) return unroll(query, reduction);
  return combine(node, node.reducer, std::move(*bound), type);
}

Evaluation::Answer Evaluation::reduce(const Query& query, const Node& node, const IndexMap& map) {
  if (node.reducer == Reducer::Unknown) return opaque(query, node, map);
  const Answer initial = demand(node.operands[1], query.device, {});
  if (flow_.shape(node.operands[0]).elements() == 0) return initial;
  const auto [found, added] = reductions_.try_emplace(query);
  Reduction& reduction = found->second;
  if (added) reduction.parts.push_back(operand_region(query, node, map));
  const ElementType type = node.outputs[0].type;
  const Operands members = members_of(
      reduction, [&](const Region& part) { return demand_at(node.operands[0], part.map); });
  if (!initial || !members) return std::nullopt;
  Operands bound = bind_all(node.reducer, type, *members, reduction);
  if (!bound) return unroll(query, reduction);
  if (!is_neutral(node, *initial)) bound->insert(bound->begin(), *initial);
  return combine(node, node.reducer, std::move(*bound), type);
}

}  // namespace p2::hlo
