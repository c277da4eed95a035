// Reductions of values over boxes of indices. Every value is a skeleton, a function of the
// coordinates of its atoms alone, at arguments: the coordinates. A reduction binds variables of
// which the arguments are affine functions, so it is a skeleton, extents and strides, applied to
// the arguments of its first index; as an atom it occurs in other values, which stay small however
// many reductions are nested. Members of a sum that are one skeleton at arguments in arithmetic
// progression are joined to one reduction.

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/hlo/equality/values.h"
#include "p2/error.h"

namespace p2::hlo {
namespace {

/// Skeletons of more coordinates take more memory than proofs by them are worth.
constexpr std::size_t kMaxArguments = std::size_t{1} << 17U;

/// The coordinates of a skeleton: kParameter + 0, 1, …
constexpr Variable kParameter = Variable{1} << 50U;

bool is_own(const Term& term) { return term.variable >= kBinder && term.variable < kParameter; }

using Box = std::vector<Bound>;

/// Whether one variable, of the product of the extents, can replace both.
bool are_nested(const Bound& outer, const Bound& inner) {
  for (std::size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.extent) return false;
  }
  return true;
}

std::vector<std::int64_t> first_indices(const IndexMap& arguments) {
  std::vector<std::int64_t> all;
  for (const Coordinate& coordinate : arguments) all.push_back(coordinate.base);
  return all;
}

bool have_same_terms(const IndexMap& a, const IndexMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Coordinate& x, const Coordinate& y) { return x.terms == y.terms; });
}

/// What orders atoms of one form: the strides of their coordinates, their first indices and, as
/// names of variables mean nothing, only then their variables.
std::vector<std::int64_t> arguments_key(const Atom& atom) {
  std::vector<std::int64_t> key;
  std::vector<std::int64_t> variables;
  for (const Coordinate& coordinate : atom.map) {
    for (const Term& term : coordinate.terms) {
      if (is_own(term)) continue;
      key.push_back(term.stride);
      variables.push_back(term.variable);
    }
    key.push_back(0);
  }
  for (const Coordinate& coordinate : atom.map) key.push_back(coordinate.base);
  key.insert(key.end(), variables.begin(), variables.end());
  return key;
}

/// One skeleton over a box, at arguments.
struct Member {
  Box box;
  IndexMap arguments;
  std::optional<Value> value = {};  ///< that it is; nothing for what has been joined
};

/// If all members have one box and arguments in arithmetic progression, replaces them by one.
bool join_progression(std::vector<Member>& all) {
  if (all.size() < 2) return false;
  std::sort(all.begin(), all.end(), [](const Member& a, const Member& b) {
    return first_indices(a.arguments) < first_indices(b.arguments);
  });
  const std::vector<std::int64_t> first = first_indices(all[0].arguments);
  Bound step{static_cast<std::int64_t>(all.size()), first_indices(all[1].arguments)};
  bool moves = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    step.strides[i] -= first[i];
    moves = moves || step.strides[i] != 0;
  }
  if (!moves) return false;
  for (std::size_t k = 1; k < all.size(); ++k) {
    const std::vector<std::int64_t> at = first_indices(all[k].arguments);
    if (all[k].box != all[0].box || !have_same_terms(all[k].arguments, all[0].arguments))
      return false;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] != first[i] + static_cast<std::int64_t>(k) * step.strides[i]) return false;
    }
  }
  all.resize(1);
  all[0].box.push_back(std::move(step));
  normalize(all[0].box);
  all[0].value.reset();
  return true;
}

/// Joins `next` to `member` where it begins at the end of one of its variables.
bool join_next(Member& member, const Member& next) {
  if (!have_same_terms(member.arguments, next.arguments)) return false;
  for (std::size_t i = 0; i < member.box.size(); ++i) {
    Box rest = member.box;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    std::int64_t more = next.box == rest ? 1 : 0;
    for (std::size_t k = 0; k < next.box.size() && more == 0; ++k) {
      Box others = next.box;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      if (others == rest && next.box[k].strides == member.box[i].strides) more = next.box[k].extent;
    }
    if (more == 0) continue;
    bool follows = true;
    for (std::size_t c = 0; c < member.arguments.size(); ++c) {
      follows =
          follows && next.arguments[c].base ==
                         member.arguments[c].base + member.box[i].strides[c] * member.box[i].extent;
    }
    if (!follows) continue;
    member.box[i].extent += more;
    normalize(member.box);
    member.value.reset();
    return true;
  }
  return false;
}

