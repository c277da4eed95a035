// Symbolic values in a hash-consed normal form: sums as linear combinations, products as powers,
// maxima and the like as sorted sets.

#include "engine/hlo/equality/values.h"

#include <algorithm>
#include <cstdlib>

#include "engine/base/invariant.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kAtomHeader = 5;
constexpr Variable kMaxBinders = 1 << 16;

/// Whether its variable is bound by a reduction.
bool is_bound(const Term& term) {
  return term.variable >= kBinder && term.variable < kBinder + kMaxBinders;
}

std::uint64_t hash(Interner::Sequence sequence) {
  std::uint64_t state = sequence.size();
  for (const std::int64_t number : sequence) {
    state = (state ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15ULL;
    state ^= state >> 29U;
  }
  return state;
}

}  // namespace

std::uint32_t Interner::intern(Sequence sequence) {
  const std::uint64_t key = hash(sequence);
  const auto [first, last] = by_hash_.equal_range(key);
  for (auto each = first; each != last; ++each) {
    const Sequence known = (*this)[each->second];
    if (std::equal(known.begin(), known.end(), sequence.begin(), sequence.end())) {
      return each->second;
    }
  }
  const auto number = static_cast<std::uint32_t>(size());
  constexpr std::size_t kBlock = std::size_t{1} << 16U;
  if (room_ < sequence.size() || blocks_.empty()) {
    room_ = std::max(kBlock, sequence.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::int64_t[]>(room_));
    next_ = blocks_.back().get();
  }
  std::copy(sequence.begin(), sequence.end(), next_);
  sequences_.emplace_back(next_, sequence.size());
  next_ += sequence.size();
  room_ -= sequence.size();
  numbers_ += sequence.size();
  by_hash_.emplace(key, number);
  return number;
}

std::vector<std::int64_t> encode(const IndexMap& map) {
  std::vector<std::int64_t> sequence;
  for (const Coordinate& coordinate : map) {
    sequence.push_back(coordinate.base);
    sequence.push_back(static_cast<std::int64_t>(coordinate.terms.size()));
    for (const Term& term : coordinate.terms) {
      sequence.push_back(term.variable);
      sequence.push_back(term.stride);
    }
  }
  return sequence;
}

IndexMap decode(Interner::Sequence sequence) {
  IndexMap map;
  for (std::size_t at = 0; at < sequence.size();) {
    Coordinate& coordinate = map.emplace_back();
    coordinate.base = sequence[at++];
    auto terms = static_cast<std::size_t>(sequence[at++]);
    for (; terms > 0; --terms, at += 2) {
      coordinate.terms.push_back({sequence[at], sequence[at + 1]});
    }
  }
  return map;
}

Value Values::atom(const Atom& atom) {
  std::vector<std::int64_t> sequence = {
      static_cast<std::int64_t>(atom.kind), atom.source, atom.device, intern_map(atom.map),
      atom.binders.empty() ? static_cast<std::int64_t>(Reducer::Unknown)
                           : static_cast<std::int64_t>(atom.reducer)};
  sequence.insert(sequence.end(), atom.binders.begin(), atom.binders.end());
  return intern(sequence);
}

Value Values::array(std::int64_t source, const IndexMap& map, bool finite) {
  if (!finite) not_finite_.insert(source);
  return atom({ValueKind::Array, source, 0, map});
}

Value Values::apply(std::uint32_t fingerprint, std::vector<Value> operands, bool commutative) {
  if (commutative) std::sort(operands.begin(), operands.end());
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Apply), fingerprint};
  sequence.insert(sequence.end(), operands.begin(), operands.end());
  return intern(sequence);
}

/// Interns a value with the variables that occur in it, of which those of a definition are its own,
/// and with its finiteness.
Value Values::intern(const std::vector<std::int64_t>& sequence) {
  const Value value = store_.intern(sequence);
  if (value < free_.size()) return value;
  std::vector<Variable> variables;
  if (has_map(value)) {
    variables = free_variables(as_atom(value));
  } else if (kind(value) != ValueKind::Reduction) {
    for (const Value part : children(value)) {
      const auto inner = free_of(part);
      variables.insert(variables.end(), inner.begin(), inner.end());
    }
  }
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  free_.push_back(variable_sets_.intern(variables));
  const bool infinite =
      kind(value) == ValueKind::Text ||
      (kind(value) == ValueKind::Array && not_finite_.contains(sequence[1])) ||
      (kind(value) == ValueKind::Element && not_finite_names_.contains(sequence[1]));
  const bool function = kind(value) == ValueKind::Apply || kind(value) == ValueKind::Element;
  Finiteness finiteness = infinite   ? Finiteness::HasNonFinite
                          : function ? Finiteness::MayOverflow
                                     : Finiteness::Finite;
  for (const Value part : children(value)) finiteness = std::max(finiteness, finiteness_[part]);
  finiteness_.push_back(finiteness);
  form_.push_back(forms_.intern(form_of(value)));
  return value;
}

