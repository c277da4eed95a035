// The outputs of two modules as terms: real numbers, integers, Booleans and uninterpreted
// functions.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "encodings/z3/terms.h"
#include "engine/hlo/interpreter/expressions.h"

namespace p2::z3_encoding {
namespace {

using hlo::ElementType;
using hlo::SolverAnswer;
using hlo::interpreter::Direction;
using hlo::interpreter::Element;
using hlo::interpreter::Expressions;
using hlo::interpreter::Fraction;
using hlo::interpreter::Numbers;
using hlo::interpreter::OutputElement;
using hlo::interpreter::OutputExpressions;
using hlo::interpreter::Scalar;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Bounds of integers are exact below.
constexpr double kExact = 9007199254740992.0;
/// A bound that was computed in floating point is widened by so much of itself.
constexpr double kMargin = 1e-12;
/// Powers with larger exponents are uninterpreted.
constexpr double kLargestExponent = 16;
/// Units of Z3's work for the elements of one pair of modules, and of these for one element.
constexpr std::uint64_t kMostWork = 60'000'000;
constexpr std::uint64_t kWorkOfElement = 6'000'000;
/// Larger pairs of modules are not asked about.
constexpr std::size_t kMostExpressions = 300'000;
/// Products of sums of more monomials are products of symbols for the sums.
constexpr double kMostMonomials = 32;
/// Of one normal form.
constexpr unsigned kMostSteps = 200'000;

/// Which values of an expression are no real numbers.
struct Special {
  z3::expr above;  ///< +∞
  z3::expr below;  ///< −∞
  z3::expr nan;
};

/// What an expression is in Z3: a Real, an Int whose value counts modulo 2^bits, or a Bool.
struct Term {
  z3::expr value;
  std::optional<Special> special = {};  ///< absent: always a real number
  double low = -kInfinite;              ///< bounds of `value`, or of what is no overflow
  double high = kInfinite;
  bool in_range = false;  ///< of an Int: `value` is in the range of the type
  bool steps = false;     ///< may be constant for more than a few inputs, so may vanish for them
  /// `value` as a choice among numbers, where it is one.
  std::optional<z3::expr> cases = {};
  double monomials = 1;  ///< of a Real, about, once products of sums are sums of products
};

struct Range {
  double low;
  double high;
};

Range range_of(ElementType type) {
  const int bits = static_cast<int>(type.bits());
  if (type.kind() == ElementType::Kind::Unsigned) return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

double largest(ElementType type) {
  if (type.name() == "f64") return 1.7e308;
  return type.name() == "f16" ? 65504.0 : 3.38e38;
}

bool is_boolean(ElementType type) { return type.kind() == ElementType::Kind::Boolean; }
/// Whether elements are taken as real numbers; those of complex and unknown types are only equal or
/// not.
bool is_real(ElementType type) { return !type.is_integer() && !is_boolean(type); }

bool is_symbol(const z3::expr& term) {
  return term.is_const() && term.decl().decl_kind() == Z3_OP_UNINTERPRETED;
}

bool is_null(const z3::expr& term) {
  return term.is_numeral() && std::string_view(Z3_get_numeral_string(term.ctx(), term)) == "0";
}

double ends_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

/// The terms of expressions.
class Translation {
 public:
  Translation(z3::context& context, const Expressions& expressions, const Meter& meter)
      : context_(context),
        expressions_(expressions),
        meter_(meter),
        normal_(context),
        terms_(expressions.size()) {
    normal_.set("som", true);
    normal_.set("som_blowup", static_cast<unsigned>(kMostMonomials));
    normal_.set("sort_sums", true);
    normal_.set("max_steps", kMostSteps);
  }

  const Term& of(std::uint32_t expression);
  /// What holds iff two elements differ.
  z3::expr difference(const Term& a, const Term& b, ElementType type);
  /// Asserts a term, and what is known of the symbols in it. The inputs among them, by number.
  std::map<std::uint32_t, z3::expr> add_to(z3::solver& solver, const z3::expr& term);

 private:
  // Constants and symbols
  z3::expr truth(bool value) { return context_.bool_val(value); }
  z3::expr number(double value);
  z3::expr power_of_two(unsigned bits) {
    return context_.int_val(fmt::format("{:.0f}", std::ldexp(1.0, static_cast<int>(bits))).c_str());
  }
  z3::expr normal(const z3::expr& term) const;
  z3::sort sort_of(ElementType type);
  std::vector<std::uint32_t> parts_of(std::uint32_t expression) const;
  void add_leaves(std::uint32_t expression, std::vector<std::uint32_t>& leaves) const;
  /// A term with products as applications of an uninterpreted function: normal forms know what
  /// products are, and Z3 then has linear arithmetic alone, which it decides.
  z3::expr linear(const z3::expr& term);
  z3::expr product_of(const z3::expr& term, const std::vector<z3::expr>& factors);
  /// A symbol for a term, the same for the same one.
  z3::expr named(const z3::expr& term);
  void add_fact(const z3::expr& symbol, const z3::expr& fact) {
    std::vector<z3::expr>& all = facts_[symbol.id()];
    const auto same = [&](const z3::expr& each) { return each.id() == fact.id(); };
    if (std::ranges::none_of(all, same)) all.push_back(fact);
  }

  // Values
  Term constant(Fraction value);
  Term integer_constant(std::int64_t value, ElementType type);
  Term input(std::uint32_t number, ElementType type);
  Term symbol(const z3::expr& value, ElementType type);
  z3::expr wrapped(const Term& a, ElementType type);
  Term wrapped_term(Term a, ElementType type);
  /// An uninterpreted function of terms.
  Term function(const std::string& name, const std::vector<std::pair<Term, ElementType>>& operands,
                ElementType type);
  Term bounded(Term term, ElementType type) const;

  // Real numbers
  static bool is_zero(const Term& a) { return !a.special && is_null(a.value); }
  static bool may_vanish(const Term& a) { return a.steps && a.low <= 0 && a.high >= 0; }
  static bool is_finite(const Term& a, ElementType type) {
    return !a.special && a.low >= -largest(type) && a.high <= largest(type);
  }
  std::optional<double> known_real(const z3::expr& value) const;
  Special special_of(const Term& a) {
    return a.special ? *a.special : Special{truth(false), truth(false), truth(false)};
  }
  static z3::expr ordinary(const Special& special) {
    return !special.above && !special.below && !special.nan;
  }
  Term with_special(Term term, const z3::expr& above, const z3::expr& below, const z3::expr& nan);
  /// A term of numbers as a number.
  static z3::expr folded(const z3::expr& term, const Term& a, const Term& b) {
    return a.value.is_numeral() && b.value.is_numeral() ? term.simplify() : term;
  }
  /// A number, or a choice among a few of them.
  static std::optional<z3::expr> cases_of(const Term& a) {
    if (a.special) return std::nullopt;
    return a.value.is_numeral() ? a.value : a.cases;
  }
  /// Whether it is 0 for all inputs, as what is subtracted from itself is.
  bool cancels(const Term& a);
  /// A choice among numbers times `value`, or `open` where it is 0.
  z3::expr scaled(const z3::expr& cases, const z3::expr& value, const z3::expr& open);
  Term negated(const Term& a);
  Term sum(const Term& a, const Term& b, ElementType type);
  Term product(const Term& a, const Term& b, ElementType type);
  Term quotient(const Term& a, const Term& b, ElementType type);
  Term inverse(const Term& a, ElementType type);
  Term power(const Term& base, const Term& exponent, ElementType type);
  Term choice(const z3::expr& condition, const Term& yes, const Term& no, ElementType type);
  Term extreme(std::vector<Term> all, bool largest, ElementType type);
  Term real_function(Element code, const std::vector<Term>& operands, ElementType type);
  z3::expr compared(const Expressions::Node& node, const Term& a, const Term& b);

  // Integers and Booleans
  Term integer_function(Element code, const std::vector<Term>& operands, ElementType type);
  std::optional<Term> integer_by_constant(Element code, const Term& a, std::int64_t by,
                                          ElementType type);
  Term boolean_function(Element code, const std::vector<Term>& operands, ElementType type);
  Term converted(const Term& a, ElementType from, ElementType to);
  Term integer_product(const Term& a, const Term& b);

  Term translated(std::uint32_t expression);
  Term operation(const Expressions::Node& node, const std::vector<Term>& operands);

  z3::context& context_;
  const Expressions& expressions_;
  const Meter& meter_;
  z3::params normal_;
  std::vector<std::optional<Term>> terms_;
  std::map<unsigned, std::vector<z3::expr>> facts_;  ///< by the number of a symbol
  struct Named {
    z3::expr term;
    z3::expr symbol;
  };
  std::vector<z3::expr> symbols_;  ///< of inputs
  struct Rewritten {
    z3::expr from;
    z3::expr term;
  };
  std::map<unsigned, Rewritten> linear_;      ///< by the number of `from`
  std::map<unsigned, Rewritten> simple_;      ///< sums in their normal form, likewise
  std::map<unsigned, Named> named_;           ///< by the number of the term
  std::map<unsigned, std::uint32_t> inputs_;  ///< by the number of their symbol
};

/// Sums and products in a normal form, as far as they do not become too long.
z3::expr Translation::normal(const z3::expr& term) const {
  try {
    return term.simplify(normal_);
  } catch (const z3::exception&) {
    meter_.checkpoint();
    return term.simplify();
  }
}

/// The exact value of a double.
z3::expr Translation::number(double value) {
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), 53);
  exponent -= 53;
  if (value == std::trunc(value)) {
    return context_.real_val(fmt::format("{:.0f}", value).c_str());
  }
  const z3::expr top = context_.real_val(fmt::format("{:.0f}", mantissa).c_str());
  z3::expr result = top;
  for (int left = -exponent; left > 0; left -= 512) {
    const double power = std::ldexp(1.0, std::min(left, 512));
    result = result / context_.real_val(fmt::format("{:.0f}", power).c_str());
  }
  return result.simplify();
}

z3::sort Translation::sort_of(ElementType type) {
  if (is_boolean(type)) return context_.bool_sort();
  return type.is_integer() ? context_.int_sort() : context_.real_sort();
}

/// Symbols keep terms small: what is put into a normal form goes no deeper than they.
z3::expr Translation::named(const z3::expr& term) {
  if (term.is_numeral() || term.is_true() || term.is_false() || is_symbol(term)) return term;
  auto found = named_.find(term.id());
  if (found == named_.end()) {
    const std::string name = fmt::format("t{}", named_.size());
    const z3::expr symbol = context_.constant(name.c_str(), term.get_sort());
    found = named_.emplace(term.id(), Named{term, symbol}).first;
    add_fact(symbol, symbol == term);
  }
  return found->second.symbol;
}

Term Translation::constant(Fraction value) {
  if (!std::isfinite(value.numerator)) {
    Term term{context_.real_val(0)};
    const bool nan = std::isnan(value.numerator);
    term.special =
        Special{truth(!nan && value.numerator > 0), truth(!nan && value.numerator < 0), truth(nan)};
    term.steps = true;
    return term;
  }
  Term term{(number(value.numerator) / number(value.denominator)).simplify()};
  const double real = value.numerator / value.denominator;
  term.low = real == std::trunc(real) ? real : real - std::fabs(real) * kMargin;
  term.high = real == std::trunc(real) ? real : real + std::fabs(real) * kMargin;
  term.steps = true;
  return term;
}

Term Translation::integer_constant(std::int64_t value, ElementType type) {
  const bool is_unsigned = type.kind() == ElementType::Kind::Unsigned;
  Term term{is_unsigned ? context_.int_val(static_cast<std::uint64_t>(value))
                        : context_.int_val(value)};
  term.low = is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(value))
                         : static_cast<double>(value);
  term.high = term.low;
  term.in_range = term.steps = true;
  return term;
}

