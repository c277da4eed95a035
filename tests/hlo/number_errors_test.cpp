// The bound of every number's rounding error: random expressions, computed in double and in a
// longer precision.

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo {
namespace {

using interpreter::Direction;
using interpreter::Element;
using interpreter::ElementOperation;
using interpreter::Numbers;
using interpreter::Scalar;

/// A number, as the interpreter has it and in a longer precision.
struct Both {
  Scalar number;
  long double longer = 0;
  bool is_known = true;  ///< false: rounding of the longer precision decides it, too
  std::string text = {};
};

long double longer_function(Element code, long double a, long double b) {
  switch (code) {
    case Element::Abs:
      return std::fabs(a);
    case Element::Add:
      return a + b;
    case Element::Atan2:
      return std::atan2(a, b);
    case Element::Cbrt:
      return std::cbrt(a);
    case Element::Ceil:
      return std::ceil(a);
    case Element::Cosine:
      return std::cos(a);
    case Element::Divide:
      return a / b;
    case Element::Erf:
      return std::erf(a);
    case Element::Exponential:
      return std::exp(a);
    case Element::ExponentialMinusOne:
      return std::expm1(a);
    case Element::Floor:
      return std::floor(a);
    case Element::Log:
      return std::log(a);
    case Element::LogPlusOne:
      return std::log1p(a);
    case Element::Logistic:
      return 1 / (1 + std::exp(-a));
    case Element::Maximum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
    case Element::Minimum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
    case Element::Multiply:
      return a * b;
    case Element::Negate:
      return -a;
    case Element::Power:
      return std::pow(a, b);
    case Element::Remainder:
      return std::fmod(a, b);
    case Element::RoundAway:
      return std::round(a);
    case Element::RoundEven:
      return std::nearbyint(a);
    case Element::Rsqrt:
      return 1 / std::sqrt(a);
    case Element::Sign:
      return std::isnan(a) ? NAN : static_cast<long double>((a > 0) - (a < 0));
    case Element::Sine:
      return std::sin(a);
    case Element::Sqrt:
      return std::sqrt(a);
    case Element::Subtract:
      return a - b;
    case Element::Tan:
      return std::tan(a);
    default:
      return std::tanh(a);
  }
}

constexpr Element kFunctions[] = {
    Element::Abs,       Element::Add,      Element::Add,         Element::Atan2,
    Element::Cbrt,      Element::Ceil,     Element::Cosine,      Element::Divide,
    Element::Divide,    Element::Erf,      Element::Exponential, Element::ExponentialMinusOne,
    Element::Floor,     Element::Log,      Element::LogPlusOne,  Element::Logistic,
    Element::Maximum,   Element::Minimum,  Element::Multiply,    Element::Multiply,
    Element::Negate,    Element::Power,    Element::Remainder,   Element::RoundAway,
    Element::RoundEven, Element::Rsqrt,    Element::Sign,        Element::Sine,
    Element::Sqrt,      Element::Subtract, Element::Subtract,    Element::Tan,
    Element::Tanh};

/// Random expressions over few numbers, where equal ones are met by different ways.
class RoundedExpressions {
 public:
  explicit RoundedExpressions(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      const double value = (static_cast<double>(below(2001)) - 1000) / 256;
      all_.push_back({{value}, value, true, fmt::format("{}", value)});
    }
    static const char* const kConstants[] = {
        "0",    "1",   "0.5",  "2",   "0.1",   "0.3333333333333333",
        "1e18", "1e3", "-1e3", "1e5", "1e-30", "3"};
    static constexpr double kTop[] = {0, 1, 1, 2, 1, 1, 1e18, 1e3, -1e3, 1e5, 1, 3};
    static constexpr double kBottom[] = {1, 1, 2, 1, 10, 3, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < 4; ++i) {
      const std::size_t k = below(std::size(kConstants));
      LiteralElement element;
      element.text = kConstants[k];
      const Scalar number = numbers_.constant(element, kReal);
      const long double exact = std::string_view(kConstants[k]) == "1e-30"
                                    ? static_cast<long double>(number.real)
                                    : static_cast<long double>(kTop[k]) / kBottom[k];
      all_.push_back({number, exact, true, kConstants[k]});
    }
  }

  void grow() {
    const Element code = kFunctions[below(std::size(kFunctions))];
    const Both& x = any();
    const Both& y = any();
    switch (below(8)) {
      case 0: {  // l and r of the modules above
        const Both& z = any();
        all_.push_back(result(Element::Multiply, x, result(Element::Add, y, z)));
        all_.push_back(
            result(Element::Add, result(Element::Multiply, x, y), result(Element::Multiply, x, z)));
        return;
      }
      case 1:
        choose(x, y);
        return;
      case 2:
        all_.push_back(truncated(x));
        return;
      default:
        all_.push_back(result(code, x, y));
    }
  }

  /// What is wrong with the last ones, or empty.
  std::string wrong() {
    for (; checked_ < all_.size(); ++checked_) {
      const Both& each = all_[checked_];
      const Scalar& number = each.number;
      if (number.arbitrary || !each.is_known || std::isinf(number.error)) continue;
      if (!std::isfinite(each.longer) && !std::isfinite(number.real)) continue;
      ++compared;
      const long double distance = std::fabs(each.longer - number.real);
      if (!(distance <=
            static_cast<long double>(number.error) + 0x1p-58L * std::fabs(each.longer))) {
        return fmt::format("{} is {} ± {}, but {}", each.text, number.real, number.error,
                           static_cast<double>(each.longer));
      }
    }
    return {};
  }

  std::size_t compared = 0;

 private:
  static inline const ElementType kReal = *ElementType::from_xla("f64");
  static inline const ElementType kBoolean = *ElementType::from_xla("pred");
  static inline const ElementType kInteger = *ElementType::from_xla("s64");

  std::size_t below(std::size_t n) { return random_() % n; }
  Both any() {
    const std::size_t recent = std::min<std::size_t>(all_.size(), 6);
    return below(2) == 0 ? all_[all_.size() - 1 - below(recent)] : all_[below(all_.size())];
  }

  Both result(Element code, const Both& x, const Both& y) {
    static const std::set<Element> kBinary = {
        Element::Add,      Element::Atan2, Element::Divide,    Element::Maximum, Element::Minimum,
        Element::Multiply, Element::Power, Element::Remainder, Element::Subtract};
    const Scalar operands[] = {x.number, y.number};
    const ElementOperation operation{code, {}, kReal, kReal};
    return {numbers_.apply(operation, std::span(operands, kBinary.contains(code) ? 2 : 1)),
            longer_function(code, x.longer, y.longer), x.is_known && y.is_known,
            fmt::format("{}({}, {})", static_cast<int>(code), x.text, y.text)};
  }

  void choose(const Both& x, const Both& y) {
    static constexpr Direction kDirections[] = {Direction::Lt, Direction::Le, Direction::Eq};
    const Direction direction = kDirections[below(3)];
    const ElementOperation compare{Element::Compare, direction, kReal, kBoolean};
    const ElementOperation select{Element::Select, {}, kReal, kReal};
    const Both a = any();
    const Both b = any();
    const Scalar sides[] = {x.number, y.number};
    const Scalar choice[] = {numbers_.apply(compare, sides), a.number, b.number};
    const bool holds = direction == Direction::Lt   ? x.longer < y.longer
                       : direction == Direction::Le ? x.longer <= y.longer
                                                    : x.longer == y.longer;
    // The longer precision rounds, too, where the shorter one takes numbers for equal.
    const bool is_near = std::fabs(x.longer - y.longer) <=
                         0x1p-8L * (static_cast<long double>(x.number.error) + y.number.error);
    const bool takes_for_equal = x.number.real == y.number.real;
    all_.push_back({numbers_.apply(select, choice), holds ? a.longer : b.longer,
                    x.is_known && y.is_known && a.is_known && b.is_known &&
                        !(is_near && x.longer != y.longer && takes_for_equal),
                    fmt::format("({} {} {} ? {} : {})", x.text, static_cast<int>(direction), y.text,
                                a.text, b.text)});
  }

  Both truncated(const Both& x) {
    const ElementOperation to_integer{Element::Convert, {}, kReal, kInteger};
    const ElementOperation to_real{Element::Convert, {}, kInteger, kReal};
    const Scalar from[] = {x.number};
    const Scalar integer[] = {numbers_.apply(to_integer, from)};
    const bool is_small = std::fabs(x.longer) < 0x1p52L;
    return {numbers_.apply(to_real, integer), std::trunc(x.longer), x.is_known && is_small,
            fmt::format("integer({})", x.text)};
  }

  Numbers numbers_;
  std::mt19937_64 random_;
  std::vector<Both> all_;
  std::size_t checked_ = 0;
};

}  // namespace