/// Joins what can be joined.
void join(std::vector<Member>& all, const std::function<void(std::uint64_t)>& on_work) {
  for (bool again = true; again;) {
    on_work(all.size() * all.size());
    again = join_progression(all);
    for (std::size_t i = 0; i < all.size() && !again; ++i) {
      for (std::size_t k = 0; k < all.size() && !again; ++k) {
        if (i == k || !join_next(all[i], all[k])) continue;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        again = true;
      }
    }
  }
}

/// Over the same indices in the other order, where a variable leads back.
void lead_forward(Box& box, IndexMap& arguments) {
  for (Bound& bound : box) {
    const auto first = std::find_if(bound.strides.begin(), bound.strides.end(),
                                    [](std::int64_t stride) { return stride != 0; });
    if (first == bound.strides.end() || *first > 0) continue;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      arguments[i].base += bound.strides[i] * (bound.extent - 1);
      bound.strides[i] = -bound.strides[i];
    }
  }
}

}  // namespace

bool Bound::occurs() const {
  return std::any_of(strides.begin(), strides.end(),
                     [](std::int64_t stride) { return stride != 0; });
}

Bound take_out(IndexMap& map, const BoundVariable& variable) {
  Bound bound{variable.extent, {}};
  for (Coordinate& coordinate : map) {
    std::int64_t stride = 0;
    for (const Term& term : coordinate.terms) {
      if (term.variable == variable.variable) stride = term.stride;
    }
    std::erase_if(coordinate.terms,
                  [&](const Term& term) { return term.variable == variable.variable; });
    bound.strides.push_back(stride);
  }
  return bound;
}

void normalize(std::vector<Bound>& all) {
  for (bool again = true; again;) {
    again = false;
    std::sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
      return std::tie(b.strides, b.extent) < std::tie(a.strides, a.extent);
    });
    for (std::size_t i = 0; i < all.size() && !again; ++i) {
      for (std::size_t k = 0; k < all.size() && !again; ++k) {
        if (i == k || !are_nested(all[i], all[k])) continue;
        all[k].extent *= all[i].extent;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
  }
}

bool Values::is_reduction(Value value, Reducer reducer) const {
  return kind(value) == ValueKind::Closed &&
         static_cast<Reducer>(store_[definition(value)][1]) == reducer;
}

Values::Opened Values::opened(Value value, Reducer reducer) {
  if (!is_reduction(value, reducer)) return generalized(value);
  const auto sequence = store_[definition(value)];
  Opened opened{static_cast<Value>(sequence[2]), {}, as_atom(value).map};
  const std::size_t parameters = opened.arguments.size();
  for (std::size_t i = 3; i < sequence.size(); i += 1 + parameters) {
    const auto strides = sequence.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    opened.box.push_back(
        {sequence[i], {strides, strides + static_cast<std::ptrdiff_t>(parameters)}});
  }
  return opened;
}

/// The atoms and Closed values that a value is made of, in an order that does not depend on their
/// arguments, but where these alone tell two apart.
std::vector<Value> Values::leaves_of(Value value) const {
  std::vector<Value> leaves;
  std::vector<Value> open = {value};
  std::unordered_set<Value> seen;
  while (!open.empty()) {
    const Value part = open.back();
    open.pop_back();
    if (!seen.insert(part).second) continue;
    if (has_map(part)) {
      leaves.push_back(part);
      continue;
    }
    std::vector<Value> inside = children(part);
    on_work(inside.size());
    if (kind(part) != ValueKind::Apply) {
      std::sort(inside.begin(), inside.end(), [&](Value a, Value b) {
        if (form_[a] != form_[b]) return form_[a] < form_[b];
        if (has_map(a) && has_map(b)) return arguments_key(as_atom(a)) < arguments_key(as_atom(b));
        return a < b;
      });
    }
    open.insert(open.end(), inside.rbegin(), inside.rend());
  }
  return leaves;
}

/// The skeleton of a value and its arguments.
Values::Opened Values::generalized(Value value) {
  Opened opened;
  std::unordered_map<Value, Value> done;
  for (const Value leaf : leaves_of(value)) {
    Atom atom = as_atom(leaf);
    on_work(1 + atom.map.size());
    if (opened.arguments.size() + atom.map.size() > kMaxArguments) {
      throw LimitReached(
          LimitReached::Kind::Size,
          fmt::format("the comparison: an expression of more than {} coordinates", kMaxArguments));
    }
    for (Coordinate& coordinate : atom.map) {
      Coordinate argument{coordinate.base, {}};
      Coordinate own{0, {}};
      for (const Term& term : coordinate.terms) {
        (is_own(term) ? own : argument).terms.push_back(term);
      }
      const Variable name = kParameter + static_cast<Variable>(opened.arguments.size());
      coordinate = own + Coordinate{0, {{name, 1}}};
      opened.arguments.push_back(std::move(argument));
    }
    done.emplace(leaf, this->atom(atom));
  }
  opened.skeleton = replaced(value, std::move(done));
  return opened;
}