/// A symbol, or an application of a function, that may have any value of the type.
Term Translation::symbol(const z3::expr& value, ElementType type) {
  Term term{value};
  if (!type.is_integer()) return term;
  const Range range = range_of(type);
  term.low = range.low;
  term.high = range.high;
  term.in_range = term.steps = true;
  const z3::expr size = power_of_two(type.bits());
  const bool is_unsigned = type.kind() == ElementType::Kind::Unsigned;
  const z3::expr low = is_unsigned ? context_.int_val(0) : -(size / 2).simplify();
  add_fact(value, low.simplify() <= value && value < (low + size).simplify());
  return term;
}

Term Translation::input(std::uint32_t number, ElementType type) {
  const std::string name = fmt::format("x{}", number);
  const z3::expr value = context_.constant(name.c_str(), sort_of(type));
  inputs_.emplace(value.id(), number);
  symbols_.push_back(value);
  Term term = symbol(value, type);
  if (type.is_float()) {
    term.low = -largest(type);
    term.high = largest(type);
  }
  return term;
}

/// The value modulo 2^bits, in the range of the type.
z3::expr Translation::wrapped(const Term& a, ElementType type) {
  const Range range = range_of(type);
  const bool is_exact = std::fabs(a.low) < kExact && std::fabs(a.high) < kExact;
  if (a.in_range || (is_exact && a.low >= range.low && a.high <= range.high)) return a.value;
  const z3::expr size = power_of_two(type.bits());
  if (type.kind() == ElementType::Kind::Unsigned) return z3::mod(a.value, size);
  const z3::expr half = (size / 2).simplify();
  return z3::mod(a.value + half, size) - half;
}