/// Coordinates are left out, but for the variables that a reduction binds.
std::vector<std::int64_t> Values::form_of(Value value) const {
  const ValueKind kind = this->kind(value);
  if (has_map(value)) {
    const Atom atom = as_atom(value);
    std::vector<std::int64_t> form = {static_cast<std::int64_t>(kind), atom.source, atom.device,
                                      static_cast<std::int64_t>(atom.reducer)};
    form.insert(form.end(), atom.binders.begin(), atom.binders.end());
    for (const Coordinate& coordinate : atom.map) {
      form.push_back(-1);
      for (const Term& term : coordinate.terms) {
        if (is_bound(term)) form.insert(form.end(), {term.variable, term.stride});
      }
    }
    return form;
  }
  const auto sequence = store_[value];
  std::vector<std::int64_t> form(sequence.begin(), sequence.end());
  const std::vector<Value> parts = children(value);
  if (parts.empty() || kind == ValueKind::Reduction) return form;
  const std::size_t first = kind == ValueKind::Sum ? 3 : kind == ValueKind::Apply ? 2 : 1;
  const std::size_t step = kind == ValueKind::Sum ? 3 : kind == ValueKind::Product ? 2 : 1;
  for (std::size_t i = 0; i < parts.size(); ++i) form[first + i * step] = form_[parts[i]];
  if (kind == ValueKind::Apply) return form;
  std::vector<std::vector<std::int64_t>> sorted;
  for (std::size_t i = first; i < form.size(); i += step) {
    const auto at = form.begin() + static_cast<std::ptrdiff_t>(i);
    sorted.emplace_back(at, at + static_cast<std::ptrdiff_t>(step));
  }
  std::sort(sorted.begin(), sorted.end());
  form.resize(first);
  for (const auto& part : sorted) form.insert(form.end(), part.begin(), part.end());
  return form;
}

std::vector<Variable> Values::free_variables(const Atom& atom) const {
  std::vector<Variable> all;
  for (const Coordinate& coordinate : atom.map) {
    for (const Term& term : coordinate.terms) {
      if (!is_bound(term) && term.variable >= 0) all.push_back(term.variable);
    }
  }
  return all;
}

bool Values::is_atom(Value value) const {
  const ValueKind kind = this->kind(value);
  return kind == ValueKind::Input || kind == ValueKind::Array || kind == ValueKind::Position ||
         kind == ValueKind::Element;
}

std::optional<Number> Values::as_number(Value value) const {
  if (kind(value) != ValueKind::Number) return std::nullopt;
  return Number{store_[value][1], store_[value][2]};
}

Atom Values::as_atom(Value value) const {
  const auto sequence = store_[value];
  return {
      static_cast<ValueKind>(sequence[0]),     sequence[1],
      static_cast<std::uint32_t>(sequence[2]), map(static_cast<std::uint32_t>(sequence[3])),
      static_cast<Reducer>(sequence[4]),       {sequence.begin() + kAtomHeader, sequence.end()}};
}

Linear Values::as_linear(Value value) const {
  if (const auto number = as_number(value)) return {*number, {}};
  if (kind(value) != ValueKind::Sum) return {{}, {{value, {1, 1}}}};
  const auto sequence = store_[value];
  Linear linear{{sequence[1], sequence[2]}, {}};
  for (std::size_t i = 3; i < sequence.size(); i += 3) {
    linear.terms.push_back({static_cast<Value>(sequence[i]), {sequence[i + 1], sequence[i + 2]}});
  }
  return linear;
}

std::size_t Values::terms(Value value) const {
  return kind(value) == ValueKind::Sum ? (store_[value].size() - 3) / 3 : 1;
}

std::vector<std::pair<Value, std::int64_t>> Values::factors(Value value) const {
  const auto sequence = store_[value];
  std::vector<std::pair<Value, std::int64_t>> all;
  for (std::size_t i = 1; i < sequence.size(); i += 2) {
    all.emplace_back(static_cast<Value>(sequence[i]), sequence[i + 1]);
  }
  return all;
}

