// The field of random interpretation, and intervals.

#include "engine/hlo/interpreter/algebra.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace p2::hlo::interpreter {
namespace {

/// A safe prime, 2 · kOrder + 1; kOrder is prime.
constexpr std::uint64_t kOrder = 576460752303421649U;
constexpr std::uint64_t kPrime = 2 * kOrder + 1;
/// Of order kOrder: a square.
constexpr std::uint64_t kGenerator = 9;
/// Products of numbers below 2^60 that fit into 128 bits as a sum.
constexpr unsigned kMaxPending = 200;

/// Modulo kPrime = 2^60 − 3677 or kOrder = 2^59 − 1839: what is above the power of 2 counts as
/// often.
std::uint64_t remainder(WideUnsigned x, std::uint64_t modulus) {
  const unsigned bits = modulus == kPrime ? 60 : 59;
  const std::uint64_t rest = (std::uint64_t{1} << bits) - modulus;
  const WideUnsigned mask = (WideUnsigned{1} << bits) - 1;
  x = (x & mask) + (x >> bits) * rest;
  x = (x & mask) + (x >> bits) * rest;
  auto result = static_cast<std::uint64_t>((x & mask) + (x >> bits) * rest);
  while (result >= modulus) result -= modulus;
  return result;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  const std::uint64_t all = a + b;
  return all >= modulus ? all - modulus : all;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return remainder(static_cast<WideUnsigned>(a) * b, modulus);
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1U, base = times(base, base, modulus)) {
    if ((exponent & 1U) != 0) result = times(result, base, modulus);
  }
  return result;
}

std::uint64_t reciprocal(std::uint64_t a, std::uint64_t modulus) {
  return power(a, modulus - 2, modulus);
}

/// An exact double in a field.
std::uint64_t image(double value, std::uint64_t modulus) {
  if (std::fabs(value) < kExactIntegers && value == std::trunc(value)) {
    const auto whole = static_cast<std::uint64_t>(std::fabs(value));
    return value < 0 ? modulus - whole : whole;
  }
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent);
  const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  const std::uint64_t two = exponent >= 53 ? 2 : reciprocal(2, modulus);
  const auto steps = static_cast<std::uint64_t>(std::abs(exponent - 53));
  const std::uint64_t size = times(whole % modulus, power(two, steps, modulus), modulus);
  return value < 0 && size != 0 ? modulus - size : size;
}

/// Widens a bound that was computed in floating point. Whole numbers are exact.
double below(double x) {
  if (x == kInfinity) return std::numeric_limits<double>::max();  // it overflowed
  return std::fabs(x) < kExactIntegers && x == std::floor(x) ? x : x - std::fabs(x) * 4e-16;
}
double above(double x) {
  if (x == -kInfinity) return std::numeric_limits<double>::lowest();
  return std::fabs(x) < kExactIntegers && x == std::floor(x) ? x : x + std::fabs(x) * 4e-16;
}

/// 0 · ∞ is 0 here: an endpoint that is infinite only says that there is no bound.
double bound_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

struct Interval {
  double low;
  double high;
};

Interval interval_product(const Term& a, const Term& b) {
  const double ends[] = {bound_product(a.low, b.low), bound_product(a.low, b.high),
                         bound_product(a.high, b.low), bound_product(a.high, b.high)};
  return {below(*std::min_element(ends, ends + 4)), above(*std::max_element(ends, ends + 4))};
}

double largest(ElementType type) {
  if (!type.is_float()) return kInfinity;
  return type.name() == "f64" ? 1.7e308 : type.name() == "f16" ? 65504.0 : 3.38e38;
}

bool is_finite(const Term& a, ElementType type) {
  return !a.nan && a.low >= -largest(type) && a.high <= largest(type);
}

bool is_zero_constant(const Term& a) { return a.low == 0 && a.high == 0; }

/// Of Term::selection; beyond it, selections are uninterpreted functions.
constexpr std::uint8_t kMaxSelections = 250;

}  // namespace

std::uint64_t Algebra::hash(std::uint64_t state, std::uint64_t value) {
  WideUnsigned mixed = static_cast<WideUnsigned>(state ^ 0x9E3779B97F4A7C15ULL) *
                       ((value ^ 0xD1B54A32D192ED03ULL) | 1U);
  state ^= static_cast<std::uint64_t>(mixed) ^ static_cast<std::uint64_t>(mixed >> 64U) ^
           (value * 0xBF58476D1CE4E5B9ULL);
  state ^= state >> 31U;
  state *= 0x94D049BB133111EBULL;
  return state ^ (state >> 29U);
}

