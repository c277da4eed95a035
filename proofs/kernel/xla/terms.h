#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

__extension__ using Wide = unsigned __int128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExact = 9007199254740992.0;  // 2^53
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kMaxInput = 1e4;  ///< of real numbers, for what is finite

/// Residues modulo an odd prime below 2^61.
struct Field {
  std::uint64_t prime;

  std::uint64_t sum(std::uint64_t a, std::uint64_t b) const {
    return a + b >= prime ? a + b - prime : a + b;
  }
  std::uint64_t negative(std::uint64_t a) const { return a == 0 ? 0 : prime - a; }
  std::uint64_t product(std::uint64_t a, std::uint64_t b) const {
    return static_cast<std::uint64_t>(Wide{a} * b % prime);
  }
  std::uint64_t power(std::uint64_t base, std::uint64_t exponent) const {
    std::uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1U, base = product(base, base)) {
      if ((exponent & 1U) != 0) result = product(result, base);
    }
    return result;
  }
  std::uint64_t inverse(std::uint64_t a) const { return power(a, prime - 2); }
  /// A finite double is an integer times a power of 2.
  std::uint64_t image(double value) const {
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(value), &exponent);
    const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    const int shift = exponent - 53;
    const bool is_whole = shift <= 0 && std::countr_zero(whole) >= -shift;
    const std::uint64_t half = prime / 2 + 1;
    const std::uint64_t size =
        is_whole ? (whole >> static_cast<unsigned>(-shift)) % prime
                 : product(whole % prime, power(shift < 0 ? half : 2,
                                                static_cast<std::uint64_t>(std::abs(shift))));
    return value < 0 ? negative(size) : size;
  }
};

/// A prime q between 2^58 and 2^59 such that 2q + 1 is prime, the first after a random number.
std::uint64_t random_order(Hash& hash);

/// Bounds of a number that was computed as x: one that is too large for a double is finite.
inline double below(double x) { return std::nextafter(x, -kInfinity); }
inline double above(double x) { return std::nextafter(x, kInfinity); }

inline bool is_bounded(const Cell& a) {
  return !a.nan && std::isfinite(a.low) && std::isfinite(a.high);
}
/// A bound by which something is decided for all real numbers: a number at least, or at most.
inline bool is_at_least(const Cell& a, double number) {
  return !a.nan && a.low >= number && (!a.low_is_assumed || number == -kInfinity);
}
inline bool is_at_most(const Cell& a, double number) {
  return !a.nan && a.high <= number && (!a.high_is_assumed || number == kInfinity);
}
inline bool is_infinite(const Cell& a) { return a.is_known() && std::isinf(a.low); }

inline Cell unbounded(Cell cell) {
  cell.low = -kInfinity;
  cell.high = kInfinity;
  cell.low_is_assumed = cell.high_is_assumed = false;
  cell.nan = true;
  return cell;
}

/// Bounds of what is one of two.
inline Cell bounds_of_either(const Cell& a, const Cell& b) {
  return {0,
          0,
          std::min(a.low, b.low),
          std::max(a.high, b.high),
          a.nan || b.nan,
          a.low_is_assumed || b.low_is_assumed,
          a.high_is_assumed || b.high_is_assumed,
          a.is_unreal || b.is_unreal};
}
inline Cell with_bounds(Cell cell, const Cell& bounds) {
  const std::uint64_t value = cell.value, exponent = cell.exponent;
  cell = bounds;
  cell.value = value;
  cell.exponent = exponent;
  return cell;
}

/// A result of this type: beyond its largest number it may be infinite.
inline Cell settled(const Cell& cell, const Type& type) {
  if (!type.is_float() || is_infinite(cell)) return cell;
  const bool inside = is_bounded(cell) && cell.low >= -largest(type) && cell.high <= largest(type);
  return inside ? cell : unbounded(cell);
}

inline double lowest(const Type& type) {
  return type.kind == Type::Kind::Signed ? -std::ldexp(1, type.bits - 1) : 0;
}
/// Of 64 bits the largest double below it: 2^63 is no such integer.
inline double highest(const Type& type) {
  if (type.is_boolean()) return 1;
  const double end = std::ldexp(1, type.kind == Type::Kind::Signed ? type.bits - 1 : type.bits);
  return type.bits == 64 ? below(end) : end - 1;
}

class Terms : public Arithmetic {
 public:
  Terms(std::uint64_t first, std::uint64_t second)
      : key_(first, second), order_(make_order(first, second)), field_{2 * order_.prime + 1} {
    std::uint64_t root = 0;
    while (root < 2) root = Hash(key_).add("base").result() % field_.prime;
    base_ = field_.product(root, root);
    pole_ = Terms::function("inverse", std::array{Cell{}}, type_called("f32"));
    no_number_ = unbounded(drawn(Hash(key_).add("nan"), 0, 0));
    pole_.is_unreal = no_number_.is_unreal = true;
  }

