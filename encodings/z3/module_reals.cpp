// Real numbers, infinities and NaNs as terms.

#include <fmt/format.h>

#include "encodings/z3/module_terms.h"

namespace p2::z3_encoding {
namespace {

/// Larger bounds are not exact.
constexpr double kExactBound = 9007199254740992.0;
/// Powers with larger exponents are uninterpreted.
constexpr double kMaxExponent = 16;

/// A term of numbers as a number.
z3::expr folded(const z3::expr& term, const Term& a, const Term& b) {
  return a.value.is_numeral() && b.value.is_numeral() ? term.simplify() : term;
}

/// A number, or a choice among a few of them.
std::optional<z3::expr> cases_of(const Term& a) {
  if (a.special) return std::nullopt;
  return a.value.is_numeral() ? a.value : a.cases;
}

}  // namespace

bool Translation::is_finite(const Term& a, ElementType type) {
  return !a.special && a.bounds.within(range_of(type));
}

Term Translation::bounded(Term term, ElementType type) {
  const Interval range = range_of(type);
  auto& [low, high] = term.bounds;
  if (std::isnan(low) || low < range.low) low = Interval().low;
  if (std::isnan(high) || high > range.high) high = Interval().high;
  for (double* const bound : {&low, &high}) {
    const bool is_exact = *bound == std::trunc(*bound) && std::fabs(*bound) <= kExactBound;
    if (!is_exact && std::isfinite(*bound))
      *bound += std::fabs(*bound) * (bound == &low ? -kMargin : kMargin);
  }
  return term;
}

std::optional<double> Translation::known_real(const Term& a) const {
  if (a.special) return std::nullopt;
  const z3::expr value = normal(a.value);
  if (!value.is_numeral()) return std::nullopt;
  return Z3_get_numeral_double(context_, value);
}

Special Translation::special_of(const Term& a) {
  return a.special ? *a.special : Special{truth(false), truth(false), truth(false)};
}

Term Translation::with_special(Term term, const z3::expr& above, const z3::expr& below,
                               const z3::expr& nan) {
  const Special special{above.simplify(), below.simplify(), nan.simplify()};
  term.special.reset();
  if (special.above.is_false() && special.below.is_false() && special.nan.is_false()) return term;
  term.special = special;
  return term;
}

Term Translation::negated(const Term& a) {
  Term term = a;
  term.cases.reset();
  term.value = folded(-a.value, a, a);
  term.bounds = -a.bounds;
  if (a.special) term.special = Special{a.special->below, a.special->above, a.special->nan};
  return term;
}

Term Translation::sum(const Term& a, const Term& b, ElementType type) {
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  Term term{folded(a.value + b.value, a, b)};
  term.monomials = a.monomials + b.monomials;
  term.factors = std::max(a.factors, b.factors);
  term.bounds = a.bounds + b.bounds;
  term.steps = a.steps && b.steps;
  term = bounded(std::move(term), type);
  if (!a.special && !b.special) return term;
  const Special x = special_of(a);
  const Special y = special_of(b);
  const z3::expr nan = x.nan || y.nan || (x.above && y.below) || (x.below && y.above);
  return with_special(std::move(term), !nan && (x.above || y.above), !nan && (x.below || y.below),
                      nan);
}

/// Whether it is 0 for all inputs, as what is subtracted from itself is.
bool Translation::cancels(const Term& a) {
  if (a.special || a.monomials == 1) return is_zero(a);
  auto found = simple_.find(a.value.id());
  if (found == simple_.end()) {
    found = simple_.emplace(a.value.id(), Replacement{a.value, normal(a.value)}).first;
  }
  return is_null(found->second.to);
}

/// A choice among numbers times `value`, or `open` where it is 0.
z3::expr Translation::scaled(const z3::expr& cases, const z3::expr& value, const z3::expr& open) {
  if (is_null(cases)) return open;
  if (cases.is_numeral()) return cases * value;
  return z3::ite(cases.arg(0), scaled(cases.arg(1), value, open),
                 scaled(cases.arg(2), value, open));
}

/// 0 · e is 0 only where e is finite for all inputs; else it is a function of e.
Term Translation::product(const Term& a, const Term& b, ElementType type) {
  Term left = a;
  Term right = b;
  shorten(left, right);
  Term term{folded(left.value * right.value, left, right)};
  term.monomials = left.monomials * right.monomials;
  term.factors = left.factors + right.factors;
  term.bounds = a.bounds * b.bounds;
  const auto replace = [&](const z3::expr& value) {
    term.value = named(normal(value));
    term.monomials = term.factors = 1;
  };
  const bool any_special = a.special || b.special;
  for (const auto& [zero, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!zero->cases || any_special) continue;
    const bool finite = is_finite(*other, type);
    replace(scaled(
        *zero->cases, other->value,
        finite ? context_.real_val(0) : function("zero times", {{*other, type}}, type).value));
    term.steps = true;
    if (!finite) term.bounds = {};
    return bounded(std::move(term), type);
  }
  for (const auto& [zero, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool is_zero_value = cancels(*zero);
    const bool is_constant = zero->value.is_numeral();
    if (is_zero_value && is_finite(*other, type)) return constant({0, 1});
    if (!is_constant) term.steps = term.steps || zero->steps;
    const bool never_zero = !is_zero_value && (is_constant || !may_vanish(*zero));
    if (never_zero || is_finite(*other, type)) continue;
    const z3::expr open = function("zero times", {{*other, type}}, type).value;
    replace(is_zero_value ? open : z3::ite(zero->value == 0, open, term.value));
    term.bounds = {};
  }
  term.steps = term.steps || (a.steps && b.steps);
  term = bounded(std::move(term), type);
  return any_special ? product_with_special(std::move(term), a, b) : term;
}

Term Translation::product_with_special(Term product, const Term& a, const Term& b) {
  const Special x = special_of(a);
  const Special y = special_of(b);
  const auto infinite = [](const Special& each) { return each.above || each.below; };
  const auto vanishes = [](const Term& each, const Special& of) {
    return ordinary(of) && each.value == 0;
  };
  const auto positive = [](const Term& each, const Special& of) {
    return of.above || (ordinary(of) && each.value > 0);
  };
  const z3::expr nan =
      x.nan || y.nan || (infinite(x) && vanishes(b, y)) || (infinite(y) && vanishes(a, x));
  const z3::expr unbounded = !nan && (infinite(x) || infinite(y));
  const z3::expr same_sign = positive(a, x) == positive(b, y);
  return with_special(std::move(product), unbounded && same_sign, unbounded && !same_sign, nan);
}

/// 1 / a. Where a is 0 it has some value; where it is 0 for more than a few inputs, it may be
/// infinite or no number there.
Term Translation::inverse(const Term& a, ElementType type) {
  const auto known = known_real(a);
  if (known && *known != 0) {
    Term term{(context_.real_val(1) / normal(a.value)).simplify()};
    const double margin = std::fabs(1 / *known) * kMargin;
    term.bounds = {1 / *known - margin, 1 / *known + margin};
    term.steps = true;
    return term;
  }
  Term finite = a;
  finite.special.reset();
  Term term = function("inverse", {{finite, type}}, type);
  if (a.bounds.low > 0 || a.bounds.high < 0) {
    term.bounds = {1 / a.bounds.high, 1 / a.bounds.low};
    term = bounded(std::move(term), type);
  }
  const bool vanishes = may_vanish(a) || known;
  if (!a.special && !vanishes) return term;
  const Special x = special_of(a);
  z3::expr above = truth(false);
  z3::expr below = truth(false);
  z3::expr nan = x.nan;
  if (vanishes) {
    const Term which = function("of inverse", {{finite, type}}, *ElementType::from_xla("s32"));
    const z3::expr null = ordinary(x) && a.value == 0;
    above = null && which.value == 1;
    below = null && which.value == 2;
    nan = nan || (null && which.value == 3);
  }
  if (a.special) {
    term.value = z3::ite(x.above || x.below, context_.real_val(0), term.value);
    term.bounds = hull(term.bounds, {0, 0});
  }
  term.steps = term.steps || a.steps;
  return with_special(std::move(term), above, below, nan);
}

Term Translation::power(const Term& base, const Term& exponent, ElementType type) {
  const auto known = known_real(exponent);
  if (known && std::fabs(*known) <= kMaxExponent && *known == std::trunc(*known)) {
    Term result = constant({1, 1});
    for (int i = 0; i < std::abs(static_cast<int>(*known)); ++i) {
      result = product(result, base, type);
    }
    return *known < 0 ? inverse(result, type) : result;
  }
  if (known == 0.5) return real_function(Element::Sqrt, {base}, type);
  if (known == -0.5) return inverse(real_function(Element::Sqrt, {base}, type), type);
  return function("power", {{base, type}, {exponent, type}}, type);
}

Term Translation::exponential(const Term& a, ElementType type) {
  Term finite = a;
  finite.special.reset();
  Term term = function("exponential", {{finite, type}}, type);
  term.bounds = {std::exp(a.bounds.low) * (1 - kMargin), std::exp(a.bounds.high) * (1 + kMargin)};
  if (a.special) term.bounds = {0, Interval().high};
  add_fact(term.value, term.value > 0);
  term = bounded(std::move(term), type);
  if (!a.special) return term;
  const Special& special = *a.special;
  term.value = z3::ite(special.below, context_.real_val(0), term.value);
  term.steps = true;
  return with_special(std::move(term), special.above, truth(false), special.nan);
}

Term Translation::sign(const Term& a, ElementType type) {
  const Term one = constant({1, 1});
  const Term none = constant({0, 1});
  const Term minus = constant({-1, 1});
  Term term = choice(a.value > 0, one, choice(a.value < 0, minus, none, type), type);
  if (!a.special) return term;
  const Special& special = *a.special;
  term = choice(special.above, one, choice(special.below, minus, term, type), type);
  return with_special(std::move(term), truth(false), truth(false), special.nan);
}

Term Translation::choice(const z3::expr& condition, const Term& yes, const Term& no,
                         ElementType type) {
  const z3::expr decided = normal(condition);
  if (decided.is_true()) return yes;
  if (decided.is_false()) return no;
  const Term first = wrapped_term(yes, type);
  const Term second = wrapped_term(no, type);
  const z3::expr value = normal(z3::ite(decided, normal(first.value), normal(second.value)));
  Term term{is_boolean(type) ? value : named(value)};
  term.bounds = hull(first.bounds, second.bounds);
  term.in_range = true;
  term.steps = first.steps || second.steps;
  if (is_real(type) && !(first.cases && second.cases)) {
    const auto yes_cases = cases_of(first);
    const auto no_cases = cases_of(second);
    if (yes_cases && no_cases) term.cases = z3::ite(decided, *yes_cases, *no_cases);
  }
  if (!first.special && !second.special) return term;
  const Special x = special_of(first);
  const Special y = special_of(second);
  return with_special(std::move(term), z3::ite(decided, x.above, y.above),
                      z3::ite(decided, x.below, y.below), z3::ite(decided, x.nan, y.nan));
}

/// The largest, or least, of all: the same symbol for the same ones in any order.
Term Translation::extreme(std::vector<Term> all, bool largest, ElementType type) {
  const auto is_neutral = [&](const Term& each) {
    return each.special && (largest ? each.special->below : each.special->above).is_true();
  };
  if (!std::ranges::all_of(all, is_neutral)) std::erase_if(all, is_neutral);
  bool any_special = false;
  for (Term& each : all) {
    each = wrapped_term(each, type);
    each.value = normal(each.value);
    any_special = any_special || each.special;
  }
  Interval bounds = all[0].bounds;
  bool steps = false;
  for (const Term& each : all) {
    const auto chosen = [&](double a, double b) {
      return largest ? std::max(a, b) : std::min(a, b);
    };
    bounds = {chosen(bounds.low, each.bounds.low), chosen(bounds.high, each.bounds.high)};
    steps = steps || each.steps;
  }
  std::ranges::sort(all, {}, [](const Term& each) { return each.value.id(); });
  if (!any_special) {
    const auto same = [](const Term& a, const Term& b) { return a.value.id() == b.value.id(); };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  }
  // What is infinite or no number does not compare; where all are, the value does not count.
  z3::expr value = all[0].value;
  Special some = special_of(all[0]);
  Special every = some;
  z3::expr is_number = ordinary(some);
  for (std::size_t k = 1; k < all.size(); ++k) {
    step();
    const z3::expr& next = all[k].value;
    z3::expr better = largest ? next >= value : next <= value;
    if (any_special) {
      const Special special = special_of(all[k]);
      const z3::expr counts = ordinary(special);
      better = (counts && (!is_number || better)).simplify();
      is_number = (is_number || counts).simplify();
      some = {some.above || special.above, some.below || special.below, some.nan || special.nan};
      every = {every.above && special.above, every.below && special.below, every.nan};
    }
    value = z3::ite(better, next, value);
  }
  Term term{all.size() == 1 ? value : named(value.simplify())};
  term.bounds = bounds;
  term.in_range = true;
  term.steps = steps;
  if (!any_special) return term;
  term.bounds = {};
  return with_special(std::move(term), !some.nan && (largest ? some.above : every.above),
                      !some.nan && (largest ? every.below : some.below), some.nan);
}

Term Translation::real_function(Element code, const std::vector<Term>& operands, ElementType type) {
  const Term& a = operands[0];
  switch (code) {
    case Element::Add:
      return sum(a, operands[1], type);
    case Element::Subtract:
      return sum(a, negated(operands[1]), type);
    case Element::Negate:
      return negated(a);
    case Element::Multiply:
      return product(a, operands[1], type);
    case Element::Divide:
      return product(a, inverse(operands[1], type), type);
    case Element::Abs: {
      Term term = extreme({a, negated(a)}, true, type);
      term.bounds.low = std::max(term.bounds.low, 0.0);
      return term;
    }
    case Element::ReducePrecision:
      return a;
    case Element::Power:
      return power(a, operands[1], type);
    default:
      break;
  }
  std::vector<hlo::interpreter::Scalar> numbers;
  for (const Term& operand : operands) {
    if (const auto known = known_real(operand)) numbers.push_back({*known, 0});
  }
  if (numbers.size() == operands.size()) {
    const auto result = hlo::interpreter::Numbers().apply({code, {}, type, type}, numbers);
    return constant(hlo::interpreter::fraction_of(result.real, type));
  }
  switch (code) {
    case Element::Sign:
      return sign(a, type);
    case Element::Exponential:
      return exponential(a, type);
    case Element::ExponentialMinusOne:
      return sum(exponential(a, type), constant({-1, 1}), type);
    case Element::LogPlusOne:
      return real_function(Element::Log, {sum(a, constant({1, 1}), type)}, type);
    case Element::Logistic:
      return inverse(sum(constant({1, 1}), exponential(negated(a), type), type), type);
    case Element::Rsqrt:
      return inverse(real_function(Element::Sqrt, operands, type), type);
    default:
      break;
  }
  Term term = function(code, operands, type);
  if (term.special) return term;
  switch (code) {
    case Element::Cosine:
    case Element::Sine:
    case Element::Erf:
    case Element::Tanh:
      term.bounds = {-1, 1};
      break;
    case Element::Sqrt:
      term.bounds.low = 0;
      if (a.bounds.high > 0) term.bounds.high = std::sqrt(a.bounds.high) * (1 + kMargin);
      add_fact(term.value, term.value >= 0);
      break;
    case Element::Floor:
    case Element::Ceil:
    case Element::RoundAway:
    case Element::RoundEven:
      term.bounds = {a.bounds.low - 1, a.bounds.high + 1};
      term.steps = true;
      term = bounded(std::move(term), type);
      break;
    default:
      break;
  }
  // The logarithm of what may be 0 for many inputs may be infinite.
  const bool diverges = (code == Element::Log || code == Element::Sqrt) && may_vanish(a);
  if (!diverges) return term;
  Operands typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  const Term which = function("of logarithm", typed, *ElementType::from_xla("s32"));
  return with_special(std::move(term), truth(false), a.value == 0 && which.value == 1,
                      a.value <= 0 && which.value == 2);
}

}  // namespace p2::z3_encoding