/// A power of kGenerator: e itself is no small number.
Algebra::Algebra(std::uint64_t seed, FloatEquality equality, Selections selections)
    : seed_(seed),
      equality_(equality),
      selections_(selections),
      generator_(interpreter::power(kGenerator, hash(0xE, seed) % (kOrder - 1) + 1, kPrime)) {}

Term Algebra::drawn_term(std::uint64_t state, double low, double high) {
  ++drawn_;
  const std::uint64_t first = hash(hash(state, seed_), 1);
  const std::uint64_t second = hash(hash(state, first), 2);
  const bool nan = std::isinf(low) && std::isinf(high) && low != high;
  return {first % kPrime, second % kOrder, low, high, nan};
}

bool Algebra::is_nan_constant(const Term& a) {
  return a.nan && a.value == number(std::numeric_limits<double>::quiet_NaN()).value;
}

Term Algebra::unreal_term(std::uint64_t state) {
  Term term = drawn_term(state, -kInfinity, kInfinity);
  term.unreal = true;
  return term;
}

Term Algebra::unreal_pair(std::uint64_t operation, const Term& a, const Term& b) {
  const auto [least, most] = std::minmax(a.value, b.value);
  return unreal_term(hash(hash(operation, least), most));
}

Term Algebra::number(double value) {
  if (std::isnan(value)) return unreal_term(0x4E614E);
  if (std::isinf(value)) {
    Term infinity = drawn_term(0x1EF, kInfinity, kInfinity);
    infinity.unreal = true;
    return value > 0 ? infinity : negated(infinity);
  }
  if (value == 0) return {};
  return {image(value, kPrime), image(value, kOrder), value, value};
}

Term Algebra::real_constant_term(double value, ElementType type) {
  const auto [p, q] = fraction_of(value, type);
  const double fraction = p / q;
  if (std::isfinite(value) && !std::isfinite(fraction)) return number(value);
  if (!std::isfinite(fraction) || std::fma(fraction, q, -p) == 0) return number(fraction);
  Term term{times(image(p, kPrime), reciprocal(image(q, kPrime), kPrime), kPrime),
            times(image(p, kOrder), reciprocal(image(q, kOrder), kOrder), kOrder),
            fraction - std::fabs(fraction) * 4e-16, fraction + std::fabs(fraction) * 4e-16};
  reals_[term.value] = fraction;
  return term;
}

/// `(1, 2)`: a symbol, but for zero. The arithmetic of complex numbers is not understood.
Term Algebra::complex_constant_term(const LiteralElement& element) {
  const auto bits = [](double part) { return std::bit_cast<std::uint64_t>(part == 0 ? 0 : part); };
  const bool pair = element.text.starts_with('(');
  const std::size_t comma = element.text.find(',');
  const auto part = [&](std::size_t at) {
    return at >= element.text.size() ? 0 : std::strtod(element.text.c_str() + at, nullptr);
  };
  const double first = pair ? part(1) : real_constant(element);
  const double second = pair && comma != std::string::npos ? part(comma + 1) : 0;
  if (first == 0 && second == 0) return {};
  return drawn_term(hash(hash(0xC0, bits(first)), bits(second)), -kInfinity, kInfinity);
}

Term Algebra::constant(const LiteralElement& element, ElementType type) {
  if (rounds(type)) return float_constant(element, type);
  if (type.is_complex()) return complex_constant_term(element);
  if (type.is_float()) return real_constant_term(real_constant(element), type);
  return integer(Numbers().constant(element, type).integer, type);
}

