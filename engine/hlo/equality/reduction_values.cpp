// Reductions of values over bound variables, as closed definitions: a reduction is stored once, as
// a function of the variables that occur in it, and occurs in other values as an atom with the
// arguments. So values stay small, however many reductions are nested. The normal form does not
// depend on names, nor on where ranges and arguments begin: first indices are moved out of the
// definition, into its arguments and ranges, so that the parts of a range can be joined.

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_set>

#include "engine/base/invariant.h"
#include "engine/hlo/equality/values.h"

namespace p2::hlo {
namespace {

/// The variables of a definition: its parameters, and those it binds.
constexpr Variable kParameter = Variable{1} << 50U;  // above all of kBinder
constexpr Variable kBound = Variable{1} << 51U;
/// Bound variables of a definition that is being opened.
constexpr Variable kOpened = Variable{1} << 52U;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t stride_of(const Coordinate& coordinate, Variable variable) {
  for (const Term& term : coordinate.terms) {
    if (term.variable == variable) return term.stride;
  }
  return 0;
}

/// Where a coordinate stands: does not depend on variables and first indices.
struct Place {
  ValueKind kind;
  std::int64_t source;
  std::uint32_t device;
  std::size_t coordinate;

  auto operator<=>(const Place&) const = default;
};

/// A coordinate with variables, of an atom.
struct Occurrence {
  Place place;
  Coordinate at;
};

/// Whether one variable, of the product of the extents, can replace both.
bool are_nested(const BoundVariable& outer, const BoundVariable& inner,
                const std::vector<Occurrence>& occurrences) {
  return std::all_of(occurrences.begin(), occurrences.end(), [&](const Occurrence& each) {
    return stride_of(each.at, outer.variable) == stride_of(each.at, inner.variable) * inner.extent;
  });
}

/// The first place of a variable, with its stride there: an order of variables without names.
std::pair<Place, std::int64_t> first_place(Variable variable,
                                           const std::vector<Occurrence>& occurrences) {
  std::optional<std::pair<Place, std::int64_t>> least;
  for (const Occurrence& each : occurrences) {
    const std::int64_t stride = stride_of(each.at, variable);
    if (stride == 0) continue;
    const std::pair own(each.place, stride);
    if (!least || own < *least) least = own;
  }
  invariant(least.has_value(), "a variable does not occur where it is bound");
  return *least;
}

/// Moves first indices into variables: how much each is increased. The first index of a coordinate
/// goes to the variable of the largest stride that has none yet, the remainder stays.
std::map<Variable, std::int64_t> shifts_of(std::vector<Occurrence>& occurrences,
                                           const std::vector<Variable>& order) {
  const auto rank = [&](Variable variable) {
    return std::find(order.begin(), order.end(), variable) - order.begin();
  };
  const auto key = [&](const Occurrence& each) {
    std::vector<std::pair<std::int64_t, std::int64_t>> strides;
    for (const Term& term : each.at.terms) strides.emplace_back(rank(term.variable), term.stride);
    std::sort(strides.begin(), strides.end());
    return std::tuple(each.place, std::move(strides), each.at.base);
  };
  std::vector<std::pair<decltype(key(occurrences[0])), std::size_t>> keys;
  for (std::size_t i = 0; i < occurrences.size(); ++i) keys.emplace_back(key(occurrences[i]), i);
  std::sort(keys.begin(), keys.end());
  std::map<Variable, std::int64_t> shifts;
  for (const auto& [ignored, i] : keys) {
    const Coordinate& at = occurrences[i].at;
    const Term* chosen = nullptr;
    for (const Term& term : at.terms) {
      if (term.variable < 0 || shifts.count(term.variable) != 0) continue;
      const auto size = std::pair(-std::abs(term.stride), rank(term.variable));
      if (chosen == nullptr || size < std::pair(-std::abs(chosen->stride), rank(chosen->variable)))
        chosen = &term;
    }
    if (chosen == nullptr) continue;
    const Variable variable = chosen->variable;
    const std::int64_t shift = floor_divide(at.base, chosen->stride);
    shifts[variable] = shift;
    for (Occurrence& each : occurrences) each.at.base -= stride_of(each.at, variable) * shift;
  }
  return shifts;
}

/// Joins two boxes of ranges that differ in one variable and touch there or, if they may, overlap.
bool join_boxes(std::vector<BoundVariable>& a, const std::vector<BoundVariable>& b,
                bool may_overlap) {
  std::size_t differing = a.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].low == b[i].low && a[i].extent == b[i].extent) continue;
    if (differing != a.size()) return false;
    differing = i;
  }
  if (differing == a.size()) return false;
  BoundVariable& first = a[differing];
  const std::int64_t first_end = first.low + first.extent;
  const std::int64_t second_end = b[differing].low + b[differing].extent;
  const bool touch = first_end == b[differing].low || second_end == first.low;
  const bool overlap = first.low < second_end && b[differing].low < first_end;
  if (!touch && !(overlap && may_overlap)) return false;
  first.low = std::min(first.low, b[differing].low);
  first.extent = std::max(first_end, second_end) - first.low;
  return true;
}