Value Values::closed(Reducer reducer, Opened opened) {
  lead_forward(opened.box, opened.arguments);
  normalize(opened.box);
  invariant(!opened.box.empty(), "a reduction over no variables");
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Reduction),
                                        static_cast<std::int64_t>(reducer), opened.skeleton};
  for (const Bound& bound : opened.box) {
    sequence.push_back(bound.extent);
    sequence.insert(sequence.end(), bound.strides.begin(), bound.strides.end());
  }
  return atom({ValueKind::Closed, intern(sequence), 0, opened.arguments});
}

Value Values::reduction(Reducer reducer, Value body, const std::vector<BoundVariable>& variables) {
  Opened opened = this->opened(body, reducer);
  for (const BoundVariable& each : variables) {
    opened.box.push_back(take_out(opened.arguments, each));
    invariant(opened.box.back().occurs(), "a variable does not occur where it is bound");
  }
  return closed(reducer, std::move(opened));
}

/// A value whose parts have been replaced by different ones.
Value Values::rebuilt(Value value, const std::unordered_map<Value, Value>& parts) {
  const auto part = [&](std::int64_t old) { return parts.at(static_cast<Value>(old)); };
  const auto stored = store_[value];
  std::vector<std::int64_t> sequence(stored.begin(), stored.end());
  switch (kind(value)) {
    case ValueKind::Sum: {
      std::vector<LinearTerm> terms = as_linear(value).terms;
      for (LinearTerm& term : terms) term.value = part(term.value);
      std::sort(terms.begin(), terms.end(),
                [](const LinearTerm& a, const LinearTerm& b) { return a.value < b.value; });
      sequence.resize(3);
      for (const LinearTerm& term : terms) {
        sequence.insert(sequence.end(),
                        {term.value, term.coefficient.numerator, term.coefficient.denominator});
      }
      break;
    }
    case ValueKind::Product: {
      auto powers = factors(value);
      for (auto& [factor, exponent] : powers) factor = part(factor);
      std::sort(powers.begin(), powers.end());
      sequence.resize(1);
      for (const auto& [factor, exponent] : powers) {
        sequence.insert(sequence.end(), {factor, exponent});
      }
      break;
    }
    case ValueKind::Apply:
      for (std::size_t i = 2; i < sequence.size(); ++i) sequence[i] = part(sequence[i]);
      break;
    default:
      for (std::size_t i = 1; i < sequence.size(); ++i) sequence[i] = part(sequence[i]);
      std::sort(sequence.begin() + 1, sequence.end());
  }
  return intern(sequence);
}

/// A value with its atoms replaced, one to one.
Value Values::replaced(Value value, std::unordered_map<Value, Value> done) {
  std::vector<Value> open = {value};
  while (!open.empty()) {
    const Value next = open.back();
    const std::vector<Value> inside = children(next);
    if (inside.empty()) done.emplace(next, next);
    if (done.count(next) != 0) {
      open.pop_back();
      continue;
    }
    on_work(inside.size());
    const std::size_t before = open.size();
    for (const Value each : inside) {
      if (done.count(each) == 0) open.push_back(each);
    }
    if (open.size() != before) continue;
    open.pop_back();
    done.emplace(next, rebuilt(next, done));
  }
  return done.at(value);
}

/// What members that can be joined have in common at first sight.
std::vector<std::int64_t> Values::join_key(Value value, Reducer reducer) const {
  const Value body =
      is_reduction(value, reducer) ? static_cast<Value>(store_[definition(value)][2]) : value;
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(kind(body))};
  if (has_map(body)) {
    const Atom atom = as_atom(body);
    key.insert(key.end(), {atom.source, atom.device});
  } else {
    key.push_back(static_cast<std::int64_t>(children(body).size()));
  }
  return key;
}

/// Members of which some are joined; nothing if none can be.
std::optional<std::vector<Value>> Values::joined(Reducer reducer,
                                                 const std::vector<Value>& members) {
  std::map<std::vector<std::int64_t>, std::vector<Value>> candidates;
  for (const Value member : members) candidates[join_key(member, reducer)].push_back(member);
  std::vector<Value> result;
  for (const auto& [key, alike] : candidates) {
    if (alike.size() == 1) {
      result.push_back(alike[0]);
      continue;
    }
    std::map<Value, std::vector<Member>> by_skeleton;
    for (const Value value : alike) {
      Opened opened = this->opened(value, reducer);
      by_skeleton[opened.skeleton].push_back(
          {std::move(opened.box), std::move(opened.arguments), value});
    }
    for (auto& [skeleton, all] : by_skeleton) {
      join(all, on_work);
      for (Member& each : all) {
        result.push_back(each.value ? *each.value
                                    : closed(reducer, {skeleton, std::move(each.box),
                                                       std::move(each.arguments)}));
      }
    }
  }
  if (result.size() == members.size()) return std::nullopt;
  return result;
}

