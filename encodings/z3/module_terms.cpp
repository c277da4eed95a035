// Constants, symbols, uninterpreted functions, integers and Booleans as terms.

#include "encodings/z3/module_terms.h"

#include <bit>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

/// Products of sums of more monomials are products of symbols for the sums.
constexpr double kMaxMonomials = 32;
/// Products of more factors, or of numbers as long, are products of symbols: where every product is
/// the square of the one before, numbers and normal forms would double each time.
constexpr double kMaxFactors = 1000;
/// Digits of a number that counts as one factor.
constexpr double kDigitsOfFactor = 20;
/// Of one normal form.
constexpr unsigned kMaxSteps = 200'000;

/// Below it, doubles are exact for integers.
constexpr double kExactInteger = 9007199254740992.0;

double without_nan(double bound, double otherwise) { return std::isnan(bound) ? otherwise : bound; }

double factors_in(const Term& term) {
  std::int64_t numerator = 0;
  std::int64_t denominator = 0;
  if (!term.value.is_numeral()) return term.factors;
  z3::context& context = term.value.ctx();
  if (Z3_get_numeral_small(context, term.value, &numerator, &denominator)) return 1;
  const std::string_view digits = Z3_get_numeral_string(context, term.value);
  return 1 + static_cast<double>(digits.size()) / kDigitsOfFactor;
}

/// Bounds of an integer, as far as they are exact: rounded ones must not come back to small
/// numbers.
Interval exact(const Interval& bounds) {
  return {std::fabs(bounds.low) < kExactInteger ? bounds.low : Interval().low,
          std::fabs(bounds.high) < kExactInteger ? bounds.high : Interval().high};
}

Term opposite(const Term& of) {
  Term term{-of.value};
  term.bounds = -of.bounds;
  term.factors = of.factors;
  return term;
}

Term total(const Term& a, const Term& b) {
  Term term{a.value + b.value};
  term.bounds = exact(a.bounds) + exact(b.bounds);
  term.factors = std::max(a.factors, b.factors);
  return term;
}

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
  return {without_nan(a.low + b.low, Interval().low),
          without_nan(a.high + b.high, Interval().high)};
}

Interval operator*(const Interval& a, const Interval& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                         times(a.high, b.high)};
  if (std::ranges::any_of(ends, [](double each) { return std::isnan(each); })) return {};
  return {std::ranges::min(ends), std::ranges::max(ends)};
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Interval range_of(hlo::ElementType type) {
  if (type.is_integer()) {
    const int bits = static_cast<int>(type.bits());
    if (is_unsigned(type)) return {0, std::ldexp(1.0, bits) - 1};
    return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  }
  const double largest = type.name() == "f64" ? 1.7e308 : type.name() == "f16" ? 65504.0 : 3.38e38;
  return {-largest, largest};
}

Translation::Translation(z3::context& context, const Expressions& expressions, const Meter& meter)
    : context_(context),
      expressions_(expressions),
      meter_(meter),
      normal_(context),
      terms_(expressions.size()) {
  normal_.set("som", true);
  normal_.set("som_blowup", static_cast<unsigned>(kMaxMonomials));
  normal_.set("sort_sums", true);
  normal_.set("max_steps", kMaxSteps);
}

z3::expr Translation::normal(const z3::expr& term) const {
  step();
  try {
    return term.simplify(normal_);
  } catch (const z3::exception&) {
    meter_.checkpoint();
    return term.simplify();
  }
}

/// The exact value of a double.
z3::expr Translation::number(double value) {
  if (value == std::trunc(value)) return context_.real_val(fmt::format("{:.0f}", value).c_str());
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), 53);
  z3::expr result = context_.real_val(fmt::format("{:.0f}", mantissa).c_str());
  for (int left = 53 - exponent; left > 0; left -= 512) {
    const double power = std::ldexp(1.0, std::min(left, 512));
    result = result / context_.real_val(fmt::format("{:.0f}", power).c_str());
  }
  return result.simplify();
}

z3::expr Translation::power_of_two(unsigned bits) {
  return context_.int_val(fmt::format("{:.0f}", std::ldexp(1.0, static_cast<int>(bits))).c_str());
}

z3::sort Translation::sort_of(ElementType type) {
  if (is_boolean(type)) return context_.bool_sort();
  return type.is_integer() ? context_.int_sort() : context_.real_sort();
}

void Translation::add_fact(const z3::expr& symbol, const z3::expr& fact) {
  std::vector<z3::expr>& all = facts_[symbol.id()];
  const auto same = [&](const z3::expr& each) { return each.id() == fact.id(); };
  if (std::ranges::none_of(all, same)) all.push_back(fact);
}

/// Symbols keep terms small: what is put into a normal form goes no deeper than they.
z3::expr Translation::named(const z3::expr& term) {
  if (term.is_numeral() || term.is_true() || term.is_false() || is_symbol(term)) return term;
  return symbol_for(term);
}