using Boxes = std::vector<std::vector<BoundVariable>>;

/// Joins boxes until none touch. Whether there are fewer.
bool join(Boxes& boxes, bool may_overlap) {
  const std::size_t before = boxes.size();
  std::stable_sort(boxes.begin(), boxes.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(), [](const BoundVariable& x, const BoundVariable& y) {
          return std::tie(x.low, x.extent) < std::tie(y.low, y.extent);
        });
  });
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (std::size_t k = i + 1; k < boxes.size();) {
        if (join_boxes(boxes[i], boxes[k], may_overlap)) {
          boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(k));
          again = true;
        } else {
          ++k;
        }
      }
    }
  }
  return boxes.size() < before;
}

}  // namespace

bool Values::is_reduction(Value value, Reducer reducer) const {
  return kind(value) == ValueKind::Closed &&
         static_cast<Reducer>(store_[definition(value)][1]) == reducer;
}

Values::Definition Values::definition_of(Value value) const {
  const auto sequence = store_[definition(value)];
  Definition result{static_cast<Reducer>(sequence[1]), static_cast<Value>(sequence[2]), {}};
  for (std::size_t i = 3; i < sequence.size(); i += 2) {
    result.bounds.push_back(
        {kBound + static_cast<Variable>(result.bounds.size()), sequence[i], sequence[i + 1]});
  }
  return result;
}

Value Values::closed(const Definition& definition, const IndexMap& arguments) {
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Reduction),
                                        static_cast<std::int64_t>(definition.reducer),
                                        definition.body};
  for (const BoundVariable& bound : definition.bounds) {
    sequence.insert(sequence.end(), {bound.low, bound.extent});
  }
  return atom({ValueKind::Closed, intern(sequence), 0, arguments});
}

