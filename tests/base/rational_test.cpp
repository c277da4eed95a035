#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <limits>
#include <sstream>
#include <vector>

#include "engine/base/invariant.h"
#include "engine/base/rational.h"

using namespace p2;

namespace {

using Exact = boost::multiprecision::cpp_rational;

std::string text_of(const Exact& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

struct Pair {
  Rational own;
  Exact exact;
};

/// Numbers of all sizes: small, at the borders of 64 bits, and beyond.
Pair any_number() {
  static const std::vector<std::int64_t> kBorders{0,         1,          -1,        2,
                                                  3,         INT64_MAX,  INT64_MIN, INT64_MIN + 1,
                                                  INT64_MAX - 1, 1LL << 32, -(1LL << 31)};
  const auto part = [&] {
    return *rc::gen::inRange(0, 3) == 0 ? *rc::gen::elementOf(kBorders)
                                        : *rc::gen::inRange<std::int64_t>(-1000, 1000);
  };
  const std::int64_t numerator = part();
  std::int64_t denominator = part();
  if (denominator == 0) denominator = 7;
  Pair pair{Rational(numerator, denominator), Exact(numerator) / Exact(denominator)};
  if (*rc::gen::inRange(0, 4) == 0) {
    const std::int64_t factor = *rc::gen::elementOf(kBorders);
    pair = {pair.own * factor + 1, pair.exact * factor + 1};
  }
  return pair;
}

}  // namespace

TEST_CASE("rationals agree with Boost's on numbers of all sizes") {
  CHECK(rc::check([] {
    const Pair a = any_number();
    const Pair b = any_number();
    RC_ASSERT(a.own.to_string() == text_of(a.exact));
    RC_ASSERT((a.own + b.own).to_string() == text_of(a.exact + b.exact));
    RC_ASSERT((a.own - b.own).to_string() == text_of(a.exact - b.exact));
    RC_ASSERT((a.own * b.own).to_string() == text_of(a.exact * b.exact));
    if (b.exact != 0) RC_ASSERT((a.own / b.own).to_string() == text_of(a.exact / b.exact));
    RC_ASSERT((a.own == b.own) == (a.exact == b.exact));
    RC_ASSERT((a.own < b.own) == (a.exact < b.exact));
    RC_ASSERT((a.own + b.own) - b.own == a.own);
    RC_ASSERT(to_double(a.own) == a.exact.convert_to<double>());
    Rational copy = a.own;
    Rational moved = std::move(copy);
    copy = b.own;
    RC_ASSERT(moved == a.own);
    RC_ASSERT(copy == b.own);
    RC_ASSERT(a.own.numerator() / a.own.denominator() == a.own);
    const Rational floor = a.own.floor();
    RC_ASSERT(floor.is_whole());
    RC_ASSERT(floor <= a.own);
    RC_ASSERT(a.own < floor + 1);
  }));
}

TEST_CASE("rounding goes to the nearest whole number, halves to the even one") {
  CHECK(nearest(Rational(1, 2)) == 0);
  CHECK(nearest(Rational(3, 2)) == 2);
  CHECK(nearest(Rational(5, 2)) == 2);
  CHECK(nearest(Rational(8, 3)) == 3);
  CHECK(nearest(Rational(INT64_MAX) * 4) == INT64_MAX);
  CHECK(Rational(-7, 3).floor() == -3);
}

TEST_CASE("conversions say when a number does not fit") {
  CHECK(Rational(UINT64_MAX).to_uint64() == UINT64_MAX);
  CHECK_THROWS_AS(Rational(UINT64_MAX).to_int64(), LimitReached);
  CHECK_THROWS_AS(Rational(1, 2).to_int64(), LimitReached);
  CHECK_THROWS_AS(Rational(-1).to_uint64(), LimitReached);
  CHECK((Rational(UINT64_MAX) - UINT64_MAX + 5).to_int64() == 5);
  CHECK_THROWS_AS(Rational(1) / Rational(0), InternalError);
}