TEST_CASE("numbers that rounding does not decide are those of a longer precision") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    RoundedExpressions expressions(seed);
    for (int k = 0; k < 24; ++k) expressions.grow();
    const std::string wrong = expressions.wrong();
    CAPTURE(seed);
    REQUIRE(wrong == "");
    compared += expressions.compared;
  }
  CHECK(compared > 200000);
}

TEST_CASE("sums of products of a row with columns are those of its factors one by one") {
  const double kSpecial[] = {0,
                             -0.0,
                             1e-160,
                             -1e-310,
                             1e300,
                             0.1,
                             std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  const Numbers numbers;
  std::mt19937_64 random(0x5EED31);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 20'000; ++round) {
    const ElementType type = *ElementType::from_xla(below(4) == 0 ? "s32" : "f32");
    // Half of the rounds are of small integers only, whose sums are exact.
    const std::uint64_t special = below(2);
    const auto drawn = [&]() -> Scalar {
      const double real = special != 0 && below(8) == 0 ? kSpecial[below(std::size(kSpecial))]
                                                        : static_cast<double>(below(17)) - 8;
      const auto integer = static_cast<std::int64_t>(below(1 << 20)) - (1 << 19);
      const auto error = static_cast<float>(below(4) == 0 ? std::ldexp(1.0, -30) : 0);
      return {real, integer, below(50) == 0, error};
    };
    const std::size_t width = 1 + below(Numbers::kColumns);
    std::vector<Scalar> row;
    std::vector<Numbers::Columns> columns(below(6));
    std::vector<Numbers::Accumulator> one_by_one(width);
    std::vector<Numbers::Accumulator> sums(width);
    for (Numbers::Columns& of_row : columns) {
      row.push_back(drawn());
      for (std::size_t j = 0; j < width; ++j) {
        const Scalar factor = drawn();
        of_row.set(j, factor);
        numbers.add_product(one_by_one[j], row.back(), factor, type);
      }
    }
    numbers.add_products(sums, row, columns.data(), type);
    for (std::size_t j = 0; j < width; ++j) {
      const Scalar expected = numbers.result(one_by_one[j], type);
      const Scalar found = numbers.result(sums[j], type);
      CHECK((found.real == expected.real || (found.real != found.real)));
      CHECK((found.real != found.real) == (expected.real != expected.real));
      CHECK(found.integer == expected.integer);
      CHECK(found.arbitrary == expected.arbitrary);
      CHECK((found.error == expected.error || (found.error != found.error)));
      CHECK((found.error != found.error) == (expected.error != expected.error));
    }
  }
}

}  // namespace p2::hlo