Value Values::reduction(Reducer reducer, Value body, std::vector<BoundVariable> variables) {
  for (int opened = 0; is_reduction(body, reducer); ++opened) {
    const Definition inner = definition_of(body);
    const IndexMap arguments = as_atom(body).map;
    std::map<Variable, Coordinate> by;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      by[kParameter + static_cast<Variable>(i)] = arguments[i];
    }
    for (const BoundVariable& bound : inner.bounds) {
      const Variable name = kOpened + (Variable{opened} << 16U) + (bound.variable - kBound);
      by[bound.variable] = {0, {{name, 1}}};
      variables.push_back({name, bound.low, bound.extent});
    }
    body = substitute(inner.body, by);
  }
  // All coordinates with variables. Ranges begin at 0 for now.
  std::vector<Occurrence> occurrences;
  std::vector<Value> open = {body};
  std::unordered_set<Value> seen = {body};
  while (!open.empty()) {
    const Value part = open.back();
    open.pop_back();
    if (!has_map(part)) {
      for (const Value each : children(part)) {
        if (!free_of(each).empty() && seen.insert(each).second) open.push_back(each);
      }
      continue;
    }
    const Atom atom = as_atom(part);
    for (std::size_t i = 0; i < atom.map.size(); ++i) {
      Coordinate at = atom.map[i];
      std::erase_if(at.terms, [](const Term& term) {
        return term.variable >= kBinder && term.variable < kParameter;
      });
      for (const BoundVariable& each : variables) {
        at.base += stride_of(at, each.variable) * each.low;
      }
      const bool varies = std::any_of(at.terms.begin(), at.terms.end(),
                                      [](const Term& term) { return term.variable >= 0; });
      if (varies) occurrences.push_back({{atom.kind, atom.source, atom.device, i}, std::move(at)});
    }
  }
  std::map<Variable, Coordinate> by;
  std::map<Variable, std::int64_t> lows;
  for (const BoundVariable& each : variables) lows[each.variable] = each.low;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < variables.size() && !again; ++i) {
      for (std::size_t k = 0; k < variables.size() && !again; ++k) {
        if (i == k || !are_nested(variables[i], variables[k], occurrences)) continue;
        variables[k].extent *= variables[i].extent;
        const Variable outer = variables[i].variable;
        by[outer] = {lows[outer], {}};
        for (Occurrence& each : occurrences) {
          std::erase_if(each.at.terms, [&](const Term& term) { return term.variable == outer; });
        }
        variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
  }
  const auto in_order = [&](Variable a, Variable b) {
    return first_place(a, occurrences) < first_place(b, occurrences);
  };
  std::vector<Variable> order;
  for (const BoundVariable& each : variables) order.push_back(each.variable);
  std::stable_sort(order.begin(), order.end(), in_order);
  std::vector<Variable> parameters;
  for (const Variable variable : free_of(body)) {
    const bool bound =
        by.count(variable) != 0 || std::find(order.begin(), order.end(), variable) != order.end();
    if (!bound) parameters.push_back(variable);
  }
  std::stable_sort(parameters.begin(), parameters.end(), in_order);
  const std::size_t bounds = order.size();
  order.insert(order.end(), parameters.begin(), parameters.end());
  const std::map<Variable, std::int64_t> shifts = shifts_of(occurrences, order);
  Definition definition{reducer, body, {}};
  IndexMap arguments;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto found = shifts.find(order[i]);
    const std::int64_t shift = found == shifts.end() ? 0 : found->second;
    if (i < bounds) {
      const Variable name = kBound + static_cast<Variable>(i);
      const auto variable =
          std::find_if(variables.begin(), variables.end(),
                       [&](const BoundVariable& each) { return each.variable == order[i]; });
      by[order[i]] = {lows[order[i]] - shift, {{name, 1}}};
      definition.bounds.push_back({name, shift, variable->extent});
    } else {
      by[order[i]] = {-shift, {{kParameter + static_cast<Variable>(i - bounds), 1}}};
      arguments.push_back({shift, {{order[i], 1}}});
    }
  }
  definition.body = substitute(body, by);
  return closed(definition, arguments);
}

/// A value whose parts have been substituted.
Value Values::substituted(Value value, const std::unordered_map<Value, Value>& parts,
                          const std::map<Variable, Coordinate>& by) {
  const auto part = [&](std::int64_t old) {
    const auto found = parts.find(static_cast<Value>(old));
    return found == parts.end() ? static_cast<Value>(old) : found->second;
  };
  if (has_map(value)) {
    Atom atom = as_atom(value);
    for (Coordinate& coordinate : atom.map) {
      Coordinate result{coordinate.base, {}};
      for (const Term& term : coordinate.terms) {
        const auto found = by.find(term.variable);
        result =
            result + (found == by.end() ? Coordinate{0, {term}} : found->second.times(term.stride));
      }
      coordinate = std::move(result);
    }
    if (atom.kind != ValueKind::Position || !atom.binders.empty()) return this->atom(atom);
    return position(atom.map[0]);
  }
  const auto stored = store_[value];
  std::vector<std::int64_t> sequence(stored.begin(), stored.end());
  switch (kind(value)) {
    case ValueKind::Sum: {
      Linear linear = as_linear(value);
      Linear result{linear.constant, {}};
      for (const LinearTerm& term : linear.terms) {
        const Value changed = part(term.value);
        if (kind(term.value) != ValueKind::Position) {
          result.terms.push_back({changed, term.coefficient});
          continue;
        }
        const Linear inner = as_linear(changed);
        const auto more = hlo::product(inner.constant, term.coefficient);
        const auto constant = more ? hlo::sum(result.constant, *more) : std::nullopt;
        invariant(constant.has_value(), "a position is too large");
        result.constant = *constant;
        for (const LinearTerm& each : inner.terms) {
          const auto coefficient = hlo::product(each.coefficient, term.coefficient);
          invariant(coefficient.has_value(), "the stride of a position is too large");
          result.terms.push_back({each.value, *coefficient});
        }
      }
      const auto normal = from_linear(std::move(result), ElementType{});
      invariant(normal.has_value(), "renaming variables changes a sum");
      return *normal;
    }
    case ValueKind::Product: {
      auto powers = factors(value);
      for (auto& [factor, exponent] : powers) factor = part(factor);
      std::sort(powers.begin(), powers.end());
      sequence.resize(1);
      for (const auto& [factor, exponent] : powers) {
        sequence.insert(sequence.end(), {factor, exponent});
      }
      return intern(sequence);
    }
    case ValueKind::Apply:
      for (std::size_t i = 2; i < sequence.size(); ++i) sequence[i] = part(sequence[i]);
      return intern(sequence);
    default:
      for (std::size_t i = 1; i < sequence.size(); ++i) sequence[i] = part(sequence[i]);
      std::sort(sequence.begin() + 1, sequence.end());
      return intern(sequence);
  }
}