z3::expr Translation::symbol_for(const z3::expr& term) {
  auto found = named_.find(term.id());
  if (found == named_.end()) {
    const std::string name = fmt::format("t{}", named_.size());
    const z3::expr symbol = context_.constant(name.c_str(), term.get_sort());
    found = named_.emplace(term.id(), Replacement{term, symbol}).first;
    add_fact(symbol, symbol == term);
  }
  return found->second.to;
}

void Translation::shorten(Term& a, Term& b) {
  a.factors = factors_in(a);
  b.factors = factors_in(b);
  const bool is_long = a.factors + b.factors > kMaxFactors;
  for (Term* const each : {&a, &b}) {
    const bool many_factors = is_long && each->factors > 1;
    const bool many_sums = each->monomials > 1 && a.monomials * b.monomials > kMaxMonomials;
    if (!many_factors && !many_sums) continue;
    const z3::expr value = normal(each->value);
    each->value = many_factors ? symbol_for(value) : named(value);
    each->monomials = 1;
    each->factors = factors_in({each->value});
  }
}

Term Translation::constant(hlo::interpreter::Fraction value) {
  Term term{context_.real_val(0)};
  term.steps = true;
  if (!std::isfinite(value.numerator)) {
    const bool nan = std::isnan(value.numerator);
    term.special =
        Special{truth(!nan && value.numerator > 0), truth(!nan && value.numerator < 0), truth(nan)};
    return term;
  }
  term.value = (number(value.numerator) / number(value.denominator)).simplify();
  const double real = value.numerator / value.denominator;
  const double margin = real == std::trunc(real) ? 0 : std::fabs(real) * kMargin;
  term.bounds = {real - margin, real + margin};
  return term;
}

Term Translation::integer_constant(std::int64_t value, ElementType type) {
  const auto natural = static_cast<std::uint64_t>(value);
  Term term{is_unsigned(type) ? context_.int_val(natural) : context_.int_val(value)};
  const double real = is_unsigned(type) ? static_cast<double>(natural) : static_cast<double>(value);
  term.bounds = {real, real};
  term.in_range = term.steps = true;
  return term;
}

Term Translation::input(std::uint32_t number, ElementType type) {
  const z3::expr value = context_.constant(fmt::format("x{}", number).c_str(), sort_of(type));
  inputs_.emplace(value.id(), Input{value, number});
  Term term = symbol(value, type);
  if (type.is_float()) term.bounds = range_of(type);
  return term;
}

/// A symbol that may have any value of the type.
Term Translation::symbol(const z3::expr& value, ElementType type) {
  Term term{value};
  if (!type.is_integer()) return term;
  term.bounds = range_of(type);
  term.in_range = term.steps = true;
  const z3::expr size = power_of_two(type.bits());
  const z3::expr low = is_unsigned(type) ? context_.int_val(0) : -(size / 2);
  add_fact(value, low.simplify() <= value && value < (low + size).simplify());
  return term;
}

Term Translation::function(const std::string& name, const Operands& operands, ElementType type) {
  z3::expr_vector arguments(context_);
  z3::sort_vector sorts(context_);
  bool any_special = false;
  bool steps = true;
  for (const auto& [given, of] : operands) {
    const Term operand = wrapped_term(given, of);
    steps = steps && (operand.steps || is_boolean(of));
    z3::expr value = operand.value;
    if (operand.special) {
      any_special = true;
      const Special& special = *operand.special;
      value = z3::ite(ordinary(special), value, context_.real_val(0));
      const z3::expr number =
          z3::ite(special.nan, context_.int_val(3),
                  z3::ite(special.above, context_.int_val(1),
                          z3::ite(special.below, context_.int_val(2), context_.int_val(0))));
      arguments.push_back(normal(number));
      sorts.push_back(context_.int_sort());
    }
    arguments.push_back(normal(value));
    sorts.push_back(value.get_sort());
  }
  const std::string full = fmt::format("{} to {}", name, type.name());
  const auto declared = [&](const std::string& called, const z3::sort& sort) {
    return named(context_.function(called.c_str(), sorts, sort)(arguments));
  };
  Term term = symbol(declared(full, sort_of(type)), type);
  term.steps = !type.is_float() || steps;
  if (!any_special || !is_real(type)) return term;
  const z3::expr which = declared(full + " special", context_.int_sort());
  return with_special(std::move(term), which == 1, which == 2, which == 3);
}

Term Translation::function(Element code, const std::vector<Term>& operands, ElementType type) {
  Operands typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  return function(fmt::format("function {}", static_cast<int>(code)), typed, type);
}

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
  term.bounds = exact(a.bounds) * exact(b.bounds);
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
      Term own = wrapped_term(a, type);
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
