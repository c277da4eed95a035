// Floating-point elements that are rounded, in the algebra of random interpretation: operations are
// uninterpreted functions, up to the identities that hold for every input in IEEE 754 arithmetic
// that rounds to nearest, all NaNs counting as one. x + 0 is not x (it turns −0 into 0), x − x and
// 0 · x are not 0 (NaN), a maximum depends on the order of its operands (0 and −0).
//
// `Reassociated` also regroups and reorders sums, and leaves out the sign of zero.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/algebra.h"

namespace p2::hlo::interpreter {
namespace {

/// A prime: multisets of addends are sums modulo it, so that no multiplicity vanishes.
constexpr std::uint64_t kAddendModulus = (std::uint64_t{1} << 61U) - 1;
/// Accumulators of narrower types are wider than the type, by how much is left open.
constexpr unsigned kAccumulatorBits = 32;

/// The types whose arithmetic IEEE 754 defines, bf16 by the same rules.
bool is_ieee(ElementType type) {
  const std::string_view name = type.name();
  return name == "f64" || name == "f32" || name == "f16" || name == "bf16";
}

/// Whether every number of a type is one of another type, which has more bits.
bool widens(ElementType from, ElementType to) {
  return is_ieee(from) && is_ieee(to) && to.bits() >= 32 && from.bits() < to.bits();
}

/// The numbers whose products and quotients with others are as exact as those with 1.
bool is_power_of_two(double value) {
  int exponent = 0;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}

bool is_normal(double value, ElementType type) {
  const std::string_view name = type.name();
  const int least = name == "f64" ? -1022 : name == "f16" ? -14 : -126;
  return std::isfinite(value) && std::fabs(value) >= std::ldexp(1.0, least);
}

/// The value of an attribute that is a positive number.
std::optional<int> positive_attribute(std::string_view attributes, std::string_view name) {
  const auto text = attribute_in(attributes, name);
  int value = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// A normal number of `type`, rounded by a reduce-precision with these attributes: to the nearest
/// with the fewer bits of the mantissa, ties to even; to infinity above, and to 0 below the range
/// of normal numbers with the fewer bits of the exponent. Nothing for other attributes.
std::optional<double> reduced_precision(double value, ElementType type,
                                        std::string_view attributes) {
  const auto exponent_bits = positive_attribute(attributes, "exponent_bits");
  const auto mantissa_bits = positive_attribute(attributes, "mantissa_bits");
  if (!exponent_bits || *exponent_bits > 11 || !mantissa_bits) return std::nullopt;
  if (!std::isfinite(value)) return value;
  if (value != 0 && !is_normal(value, type)) return std::nullopt;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const int bits = std::min(*mantissa_bits, 52) + 1;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
  const int bias = (1 << (*exponent_bits - 1)) - 1;
  if (std::fabs(rounded) >= std::ldexp(1.0, bias + 1)) return std::copysign(kInfinity, value);
  if (std::fabs(rounded) < std::ldexp(1.0, 1 - bias)) return std::copysign(0.0, value);
  return rounded_float(rounded, type);
}

}  // namespace

Term Algebra::float_term(std::uint64_t state) {
  return drawn_term(hash(0xF7, state), -kInfinity, kInfinity);
}

/// Precondition: the type has the value.
Term Algebra::float_constant(double value, ElementType type) {
  if (std::isnan(value)) return float_term(hash(0x4E614E, type.index()));
  const bool signed_zero = value != 0 || equality_ == FloatEquality::Bitwise;
  const auto bits = std::bit_cast<std::uint64_t>(std::fabs(value));
  const Term size = float_term(hash(hash(0xF10, bits), type.index()));
  const Term negative = plain_negated(size);
  floats_.try_emplace(size.value, std::fabs(value));
  floats_.try_emplace(negative.value, -std::fabs(value));
  return std::signbit(value) && signed_zero ? negative : size;
}

Term Algebra::float_constant(const LiteralElement& element, ElementType type) {
  const double value = element.negative_zero ? -0.0 : real_constant(element);
  const bool is_number =
      type.is_float() && (!std::isnan(value) || element.text.find("nan") != std::string::npos);
  if (is_number) return float_constant(rounded_constant(value, type), type);
  std::uint64_t state = hash(0xF11, type.index());
  for (const char c : to_string(element)) state = hash(state, static_cast<unsigned char>(c));
  return float_term(state);
}

std::optional<double> Algebra::known_float(const Term& a) const {
  const auto found = floats_.find(a.value);
  return found == floats_.end() ? std::nullopt : std::optional(found->second);
}

bool Algebra::is_any_zero(const Term& a) const { return known_float(a) == 0.0; }

Term Algebra::float_negated(const Term& a) {
  return equality_ == FloatEquality::Reassociated && is_any_zero(a) ? a : plain_negated(a);
}

void Algebra::add_addend(Addends& all, const Term& a, ElementType type) const {
  if (is_any_zero(a)) return;
  const auto total = [](std::uint64_t x, std::uint64_t y) { return (x + y) % kAddendModulus; };
  const auto drawn = [&](std::uint64_t value) {
    return hash(hash(hash(0x5A, seed_), value), type.index()) % kAddendModulus;
  };
  const auto found = sums_.find(a.value);
  if (found == sums_.end()) {
    all.sum = total(all.sum, drawn(a.value));
    all.negated = total(all.negated, drawn(plain_negated(a).value));
    all.count += 1;
    all.only = a;
  } else {
    all.sum = total(all.sum, found->second.sum);
    all.negated = total(all.negated, found->second.negated);
    all.count += found->second.count;
  }
}

/// The negation of a sum is the sum of the negations: rounding to nearest is symmetric.
Term Algebra::sum_of(const Addends& all, ElementType type) {
  if (all.count == 0) return float_constant(0, type);
  if (all.count == 1) return all.only;
  const bool swap = all.negated < all.sum;
  const Addends first{std::min(all.sum, all.negated), std::max(all.sum, all.negated), all.count};
  const Addends second{first.negated, first.sum, all.count};
  const Term term = float_term(hash(hash(hash(0x5B, first.sum), first.negated), type.index()));
  const Term other = plain_negated(term);
  sums_.try_emplace(term.value, first);
  sums_.try_emplace(other.value, second);
  return swap ? other : term;
}

Term Algebra::float_sum(const Term& a, const Term& b, ElementType type) {
  const auto x = known_float(a);
  const auto y = known_float(b);
  if (x && y && is_ieee(type)) return float_constant(rounded_float(*x + *y, type), type);
  if (equality_ == FloatEquality::Reassociated) {
    Addends all;
    add_addend(all, a, type);
    add_addend(all, b, type);
    return sum_of(all, type);
  }
  const auto is_negative_zero = [](const std::optional<double>& value) {
    return value && *value == 0 && std::signbit(*value);
  };
  if (is_negative_zero(x)) return b;
  if (is_negative_zero(y)) return a;
  const auto [low, high] = std::minmax(a.value, b.value);
  return float_term(hash(hash(hash(0xADD, low), high), type.index()));
}

/// Products and quotients take the sign of their operands: −(a · b) = (−a) · b.
Term Algebra::float_product(const Term& a, const Term& b, ElementType type) {
  const auto x = known_float(a);
  const auto y = known_float(b);
  if (x && y && is_ieee(type)) return float_constant(rounded_float(*x * *y, type), type);
  if (x && std::fabs(*x) == 1) return *x < 0 ? float_negated(b) : b;
  if (y && std::fabs(*y) == 1) return *y < 0 ? float_negated(a) : a;
  const std::uint64_t first = std::min(a.value, plain_negated(a).value);
  const std::uint64_t second = std::min(b.value, plain_negated(b).value);
  const auto [low, high] = std::minmax(first, second);
  const Term size = float_term(hash(hash(hash(0x30D, low), high), type.index()));
  return (first == a.value) == (second == b.value) ? size : plain_negated(size);
}

Term Algebra::float_quotient(const Term& a, const Term& b, ElementType type) {
  if (const auto y = known_float(b); y && is_ieee(type) && is_power_of_two(*y)) {
    if (is_normal(1 / *y, type)) return float_product(a, float_constant(1 / *y, type), type);
  }
  const std::uint64_t first = std::min(a.value, plain_negated(a).value);
  const std::uint64_t second = std::min(b.value, plain_negated(b).value);
  const Term size = float_term(hash(hash(hash(0xD1F, first), second), type.index()));
  return (first == a.value) == (second == b.value) ? size : plain_negated(size);
}

Term Algebra::float_maximum(const Term& a, const Term& b, ElementType type, bool least) {
  if (a.value == b.value) return a;
  const auto x = known_float(a);
  const auto y = known_float(b);
  if (x && y && *x != *y) return (*x < *y) == least ? a : b;
  const double identity = least ? kInfinity : -kInfinity;
  if (x == identity) return b;
  if (y == identity) return a;
  if (equality_ == FloatEquality::Reassociated) return least ? minimum(a, b) : maximum(a, b);
  return float_term(hash(hash(hash(least ? 0x311 : 0x3A8, a.value), b.value), type.index()));
}

Term Algebra::float_select(const Term& condition, const Term& yes, const Term& no,
                           ElementType type) {
  if (condition.low == condition.high) return condition.low != 0 ? yes : no;
  if (yes.value == no.value) return yes;
  const Term other = complement(condition);
  const bool swap = other.value < condition.value;
  const Term parts[] = {swap ? other : condition, swap ? no : yes, swap ? yes : no};
  return function("select", parts, type);
}

/// a > b is b < a, and a ≠ b the complement of a = b; a ≥ b is not that of a < b (NaN).
Term Algebra::float_compare(const ElementOperation& operation, Term a, Term b) {
  const bool total_order = orders_totally(operation);
  const auto x = known_float(a);
  const auto y = known_float(b);
  if (x && y && !total_order) {
    return integer(holds(operation.direction, *x, *y) ? 1 : 0, operation.to);
  }
  Direction direction = operation.direction;
  const bool negate = direction == Direction::Ne;
  if (negate) direction = Direction::Eq;
  const bool swap = direction == Direction::Gt || direction == Direction::Ge ||
                    (direction == Direction::Eq && b.value < a.value);
  if (swap) std::swap(a, b);
  if (direction == Direction::Gt) direction = Direction::Lt;
  if (direction == Direction::Ge) direction = Direction::Le;
  const Term parts[] = {a, b};
  const Term holds =
      function(fmt::format("compare {}{}", static_cast<int>(direction), total_order ? " all" : ""),
               parts, operation.to);
  return negate ? complement(holds) : holds;
}

/// To a wider type and back is no change, and from a wider type as from the narrower one.
Term Algebra::float_convert(const Term& a, ElementType from, ElementType to) {
  if (from == to) return a;
  const auto known = known_float(a);
  if (!rounds(to)) {
    const bool boolean = to.kind() == ElementType::Kind::Boolean;
    const double whole = known ? std::trunc(*known) : kInfinity;
    if (boolean && known) return integer(*known != 0 ? 1 : 0, to);
    const double largest = std::ldexp(1.0, std::min<int>(static_cast<int>(to.bits()), 54) - 1);
    const bool fits = whole < largest && (whole >= 0 || to.kind() == ElementType::Kind::Signed) &&
                      whole > -largest;
    if (fits) return integer(static_cast<std::int64_t>(whole), to);
    const Term operand[] = {a};
    return function("convert", operand, to);
  }
  if (!rounds(from)) {
    const auto value = as_integer(a, from);
    const double number = static_cast<double>(value.value_or(0));
    const bool fits_single = static_cast<double>(static_cast<float>(number)) == number;
    // To 16 bits it may be rounded twice.
    const bool rounds_once = to.bits() > 16 || fits_single;
    if (value && std::fabs(number) <= kExactIntegers && rounds_once && is_ieee(to)) {
      return float_constant(rounded_float(number, to), to);
    }
    const Term operand[] = {exact(a, from)};
    return function("convert", operand, to);
  }
  const bool numbers = is_ieee(from) && is_ieee(to);
  if (known && numbers) return float_constant(rounded_float(*known, to), to);
  if (const auto found = widened_.find(a.value); found != widened_.end()) {
    const Widened origin = found->second;
    return float_convert(origin.from, origin.type, to);
  }
  const Term negative = plain_negated(a);
  const bool swap = numbers && negative.value < a.value;
  const Term& size = swap ? negative : a;
  const Term result = float_term(hash(hash(0xC07, size.value), to.index()));
  const Term other = plain_negated(result);
  if (widens(from, to)) {
    widened_.try_emplace(result.value, Widened{size, from});
    widened_.try_emplace(other.value, Widened{plain_negated(size), from});
  }
  return swap ? other : result;
}

/// Precondition: an operand or the result is rounded.
Term Algebra::float_operation(const ElementOperation& operation, std::span<const Term> operands) {
  const ElementType type = operation.to;
  const Term& a = operands[0];
  if (operation.code == Element::Compare) return float_compare(operation, a, operands[1]);
  const bool plain = operation.attributes.empty() && operation.accuracy.empty();
  // Other types, complex or of 8 bits, may have no negative zero, infinity or sign.
  const bool is_number =
      (is_ieee(operation.from) || !rounds(operation.from)) && (is_ieee(type) || !rounds(type));
  if (operation.code == Element::Select) return float_select(a, operands[1], operands[2], type);
  if (operation.code == Element::ReducePrecision && is_ieee(type)) {
    const auto known = known_float(a);
    const auto reduced = known ? reduced_precision(*known, type, operation.attributes) : known;
    if (reduced) return float_constant(*reduced, type);
  }
  if (plain && operation.code == Element::Convert) return float_convert(a, operation.from, type);
  if (plain && is_number) {
    switch (operation.code) {
      case Element::Negate:
        return float_negated(a);
      case Element::Add:
        return float_sum(a, operands[1], type);
      case Element::Subtract:
        return float_sum(a, float_negated(operands[1]), type);
      case Element::Multiply:
        return float_product(a, operands[1], type);
      case Element::Divide:
        return float_quotient(a, operands[1], type);
      case Element::Maximum:
      case Element::Minimum:
        return float_maximum(a, operands[1], type, operation.code == Element::Minimum);
      case Element::Clamp:
        if (equality_ == FloatEquality::Bitwise) break;
        return float_maximum(float_maximum(a, operands[1], type, false), operands[2], type, true);
      case Element::Abs: {
        if (const auto known = known_float(a)) return float_constant(std::fabs(*known), type);
        const Term other = plain_negated(a);
        const Term size[] = {other.value < a.value ? other : a};
        return function("abs", size, type);
      }
      case Element::IsFinite:
        if (const auto known = known_float(a)) return integer(std::isfinite(*known) ? 1 : 0, type);
        break;
      default:
        break;
    }
  }
  return function(fmt::format("{} {} {}", static_cast<int>(operation.code), operation.attributes,
                              operation.accuracy),
                  operands, type);
}

Term Algebra::reduced(const Reduction& reduction, std::span<const Term> elements,
                      const Term* initial, std::size_t output) {
  const ElementType type = reduction.type;
  const auto combiner = reduction.combiner;
  if (equality_ == FloatEquality::Reassociated && type.is_float()) {
    if (combiner == Element::Add) {
      Addends all;
      for (const Term& each : elements) add_addend(all, each, type);
      if (initial != nullptr) add_addend(all, *initial, type);
      return sum_of(all, type);
    }
    const bool least = combiner == Element::Minimum;
    if (least || combiner == Element::Maximum) {
      std::optional<Term> total;
      if (initial != nullptr) total = *initial;
      for (const Term& each : elements) {
        total = total ? float_maximum(*total, each, type, least) : each;
      }
      if (total) return *total;
    }
  }
  if (elements.empty() && initial != nullptr) return *initial;
  // An initial value that is the identity of the operation for every element, −0 for a sum.
  const auto first = initial == nullptr ? std::nullopt : known_float(*initial);
  const bool identity =
      initial == nullptr ||
      (first && ((combiner == Element::Add && *first == 0 && std::signbit(*first)) ||
                 (combiner == Element::Multiply && *first == 1) ||
                 (combiner == Element::Maximum && *first == -kInfinity) ||
                 (combiner == Element::Minimum && *first == kInfinity)));
  if (elements.size() == 1 && identity) return elements[0];
  std::vector<Term> all(elements.begin(), elements.end());
  if (initial != nullptr) all.push_back(*initial);
  const std::string name =
      fmt::format("{} {} {} {} {} {}", reduction.opcode,
                  combiner ? static_cast<int>(*combiner) : -1, combiner ? 0 : reduction.fingerprint,
                  elements.size(), output, fmt::join(reduction.group, ","));
  return function(name, all, type);
}

Term Algebra::contracted(const Reduction& reduction, std::span<const Term> factors,
                         std::pair<ElementType, ElementType> types) {
  const ElementType type = reduction.type;
  std::uint64_t state = hash(0xD07, type.index());
  const bool any_order = equality_ == FloatEquality::Reassociated;
  for (const std::string_view text :
       {any_order ? "sum of products" : reduction.opcode, reduction.precision}) {
    state = hash(state, text.size());
    for (const char c : text) state = hash(state, static_cast<unsigned char>(c));
  }
  const auto converts = [&](ElementType from) { return from == type || widens(from, type); };
  const bool plain = type.bits() >= kAccumulatorBits && reduction.precision.empty() &&
                     converts(types.first) && converts(types.second);
  Addends all;
  for (std::size_t i = 0; i + 1 < factors.size(); i += 2) {
    if (any_order && plain) {
      const Term a = float_convert(factors[i], types.first, type);
      add_addend(all, float_product(a, float_convert(factors[i + 1], types.second, type), type),
                 type);
      continue;
    }
    // Neither rounded to the type of the result nor equal to a product in it.
    const Term product = float_product(factors[i], factors[i + 1], {});
    if (any_order) {
      add_addend(all, product, type);
    } else {
      state = hash(state, product.value);
    }
  }
  if (!any_order) return float_term(hash(state, factors.size()));
  return plain ? sum_of(all, type) : float_term(hash(hash(state, all.sum), all.negated));
}

}  // namespace p2::hlo::interpreter