Value Values::position(const Coordinate& coordinate) {
  Linear linear{{coordinate.base, 1}, {}};
  for (const Term& term : coordinate.terms) {
    const Value one = atom({ValueKind::Position, 0, 0, {{0, {{term.variable, 1}}}}});
    linear.terms.push_back({one, {term.stride, 1}});
  }
  const auto normal = from_linear(std::move(linear), ElementType{});
  invariant(normal.has_value(), "a position is too large");
  return *normal;
}

Value Values::substitute(Value value, const std::map<Variable, Coordinate>& by) {
  std::vector<Variable> variables;
  for (const auto& [variable, coordinate] : by) variables.push_back(variable);
  std::unordered_map<Value, Value> done;
  std::vector<Value> open = {value};
  while (!open.empty()) {
    const Value next = open.back();
    if (done.count(next) != 0) {
      open.pop_back();
      continue;
    }
    if (!depends_on(next, variables)) {
      done.emplace(next, next);
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    if (!has_map(next)) {
      for (const Value each : children(next)) {
        if (done.count(each) == 0 && depends_on(each, variables)) open.push_back(each);
      }
    }
    if (open.size() != before) continue;
    open.pop_back();
    done.emplace(next, substituted(next, done, by));
  }
  return done.at(value);
}

/// What must be equal of two reductions that are joined.
std::vector<std::int64_t> Values::join_key(Value value) const {
  const Definition definition = definition_of(value);
  return {definition.body, static_cast<std::int64_t>(definition.bounds.size()), store_[value][3]};
}

/// The sum with joined reductions; nothing if none can be joined.
std::optional<Value> Values::joined(const Linear& linear, ElementType type) {
  struct Alike {
    LinearTerm first;
    Boxes boxes = {};
  };
  std::map<std::vector<std::int64_t>, Alike> alike;
  Linear result{linear.constant, {}};
  for (const LinearTerm& term : linear.terms) {
    if (!is_reduction(term.value, Reducer::Add)) {
      result.terms.push_back(term);
      continue;
    }
    const Number factor = wrap_around(term.coefficient, type);
    std::vector<std::int64_t> key = join_key(term.value);
    key.insert(key.end(), {factor.numerator, factor.denominator});
    Alike& all = alike.try_emplace(key, Alike{{term.value, factor}}).first->second;
    all.boxes.push_back(definition_of(term.value).bounds);
  }
  bool shorter = false;
  for (auto& [key, all] : alike) {
    if (all.boxes.size() > 1) shorter = join(all.boxes, false) || shorter;
    for (const auto& box : all.boxes) {
      Definition definition = definition_of(all.first.value);
      definition.bounds = box;
      result.terms.push_back(
          {closed(definition, as_atom(all.first.value).map), all.first.coefficient});
    }
  }
  if (!shorter) return std::nullopt;
  return from_linear(std::move(result), type);
}

/// The members of a maximum or the like with joined reductions.
std::vector<Value> Values::join_all(Reducer reducer, const std::vector<Value>& members) {
  std::map<std::vector<std::int64_t>, std::pair<Value, Boxes>> alike;
  std::vector<Value> all;
  for (const Value member : members) {
    if (is_reduction(member, reducer)) {
      auto& [first, boxes] = alike.try_emplace(join_key(member), member, Boxes{}).first->second;
      boxes.push_back(definition_of(member).bounds);
    } else {
      all.push_back(member);
    }
  }
  for (auto& [key, reductions] : alike) {
    join(reductions.second, true);
    for (const auto& box : reductions.second) {
      Definition definition = definition_of(reductions.first);
      definition.bounds = box;
      all.push_back(closed(definition, as_atom(reductions.first).map));
    }
  }
  return all;
}

}  // namespace p2::hlo