Term Translation::wrapped_term(Term a, ElementType type) {
  if (!type.is_integer()) return a;
  const Range range = range_of(type);
  const z3::expr value = wrapped(a, type);
  if (value.id() != a.value.id()) {
    a.value = named(normal(value));
    a.low = range.low;
    a.high = range.high;
  }
  a.in_range = true;
  return a;
}

/// What overflows its type may be infinite: it stays without bounds.
Term Translation::bounded(Term term, ElementType type) const {
  if (std::isnan(term.low) || term.low < -largest(type)) term.low = -kInfinite;
  if (std::isnan(term.high) || term.high > largest(type)) term.high = kInfinite;
  if (term.low != std::trunc(term.low)) term.low -= std::fabs(term.low) * kMargin;
  if (term.high != std::trunc(term.high)) term.high += std::fabs(term.high) * kMargin;
  if (std::fabs(term.low) > kExact) term.low -= std::fabs(term.low) * kMargin;
  if (std::fabs(term.high) > kExact) term.high += std::fabs(term.high) * kMargin;
  return term;
}

Term Translation::function(const std::string& name,
                           const std::vector<std::pair<Term, ElementType>>& operands,
                           ElementType type) {
  z3::expr_vector arguments(context_);
  z3::sort_vector sorts(context_);
  Term user{truth(false)};
  bool any_special = false;
  user.steps = true;
  for (const auto& [given, of] : operands) {
    const Term operand = wrapped_term(given, of);
    user.steps = user.steps && (operand.steps || is_boolean(of));
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
    return context_.function(called.c_str(), sorts, sort)(arguments);
  };
  const z3::expr value = named(declared(full, sort_of(type)));
  Term term = symbol(value, type);
  term.steps = type.is_float() ? user.steps : true;
  if (!any_special || !is_real(type)) return term;
  const z3::expr which = named(declared(full + " special", context_.int_sort()));
  return with_special(std::move(term), which == 1, which == 2, which == 3);
}

std::optional<double> Translation::known_real(const z3::expr& value) const {
  if (!value.is_numeral()) return std::nullopt;
  return Z3_get_numeral_double(context_, value);
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
  term.low = -a.high;
  term.high = -a.low;
  if (a.special) term.special = Special{a.special->below, a.special->above, a.special->nan};
  return term;
}

Term Translation::sum(const Term& a, const Term& b, ElementType type) {
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  Term term{folded(a.value + b.value, a, b)};
  term.monomials = a.monomials + b.monomials;
  term.low = a.low + b.low;
  term.high = a.high + b.high;
  term.steps = a.steps && b.steps;
  term = bounded(std::move(term), type);
  if (!a.special && !b.special) return term;
  const Special x = special_of(a);
  const Special y = special_of(b);
  const z3::expr nan = x.nan || y.nan || (x.above && y.below) || (x.below && y.above);
  return with_special(std::move(term), !nan && (x.above || y.above), !nan && (x.below || y.below),
                      nan);
}

bool Translation::cancels(const Term& a) {
  if (a.special || a.monomials == 1) return is_zero(a);
  const auto found = simple_.find(a.value.id());
  if (found != simple_.end()) return is_null(found->second.term);
  const Rewritten simple{a.value, normal(a.value)};
  simple_.emplace(a.value.id(), simple);
  return is_null(simple.term);
}

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
  for (Term* const each : {&left, &right}) {
    if (each->monomials == 1 || left.monomials * right.monomials <= kMostMonomials) continue;
    each->value = named(normal(each->value));
    each->monomials = 1;
  }
  Term term{folded(left.value * right.value, left, right)};
  term.monomials = left.monomials * right.monomials;
  const std::array<double, 4> ends = {ends_product(a.low, b.low), ends_product(a.low, b.high),
                                      ends_product(a.high, b.low), ends_product(a.high, b.high)};
  term.low = *std::min_element(ends.begin(), ends.end());
  term.high = *std::max_element(ends.begin(), ends.end());
  const bool any_special = a.special || b.special;
  for (const auto& [zero, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!zero->cases || any_special) continue;
    const bool finite = is_finite(*other, type);
    const z3::expr open =
        finite ? context_.real_val(0) : function("zero times", {{*other, type}}, type).value;
    term.value = named(normal(scaled(*zero->cases, other->value, open)));
    term.monomials = 1;
    term.steps = true;
    if (!finite) term.low = -kInfinite, term.high = kInfinite;
    return bounded(std::move(term), type);
  }
  for (const auto& [zero, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool is_zero_value = cancels(*zero);
    const bool is_constant = zero->value.is_numeral();
    if (is_zero_value && is_finite(*other, type)) return constant({0, 1});
    if (!is_constant) term.steps = term.steps || zero->steps;
    if ((!is_zero_value && (is_constant || !may_vanish(*zero))) || is_finite(*other, type)) {
      continue;
    }
    const Term open = function("zero times", {{*other, type}}, type);
    const z3::expr chosen =
        is_zero_value ? open.value : z3::ite(zero->value == 0, open.value, term.value);
    term.value = named(normal(chosen));
    term.monomials = 1;
    term.low = -kInfinite;
    term.high = kInfinite;
  }
  term.steps = term.steps || (a.steps && b.steps);
  term = bounded(std::move(term), type);
  if (!a.special && !b.special) return term;
  const Special x = special_of(a);
  const Special y = special_of(b);
  const auto infinite = [](const Special& each) { return each.above || each.below; };
  const auto vanishes = [&](const Term& each, const Special& of) {
    return ordinary(of) && each.value == 0;
  };
  const auto positive = [&](const Term& each, const Special& of) {
    return of.above || (ordinary(of) && each.value > 0);
  };
  const z3::expr nan =
      x.nan || y.nan || (infinite(x) && vanishes(b, y)) || (infinite(y) && vanishes(a, x));
  const z3::expr unbounded = !nan && (infinite(x) || infinite(y));
  const z3::expr same_sign = positive(a, x) == positive(b, y);
  return with_special(std::move(term), unbounded && same_sign, unbounded && !same_sign, nan);
}