Term Algebra::integer(std::int64_t value, ElementType type) {
  if (rounds(type)) {
    const double number = static_cast<double>(value);
    const bool exact = std::fabs(number) < kExactIntegers && rounded_float(number, type) == number;
    return exact ? float_constant(number, type)
                 : float_term(hash(hash(0x1F0, static_cast<std::uint64_t>(value)), type.index()));
  }
  if (type.is_float()) {
    const auto exact = static_cast<double>(value);
    const double nearest = rounded_constant(exact, type);
    if (nearest == exact && std::fabs(exact) < kExactIntegers) return number(exact);
    // Of one that its type rounds nothing is known but where it is, rounded or not.
    const std::uint64_t state = hash(hash(0x1F1, static_cast<std::uint64_t>(value)), type.index());
    if (!std::isfinite(nearest)) return drawn_term(state, -kInfinity, kInfinity);
    return drawn_term(state, below(std::min(exact, nearest)), above(std::max(exact, nearest)));
  }
  value = wrapped(static_cast<std::uint64_t>(value), type);
  const bool is_unsigned = type.kind() == ElementType::Kind::Unsigned;
  const double real = is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(value))
                                  : static_cast<double>(value);
  if (std::fabs(real) < kExactIntegers) return number(real);
  const std::uint64_t size = is_unsigned
                                 ? static_cast<std::uint64_t>(value)
                                 : (value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                                              : static_cast<std::uint64_t>(value));
  Term term{size % kPrime, size % kOrder, below(real), above(real)};
  if (!is_unsigned && value < 0) {
    term.value = kPrime - term.value;
    term.exponent = kOrder - term.exponent;
  }
  return term;
}

Term Algebra::input(std::span<const std::uint64_t> keys, ElementType type) {
  std::uint64_t state = 0x1A9D7;
  for (const std::uint64_t key : keys) state = hash(state, key);
  switch (type.kind()) {
    case ElementType::Kind::Boolean:
      return drawn_term(state, 0, 1);
    case ElementType::Kind::Unsigned:
      return drawn_term(state, 0, std::ldexp(1.0, static_cast<int>(type.bits())) - 1);
    case ElementType::Kind::Signed: {
      const double half = std::ldexp(1.0, static_cast<int>(type.bits()) - 1);
      return drawn_term(state, -half, half - 1);
    }
    default:
      if (rounds(type)) return float_term(state);
      return drawn_term(state, -largest(type), largest(type));
  }
}

Term Algebra::arbitrary(std::uint64_t key, ElementType type) {
  const std::uint64_t keys[] = {0xA4B, key};
  return input(keys, type);
}

Term Algebra::function(std::string_view name, std::span<const Term> operands, ElementType type) {
  std::uint64_t state = hash(0xF0, type.index());
  for (const char c : name) state = hash(state, static_cast<unsigned char>(c));
  bool unreal = false;
  for (const Term& operand : operands) {
    state = hash(state, operand.value);
    unreal = unreal || operand.unreal;
  }
  Term term = drawn_term(state, -kInfinity, kInfinity);
  term.unreal = unreal && type.is_float();
  if (type.is_float()) return term;
  term.nan = false;
  const std::uint64_t none[] = {0};
  const Term range = input(none, type);
  term.low = range.low;
  term.high = range.high;
  return term;
}

Term Algebra::unknown_function(Element code, ElementType type, std::span<const Term> operands,
                               double low, double high) {
  std::uint64_t state = hash(hash(0xE1, static_cast<std::uint64_t>(code)), type.index());
  if (type.is_float()) state = hash(0xE1, static_cast<std::uint64_t>(code));
  bool nan = false;
  const bool is_root = code == Element::Sqrt || code == Element::Log || code == Element::Power;
  const Term& first = operands[0];
  bool unreal = (is_root && first.high <= 0 && !first.nan && first.value != 0) ||
                (is_root && code != Element::Sqrt && first.value == 0) ||
                (code == Element::Remainder && operands[1].value == 0);
  for (const Term& operand : operands) {
    state = hash(state, operand.value);
    nan = nan || operand.nan;
    unreal = unreal || operand.unreal;
  }
  Term term = drawn_term(state, low, high);
  term.nan = type.is_float() && (term.nan || nan);
  term.unreal = type.is_float() && unreal;
  return term;
}

bool Algebra::equal(const Cell& a, const Cell& b, ElementType /*type*/) {
  return a.value == b.value;
}

std::optional<double> Algebra::known_real(const Term& term) const {
  if (term.low == term.high) return term.low;
  if (term.high - term.low > 1e-9 * std::fabs(term.low)) return std::nullopt;
  const auto found = reals_.find(term.value);
  return found == reals_.end() ? std::nullopt : std::optional(found->second);
}

/// Gives equal functions equal exponents: those of the first one met.
Term Algebra::settled(Term term) {
  term.exponent = exponents_.try_emplace(term.value, term.exponent);
  return term;
}