std::vector<Value> Values::children(Value value) const {
  const auto sequence = store_[value];
  std::vector<Value> parts;
  const auto take = [&](std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < sequence.size(); i += step) {
      parts.push_back(static_cast<Value>(sequence[i]));
    }
  };
  switch (kind(value)) {
    case ValueKind::Sum:
      take(3, 3);
      break;
    case ValueKind::Product:
      take(1, 2);
      break;
    case ValueKind::Maximum:
    case ValueKind::Minimum:
    case ValueKind::And:
    case ValueKind::Or:
      take(1, 1);
      break;
    case ValueKind::Apply:
      take(2, 1);
      break;
    case ValueKind::Closed:
      parts.push_back(static_cast<Value>(sequence[1]));
      break;
    case ValueKind::Reduction:
      parts.push_back(static_cast<Value>(sequence[2]));
      break;
    default:
      break;
  }
  return parts;
}

std::vector<Value> Values::subterms(Value value) const {
  std::vector<Value> found = {value};
  std::vector<Value> open = {value};
  std::vector<bool> seen(value + std::size_t{1});
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    for (const Value part : children(next)) {
      if (seen[part]) continue;
      seen[part] = true;
      found.push_back(part);
      open.push_back(part);
    }
  }
  std::sort(found.begin(), found.end());  // subterms are interned before their terms
  return found;
}

bool Values::depends_on(Value value, const std::vector<Variable>& variables) const {
  const auto free = free_of(value);
  return std::any_of(variables.begin(), variables.end(), [&](Variable variable) {
    return std::binary_search(free.begin(), free.end(), variable);
  });
}

Number wrap_around(Number number, ElementType type) {
  if (!type.is_integer() || !number.is_whole() || type.bits() == 64) return number;
  const std::int64_t modulus = std::int64_t{1} << type.bits();
  std::int64_t rest = number.numerator % modulus;
  if (rest < 0) rest += modulus;
  if (type.kind() == ElementType::Kind::Signed && rest >= modulus / 2) rest -= modulus;
  return {rest, 1};
}

namespace {

/// Sums of two coordinates up to this do not overflow.
constexpr std::int64_t kMaxCoordinate = std::int64_t{1} << 61;

bool is_small(const Coordinate& coordinate, std::int64_t most) {
  const auto inside = [&](std::int64_t value) { return value >= -most && value <= most; };
  return inside(coordinate.base) &&
         std::all_of(coordinate.terms.begin(), coordinate.terms.end(),
                     [&](const Term& term) { return inside(term.stride); });
}

}  // namespace

/// Σ coefficient · position as one position of an affine coordinate, with the constant if there is
/// nothing else; nothing if that changes nothing.
std::optional<Value> Values::with_folded_positions(const Linear& linear, ElementType type) {
  Coordinate coordinate;
  Linear rest{linear.constant, {}};
  std::size_t positions = 0;
  for (const LinearTerm& term : linear.terms) {
    if (kind(term.value) != ValueKind::Position || !term.coefficient.is_whole() ||
        !as_atom(term.value).binders.empty()) {
      rest.terms.push_back(term);
      continue;
    }
    const Coordinate position = as_atom(term.value).map[0];
    if (!is_small(position, kMaxCoordinate /
                                std::max<std::int64_t>(std::abs(term.coefficient.numerator), 1))) {
      return std::nullopt;
    }
    ++positions;
    coordinate = coordinate + position.times(term.coefficient.numerator);
    if (!is_small(coordinate, kMaxCoordinate)) return std::nullopt;
  }
  if (positions == 0 || !rest.constant.is_whole()) return std::nullopt;
  const bool alone = rest.terms.empty();
  if (!alone && positions == 1 && coordinate.base == 0) {
    const auto& terms = linear.terms;
    const bool is_one = std::any_of(terms.begin(), terms.end(), [&](const LinearTerm& term) {
      return kind(term.value) == ValueKind::Position && term.coefficient == Number{1, 1};
    });
    if (is_one) return std::nullopt;
  }
  const auto constant = sum(rest.constant, {coordinate.base, 1});
  if (!constant) return std::nullopt;
  if (alone && coordinate.terms.empty()) return number(wrap_around(*constant, type));
  coordinate.base = alone ? constant->numerator : 0;
  const Value position = atom({ValueKind::Position, 0, 0, {coordinate}});
  if (alone) return position;
  rest.constant = *constant;
  if (!coordinate.terms.empty()) rest.terms.push_back({position, {1, 1}});
  return from_linear(std::move(rest), type);
}

