#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "engine/hlo/interpreter/element_operation.h"

namespace p2::hlo::interpreter {

/// An element as a concrete number: floating-point types in double precision, without rounding to
/// their own; integers and booleans modulo 2^bits, as XLA has them.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool arbitrary = false;  ///< depends on what may be any number
  /// How far `real` may be, to first order, from the number without rounding.
  float error = 0;
};

/// An element of each of as many columns of a factor.
template <typename Cell, std::size_t columns>
struct PackedColumns {
  Cell cells[columns] = {};

  void set(std::size_t column, const Cell& cell) { cells[column] = cell; }
};

/// Arithmetic on concrete numbers.
class Numbers {
 public:
  /// Without bounds of errors: 0, and no step or pole is looked for.
  static Numbers without_bounds() {
    Numbers numbers;
    numbers.has_bounds_ = false;
    return numbers;
  }

  using Cell = Scalar;
  static constexpr bool kSymbolic = false;
  static constexpr bool kMayRound = false;
  static constexpr bool kHasRanges = false;

  Cell constant(const LiteralElement& element, ElementType type) const;
  Cell integer(std::int64_t value, ElementType type) const;
  /// The value of an integer or boolean; nothing if it may be any.
  std::optional<std::int64_t> as_integer(const Cell& cell, ElementType /*type*/) const {
    if (cell.arbitrary) return std::nullopt;
    return cell.integer;
  }
  /// What may be any number.
  Cell arbitrary(std::uint64_t key, ElementType type) const;
  Cell apply(const ElementOperation& operation, std::span<const Cell> operands) const;
  Cell exact(const Cell& cell, ElementType /*type*/) const { return cell; }
  /// Whether one element is before another; nothing where a comparison is not known.
  bool equal(const Cell& a, const Cell& b, ElementType type) const;

  /// Sums of products.
  struct Accumulator {
    double real = 0;
    std::uint64_t integer = 0;
    bool arbitrary = false;
    std::uint32_t terms = 0;
    double size = 0;            // of all products
    double error = 0;           // of the factors
    std::uint64_t bits = 0;     // of the products, added up
    bool has_fraction = false;  // of some factor
    bool underflows = false;
  };
  void add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) const {
    sum.arbitrary = sum.arbitrary || a.arbitrary || b.arbitrary;
    if (type.is_float()) {
      const double product = a.real * b.real;
      sum.real += product;
      sum.size += std::fabs(product);
      sum.bits += std::bit_cast<std::uint64_t>(product);
      sum.has_fraction = sum.has_fraction || has_fraction(a.real) || has_fraction(b.real);
      sum.underflows = sum.underflows || (std::fabs(product) < std::numeric_limits<double>::min() &&
                                          a.real != 0 && b.real != 0);
      sum.error += std::fabs(a.real) * b.error + (std::fabs(b.real) + b.error) * a.error;
      ++sum.terms;
    } else {
      sum.integer += static_cast<std::uint64_t>(a.integer) * static_cast<std::uint64_t>(b.integer);
    }
  }
  /// Whether a number is no integer below 2^51.
  static bool has_fraction(double value) { return (value + 0x1.8p52) - 0x1.8p52 != value; }
  Cell result(const Accumulator& sum, ElementType type) const;
  static constexpr std::size_t kColumns = 8;
  static constexpr std::size_t kRows = 16;  ///< that are multiplied with columns at a time
  /// As PackedColumns, with an array of every part of a number.
  struct Columns {
    double real[kColumns] = {};
    double error[kColumns] = {};
    double reach[kColumns] = {};  ///< magnitudes with their errors
    std::int64_t integer[kColumns] = {};
    std::uint64_t marks = 0;                                 ///< a byte of each column
    double least = std::numeric_limits<double>::infinity();  ///< of all magnitudes but 0

    void set(std::size_t column, const Cell& cell);
  };
  /// Adds the products of the factors of a row with those of as many columns as there are sums, at
  /// most kColumns: columns[k] has their k-th factors. In the order of the row.
  void add_products(std::span<Accumulator> sums, std::span<const Cell> row, const Columns* columns,
                    ElementType type) const;

 private:
  Cell computed(const ElementOperation& operation, std::span<const Cell> operands) const;
  bool has_bounds_ = true;
};

/// `value` modulo 2^bits, in the range of an integer or boolean type.
std::int64_t wrapped(std::uint64_t value, ElementType type);
/// The floating-point number nearest to a text in a type of XLA: what the type rounds it to.
double rounded_constant(double value, ElementType type);
/// The same with subnormal numbers and infinity, for f64, f32, f16 and bf16; `value` of any other.
double rounded_float(double value, ElementType type);
/// A fraction; exact where both parts are below 2^53.
struct Fraction {
  double numerator = 0;
  double denominator = 1;
};
/// The fraction that a constant of a floating-point type stands for: the first convergent of its
/// continued fraction that the type rounds to the constant. Rounding is left out, so that 1/6 is
/// 0.166666672 in f32.
Fraction fraction_of(double value, ElementType type);
/// The value of an element of a constant as double.
double real_constant(const LiteralElement& element);

}  // namespace p2::hlo::interpreter