std::optional<Value> Values::with_joined(Value value, ElementType type) {
  if (kind(value) != ValueKind::Sum) return value;
  const Linear linear = as_linear(value);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Value>> by_coefficient;
  for (const LinearTerm& term : linear.terms) {
    by_coefficient[{term.coefficient.numerator, term.coefficient.denominator}].push_back(
        term.value);
  }
  bool shorter = false;
  Linear result{linear.constant, {}};
  for (const auto& [coefficient, members] : by_coefficient) {
    const auto fewer =
        members.size() > 1 ? joined(Reducer::Add, members) : std::optional<std::vector<Value>>();
    shorter = shorter || fewer;
    for (const Value each : fewer.value_or(members)) {
      result.terms.push_back({each, {coefficient.first, coefficient.second}});
    }
  }
  return shorter ? from_linear(std::move(result), type) : value;
}

/// Some arguments are taken as the index, so that all others are sums of multiples of them.
std::optional<Atom> Values::define(std::int64_t source, Value value) {
  Opened opened = generalized(value);
  Named named{source, {}, std::vector<Named::Dependent>(opened.arguments.size())};
  std::vector<std::size_t> order(opened.arguments.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto terms = [&](std::size_t i) -> const std::vector<Term>& {
    return opened.arguments[i].terms;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return terms(a).size() < terms(b).size(); });
  for (const std::size_t i : order) {
    Coordinate rest = opened.arguments[i];
    Named::Dependent& dependent = named.arguments[i];
    for (std::size_t k = 0; k < named.index.size(); ++k) {
      const Coordinate& known = opened.arguments[named.index[k]];
      std::int64_t factor = 0;
      for (const Term& term : rest.terms) {
        if (term.variable != known.terms[0].variable) continue;
        factor = term.stride / known.terms[0].stride;
      }
      dependent.factors.push_back(factor);
      rest = rest + known.times(-factor);
    }
    dependent.offset = rest.base;
    if (rest.terms.empty()) continue;
    if (rest.terms != terms(i)) return std::nullopt;
    dependent.factors.push_back(1);
    dependent.offset = 0;
    named.index.push_back(i);
  }
  const auto index = index_of(named, opened.arguments);
  if (!index) return std::nullopt;
  named_[opened.skeleton].push_back(std::move(named));
  if (finiteness(value) == Finiteness::HasNonFinite) not_finite_names_.insert(source);
  return Atom{ValueKind::Element, source, 0, *index};
}

/// Of a function at these arguments; nothing if they do not depend on each other as they should.
std::optional<IndexMap> Values::index_of(const Named& named, const IndexMap& arguments) {
  IndexMap index;
  for (const std::size_t i : named.index) index.push_back(arguments[i]);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Coordinate expected{named.arguments[i].offset, {}};
    for (std::size_t k = 0; k < named.arguments[i].factors.size(); ++k) {
      expected = expected + index[k].times(named.arguments[i].factors[k]);
    }
    if (expected != arguments[i]) return std::nullopt;
  }
  return index;
}

/// The atom that a value is by a definition.
std::optional<Value> Values::named(Value value) {
  if (is_atom(value) || kind(value) == ValueKind::Number || kind(value) == ValueKind::Text) {
    return std::nullopt;
  }
  const Opened opened = generalized(value);
  const auto found = named_.find(opened.skeleton);
  if (found == named_.end()) return std::nullopt;
  for (const Named& each : found->second) {
    if (auto index = index_of(each, opened.arguments)) {
      return atom({ValueKind::Element, each.source, 0, std::move(*index)});
    }
  }
  return std::nullopt;
}

Value Values::folded(Value value, ElementType type) {
  if (kind(value) == ValueKind::Sum) {
    Linear linear = as_linear(value);
    bool changed = false;
    for (LinearTerm& term : linear.terms) {
      const auto name = named(term.value);
      changed = changed || name;
      term.value = name.value_or(term.value);
    }
    if (changed) value = from_linear(std::move(linear), type).value_or(value);
  }
  return named(value).value_or(value);
}

}  // namespace p2::hlo