/// 1 / a. Where a is 0 it has some value; where it is 0 for more than a few inputs, it may be
/// infinite or no number there.
Term Translation::inverse(const Term& a, ElementType type) {
  const z3::expr value = normal(a.value);
  const auto known = a.special ? std::nullopt : known_real(value);
  if (known && *known != 0) {
    Term term{(context_.real_val(1) / value).simplify()};
    term.low = term.high = 1 / *known;
    term.low -= std::fabs(term.low) * kMargin;
    term.high += std::fabs(term.high) * kMargin;
    term.steps = true;
    return term;
  }
  Term finite = a;
  finite.special.reset();
  Term term = function("inverse", {{finite, type}}, type);
  if (a.low > 0 || a.high < 0) {
    term.low = 1 / a.high;
    term.high = 1 / a.low;
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
    term.low = std::min(term.low, 0.0);
    term.high = std::max(term.high, 0.0);
  }
  term.steps = term.steps || a.steps;
  return with_special(std::move(term), above, below, nan);
}

Term Translation::quotient(const Term& a, const Term& b, ElementType type) {
  return product(a, inverse(b, type), type);
}

Term Translation::choice(const z3::expr& condition, const Term& yes, const Term& no,
                         ElementType type) {
  const z3::expr decided = normal(condition);
  if (decided.is_true()) return yes;
  if (decided.is_false()) return no;
  Term first = wrapped_term(yes, type);
  Term second = wrapped_term(no, type);
  Term term{truth(false)};
  term.low = std::min(first.low, second.low);
  term.high = std::max(first.high, second.high);
  term.in_range = true;
  term.steps = first.steps || second.steps;
  const z3::expr value = z3::ite(decided, normal(first.value), normal(second.value));
  const auto yes_cases = is_real(type) ? cases_of(first) : std::nullopt;
  const auto no_cases = is_real(type) ? cases_of(second) : std::nullopt;
  const bool few = !(first.cases && second.cases);
  if (yes_cases && no_cases && few) term.cases = z3::ite(decided, *yes_cases, *no_cases);
  term.value = is_boolean(type) ? normal(value) : named(normal(value));
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
  Term term{truth(false)};
  term.low = term.high = largest ? -kInfinite : kInfinite;
  for (Term& each : all) {
    each = wrapped_term(each, type);
    each.value = normal(each.value);
    term.low = largest ? std::max(term.low, each.low) : std::min(term.low, each.low);
    term.high = largest ? std::max(term.high, each.high) : std::min(term.high, each.high);
    term.steps = term.steps || each.steps;
  }
  std::ranges::sort(all, {}, [](const Term& each) { return each.value.id(); });
  const bool any_special =
      std::ranges::any_of(all, [](const Term& each) { return each.special.has_value(); });
  if (!any_special) {
    const auto same = [](const Term& a, const Term& b) { return a.value.id() == b.value.id(); };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
  }
  // What is infinite or no number does not compare; where all are, the value does not count.
  const auto counts = [&](const Term& each) {
    return each.special ? ordinary(*each.special) : truth(true);
  };
  z3::expr value = all[0].value;
  z3::expr is_number = counts(all[0]);
  z3::expr nan = special_of(all[0]).nan;
  z3::expr some_above = special_of(all[0]).above;
  z3::expr all_above = some_above;
  z3::expr some_below = special_of(all[0]).below;
  z3::expr all_below = some_below;
  for (std::size_t k = 1; k < all.size(); ++k) {
    const z3::expr& next = all[k].value;
    z3::expr better = largest ? next >= value : next <= value;
    if (any_special) {
      better = (counts(all[k]) && (!is_number || better)).simplify();
      is_number = (is_number || counts(all[k])).simplify();
      const Special special = special_of(all[k]);
      nan = nan || special.nan;
      some_above = some_above || special.above;
      all_above = all_above && special.above;
      some_below = some_below || special.below;
      all_below = all_below && special.below;
    }
    value = z3::ite(better, next, value);
  }
  term.value = all.size() == 1 ? value : named(value.simplify());
  term.in_range = true;
  if (!any_special) return term;
  term.low = -kInfinite;
  term.high = kInfinite;
  return with_special(std::move(term), !nan && (largest ? some_above : all_above),
                      !nan && (largest ? all_below : some_below), nan);
}