  Cell input(std::span<const std::uint64_t> keys, const Type& type) override {
    Hash hash(key_);
    hash.add("input");
    for (const std::uint64_t key : keys) hash.add(key);
    if (type.is_float()) {
      Cell cell = drawn(hash, -kMaxInput, kMaxInput);
      cell.low_is_assumed = cell.high_is_assumed = true;
      return cell;
    }
    if (type.is_integer() || type.is_boolean()) return drawn(hash, lowest(type), highest(type));
    not_covered("inputs of type " + std::string(type.name));
  }

  Cell literal(std::string_view text, const Type& type) override {
    if (type.is_float()) return constant(real_literal(text, type), type);
    const Cell cell = exact_.literal(text, type);
    return integer(static_cast<std::int64_t>(cell.value), type);
  }

  Cell integer(std::int64_t value, const Type& type) override {
    if (type.is_float()) return real_integer(value, type);
    const bool is_large = type.kind == Type::Kind::Unsigned
                              ? static_cast<std::uint64_t>(value) >= 1ULL << 53U
                              : std::abs(static_cast<double>(value)) >= kExact;
    if (!is_large) return number(static_cast<double>(value));
    Hash hash(key_);
    hash.add(type.kind == Type::Kind::Unsigned && value < 0 ? "beyond s64" : "large");
    return drawn(hash.add(static_cast<std::uint64_t>(value)), lowest(type), highest(type));
  }

  std::optional<std::int64_t> known(const Cell& cell, const Type& type) override {
    if (!cell.is_known() || std::fabs(cell.low) >= kExact) return std::nullopt;
    return wrapped(static_cast<std::uint64_t>(static_cast<std::int64_t>(cell.low)), type);
  }

  bool same(const Cell& a, const Cell& b, const Type& type) override {
    if (a.value == b.value) return true;
    return !type.is_float() && known(a, type) && known(a, type) == known(b, type);
  }

  Cell arbitrary(const Type& type) override {
    return any(Hash(key_).add("arbitrary").add(++arbitrary_values_), type);
  }

  Cell function(std::string_view name, Cells operands, const Type& type) override {
    Hash hash(key_);
    hash.add(name);
    if (!type.is_float()) hash.add(type.name);  // where it wraps around
    bool is_unreal = false;
    for (const Cell& operand : operands) {
      hash.add(operand.value);
      is_unreal = is_unreal || operand.is_unreal;
    }
    Cell result = any(hash, type);
    result.is_unreal = is_unreal && type.is_float();
    return result;
  }

  Cell choose(const Cell& index, const Type& index_type, Cells choices, const Type& type) override;
  Cell apply(const Elementwise& operation, Cells operands) override;

 private:
  struct Exact {
    std::unique_ptr<Arithmetic> numbers = make_numbers(0, 0);
    Cell literal(std::string_view text, const Type& type) { return numbers->literal(text, type); }
  };

  static Field make_order(std::uint64_t first, std::uint64_t second) {
    Hash hash(first, second);
    return {random_order(hash)};
  }

  Cell drawn(Hash hash, double low, double high) const {
    const std::uint64_t value = hash.add(1).result() % field_.prime;
    return {value, hash.add(2).result() % order_.prime, low, high, false};
  }
  Cell any(const Hash& hash, const Type& type) const {
    if (type.is_integer() || type.is_boolean()) return drawn(hash, lowest(type), highest(type));
    return unbounded(drawn(hash, 0, 0));
  }
  Cell number(double value) const {
    if (std::isnan(value)) return no_number_;
    if (std::isinf(value)) {
      Cell infinity = drawn(Hash(key_).add("infinity"), kInfinity, kInfinity);
      infinity.is_unreal = true;
      return value > 0 ? infinity : negative(infinity);
    }
    if (value == 0) return {};
    return {field_.image(value), order_.image(value), value, value, false};
  }
  /// Of an integer that its type rounds nothing is known but where it is, rounded or not.
  Cell real_integer(std::int64_t value, const Type& type) const {
    const auto exact = static_cast<double>(value);
    const double nearest = rounded(exact, type);
    if (nearest == exact && std::fabs(exact) < kExact) return number(exact);
    Hash hash(key_);
    hash.add("rounded").add(type.name).add(static_cast<std::uint64_t>(value));
    if (!std::isfinite(nearest)) return unbounded(drawn(hash, 0, 0));
    return drawn(hash, below(std::min(exact, nearest)), above(std::max(exact, nearest)));
  }
  /// A constant, or a function of constants, of a floating-point type.
  Cell constant(double value, const Type& type) const {
    const Fraction fraction = fraction_of(value, type);
    if (fraction.denominator == 1 || !std::isfinite(value)) return number(fraction.numerator);
    const Cell top = number(fraction.numerator);
    const Cell bottom = number(fraction.denominator);
    const double quotient = fraction.numerator / fraction.denominator;
    if (std::fma(quotient, fraction.denominator, -fraction.numerator) == 0) return number(quotient);
    return {field_.product(top.value, field_.inverse(bottom.value)),
            order_.product(top.exponent, order_.inverse(bottom.exponent)), below(quotient),
            above(quotient), false};
  }

