#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {

/// All elements of a block: one number, or numbers from `low` to `high`.
struct Range {
  Scalar low = {};
  Scalar high = {};
  bool is_point = true;  ///< all are `low`

  Range() = default;
  Range(const Scalar& point) : low(point), high(point) {}  // NOLINT(google-explicit-constructor)
  Range(const Scalar& from, const Scalar& to) : low(from), high(to), is_point(false) {}
};

/// Arithmetic on elements of which a range is known. A range that is not known to be finite, or
/// nothing is known of, is arbitrary. No bounds of rounding are kept, which grow with every layer
/// of a deep module: results are disturbed instead, which shows what rounding may do.
class Ranges {
 public:
  /// With noise, every result is disturbed at random by up to `noise` of itself, and a constant by
  /// as much as its type may have rounded it.
  explicit Ranges(double noise = 0, std::uint64_t seed = 0) : noise_(noise), state_(seed) {}

  using Cell = Range;
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
    return a.is_point && b.is_point && numbers_.equal(a.low, b.low, type);
  }

  struct Accumulator {
    Numbers::Accumulator points = {};
    double low = 0;  ///< of all ranges
    double high = 0;
    std::uint32_t terms = 0;
    bool arbitrary = false;
  };
  void add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) const;
  Cell result(const Accumulator& sum, ElementType type) const;
  void add_products(std::span<Accumulator> sums, std::span<const Cell> row, const Cell* columns,
                    ElementType type) const;
  static constexpr std::size_t kColumns = 4;
  static constexpr std::size_t kRows = 16;

 private:
  Cell of_ranges(const ElementOperation& operation, std::span<const Cell> operands) const;
  Scalar disturbed(Scalar result, ElementType type) const;
  double drawn() const;
  Cell compared(const ElementOperation& operation, const Cell& a, const Cell& b) const;

  Numbers numbers_;
  double noise_;
  mutable std::uint64_t state_;
};

}  // namespace p2::hlo::interpreter