Term Translation::power(const Term& base, const Term& exponent, ElementType type) {
  const auto known = exponent.special ? std::nullopt : known_real(normal(exponent.value));
  if (known && std::fabs(*known) <= kLargestExponent && *known == std::trunc(*known)) {
    Term result = constant({1, 1});
    for (int i = 0; i < std::abs(static_cast<int>(*known)); ++i)
      result = product(result, base, type);
    return *known < 0 ? inverse(result, type) : result;
  }
  if (known == 0.5) return real_function(Element::Sqrt, {base}, type);
  if (known == -0.5) return inverse(real_function(Element::Sqrt, {base}, type), type);
  return function("power", {{base, type}, {exponent, type}}, type);
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
      return quotient(a, operands[1], type);
    case Element::Abs: {
      Term term = extreme({a, negated(a)}, true, type);
      term.low = std::max(term.low, 0.0);
      return term;
    }
    case Element::ReducePrecision:
      return a;
    case Element::Power:
      return power(a, operands[1], type);
    default:
      break;
  }
  std::vector<Scalar> numbers;
  for (const Term& operand : operands) {
    const auto known = operand.special ? std::nullopt : known_real(normal(operand.value));
    if (known) numbers.push_back({*known, 0});
  }
  if (numbers.size() == operands.size()) {
    const Scalar result = Numbers().apply({code, {}, type, type}, numbers);
    return constant(hlo::interpreter::fraction_of(result.real, type));
  }
  const Term one = constant({1, 1});
  switch (code) {
    case Element::Sign: {
      const Term none = constant({0, 1});
      const Term minus = constant({-1, 1});
      Term term = choice(a.value > 0, one, choice(a.value < 0, minus, none, type), type);
      if (!a.special) return term;
      const Special& special = *a.special;
      term = choice(special.above, one, choice(special.below, minus, term, type), type);
      return with_special(std::move(term), truth(false), truth(false), special.nan);
    }
    case Element::Exponential: {
      Term finite = a;
      finite.special.reset();
      Term term = function("exponential", {{finite, type}}, type);
      term.low = std::exp(a.low) * (1 - kMargin);
      term.high = std::exp(a.high) * (1 + kMargin);
      if (a.special) term.low = 0, term.high = kInfinite;
      add_fact(term.value, term.value > 0);
      term = bounded(std::move(term), type);
      if (!a.special) return term;
      const Special& special = *a.special;
      term.value = z3::ite(special.below, context_.real_val(0), term.value);
      term.steps = true;
      return with_special(std::move(term), special.above, truth(false), special.nan);
    }
    case Element::ExponentialMinusOne:
      return sum(real_function(Element::Exponential, operands, type), constant({-1, 1}), type);
    case Element::LogPlusOne:
      return real_function(Element::Log, {sum(a, one, type)}, type);
    case Element::Logistic: {
      const Term part = real_function(Element::Exponential, {negated(a)}, type);
      return inverse(sum(one, part, type), type);
    }
    case Element::Rsqrt:
      return inverse(real_function(Element::Sqrt, operands, type), type);
    default:
      break;
  }
  std::vector<std::pair<Term, ElementType>> typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  Term term = function(fmt::format("function {}", static_cast<int>(code)), typed, type);
  if (term.special) return term;
  switch (code) {
    case Element::Cosine:
    case Element::Sine:
    case Element::Erf:
    case Element::Tanh:
      term.low = -1;
      term.high = 1;
      break;
    case Element::Sqrt:
      term.low = 0;
      term.high = a.high > 0 ? std::sqrt(a.high) * (1 + kMargin) : kInfinite;
      add_fact(term.value, term.value >= 0);
      break;
    case Element::Floor:
    case Element::Ceil:
    case Element::RoundAway:
    case Element::RoundEven:
      term.low = a.low - 1;
      term.high = a.high + 1;
      term.steps = true;
      term = bounded(std::move(term), type);
      break;
    default:
      break;
  }
  // The logarithm of what may be 0 for many inputs may be infinite.
  const bool diverges = (code == Element::Log || code == Element::Sqrt) && may_vanish(a);
  if (!diverges) return term;
  const Term which = function("of logarithm", typed, *ElementType::from_xla("s32"));
  return with_special(std::move(term), truth(false), a.value == 0 && which.value == 1,
                      a.value <= 0 && which.value == 2);
}

z3::expr Translation::compared(const Expressions::Node& node, const Term& a, const Term& b) {
  const ElementType type = node.from;
  if (is_boolean(type)) {
    const auto number = [&](const Term& each) {
      return z3::ite(each.value, context_.int_val(1), context_.int_val(0));
    };
    if (node.direction == Direction::Eq) return a.value == b.value;
    if (node.direction == Direction::Ne) return a.value != b.value;
    Term x{number(a)};
    Term y{number(b)};
    Expressions::Node other = node;
    other.from = *ElementType::from_xla("s32");
    x.in_range = y.in_range = true;
    return compared(other, x, y);
  }
  const z3::expr left = type.is_integer() ? wrapped(a, type) : a.value;
  const z3::expr right = type.is_integer() ? wrapped(b, type) : b.value;
  const z3::expr difference = normal(left - right);
  const z3::expr equal = difference == 0;
  const z3::expr less = difference < 0;
  const z3::expr greater = difference > 0;
  if (!a.special && !b.special) {
    switch (node.direction) {
      case Direction::Eq:
        return equal;
      case Direction::Ne:
        return !equal;
      case Direction::Lt:
        return less;
      case Direction::Ge:
        return !less;
      case Direction::Gt:
        return greater;
      case Direction::Le:
        return !greater;
    }
  }
  const Special x = special_of(a);
  const Special y = special_of(b);
  const z3::expr ordered = !x.nan && !y.nan;
  const z3::expr finite = ordinary(x) && ordinary(y);
  const z3::expr is_less =
      ordered && ((x.below && !y.below) || (y.above && !x.above) || (finite && less));
  const z3::expr is_greater =
      ordered && ((y.below && !x.below) || (x.above && !y.above) || (finite && greater));
  const z3::expr is_equal =
      ordered && ((x.above && y.above) || (x.below && y.below) || (finite && equal));
  switch (node.direction) {
    case Direction::Eq:
      return is_equal;
    case Direction::Ne:
      return !is_equal;
    case Direction::Lt:
      return is_less;
    case Direction::Ge:
      return is_greater || is_equal;
    case Direction::Gt:
      return is_greater;
    case Direction::Le:
      return is_less || is_equal;
  }
  return truth(false);
}