  Cell negative(const Cell& a) const {
    Cell result{field_.negative(a.value),
                order_.negative(a.exponent),
                -a.high,
                -a.low,
                a.nan,
                a.high_is_assumed,
                a.low_is_assumed,
                a.is_unreal};
    if (!a.is_unreal) return result;
    // Another function, the negative of which is that again.
    const auto known = negatives_.find(a.value);
    if (known == negatives_.end()) {
      const Cell other = drawn(Hash(key_).add("negative").add(a.value), 0, 0);
      negatives_[a.value] = {other.value, other.exponent};
      negatives_[other.value] = {a.value, a.exponent};
    }
    std::tie(result.value, result.exponent) = negatives_.at(a.value);
    return result;
  }
  Cell complement(const Cell& a) const { return plain_sum(number(1), negative(a)); }
  /// In the field, with the bounds of real numbers.
  Cell plain_sum(const Cell& a, const Cell& b) const {
    Cell result{field_.sum(a.value, b.value),
                order_.sum(a.exponent, b.exponent),
                a.low + b.low,
                a.high + b.high,
                a.nan || b.nan,
                a.low_is_assumed || b.low_is_assumed,
                a.high_is_assumed || b.high_is_assumed,
                a.is_unreal || b.is_unreal};
    if (!is_bounded(a) || !is_bounded(b)) return unbounded(result);
    const auto is_exact = [](double x, double y, double s) { return s - x == y && s - y == x; };
    if (!is_exact(a.low, b.low, result.low)) result.low = below(result.low);
    if (!is_exact(a.high, b.high, result.high)) result.high = above(result.high);
    return result;
  }
  Cell plain_product(const Cell& a, const Cell& b) const {
    Cell result{field_.product(a.value, b.value), order_.product(a.exponent, b.exponent), kInfinity,
                -kInfinity, a.nan || b.nan};
    if (!is_bounded(a) || !is_bounded(b)) return unbounded(result);
    for (const double x : {a.low, a.high}) {
      for (const double y : {b.low, b.high}) {
        const double corner = x * y;
        const bool is_normal = std::fabs(corner) > 1e-280 || x == 0 || y == 0;
        const bool is_exact = std::fma(x, y, -corner) == 0 && is_normal;
        result.low = std::min(result.low, is_exact ? corner : below(corner));
        result.high = std::max(result.high, is_exact ? corner : above(corner));
      }
    }
    // Times a constant bounds keep their side, or change it; not negative times not negative is so.
    const auto is_assumed = [](const Cell& cell) {
      return cell.low_is_assumed || cell.high_is_assumed;
    };
    result.is_unreal = a.is_unreal || b.is_unreal;
    const Cell& constant = a.is_known() ? a : b;
    const Cell& other = a.is_known() ? b : a;
    result.low_is_assumed = result.high_is_assumed = is_assumed(a) || is_assumed(b);
    if (constant.is_known()) {
      const bool keeps = constant.low >= 0;
      result.low_is_assumed = keeps ? other.low_is_assumed : other.high_is_assumed;
      result.high_is_assumed = keeps ? other.high_is_assumed : other.low_is_assumed;
    } else if (is_at_least(a, 0) && is_at_least(b, 0)) {
      result.low_is_assumed = false;
    }
    return result;
  }

  static bool is_exact(const Cell& a) {
    return std::fabs(a.low) < kExact && std::fabs(a.high) < kExact;
  }
  /// An integer in the range of its type.
  Cell unwrapped(const Cell& a, const Type& type) {
    if (type.is_float() || (a.low >= lowest(type) && a.high <= highest(type) && !a.nan)) return a;
    if (const auto value = known(a, type)) return integer(*value, type);
    Hash hash(key_);
    hash.add("wrapped").add(static_cast<std::uint64_t>(type.bits));
    hash.add(type.kind == Type::Kind::Signed ? 1 : 0).add(a.value);
    return drawn(hash, lowest(type), highest(type));
  }
  Cell commutative(std::string_view name, const Cell& a, const Cell& b, const Type& type) {
    const bool swap = b.value < a.value;
    const Cell operands[] = {unwrapped(swap ? b : a, type), unwrapped(swap ? a : b, type)};
    return function(name, operands, type);
  }