Term Algebra::plain_negated(const Term& a) {
  return {a.value == 0 ? 0 : kPrime - a.value,
          a.exponent == 0 ? 0 : kOrder - a.exponent,
          -a.high,
          -a.low,
          a.nan,
          a.selection,
          a.unreal};
}

Term Algebra::plain_sum(const Term& a, const Term& b) {
  const bool cancels =
      std::isinf(a.low) || std::isinf(a.high) || std::isinf(b.low) || std::isinf(b.high);
  const bool opposite = cancels && ((a.high == kInfinity && b.low == -kInfinity) ||
                                    (a.low == -kInfinity && b.high == kInfinity));
  return {add(a.value, b.value, kPrime), add(a.exponent, b.exponent, kOrder),
          below(a.low + b.low),          above(a.high + b.high),
          a.nan || b.nan || opposite,    std::max(a.selection, b.selection)};
}

Term Algebra::plain_product(const Term& a, const Term& b) {
  const auto [low, high] = interval_product(a, b);
  const auto unbounded = [](const Term& x) { return std::isinf(x.low) || std::isinf(x.high); };
  const auto has_zero = [](const Term& x) { return x.low <= 0 && x.high >= 0; };
  const bool zero_times_infinity = (unbounded(a) && has_zero(b)) || (unbounded(b) && has_zero(a));
  return {times(a.value, b.value, kPrime),       times(a.exponent, b.exponent, kOrder), low, high,
          a.nan || b.nan || zero_times_infinity, std::max(a.selection, b.selection)};
}

Term Algebra::negated(const Term& a) {
  const auto of_piece = [](const std::vector<Term>& values) {
    return std::optional(plain_negated(values[0]));
  };
  if (piecewise(a) != nullptr) {
    if (const auto result = by_pieces({&a}, {}, false, of_piece)) return *result;
  }
  return plain_negated(a);
}

Term Algebra::sum(const Term& a, const Term& b, ElementType type) {
  if (is_zero_constant(a)) return b;
  if (is_zero_constant(b)) return a;
  if (piecewise(a) != nullptr || piecewise(b) != nullptr) {
    const auto of_pieces = [&](const std::vector<Term>& values) {
      return std::optional(simple_sum(values[0], values[1], type));
    };
    if (const auto result = by_pieces({&a, &b}, type, false, of_pieces)) return *result;
  }
  return simple_sum(a, b, type);
}

Term Algebra::simple_sum(const Term& a, const Term& b, ElementType type) {
  if (is_zero_constant(a)) return b;
  if (is_zero_constant(b)) return a;
  const bool first = is_infinite_constant(a);
  const bool second = is_infinite_constant(b);
  if (first || second) {
    if (first && second && a.low != b.low) return number(NAN);
    if (first && (is_finite(b, type) || second)) return a;
    if (second && is_finite(a, type)) return b;
    // Infinite or NaN: no symbol that a difference or a quotient may cancel.
    const Term& other = first ? b : a;
    return unreal_term(hash(hash(0x23, first ? a.value : b.value), other.value));
  }
  if (a.unreal || b.unreal) return unreal_pair(0x27, a, b);
  const auto x = known_real(a);
  const auto y = known_real(b);
  Term all = plain_sum(a, b);
  if (std::isnan(all.low)) all.low = -kInfinity;
  if (std::isnan(all.high)) all.high = kInfinity;
  const bool is_small = std::fabs(all.low) < kExactIntegers && std::fabs(all.high) < kExactIntegers;
  if (all.value == 0 && ((x && y) || (!type.is_float() && is_small))) return {};
  if (x && y && type.is_float()) reals_.try_emplace(all.value, *x + *y);
  if (!type.is_float() && x.has_value() != y.has_value()) {
    const Shifted from = shifted(x ? b : a);
    if (from.integer.value != all.value) {
      shifted_.try_emplace(all.value, Shifted{from.integer, from.offset + (x ? *x : *y)});
    }
  }
  return all;
}