Term Translation::integer_product(const Term& a, const Term& b) {
  Term term{a.value * b.value};
  const std::array<double, 4> ends = {ends_product(a.low, b.low), ends_product(a.low, b.high),
                                      ends_product(a.high, b.low), ends_product(a.high, b.high)};
  term.low = *std::min_element(ends.begin(), ends.end());
  term.high = *std::max_element(ends.begin(), ends.end());
  return term;
}

/// Operations with a constant that are sums, products, quotients or remainders.
std::optional<Term> Translation::integer_by_constant(Element code, const Term& x, std::int64_t by,
                                                     ElementType type) {
  const bool is_unsigned = type.kind() == ElementType::Kind::Unsigned;
  const Term a = wrapped_term(x, type);
  const auto power = [&](std::int64_t bits) { return power_of_two(static_cast<unsigned>(bits)); };
  const auto bits = static_cast<std::int64_t>(type.bits());
  const Range range = range_of(type);
  Term result = a;
  const auto smaller = [&](double divisor) {  // the bounds of a quotient towards zero
    result.in_range = true;
    result.low = a.low >= 0 ? 0 : range.low;
    result.high = a.low >= 0 ? std::floor(a.high / divisor) : range.high;
    return result;
  };
  const z3::expr natural =
      is_unsigned ? a.value : z3::ite(a.value < 0, a.value + power(bits), a.value);
  switch (code) {
    case Element::ShiftLeft:
      if (by < 0 || by >= bits) return integer_constant(0, type);
      return integer_product(a, {power(by),
                                 {},
                                 std::ldexp(1.0, static_cast<int>(by)),
                                 std::ldexp(1.0, static_cast<int>(by))});
    case Element::ShiftRightLogical:
      if (by < 0 || by >= bits) return integer_constant(0, type);
      if (by == 0) return a;
      result.value = natural / power(by);
      return smaller(std::ldexp(1.0, static_cast<int>(by)));
    case Element::ShiftRightArithmetic:
      if (is_unsigned) return std::nullopt;
      if (by < 0 || by >= bits) by = bits - 1;
      result.value = a.value / power(by);
      return smaller(std::ldexp(1.0, static_cast<int>(by)));
    case Element::And: {
      const auto mask = static_cast<std::uint64_t>(by);
      if (by <= 0 || (mask & (mask + 1)) != 0) break;
      std::int64_t ones = 0;
      while (ones < 63 && ((mask >> static_cast<unsigned>(ones)) & 1U) != 0) ++ones;
      result.value = z3::mod(a.value, power(ones));
      result.low = 0;
      result.high = static_cast<double>(mask);
      result.in_range = true;
      return result;
    }
    case Element::Divide:
    case Element::Remainder: {
      if (by == 0 || by == -1 || (is_unsigned && by < 0)) break;
      const z3::expr divisor = context_.int_val(std::abs(by));
      const z3::expr size = z3::ite(a.value < 0, -a.value, a.value) / divisor;
      const z3::expr quotient = z3::ite((a.value < 0) != truth(by < 0), -size, size);
      if (code == Element::Divide) {
        result.value = quotient;
        return by > 0 ? smaller(static_cast<double>(by)) : result;
      }
      result.value = a.value - quotient * context_.int_val(by);
      result.low = a.low >= 0 ? 0 : -static_cast<double>(std::abs(by) - 1);
      result.high = static_cast<double>(std::abs(by) - 1);
      result.in_range = true;
      return result;
    }
    default:
      break;
  }
  return std::nullopt;
}

Term Translation::integer_function(Element code, const std::vector<Term>& operands,
                                   ElementType type) {
  const Term& a = operands[0];
  const auto stepped = [](Term term) {
    term.steps = true;
    return term;
  };
  const auto opposite = [&](const Term& of) {
    Term term{-of.value};
    term.low = -of.high;
    term.high = -of.low;
    return term;
  };
  const auto total = [&](const Term& x, const Term& y) {
    Term term{x.value + y.value};
    term.low = x.low + y.low;
    term.high = x.high + y.high;
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
      if (type.kind() == ElementType::Kind::Unsigned) return own;
      Term term{z3::ite(own.value < 0, -own.value, own.value)};  // that of the least one wraps
      term.value = named(normal(term.value));
      return stepped(term);
    }
    case Element::Sign: {
      const Term own = wrapped_term(a, type);
      Term term{z3::ite(own.value < 0, context_.int_val(-1),
                        z3::ite(own.value > 0, context_.int_val(1), context_.int_val(0)))};
      term.low = -1;
      term.high = 1;
      return stepped(term);
    }
    default:
      break;
  }
  if (operands.size() == 2) {
    const z3::expr second = normal(wrapped(operands[1], type));
    std::int64_t by = 0;
    if (second.is_numeral_i64(by)) {
      if (auto term = integer_by_constant(code, a, by, type)) {
        if (code != Element::ShiftLeft) term->value = named(normal(term->value));
        return stepped(std::move(*term));
      }
    }
  }
  std::vector<std::pair<Term, ElementType>> typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  return function(fmt::format("function {}", static_cast<int>(code)), typed, type);
}

Term Translation::boolean_function(Element code, const std::vector<Term>& operands,
                                   ElementType type) {
  const auto term = [&](const z3::expr& value) {
    Term result{normal(value)};
    return result;
  };
  const z3::expr& a = operands[0].value;
  switch (code) {
    case Element::Not:
      return term(!a);
    case Element::Negate:
    case Element::Abs:
    case Element::Sign:
      return term(a);
    case Element::And:
    case Element::Multiply:
    case Element::Minimum:
      return term(a && operands[1].value);
    case Element::Or:
    case Element::Add:
    case Element::Maximum:
      return term(a || operands[1].value);
    case Element::Xor:
    case Element::Subtract:
      return term(a != operands[1].value);
    default:
      break;
  }
  std::vector<std::pair<Term, ElementType>> typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  return function(fmt::format("function {}", static_cast<int>(code)), typed, type);
}

