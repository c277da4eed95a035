// Functions of single elements in the algebra of random interpretation: their normal forms.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"

namespace p2::hlo::interpreter {
namespace {

constexpr double kLargestPower = 64;

bool has_bounds(const Term& a) { return !a.nan && std::isfinite(a.low) && std::isfinite(a.high); }

/// Infinite or NaN for almost all inputs; not the constant, which is more or less than all others.
bool is_no_number(const Term& term) { return term.unreal && !is_infinite_constant(term); }

}  // namespace

Term Algebra::complement(const Term& a) {
  Term result = sum(number(1), negated(a), {});
  const auto fact = facts_.find(a.value);
  if (fact != facts_.end() && fact->second.kind == Kind::Positive) {
    Fact other = fact->second;
    other.negated = !other.negated;
    facts_.try_emplace(result.value, other);
  }
  return result;
}

/// Adds what a term is the maximum of.
void Algebra::add_members(std::vector<Term>& members, const Term& term) const {
  const auto fact = facts_.find(term.value);
  if (fact != facts_.end() && fact->second.kind == Kind::Maximum) {
    const std::vector<Term>& inner = fact->second.members;
    members.insert(members.end(), inner.begin(), inner.end());
  } else {
    members.push_back(term);
  }
}

std::size_t Algebra::members_of(const Term& term) const {
  const auto fact = facts_.find(term.value);
  return fact == facts_.end() ? 1 : fact->second.members.size();
}

/// The maximum of several members, without those that others are never less than.
Term Algebra::maximum_of(std::vector<Term> members, bool nan) {
  std::sort(members.begin(), members.end(),
            [](const Term& x, const Term& y) { return x.value < y.value; });
  members.erase(std::unique(members.begin(), members.end(),
                            [](const Term& x, const Term& y) { return x.value == y.value; }),
                members.end());
  double low = -kInfinity;
  double high = -kInfinity;
  for (const Term& member : members) {
    low = std::max(low, member.low);
    high = std::max(high, member.high);
  }
  std::erase_if(members, [&](const Term& member) { return member.high < low; });
  std::uint64_t state = 0x3A8;
  for (const Term& member : members) state = hash(state, member.value);
  if (members.size() == 1) return members[0];
  Term result = drawn_term(state, low, high);
  result.nan = nan;
  facts_.try_emplace(result.value, Fact{Kind::Maximum, false, std::move(members)});
  return result;
}

Term Algebra::maximum(const Term& a, const Term& b) {
  if (is_no_number(a) || is_no_number(b)) return unreal_pair(0x2A, a, b);
  if (a.value == b.value || a.high <= b.low) return b;
  if (b.high <= a.low) return a;
  std::vector<Term> members;
  add_members(members, a);
  add_members(members, b);
  return maximum_of(std::move(members), a.nan || b.nan);
}

std::optional<Term> Algebra::extremum(const ElementOperation& reducer, const Term& first,
                                      std::span<const Term> elements) {
  const bool is_boolean = reducer.to.kind() == ElementType::Kind::Boolean;
  const bool least =
      reducer.code == Element::Minimum || (is_boolean && reducer.code == Element::And);
  const bool most = reducer.code == Element::Maximum || (is_boolean && reducer.code == Element::Or);
  if (!(least || most) || (!is_boolean && (!reducer.to.is_float() || rounds(reducer.to))))
    return std::nullopt;
  if (most) return maximum(first, elements);
  const auto turned = [&](const Term& each) {
    return is_boolean ? complement(each) : negated(each);
  };
  std::vector<Term> others;
  for (const Term& each : elements) others.push_back(turned(each));
  return turned(maximum(turned(first), others));
}

/// As maximum(maximum(first, elements[0]), …), without what is between.
Term Algebra::maximum(const Term& first, std::span<const Term> elements) {
  Term total = first;  // its bounds, and its value where it has one member
  std::vector<Term> members;
  for (const Term& each : elements) {
    if (total.high <= each.low || (members.empty() && each.value == total.value)) {
      total = each;
      members.clear();
      continue;
    }
    if (each.high <= total.low) continue;
    if (members.empty()) add_members(members, total);
    add_members(members, each);
    total.low = std::max(total.low, each.low);
    total.high = std::max(total.high, each.high);
    total.nan = total.nan || each.nan;
  }
  return members.empty() ? total : maximum_of(std::move(members), total.nan);
}

Term Algebra::minimum(const Term& a, const Term& b) {
  return negated(maximum(negated(a), negated(b)));
}

/// [a > 0].
Term Algebra::positive(const Term& a) {
  if (a.low > 0) return number(1);
  if (a.high <= 0) return {};
  const Term result = drawn_term(hash(0x6, a.value), 0, 1);
  facts_.try_emplace(result.value, Fact{Kind::Positive, false, {a}});
  return result;
}

/// [a = 0].
Term Algebra::is_zero(const Term& a) {
  if (a.low > 0 || a.high < 0) return {};
  if (a.value == 0) return number(1);
  const Term other = negated(a);
  return drawn_term(hash(0x5, std::min(a.value, other.value)), 0, 1);
}

/// Comparisons of integers as [a > b].
std::optional<Term> Algebra::compared_by_pieces(Direction direction, const Term& a, const Term& b) {
  std::optional<Term> result;
  switch (direction) {
    case Direction::Gt:
    case Direction::Le:
      result = greater_by_pieces(a, b);
      break;
    case Direction::Lt:
    case Direction::Ge:
      result = greater_by_pieces(b, a);
      break;
    case Direction::Eq:
    case Direction::Ne: {
      const auto above = greater_by_pieces(a, b);
      const auto below = greater_by_pieces(b, a);
      if (!above || !below) return std::nullopt;
      const Term either = sum(*above, *below, {});
      result = complement(either);
      break;
    }
  }
  const bool negate =
      direction == Direction::Ne || direction == Direction::Le || direction == Direction::Ge;
  if (result && negate) result = complement(*result);
  return result;
}

Term Algebra::compare(const ElementOperation& operation, const Term& x, const Term& y) {
  const ElementType type = operation.from;
  const bool real = type.is_float();
  const Term a = real ? x : unwrapped(x, type);
  const Term b = real ? y : unwrapped(y, type);
  Direction direction = operation.direction;
  if (real && !orders_totally(operation) && (is_nan_constant(a) || is_nan_constant(b))) {
    return number(direction == Direction::Ne ? 1 : 0);
  }
  if (real && orders_totally(operation) && a.value == 0 && b.value == 0 && is_constant(a) &&
      is_constant(b)) {
    const Term parts[] = {a, b};  // a zero has no sign, at which this order looks
    return function(fmt::format("signs {}", static_cast<int>(direction)), parts, operation.to);
  }
  const auto is_open = [&](const Term& term) {
    return is_no_number(term) && !is_nan_constant(term);
  };
  if (real && (is_open(a) || is_open(b))) {
    // NaN is neither equal to itself, nor less or more.
    const Term parts[] = {a, b};
    return function(fmt::format("compare {}", static_cast<int>(direction)), parts, operation.to);
  }
  const bool negate =
      direction == Direction::Ne || direction == Direction::Le || direction == Direction::Ge;
  Term result;
  if (std::isinf(a.low) && is_constant(a) && is_constant(b) && a.low == b.low) {
    result = number(direction == Direction::Eq || negate ? 1 : 0);
    return direction == Direction::Ne ? Term{} : result;
  }
  if (!real) {
    if (const auto decided = compared_by_pieces(direction, a, b)) return *decided;
  }
  switch (direction) {
    case Direction::Eq:
    case Direction::Ne:
      if (a.low > b.high || a.high < b.low) {
        result = {};
      } else if (real) {
        result = is_zero(sum(a, negated(b), type));
      } else {  // [d > -1] − [d > 0]
        const Term difference = sum(a, negated(b), type);
        result = sum(positive(sum(difference, number(1), type)), negated(positive(difference)), {});
        result.low = std::max(result.low, 0.0);
        result.high = std::min(result.high, 1.0);
      }
      break;
    case Direction::Gt:
    case Direction::Le:
      result = a.low > b.high    ? number(1)
               : a.high <= b.low ? Term{}
                                 : positive(sum(a, negated(b), type));
      break;
    case Direction::Lt:
    case Direction::Ge:
      result = b.low > a.high    ? number(1)
               : b.high <= a.low ? Term{}
                                 : positive(sum(b, negated(a), type));
      break;
  }
  return negate ? complement(result) : result;
}

Term Algebra::select(const Term& condition, const Term& yes, const Term& no, ElementType type) {
  if (is_constant(condition)) return condition.low != 0 ? yes : no;
  if (yes.value == no.value) return yes;
  if (piecewise(condition) != nullptr) {
    const auto chosen = [](const std::vector<Term>& values) {
      return is_constant(values[0]) ? std::optional(values[values[0].low != 0 ? 1 : 2])
                                    : std::nullopt;
    };
    const auto result = by_pieces({&condition, &yes, &no}, type, true, chosen);
    if (result) return *result;
  }
  const auto fact = facts_.find(condition.value);
  if (fact != facts_.end() && fact->second.kind == Kind::Positive) {
    // [d > 0] chooses between x and y with d = x − y, or d = y − x.
    const Term& decides = fact->second.members[0];
    const bool flipped = fact->second.negated;
    const Term& first = flipped ? no : yes;
    const Term& second = flipped ? yes : no;
    const Term difference = sum(first, negated(second), type);
    const bool no_wrap =
        exact(first, type).value == first.value && exact(second, type).value == second.value;
    if (no_wrap && difference.value == decides.value) return maximum(first, second);
    if (no_wrap && negated(difference).value == decides.value) return minimum(first, second);
  }
  const double low = std::min(yes.low, no.low);
  const double high = std::max(yes.high, no.high);
  if (has_bounds(yes) && has_bounds(no)) {
    const Term difference = sum(yes, negated(no), type);
    Term all = sum(no, product(condition, difference, type), type);
    all.low = low;
    all.high = high;
    all.nan = false;
    return type.is_float() ? settled(all) : all;
  }
  if (type.is_float() && fact != facts_.end() && fact->second.kind == Kind::Positive) {
    met_selections_ = true;
    if (selections_ == Selections::Linear) {
      if (const auto result = selected(condition, yes, no)) return settled(*result);
    }
  }
  const Term other = complement(condition);
  const bool swap = other.value < condition.value;
  const Term parts[] = {swap ? other : condition, swap ? no : yes, swap ? yes : no};
  Term chosen = unknown_function(Element::Select, type, parts, low, high);
  chosen.unreal = false;  // a number for some inputs, where one of both is
  return chosen;
}

/// choices[0] + Σ [index > k] (choices[k + 1] − choices[k]).
Term Algebra::choose(const Term& index, ElementType index_type, std::span<const Term> choices,
                     ElementType type) {
  const Term place = unwrapped(index, index_type);
  const auto unknown = [&] {
    std::vector<Term> all = {place};
    all.insert(all.end(), choices.begin(), choices.end());
    Term chosen = function("choose", all, type);
    chosen.unreal = false;  // a number for some inputs, where one of all is
    return chosen;
  };
  if (!is_constant(place) && rounds(type)) {
    const auto other = [&](const Term& choice) { return choice.value != choices[0].value; };
    if (std::none_of(choices.begin(), choices.end(), other)) return choices[0];
    return unknown();
  }
  if (is_constant(place)) {
    const double last = static_cast<double>(choices.size() - 1);
    return choices[static_cast<std::size_t>(std::clamp(place.low, 0.0, last))];
  }
  if (const auto result = choose_by_pieces(place, choices, type)) return *result;
  double low = kInfinity;
  double high = -kInfinity;
  bool bounded = true;
  for (const Term& choice : choices) {
    low = std::min(low, choice.low);
    high = std::max(high, choice.high);
    bounded = bounded && has_bounds(choice);
  }
  if (!bounded) return unknown();
  Term all = choices[0];
  for (std::size_t k = 0; k + 1 < choices.size(); ++k) {
    const Term step = positive(sum(place, number(-static_cast<double>(k)), index_type));
    const Term difference = sum(choices[k + 1], negated(choices[k]), type);
    if (step.value != 0 && difference.value != 0) {
      all = sum(all, product(step, difference, type), type);
    }
  }
  all.low = low;
  all.high = high;
  all.nan = false;
  return type.is_float() ? settled(all) : all;
}

Term Algebra::sum_where(const Term& condition, const Term& total, const Term& update,
                        ElementType type) {
  if (is_constant(condition)) return condition.low != 0 ? sum(total, update, type) : total;
  if (type.is_float() && !has_bounds(update)) {
    const auto part = selected(condition, update, {});
    return sum(total, part ? *part : select(condition, update, {}, type), type);
  }
  Term part = plain_product(condition, update);
  part.nan = update.nan;
  part.low = std::min(0.0, update.low);
  part.high = std::max(0.0, update.high);
  return sum(total, part, type);
}

Term Algebra::power(const Term& base, const Term& exponent, ElementType type) {
  const auto known = known_real(exponent);
  const Term operands[] = {base, exponent};
  if (!known) return unknown_function(Element::Power, type, operands, -kInfinity, kInfinity);
  const double size = std::fabs(*known);
  Term result = number(1);
  if (size == std::floor(size) && size <= kLargestPower) {
    for (int i = 0; i < static_cast<int>(size); ++i) result = product(result, base, type);
  } else if (size == 0.5) {
    const Term operand[] = {base};
    result = real({Element::Sqrt, {}, type, type, {}}, operand);
  } else {
    return unknown_function(Element::Power, type, operands, -kInfinity, kInfinity);
  }
  return *known < 0 ? inverse(result) : result;
}

Term Algebra::real(const ElementOperation& operation, std::span<const Term> operands) {
  const ElementType type = operation.to;
  const Term& a = operands[0];
  const auto again = [&](Element code, const Term& x) {
    const Term operand[] = {x};
    return real({code, {}, type, type, {}}, operand);
  };
  // Before their normal forms: a rounded e^x − 1 is 0 for small x.
  const bool is_folded = operation.code == Element::ExponentialMinusOne ||
                         operation.code == Element::LogPlusOne ||
                         operation.code == Element::Logistic || operation.code == Element::Tanh;
  const auto constant_operand = is_folded ? known_real(a) : std::nullopt;
  if (constant_operand && std::isfinite(*constant_operand)) {
    const Scalar operand[] = {{*constant_operand, 0}};
    return real_constant_term(Numbers().apply(operation, operand).real, type);
  }
  switch (operation.code) {
    case Element::Add:
      return sum(a, operands[1], type);
    case Element::Subtract:
      return sum(a, negated(operands[1]), type);
    case Element::Negate:
      return negated(a);
    case Element::Multiply:
      return product(a, operands[1], type);
    case Element::Divide:
      return product(a, inverse(operands[1]), type);
    case Element::Maximum:
      return maximum(a, operands[1]);
    case Element::Minimum:
      return minimum(a, operands[1]);
    case Element::Abs:
      return maximum(a, negated(a));
    case Element::Exponential:
      return exponential(a, type);
    case Element::ExponentialMinusOne:
      return sum(exponential(a, type), number(-1), type);
    case Element::LogPlusOne:
      return again(Element::Log, sum(a, number(1), type));
    case Element::Rsqrt:
      return inverse(again(Element::Sqrt, a));
    case Element::Power:
      return power(a, operands[1], type);
    case Element::ReducePrecision:
      return a;
    case Element::Logistic: {
      Term result = inverse(sum(number(1), exponential(negated(a), type), type));
      result.low = 0;
      result.high = 1;
      result.nan = a.nan;
      return settled(result);
    }
    case Element::Tanh: {
      const Term twice = product(number(2), a, type);
      const Term part = inverse(sum(exponential(twice, type), number(1), type));
      Term result = sum(number(1), product(number(-2), part, type), type);
      result.low = -1;
      result.high = 1;
      result.nan = a.nan;
      return settled(result);
    }
    case Element::Tan:
      return product(again(Element::Sine, a), inverse(again(Element::Cosine, a)), type);
    default:
      break;
  }
  std::vector<Scalar> known;
  for (const Term& operand : operands) {
    if (const auto value = known_real(operand)) known.push_back({*value + 0.0, 0});  // −0 is 0
  }
  if (known.size() == operands.size()) {
    return real_constant_term(Numbers().apply(operation, known).real, type);
  }
  switch (operation.code) {
    case Element::Sqrt: {
      const double low = a.low > 0 ? std::sqrt(a.low) * (1 - 1e-15) : 0;
      const double high = a.high > 0 ? std::sqrt(a.high) * (1 + 1e-15) : 0;
      Term result = unknown_function(operation.code, type, operands, low, high);
      result.nan = result.nan || a.low < 0;
      return result;
    }
    case Element::Log: {
      if (a.low <= 0)
        return unknown_function(operation.code, type, operands, -kInfinity, kInfinity);
      const double low = std::log(a.low);
      const double high = std::log(a.high);
      return unknown_function(operation.code, type, operands, low - std::fabs(low) * 1e-15 - 1e-300,
                              high + std::fabs(high) * 1e-15 + 1e-300);
    }
    case Element::Sine:
    case Element::Cosine:
    case Element::Sign:
    case Element::Erf: {
      const bool even = operation.code == Element::Cosine;
      const Term other = negated(a);
      const bool swap = other.value < a.value;  // odd and even functions
      const Term operand[] = {swap ? other : a};
      Term result = unknown_function(operation.code, type, operand, -1, 1);
      const bool circular = operation.code == Element::Sine || operation.code == Element::Cosine;
      result.nan = a.nan || (circular && !has_bounds(a));
      return swap && !even ? negated(result) : result;
    }
    case Element::Floor:
    case Element::Ceil:
    case Element::RoundAway:
    case Element::RoundEven:
      return unknown_function(operation.code, type, operands, std::floor(a.low), std::ceil(a.high));
    default:
      return unknown_function(operation.code, type, operands, -kInfinity, kInfinity);
  }
}

Term Algebra::apply(const ElementOperation& operation, std::span<const Term> operands) {
  const ElementType to = operation.to;
  if ((rounds(to) || rounds(operation.from)) && operation.code != Element::BitcastConvert)
    return float_operation(operation, operands);
  switch (operation.code) {
    case Element::Compare:
      return compare(operation, operands[0], operands[1]);
    case Element::Select:
      return select(operands[0], operands[1], operands[2], to);
    case Element::Convert:
      return convert(operands[0], operation.from, to);
    case Element::Clamp: {
      const Term low[] = {operands[1], operands[0]};
      const Term high[] = {apply({Element::Maximum, {}, to, to, {}}, low), operands[2]};
      return apply({Element::Minimum, {}, to, to, {}}, high);
    }
    case Element::IsFinite: {
      const Term& a = operands[0];
      if (has_bounds(a)) return number(1);
      if (is_constant(a)) return {};
      return unknown_function(operation.code, to, operands, 0, 1);
    }
    case Element::BitcastConvert:
      if (operation.from == to) return operands[0];
      if (operation.from.is_integer() && to.is_integer()) return operands[0];
      {
        const Term operand[] = {exact(operands[0], operation.from)};
        return function(fmt::format("bits of {}", operation.from.name()), operand, to);
      }
    default:
      break;
  }
  if (to.is_float()) return real(operation, operands);
  return integral(operation, operands);
}

}  // namespace p2::hlo::interpreter