std::optional<Value> Values::from_linear(Linear linear, ElementType type) {
  if (joins_ranges) {
    if (const auto folded = with_folded_positions(linear, type)) return folded;
  }
  auto& terms = linear.terms;
  std::sort(terms.begin(), terms.end(),
            [](const LinearTerm& a, const LinearTerm& b) { return a.value < b.value; });
  linear.constant = wrap_around(linear.constant, type);
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Sum),
                                        linear.constant.numerator, linear.constant.denominator};
  for (std::size_t i = 0; i < terms.size();) {
    Number total = terms[i].coefficient;
    const Value value = terms[i].value;
    for (++i; i < terms.size() && terms[i].value == value; ++i) {
      const bool cancels = (total.numerator < 0) != (terms[i].coefficient.numerator < 0);
      if (cancels && !type.is_integer() && finiteness(value) == Finiteness::HasNonFinite) {
        return std::nullopt;
      }
      const auto more = sum(total, terms[i].coefficient);
      if (!more) return std::nullopt;
      total = wrap_around(*more, type);
    }
    total = wrap_around(total, type);
    if (total.is_zero()) continue;
    sequence.insert(sequence.end(), {value, total.numerator, total.denominator});
  }
  if (sequence.size() == 3) return number(linear.constant);
  const bool single = sequence.size() == 6 && linear.constant.is_zero();
  if (single && sequence[4] == 1 && sequence[5] == 1) return static_cast<Value>(sequence[3]);
  return intern(sequence);
}

std::optional<Value> Values::total(const std::vector<Value>& members, ElementType type) {
  Linear all;
  for (const Value member : members) {
    Linear linear = as_linear(member);
    const auto constant = sum(all.constant, linear.constant);
    if (!constant) return std::nullopt;
    all.constant = *constant;
    all.terms.insert(all.terms.end(), linear.terms.begin(), linear.terms.end());
  }
  const auto result = from_linear(std::move(all), type);
  return result && joins_ranges ? with_joined(*result, type) : result;
}

std::optional<Value> Values::product(const std::vector<Value>& members, ElementType type) {
  Number scale{1, 1};
  std::vector<std::pair<Value, std::int64_t>> powers;
  for (Value member : members) {
    if (kind(member) == ValueKind::Product) {
      const auto inner = factors(member);
      powers.insert(powers.end(), inner.begin(), inner.end());
      continue;
    }
    const Linear linear = as_linear(member);
    const bool scaled = linear.constant.is_zero() && linear.terms.size() == 1;
    const auto factor = linear.terms.empty() ? linear.constant
                        : scaled             ? linear.terms[0].coefficient
                                             : Number{1, 1};
    const auto more = hlo::product(scale, factor);
    if (!more) return std::nullopt;
    scale = wrap_around(*more, type);
    if (linear.terms.empty()) continue;
    if (scaled) member = linear.terms[0].value;
    powers.emplace_back(member, 1);
  }
  const auto may_overflow = [&](const auto& power) {
    return finiteness(power.first) != Finiteness::Finite;
  };
  if (scale.is_zero() && !type.is_integer() && std::ranges::any_of(powers, may_overflow)) {
    return std::nullopt;
  }
  std::sort(powers.begin(), powers.end());
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Product)};
  for (const auto& [value, exponent] : powers) {
    if (sequence.size() > 1 && sequence[sequence.size() - 2] == value) {
      sequence.back() += exponent;
    } else {
      sequence.insert(sequence.end(), {value, exponent});
    }
  }
  if (sequence.size() == 1) return number(scale);
  const bool single = sequence.size() == 3 && sequence[2] == 1;
  const Value pure = single ? static_cast<Value>(sequence[1]) : intern(sequence);
  return from_linear({{}, {{pure, scale}}}, type);
}

std::optional<Value> Values::combine(Reducer reducer, const std::vector<Value>& members,
                                     ElementType type) {
  invariant(reducer != Reducer::Unknown, "combine() takes a known reducer");
  if (reducer == Reducer::Add) return total(members, type);
  if (reducer == Reducer::Multiply) return product(members, type);
  const ValueKind set = reducer == Reducer::Maximum   ? ValueKind::Maximum
                        : reducer == Reducer::Minimum ? ValueKind::Minimum
                        : reducer == Reducer::And     ? ValueKind::And
                                                      : ValueKind::Or;
  std::vector<Value> all;
  for (const Value member : members) {
    if (kind(member) == set) {
      const std::vector<Value> inner = children(member);
      all.insert(all.end(), inner.begin(), inner.end());
    } else {
      all.push_back(member);
    }
  }
  if (joins_ranges) all = joined(reducer, all).value_or(all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() == 1) return all[0];
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(set)};
  sequence.insert(sequence.end(), all.begin(), all.end());
  return intern(sequence);
}

}  // namespace p2::hlo
