#pragma once

#include <vector>

#include "encodings/z3/value.h"

namespace p2::z3_encoding {

/// The integers of the definition language: 0 to 2^64 − 1, every operation total, as
/// engine/collective/language/definition.h says. A term has as many bits as its greatest value
/// needs, so that counting 16 chunks takes 5 bits and not 64; only where a result may pass 2^64 is
/// it computed in 64 bits, which then wrap as the language wants.
class Arithmetic {
 public:
  explicit Arithmetic(z3::context& context) : context_(&context) {}

  Value add(const Value& a, const Value& b) const;
  /// 0 where b > a.
  Value subtract(const Value& a, const Value& b) const;
  Value multiply(const Value& a, const Value& b) const;
  /// 0 where b is 0.
  Value divide(const Value& a, const Value& b) const;
  /// a where b is 0.
  Value modulo(const Value& a, const Value& b) const;

  Value equal(const Value& a, const Value& b) const;
  Value less(const Value& a, const Value& b) const;
  Value less_equal(const Value& a, const Value& b) const;

  /// The sum from the first to the last, so that the counts up to each chunk, which ReduceScatter
  /// compares, are the same terms as the beginnings of longer counts.
  Value sum(const std::vector<Value>& all) const;
  /// 1 if the Boolean holds, else 0.
  Value from_boolean(const Value& a) const;
  /// How many lanes are set.
  Value count_lanes(const z3::expr& lanes) const;

  /// As a bit-vector of `width` bits; `a` must fit.
  z3::expr bits(const Value& a, unsigned width) const;

 private:
  z3::expr at_most(const Value& a, const Value& b) const;

  z3::context* context_;
};

}  // namespace p2::z3_encoding