Term Translation::converted(const Term& a, ElementType from, ElementType to) {
  Term term = a;
  if (is_boolean(from)) {
    if (is_boolean(to)) return a;
    const bool real = !to.is_integer();
    const z3::expr one = real ? context_.real_val(1) : context_.int_val(1);
    const z3::expr none = real ? context_.real_val(0) : context_.int_val(0);
    const z3::expr choice = z3::ite(a.value, one, none);
    if (real) term.cases = choice;
    term.value = named(normal(choice));
    term.low = 0;
    term.high = 1;
    term.in_range = term.steps = true;
    return term;
  }
  if (from.is_integer()) {
    if (is_boolean(to)) {
      term.value = normal(wrapped(a, from) != 0);
      return term;
    }
    if (to.is_float()) {
      const Term own = wrapped_term(a, from);
      term = own;
      term.value = z3::to_real(normal(own.value));
      term.steps = true;
      return bounded(std::move(term), to);
    }
    if (to.bits() > from.bits()) term = wrapped_term(a, from);
    term.in_range = false;
    if (from == to) term.in_range = a.in_range;
    return term;
  }
  if (is_boolean(to)) {
    term = {a.value != 0};
    if (a.special) term.value = !ordinary(*a.special) || term.value;
    term.value = normal(term.value);
    return term;
  }
  if (to.is_float()) return bounded(a, to);
  return function(fmt::format("convert {}", from.name()), {{a, from}}, to);
}

Term Translation::operation(const Expressions::Node& node, const std::vector<Term>& operands) {
  const ElementType to = node.type;
  switch (node.code) {
    case Element::Compare: {
      if (node.total_order && (operands[0].special || operands[1].special)) {
        return function(fmt::format("total order {}", static_cast<int>(node.direction)),
                        {{operands[0], node.from}, {operands[1], node.from}}, to);
      }
      Term term{normal(compared(node, operands[0], operands[1]))};
      return term;
    }
    case Element::Select: {
      Term term = choice(operands[0].value, operands[1], operands[2], to);
      return term;
    }
    case Element::Convert:
      return converted(operands[0], node.from, to);
    case Element::IsFinite: {
      if (is_finite(operands[0], node.from)) return {truth(true)};
      Term finite = operands[0];
      finite.special.reset();
      Term term = function("is finite", {{finite, node.from}}, to);
      if (operands[0].special) term.value = ordinary(*operands[0].special) && term.value;
      return term;
    }
    case Element::BitcastConvert:
      if (node.from == to) return operands[0];
      if (node.from.is_integer() && to.is_integer()) {
        Term term = operands[0];
        term.in_range = false;
        return term;
      }
      return function(fmt::format("bits of {}", node.from.name()), {{operands[0], node.from}}, to);
    case Element::Maximum:
    case Element::Minimum:
      if (!is_boolean(to)) return extreme(operands, node.code == Element::Maximum, to);
      break;
    default:
      break;
  }
  if (is_boolean(to)) return boolean_function(node.code, operands, to);
  if (to.is_integer()) return integer_function(node.code, operands, to);
  return real_function(node.code, operands, to);
}

void Translation::add_leaves(std::uint32_t expression, std::vector<std::uint32_t>& leaves) const {
  const Expressions::Node& root = expressions_.node(expression);
  std::vector<std::uint32_t> open = {expression};
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    open.pop_back();
    if (!seen.insert(each).second) continue;
    const Expressions::Node& node = expressions_.node(each);
    if (node.kind == Expressions::Kind::Operation && node.code == root.code &&
        node.type == root.type) {
      for (const std::uint32_t operand : expressions_.operands(each)) open.push_back(operand);
    } else {
      leaves.push_back(each);
    }
  }
}

/// The expressions of whose terms one is made: of a largest of largest ones, those.
std::vector<std::uint32_t> Translation::parts_of(std::uint32_t expression) const {
  const Expressions::Node& node = expressions_.node(expression);
  const bool extreme = node.kind == Expressions::Kind::Operation && !is_boolean(node.type) &&
                       (node.code == Element::Maximum || node.code == Element::Minimum);
  std::vector<std::uint32_t> parts;
  if (extreme) {
    add_leaves(expression, parts);
    std::ranges::sort(parts);
  } else {
    const auto operands = expressions_.operands(expression);
    parts.assign(operands.begin(), operands.end());
  }
  return parts;
}

Term Translation::translated(std::uint32_t expression) {
  const Expressions::Node& node = expressions_.node(expression);
  const std::vector<std::uint32_t> parts = parts_of(expression);
  std::vector<Term> operands;
  for (const std::uint32_t part : parts) operands.push_back(*terms_[part]);
  meter_.step();
  switch (node.kind) {
    case Expressions::Kind::Input:
      return input(node.name, node.type);
    case Expressions::Kind::Real:
      return constant(node.real);
    case Expressions::Kind::Integer:
      if (is_boolean(node.type)) return {truth(node.integer != 0)};
      return integer_constant(node.integer, node.type);
    case Expressions::Kind::Function: {
      std::vector<std::pair<Term, ElementType>> typed;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        typed.emplace_back(operands[k], expressions_.node(parts[k]).type);
      }
      Term term = function("named " + expressions_.function_name(node.name), typed, node.type);
      term.steps = node.type.is_integer();
      return term;
    }
    case Expressions::Kind::Operation:
      break;
  }
  return operation(node, operands);
}

const Term& Translation::of(std::uint32_t expression) {
  std::vector<std::uint32_t> open = {expression};
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    if (terms_[each]) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    for (const std::uint32_t part : parts_of(each)) {
      if (!terms_[part]) open.push_back(part);
    }
    if (open.size() > before) continue;
    open.pop_back();
    terms_[each] = translated(each);
  }
  return *terms_[expression];
}

