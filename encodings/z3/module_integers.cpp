// Integers, Booleans, comparisons and conversions as terms.

#include <bit>

#include <fmt/format.h>

#include "encodings/z3/module_terms.h"

namespace p2::z3_encoding {
namespace {

/// Bounds of integers are exact below.
constexpr double kExactInteger = 9007199254740992.0;

Term opposite(const Term& of) {
  Term term{-of.value};
  term.bounds = -of.bounds;
  term.factors = of.factors;
  return term;
}

Term total(const Term& a, const Term& b) {
  Term term{a.value + b.value};
  term.bounds = a.bounds + b.bounds;
  term.factors = std::max(a.factors, b.factors);
  return term;
}

}  // namespace

z3::expr Translation::wrapped(const Term& a, ElementType type) {
  const bool is_exact =
      std::fabs(a.bounds.low) < kExactInteger && std::fabs(a.bounds.high) < kExactInteger;
  if (a.in_range || (is_exact && a.bounds.within(range_of(type)))) return a.value;
  const z3::expr size = power_of_two(type.bits());
  if (is_unsigned(type)) return z3::mod(a.value, size);
  const z3::expr half = (size / 2).simplify();
  return z3::mod(a.value + half, size) - half;
}

Term Translation::wrapped_term(Term a, ElementType type) {
  if (!type.is_integer()) return a;
  const z3::expr value = wrapped(a, type);
  if (value.id() != a.value.id()) {
    a.value = named(normal(value));
    a.bounds = range_of(type);
    a.factors = 1;
  }
  a.in_range = true;
  return a;
}

Term Translation::integer_product(const Term& a, const Term& b) {
  Term left = a;
  Term right = b;
  shorten(left, right);
  Term term{left.value * right.value};
  term.bounds = a.bounds * b.bounds;
  term.factors = left.factors + right.factors;
  return term;
}

/// Operations with a constant that are products, quotients or remainders.
std::optional<Term> Translation::integer_by_constant(Element code, const Term& x, std::int64_t by,
                                                     ElementType type) {
  const Term a = wrapped_term(x, type);
  const bool is_natural = a.bounds.low >= 0;
  const Interval range = range_of(type);
  const auto bits = static_cast<std::int64_t>(type.bits());
  const auto power = [&](std::int64_t k) { return power_of_two(static_cast<unsigned>(k)); };
  const auto size_of_power = [](std::int64_t k) { return std::ldexp(1.0, static_cast<int>(k)); };
  const auto in_range = [](const z3::expr& value, const Interval& bounds) {
    return Term{value, {}, bounds, true};
  };
  const auto quotient = [&](const z3::expr& value, double divisor) {
    return in_range(value, is_natural ? Interval{0, std::floor(a.bounds.high / divisor)} : range);
  };
  switch (code) {
    case Element::ShiftLeft:
      if (by < 0 || by >= bits) return integer_constant(0, type);
      return integer_product(a, {power(by), {}, {size_of_power(by), size_of_power(by)}});
    case Element::ShiftRightLogical: {
      if (by < 0 || by >= bits) return integer_constant(0, type);
      if (by == 0) return a;
      const z3::expr natural =
          is_unsigned(type) ? a.value : z3::ite(a.value < 0, a.value + power(bits), a.value);
      return quotient(natural / power(by), size_of_power(by));
    }
    case Element::ShiftRightArithmetic:
      if (is_unsigned(type)) return std::nullopt;
      if (by < 0 || by >= bits) by = bits - 1;
      return quotient(a.value / power(by), size_of_power(by));
    case Element::And: {
      const auto mask = static_cast<std::uint64_t>(by);
      if (by <= 0 || (mask & (mask + 1)) != 0) return std::nullopt;
      return in_range(z3::mod(a.value, power(std::popcount(mask))), {0, static_cast<double>(mask)});
    }
    case Element::Divide:
    case Element::Remainder: {
      const bool has_size = by != std::numeric_limits<std::int64_t>::min();
      if (by == 0 || by == -1 || !has_size || (is_unsigned(type) && by < 0)) return std::nullopt;
      const z3::expr divisor = context_.int_val(std::abs(by));
      const z3::expr size = z3::ite(a.value < 0, -a.value, a.value) / divisor;
      const z3::expr rounded = z3::ite((a.value < 0) != truth(by < 0), -size, size);
      if (code == Element::Divide && by > 0) return quotient(rounded, static_cast<double>(by));
      if (code == Element::Divide) return in_range(rounded, range);
      const auto most = static_cast<double>(std::abs(by) - 1);
      return in_range(a.value - rounded * context_.int_val(by), {is_natural ? 0 : -most, most});
    }
    default:
      return std::nullopt;
  }
}

Term Translation::integer_function(Element code, const std::vector<Term>& operands,
                                   ElementType type) {
  const Term& a = operands[0];
  const auto stepped = [](Term term) {
    term.steps = true;
    return term;
  };
  switch (code) {
    case Element::Add:
      return stepped(total(a, operands[1]));
    case Element::Subtract:
      return stepped(total(a, opposite(operands[1])));
    case Element::Multiply:
      return stepped(integer_product(a, operands[1]));
    case Element::Negate:
      return stepped(opposite(a));
    case Element::Not:
      return stepped(total(integer_constant(-1, *ElementType::from_xla("s64")), opposite(a)));
    case Element::Abs: {
      const Term own = wrapped_term(a, type);
      if (is_unsigned(type)) return own;
      // That of the least one wraps.
      return stepped({named(normal(z3::ite(own.value < 0, -own.value, own.value)))});
    }
    case Element::Sign: {
      const Term own = wrapped_term(a, type);
      Term term{z3::ite(own.value < 0, context_.int_val(-1),
                        z3::ite(own.value > 0, context_.int_val(1), context_.int_val(0)))};
      term.bounds = {-1, 1};
      return stepped(term);
    }
    default:
      break;
  }
  std::int64_t by = 0;
  if (operands.size() == 2 && normal(wrapped(operands[1], type)).is_numeral_i64(by)) {
    if (auto term = integer_by_constant(code, a, by, type)) {
      if (code != Element::ShiftLeft) term->value = named(normal(term->value));
      return stepped(std::move(*term));
    }
  }
  return function(code, operands, type);
}

Term Translation::boolean_function(Element code, const std::vector<Term>& operands,
                                   ElementType type) {
  const z3::expr& a = operands[0].value;
  switch (code) {
    case Element::Not:
      return {normal(!a)};
    case Element::Negate:
    case Element::Abs:
    case Element::Sign:
      return {normal(a)};
    case Element::And:
    case Element::Multiply:
    case Element::Minimum:
      return {normal(a && operands[1].value)};
    case Element::Or:
    case Element::Add:
    case Element::Maximum:
      return {normal(a || operands[1].value)};
    case Element::Xor:
    case Element::Subtract:
      return {normal(a != operands[1].value)};
    default:
      return function(code, operands, type);
  }
}

z3::expr Translation::compared(const Expressions::Node& node, const Term& a, const Term& b) {
  using hlo::interpreter::Direction;
  z3::expr equal = truth(false);
  z3::expr less = truth(false);
  z3::expr greater = truth(false);
  z3::expr ordered = truth(true);
  if (is_boolean(node.from)) {
    equal = a.value == b.value;
    less = !a.value && b.value;
    greater = a.value && !b.value;
  } else {
    const bool is_integer = node.from.is_integer();
    const z3::expr left = is_integer ? wrapped(a, node.from) : a.value;
    const z3::expr right = is_integer ? wrapped(b, node.from) : b.value;
    const z3::expr difference = normal(left - right);
    equal = difference == 0;
    less = difference < 0;
    greater = difference > 0;
  }
  if (a.special || b.special) {
    const Special x = special_of(a);
    const Special y = special_of(b);
    const z3::expr finite = ordinary(x) && ordinary(y);
    ordered = !x.nan && !y.nan;
    less = ordered && ((x.below && !y.below) || (y.above && !x.above) || (finite && less));
    greater = ordered && ((y.below && !x.below) || (x.above && !y.above) || (finite && greater));
    equal = ordered && ((x.above && y.above) || (x.below && y.below) || (finite && equal));
  }
  switch (node.direction) {
    case Direction::Eq:
      return equal;
    case Direction::Ne:
      return !equal;
    case Direction::Lt:
      return less;
    case Direction::Ge:
      return ordered && !less;
    case Direction::Gt:
      return greater;
    case Direction::Le:
      return ordered && !greater;
  }
  return truth(false);
}

Term Translation::converted(const Term& a, ElementType from, ElementType to) {
  if (from == to) return a;
  if (is_boolean(from)) {
    const bool real = !to.is_integer();
    const z3::expr one = real ? context_.real_val(1) : context_.int_val(1);
    const z3::expr none = real ? context_.real_val(0) : context_.int_val(0);
    const z3::expr choice = z3::ite(a.value, one, none);
    Term term{named(normal(choice)), {}, {0, 1}, true};
    if (real) term.cases = choice;
    term.steps = true;
    return term;
  }
  if (from.is_integer()) {
    if (is_boolean(to)) return {normal(wrapped(a, from) != 0)};
    const bool widens = to.is_float() || to.bits() > from.bits();
    Term term = widens ? wrapped_term(a, from) : a;
    term.in_range = false;
    if (!to.is_float()) return term;
    term.value = z3::to_real(normal(term.value));
    term.steps = true;
    return bounded(std::move(term), to);
  }
  if (is_boolean(to)) {
    const z3::expr some = a.value != 0;
    return {normal(a.special ? !ordinary(*a.special) || some : some)};
  }
  if (to.is_float()) return bounded(a, to);
  return function(fmt::format("convert {}", from.name()), {{a, from}}, to);
}

}  // namespace p2::z3_encoding