  Cell sum(const Cell& a, const Cell& b, const Type& type);
  Cell product(const Cell& a, const Cell& b, const Type& type);
  Cell inverse(const Cell& a, const Type& type);
  Cell exponential(const Cell& a, const Type& type);
  Cell power(const Cell& a, const Cell& b, const Type& type);
  Cell maximum(const Cell& a, const Cell& b);
  Cell minimum(const Cell& a, const Cell& b) { return negative(maximum(negative(a), negative(b))); }
  Cell both(const Cell& a, const Cell& b) {
    return complement(either(complement(a), complement(b)));
  }
  Cell either(const Cell& a, const Cell& b) {
    return complement(a).value == b.value ? number(1) : maximum(a, b);
  }
  Cell positive(const Cell& a) {
    if (is_at_least(a, kLeast)) return number(1);
    if (is_at_most(a, 0)) return {};
    return drawn(Hash(key_).add("positive").add(a.value), 0, 1);
  }
  Cell is_zero(const Cell& a) {
    if (a.value == 0) return number(1);
    if (is_at_least(a, kLeast) || is_at_most(a, -kLeast)) return {};
    return drawn(Hash(key_).add("zero").add(std::min(a.value, field_.negative(a.value))), 0, 1);
  }
  Cell compare(Direction direction, const Cell& a, const Cell& b, const Type& type);
  Cell unreal_compared(Direction direction, const Cell& x, const Cell& y, const Type& type);
  Cell select(const Cell& condition, const Cell& yes, const Cell& no, const Type& type);
  Cell convert(const Cell& a, const Type& from, const Type& to);
  Cell opposite(const Cell& a);
  Cell applied(const Elementwise& operation, Cells operands);
  Cell of_numbers(const Elementwise& operation, Cells operands);
  Cell real(const Elementwise& operation, Cells operands);
  Cell integral(const Elementwise& operation, Cells operands);

  // terms.cpp

  /// A function of one integer by the parts of its range: `value` up to `upto`, after the one
  /// before; the last reaches to infinity.
  struct Piece {
    double upto = 0;
    Cell value;
  };
  struct Pieces {
    Cell integer;
    std::vector<Piece> all;
  };
  /// integer + offset.
  struct Shifted {
    Cell integer;
    double offset = 0;
  };
  /// from < integer <= upto.
  struct Condition {
    std::uint64_t integer = 0;
    double from = 0, upto = 0;
    bool operator==(const Condition&) const = default;
  };
  class Within;
  /// What is known of terms by their values, under the conditions of the pieces that they were met
  /// in: bounds of a cell are those that it has there.
  template <typename Thing>
  class Conditional {
   public:
    bool empty() const { return entries_.empty(); }
    const Thing* find(std::uint64_t value, const std::vector<Condition>& conditions) const;
    void set(std::uint64_t value, const std::vector<Condition>& conditions, Thing thing);

   private:
    static constexpr std::size_t kMost = 16;  ///< of one value
    struct Entry {
      std::vector<Condition> conditions;
      Thing thing;
    };
    std::unordered_map<std::uint64_t, std::vector<Entry>> entries_;
  };
  Shifted shifted(const Cell& a);
  const Pieces* pieces_of(const Cell& a) const;
  Cell narrowed(const Cell& a, const Cell& integer, double from, double upto);
  Cell from_pieces(const Pieces& pieces);
  std::optional<Cell> by_pieces(const Elementwise& operation, Cells operands);
  /// [a > number], of integers in the range of their type.
  Cell above_number(const Cell& a, double number);

  Hash key_;
  Field order_;
  Field field_;
  std::uint64_t base_ = 0;
  Cell pole_;       ///< the inverse of 0
  Cell no_number_;  ///< NaN
  /// Of terms that are not real, by their values.
  mutable std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> negatives_;
  std::uint64_t arbitrary_values_ = 0;
  Exact exact_;
  // What is known of terms, by their values.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> maxima_;  ///< members' values
  std::unordered_map<std::uint64_t, Shifted> shifted_;
  std::vector<Condition> conditions_;  ///< of the pieces that are being computed
  Conditional<Cell> integers_;         ///< of pieces, with all their values
  Conditional<Pieces> pieces_;
  Budget work_;  ///< of operations by pieces, which nest
};

}  // namespace p2::kernel::xla
