#include "encodings/z3/ladder.h"

#include <bit>
#include <string>

#include <doctest/doctest.h>

#include "encodings/z3/arithmetic.h"

using p2::z3_encoding::Arithmetic;
using p2::z3_encoding::Value;

namespace {

/// Counts of symbols, and what terms over them are worth where the symbols are the bits of a
/// number.
class Counted {
 public:
  static constexpr unsigned kSymbols = 5;

  explicit Counted(z3::context& context) : context_(context), symbols_(context) {
    for (unsigned i = 0; i < kSymbols; ++i) {
      symbols_.push_back(context.bool_const(("b" + std::to_string(i)).c_str()));
    }
  }

  /// How many of the first `symbols` hold.
  Value count(unsigned symbols) const {
    const Arithmetic arithmetic(context_);
    std::vector<Value> ones;
    for (unsigned i = 0; i < symbols; ++i) {
      ones.push_back(arithmetic.from_boolean(Value::truth(symbols_[static_cast<int>(i)])));
    }
    return arithmetic.sum(ones);
  }
  bool holds(const Value& value, unsigned bits) const {
    if (!value.term) return value.known == 1;
    z3::expr_vector values(context_);
    for (unsigned i = 0; i < kSymbols; ++i)
      values.push_back(context_.bool_val((bits >> i) % 2 == 1));
    z3::expr term = *value.term;
    const z3::expr worth = term.substitute(symbols_, values).simplify();
    REQUIRE((worth.is_true() || worth.is_false()));
    return worth.is_true();
  }

 private:
  z3::context& context_;
  z3::expr_vector symbols_;
};

std::uint64_t ones(unsigned bits, unsigned symbols) {
  return static_cast<std::uint64_t>(std::popcount(bits & ((1U << symbols) - 1)));
}

}  // namespace

TEST_CASE("counts compare as numbers: with multiples of each other, remainders and constants") {
  z3::context context;
  const Arithmetic arithmetic(context);
  const Counted counted(context);
  const Value all = counted.count(Counted::kSymbols);
  const Value some = counted.count(3);
  REQUIRE(all.ladder);
  for (std::uint64_t k = 1; k < 5; ++k) {
    const Value multiple = arithmetic.multiply(some, Value::of(k));
    const Value other = arithmetic.multiply(Value::of(3), all);
    const Value rest = arithmetic.modulo(all, Value::of(k));
    REQUIRE(multiple.ladder);
    const Value equal = arithmetic.equal(multiple, all);
    const Value less = arithmetic.less(multiple, other);
    const Value at_most = arithmetic.less_equal(other, multiple);
    const Value divides = arithmetic.equal(rest, Value::of(0));
    const Value same_rest = arithmetic.equal(rest, arithmetic.modulo(some, Value::of(k)));
    for (unsigned bits = 0; bits < 1U << Counted::kSymbols; ++bits) {
      const std::uint64_t a = ones(bits, 3) * k;
      const std::uint64_t b = ones(bits, Counted::kSymbols);
      CHECK(counted.holds(equal, bits) == (a == b));
      CHECK(counted.holds(less, bits) == (a < b * 3));
      CHECK(counted.holds(at_most, bits) == (b * 3 <= a));
      CHECK(counted.holds(divides, bits) == (b % k == 0));
      CHECK(counted.holds(same_rest, bits) == (b % k == ones(bits, 3) % k));
    }
  }
}

TEST_CASE("a count and a constant, below, within and above its range") {
  z3::context context;
  const Arithmetic arithmetic(context);
  const Counted counted(context);
  const Value twice = arithmetic.multiply(counted.count(3), Value::of(2));
  for (std::uint64_t constant : {0ULL, 1ULL, 2ULL, 3ULL, 5ULL, 6ULL, 7ULL, ~0ULL}) {
    const Value number = Value::of(constant);
    for (unsigned bits = 0; bits < 8; ++bits) {
      const std::uint64_t value = 2 * ones(bits, 3);
      CHECK(counted.holds(arithmetic.equal(twice, number), bits) == (value == constant));
      CHECK(counted.holds(arithmetic.less(twice, number), bits) == (value < constant));
      CHECK(counted.holds(arithmetic.less(number, twice), bits) == (constant < value));
      CHECK(counted.holds(arithmetic.less_equal(twice, number), bits) == (value <= constant));
      CHECK(counted.holds(arithmetic.less_equal(number, twice), bits) == (constant <= value));
    }
  }
}