/// no + s (yes − no) with a symbol s of the condition, where `yes` or `no` may be infinite.
///
/// s is 0 or 1, as the condition c is, but 0 · ∞ is 0 beside s and NaN beside c. And select(c, x,
/// 0) y is NaN where y is infinite, select(c, x y, 0) is not: so a factor y that may be infinite is
/// multiplied with a selection as a symbol of its own, too. `Term::selection` counts how often
/// selecting and multiplying took turns, and symbols of different turns are different ones. So what
/// is equal is the same selections, then the same factors, then the same selections, …, within a
/// turn in any order, of equal terms; and all of that is linear. Nothing where infinity itself is
/// selected, or symbols would take too many turns.
std::optional<Term> Algebra::selected(const Term& condition, const Term& yes, const Term& no) {
  const std::uint8_t before = std::max(yes.selection, no.selection);
  if (before >= kMaxSelections) return std::nullopt;
  for (const Term* each : {&yes, &no}) {
    if (is_infinite_constant(*each) || is_nan_constant(*each)) return std::nullopt;
  }
  const auto turn = static_cast<std::uint8_t>(before | 1U);
  const Term other = complement(condition);
  const bool swap = other.value < condition.value;
  const Term& one = swap ? yes : no;
  const Term symbol =
      drawn_term(hash(hash(0x24, turn), std::min(condition.value, other.value)), 0, 1);
  Term result =
      plain_sum(one, plain_product(symbol, plain_sum(swap ? no : yes, plain_negated(one))));
  result.low = std::min(yes.low, no.low);
  result.high = std::max(yes.high, no.high);
  result.nan = yes.nan || no.nan;
  result.selection = turn;
  return result;
}

/// selection · factor, where the factor may be infinite.
Term Algebra::multiplied_selection(const Term& selection, const Term& factor) {
  const auto turn = static_cast<std::uint8_t>(selection.selection + (selection.selection & 1U));
  Term symbol = drawn_term(hash(hash(0x26, turn), factor.value), factor.low, factor.high);
  symbol.nan = factor.nan;
  symbol.selection = turn;
  return plain_product(selection, symbol);
}

Term Algebra::product(const Term& a, const Term& b, ElementType type) {
  if (is_zero_constant(b) && !is_zero_constant(a)) return product(b, a, type);
  if (is_zero_constant(a)) {
    if (is_finite(b, type)) return {};
    return drawn_term(hash(0x20, b.value), -kInfinity, kInfinity);  // 0 or NaN
  }
  if (a.low == 1 && a.high == 1) return b;
  if (b.low == 1 && b.high == 1) return a;
  if (is_infinite_constant(a) || is_infinite_constant(b)) {
    const Term& other = is_infinite_constant(a) ? b : a;
    const Term& infinite = is_infinite_constant(a) ? a : b;
    if (other.low > 0) return infinite;
    if (other.high < 0) return negated(infinite);
    return unreal_term(hash(hash(0x21, infinite.value), other.value));
  }
  if (a.unreal || b.unreal) return unreal_pair(0x28, a, b);
  if (piecewise(a) != nullptr || piecewise(b) != nullptr) {
    const auto of_pieces = [](const std::vector<Term>& values) {
      const bool zero = is_zero_constant(values[0]) || is_zero_constant(values[1]);
      return std::optional(zero ? Term() : plain_product(values[0], values[1]));
    };
    const bool finite = is_finite(a, type) && is_finite(b, type);
    const auto result = finite ? by_pieces({&a, &b}, type, false, of_pieces) : std::nullopt;
    if (result) return *result;
  }
  if (a.selection != 0 && b.selection != 0) {
    const auto [least, most] = std::minmax(a.value, b.value);
    return drawn_term(hash(hash(0x25, least), most), -kInfinity, kInfinity);
  }
  if (a.selection != 0 && !is_finite(b, type)) return multiplied_selection(a, b);
  if (b.selection != 0 && !is_finite(a, type)) return multiplied_selection(b, a);
  Term all = plain_product(a, b);
  if (a.value == b.value && all.low < 0) all.low = 0;
  const auto x = known_real(a);
  const auto y = known_real(b);
  if (x && y && type.is_float()) reals_.try_emplace(all.value, *x * *y);
  return type.is_float() && !x && !y ? settled(all) : all;
}

Term Algebra::inverse(const Term& a) {
  if (is_infinite_constant(a)) return {};
  if (a.value == 0) return unreal_term(0x22);
  if (a.unreal) return unreal_term(hash(0x29, a.value));
  if (inverted_.value != a.value || inverted_.exponent != a.exponent) {
    inverted_ = a;
    inverse_value_ = reciprocal(a.value, kPrime);
    inverse_exponent_ = a.exponent == 0 ? 0 : reciprocal(a.exponent, kOrder);
  }
  Term all{inverse_value_, inverse_exponent_, -kInfinity, kInfinity, a.nan};
  if (a.low > 0 || a.high < 0) {
    all.low = 1 / a.high - 4e-16 / std::fabs(a.high);
    all.high = 1 / a.low + 4e-16 / std::fabs(a.low);
  }
  if (const auto x = known_real(a)) {
    reals_.try_emplace(all.value, 1 / *x);
    if (std::fma(1 / *x, *x, -1.0) == 0) return number(1 / *x);
  }
  return all;
}

