#include <algorithm>
#include <tuple>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {
namespace {

/// A bound variable and its strides in every coordinate of an index.
struct Bound {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides;
};

/// Whether the two step through what one variable of both extents would.
bool joins(const Bound& outer, const Bound& inner) {
  for (std::size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

Bound taken_out(IndexMap& map, Variable variable, std::int64_t extent) {
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

bool moves(const Bound& bound) {
  return std::any_of(bound.strides.begin(), bound.strides.end(),
                     [](std::int64_t stride) { return stride != 0; });
}

/// In one order, and as few as step through the same.
void join_all(std::vector<Bound>& all) {
  std::sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
    return std::tie(b.strides, b.extent) < std::tie(a.strides, a.extent);
  });
  for (std::size_t i = 0; i + 1 < all.size();) {
    if (!joins(all[i], all[i + 1])) {
      ++i;
      continue;
    }
    all[i + 1].extent *= all[i].extent;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
}

}  // namespace

/// The atom with the variables of `part` bound, in one order whatever order they came in. `times`
/// is multiplied by the extents of those it does not have.
std::optional<Value> Evaluation::bind_atom(Reducer reducer, const Atom& atom, const Region& part,
                                           std::int64_t& times) const {
  if (!atom.binders.empty() && atom.reducer != reducer) return std::nullopt;
  if (atom.kind == ValueKind::Position) return std::nullopt;
  Atom bound = atom;
  std::vector<Bound> all;
  for (std::size_t i = 0; i < atom.binders.size(); ++i) {
    all.push_back(taken_out(bound.map, kBinder + static_cast<Variable>(i), atom.binders[i]));
  }
  for (const Variable variable : part.variables) {
    const Bound taken = taken_out(bound.map, variable, space_.extent(variable));
    if (moves(taken)) {
      all.push_back(taken);
    } else {
      times *= taken.extent;
    }
  }
  join_all(all);
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

/// All values of one part put together; nothing where they cannot be written in one.
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
    if (!values_.depends(term.value, part.variables)) {
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
  return adds ? values_.of(std::move(result), type) : std::optional<Value>(value);
}

}  // namespace p2::hlo
