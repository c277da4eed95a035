#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {

/// All elements of a block: one number, or numbers from `low` to `high`.
struct NumberRange {
  Scalar low = {};
  Scalar high = {};
  bool is_point = true;  ///< all are `low`
  double shadow = 0;     ///< a point that is computed with disturbed operations

  NumberRange() = default;
  NumberRange(const Scalar& point)  // NOLINT(google-explicit-constructor)
      : low(point), high(point), shadow(point.real) {}
  NumberRange(const Scalar& point, double disturbed) : low(point), high(point), shadow(disturbed) {}
  NumberRange(const Scalar& from, const Scalar& to)
      : low(from), high(to), is_point(false), shadow(from.real) {}
};

/// Arithmetic on elements of which a range is known. A range that is not known to be finite, or
/// nothing is known of, is arbitrary.
///
/// No bounds of rounding are kept, which grow with every layer of a deep module. Points are
/// computed twice instead, once with every operation disturbed at random, and every constant by as
/// much as its type may have rounded it: how far both are apart shows what rounding may do. A
/// comparison of numbers that are hardly farther apart than that is arbitrary.
class Ranges {
 public:
  explicit Ranges(std::uint64_t seed = 1) : state_(seed) {}

  using Cell = NumberRange;
  static constexpr bool kSymbolic = false;
  static constexpr bool kMayRound = false;
  static constexpr bool kHasRanges = true;

  Cell constant(const LiteralElement& element, ElementType type) const;
  Cell integer(std::int64_t value, ElementType type) const { return numbers_.integer(value, type); }
  Cell range(std::int64_t first, std::int64_t last, ElementType type) const;
  /// Throws LimitReached where the elements of a block differ: one of them does not stand for all.
  std::optional<std::int64_t> as_integer(const Cell& cell, ElementType type) const;
  Cell arbitrary(std::uint64_t key, ElementType type) const {
    return numbers_.arbitrary(key, type);
  }
  Cell apply(const ElementOperation& operation, std::span<const Cell> operands) const;
  Cell exact(const Cell& cell, ElementType /*type*/) const { return cell; }
  bool equal(const Cell& a, const Cell& b, ElementType type) const {
    return a.is_point && b.is_point && numbers_.equal(a.low, b.low, type) && a.shadow == b.shadow;
  }

  struct Accumulator {
    Numbers::Accumulator points = {};
    double shadow = 0;
    double low = 0;  ///< of all ranges
    double high = 0;
    std::uint32_t terms = 0;
    bool arbitrary = false;
  };
  void add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) const;
  Cell result(const Accumulator& sum, ElementType type) const;
  static constexpr std::size_t kColumns = 4;
  static constexpr std::size_t kRows = 16;
  using Columns = PackedColumns<Cell, kColumns>;
  void add_products(std::span<Accumulator> sums, std::span<const Cell> row, const Columns* columns,
                    ElementType type) const;

 private:
  Cell of_ranges(const ElementOperation& operation, std::span<const Cell> operands) const;
  std::optional<Cell> of_point_and_range(const ElementOperation& operation,
                                         std::span<const Cell> operands) const;
  Cell of_points(const ElementOperation& operation, std::span<const Cell> operands) const;
  double drawn() const;
  Cell compared(const ElementOperation& operation, const Cell& a, const Cell& b) const;

  Numbers numbers_ = Numbers::without_bounds();
  mutable std::uint64_t state_;
};

}  // namespace p2::hlo::interpreter