z3::expr Translation::difference(const Term& a, const Term& b, ElementType type) {
  if (is_boolean(type)) return normal(a.value != b.value);
  if (type.is_integer()) {
    const z3::expr apart = normal(a.value - b.value);
    if (apart.is_numeral() && normal(z3::mod(apart, power_of_two(type.bits())) == 0).is_true()) {
      return truth(false);
    }
    return normal(wrapped(a, type) != wrapped(b, type));
  }
  const z3::expr apart = normal(normal(a.value - b.value) != 0);
  if (!a.special && !b.special) return apart;
  const Special x = special_of(a);
  const Special y = special_of(b);
  return normal(x.above != y.above || x.below != y.below || x.nan != y.nan ||
                (ordinary(x) && ordinary(y) && apart));
}

z3::expr Translation::product_of(const z3::expr& term, const std::vector<z3::expr>& factors) {
  std::vector<z3::expr> numbers;
  std::vector<z3::expr> others;
  for (const z3::expr& each : factors) (each.is_numeral() ? numbers : others).push_back(each);
  std::ranges::sort(others, {}, [](const z3::expr& each) { return each.id(); });
  const z3::sort sort = term.get_sort();
  const z3::func_decl times = context_.function("times", sort, sort, sort);
  while (others.size() > 1) {
    const z3::expr last = others.back();
    others.pop_back();
    others.back() = times(others.back(), last);
  }
  for (const z3::expr& each : numbers) {
    if (others.empty()) {
      others.push_back(each);
    } else {
      others[0] = each * others[0];
    }
  }
  return others[0];
}

z3::expr Translation::linear(const z3::expr& term) {
  std::vector<z3::expr> open = {term};
  while (!open.empty()) {
    const z3::expr each = open.back();
    if (linear_.contains(each.id())) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    std::vector<z3::expr> arguments;
    for (unsigned i = 0; i < each.num_args(); ++i) {
      const auto found = linear_.find(each.arg(i).id());
      if (found == linear_.end()) {
        open.push_back(each.arg(i));
      } else {
        arguments.push_back(found->second.term);
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    z3::expr result = each;
    if (each.decl().decl_kind() == Z3_OP_MUL) {
      result = product_of(each, arguments);
    } else if (!arguments.empty()) {
      std::vector<Z3_ast> all(arguments.begin(), arguments.end());
      result = z3::expr(
          context_, Z3_update_term(context_, each, static_cast<unsigned>(all.size()), all.data()));
      context_.check_error();
    }
    linear_.emplace(each.id(), Rewritten{each, result});
  }
  return linear_.at(term.id()).term;
}

std::map<std::uint32_t, z3::expr> Translation::add_to(z3::solver& solver, const z3::expr& term) {
  std::map<std::uint32_t, z3::expr> inputs;
  std::set<unsigned> seen;
  solver.add(linear(term));
  std::vector<z3::expr> open = {term};
  while (!open.empty()) {
    const z3::expr each = open.back();
    open.pop_back();
    if (!seen.insert(each.id()).second || !each.is_app()) continue;
    for (unsigned i = 0; i < each.num_args(); ++i) open.push_back(each.arg(i));
    if (!is_symbol(each)) continue;
    const auto input = inputs_.find(each.id());
    if (input != inputs_.end()) inputs.emplace(input->second, each);
    const auto facts = facts_.find(each.id());
    if (facts == facts_.end()) continue;
    for (const z3::expr& fact : facts->second) {
      solver.add(linear(fact));
      open.push_back(fact);
    }
  }
  return inputs;
}

double number_in(const z3::model& model, const z3::expr& symbol) {
  const z3::expr value = model.eval(symbol, true);
  if (value.is_true()) return 1;
  return value.is_numeral() ? Z3_get_numeral_double(value.ctx(), value) : 0;
}

/// The answer about all elements; one that is open does not keep others from being different.
SolverAnswer answer_about(const OutputExpressions& outputs, z3::context& context,
                          const Meter& meter, const Limits& limits) {
  SolverAnswer answer;
  answer.outcome = Outcome::Established;
  Translation translation(context, outputs.expressions, meter);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::size_t k = 0; k < outputs.elements.size(); ++k) {
    const OutputElement& element = outputs.elements[k];
    const std::pair<std::uint32_t, std::uint32_t> both = {element.before.value,
                                                          element.after.value};
    if (both.first == both.second || !seen.insert(both).second) continue;
    const Term before = translation.of(both.first);
    const Term after = translation.of(both.second);
    const z3::expr difference = translation.difference(before, after, element.type);
    if (difference.is_false()) continue;
    meter.checkpoint();
    Limits own = limits;
    own.work = std::min(kWorkOfElement, *limits.work - std::min(*limits.work, meter.work()));
    const Meter of_element(context, own);
    z3::solver solver(context);
    z3::params params(context);
    params.set("arith.solver", 2U);  // the other one does not end on remainders modulo 2^64
    solver.set(params);
    const auto inputs = translation.add_to(solver, difference);
    const z3::check_result result = of_element.check(solver, z3::expr_vector(context));
    if (result == z3::unsat) continue;
    if (result == z3::unknown && answer.outcome == Outcome::Undecided) continue;
    answer.element = k;
    answer.outcome = Outcome::Undecided;
    if (result == z3::unknown) continue;
    answer.outcome = Outcome::Refuted;
    const z3::model model = solver.get_model();
    for (const auto& [input, symbol] : inputs) answer.inputs[input] = number_in(model, symbol);
    return answer;
  }
  return answer;
}

}  // namespace

SolverAnswer judge(const OutputExpressions& outputs, const Limits& limits) {
  if (outputs.expressions.size() > kMostExpressions) {
    SolverAnswer answer;
    answer.reason = fmt::format("the outputs have {} expressions, more than {} for Z3",
                                outputs.expressions.size(), kMostExpressions);
    return answer;
  }
  Limits own = limits;
  own.work = std::min(limits.work.value_or(kMostWork), kMostWork);
  try {
    return guarded([&] {
      z3::context context;
      const Meter meter(context, own);
      return answer_about(outputs, context, meter, own);
    });
  } catch (const LimitReached& limit) {
    SolverAnswer answer;
    answer.reason = limit.what();
    return answer;
  }
}

}  // namespace p2::z3_encoding