void Algebra::add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) {
  if (is_zero_constant(a) || is_zero_constant(b) || a.unreal || b.unreal ||
      (a.selection != 0 && !is_finite(b, type)) || (b.selection != 0 && !is_finite(a, type))) {
    const Term part = product(a, b, type);
    if (is_zero_constant(part)) return;
    sum.rest = sum.has_rest ? this->sum(sum.rest, part, type) : part;
    sum.has_rest = true;
    return;
  }
  sum.nan = sum.nan || a.nan || b.nan;
  sum.selection = std::max({sum.selection, a.selection, b.selection});
  sum.value += static_cast<WideUnsigned>(a.value) * b.value;
  sum.exponent += static_cast<WideUnsigned>(a.exponent) * b.exponent;
  if (std::isinf(a.low + b.low) || std::isinf(a.high + b.high)) {
    sum.low = -kInfinity;
    sum.high = kInfinity;
    sum.nan = true;
  } else {
    const auto [low, high] = interval_product(a, b);
    sum.low = below(sum.low + low);
    sum.high = above(sum.high + high);
  }
  if (++sum.pending == kMaxPending) {
    sum.value = remainder(sum.value, kPrime);
    sum.exponent = remainder(sum.exponent, kOrder);
    sum.pending = 0;
  }
}

void Algebra::add_products(std::span<Accumulator> sums, std::span<const Cell> row,
                           const Columns* columns, ElementType type) {
  // Most terms are no constants, have bounds whose sums have, and no selections.
  const auto is_plain = [](const Term& term) {
    return term.low < term.high && term.low > -1e307 && term.high < 1e307 && term.selection == 0;
  };
  for (const Cell& a : row) {
    const bool first_is_plain = is_plain(a);
    const bool is_symmetric = a.low == -a.high;
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const Term& b = columns->cells[j];
      if (!first_is_plain || !is_plain(b) || sums[j].pending + 1 == kMaxPending) {
        add_product(sums[j], a, b, type);
        continue;
      }
      Accumulator& sum = sums[j];
      sum.nan |= a.nan | b.nan;
      sum.value += static_cast<WideUnsigned>(a.value) * b.value;
      sum.exponent += static_cast<WideUnsigned>(a.exponent) * b.exponent;
      ++sum.pending;
      if (is_symmetric || b.low == -b.high) {  // as inputs are
        const double high = above(std::max(std::fabs(a.low), std::fabs(a.high)) *
                                  std::max(std::fabs(b.low), std::fabs(b.high)));
        sum.low = below(sum.low - high);
        sum.high = above(sum.high + high);
        continue;
      }
      const double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      sum.low = below(sum.low + below(std::min({ends[0], ends[1], ends[2], ends[3]})));
      sum.high = above(sum.high + above(std::max({ends[0], ends[1], ends[2], ends[3]})));
    }
    ++columns;
  }
}

Term Algebra::result(Accumulator& sum, ElementType type) {
  Term all{remainder(sum.value, kPrime),
           remainder(sum.exponent, kOrder),
           sum.low,
           sum.high,
           sum.nan,
           sum.selection};
  if (sum.has_rest) all = this->sum(all, sum.rest, type);
  return type.is_float() ? settled(all) : all;
}

Term Algebra::exponential(const Term& a, ElementType type) {
  if (is_zero_constant(a)) return number(1);
  if (is_infinite_constant(a)) return number(a.low > 0 ? kInfinity : 0);
  if (const auto x = known_real(a)) return real_constant_term(std::exp(*x), type);
  Term all =
      drawn_term(hash(0xE, a.value), std::exp(a.low) * (1 - 1e-14), std::exp(a.high) * (1 + 1e-14));
  all.nan = a.nan;
  all.unreal = a.unreal;
  all.high = std::max(all.high, std::numeric_limits<double>::min());  // never 0
  all.value = interpreter::power(generator_, settled(a).exponent, kPrime);
  return settled(all);
}

}  // namespace p2::hlo::interpreter
