#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/hlo/interpreter/algebra.h"

// Random interpretation against IEEE 754 on inputs whose exponentials are infinite: what it finds
// equal is equal there too, so that nothing that may be infinite is multiplied by 0 and left out.

namespace p2::hlo::interpreter {
namespace {

constexpr std::size_t kConditions = 2;
constexpr std::size_t kInputs = 3;

struct Expression;
using Pointer = std::shared_ptr<const Expression>;

/// A positive function of inputs, or 0. Without differences, infinities do not cancel.
struct Expression {
  enum class Kind : std::uint8_t {
    Zero,
    Constant,
    Input,
    Exponential,
    Condition,
    Add,
    Multiply,
    Select
  };
  Kind kind = Kind::Zero;
  std::size_t number = 0;  ///< of the input or the condition
  Pointer left = {};
  Pointer right = {};
};
using Kind = Expression::Kind;

Pointer make(Kind kind, std::size_t number = 0, Pointer left = {}, Pointer right = {}) {
  return std::make_shared<const Expression>(
      Expression{kind, number, std::move(left), std::move(right)});
}

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

Pointer drawn(Random& random, int depth) {
  const std::size_t choice = below(random, depth == 0 ? 3 : 8);
  if (choice == 0) return make(Kind::Input, below(random, kInputs));
  if (choice == 1) return make(Kind::Exponential, below(random, kInputs));
  if (choice == 2) return make(Kind::Constant);
  const Pointer left = drawn(random, depth - 1);
  const Pointer right = below(random, 4) == 0 ? make(Kind::Zero) : drawn(random, depth - 1);
  if (choice == 3) return make(Kind::Add, 0, left, right);
  if (choice <= 5) return make(Kind::Multiply, 0, left, right);
  const std::size_t condition = below(random, kConditions);
  return below(random, 2) == 0 ? make(Kind::Select, condition, left, right)
                               : make(Kind::Select, condition, left, make(Kind::Zero));
}

/// Another expression, equal or not: at one of the nodes, products and selections change places.
Pointer rewritten(Random& random, const Pointer& given) {
  if (!given->left) return given;
  if (below(random, 2) == 0) {
    return below(random, 2) == 0
               ? make(given->kind, given->number, rewritten(random, given->left), given->right)
               : make(given->kind, given->number, given->left, rewritten(random, given->right));
  }
  const Pointer& a = given->left;
  const Pointer& b = given->right;
  if (given->kind == Kind::Multiply) {
    if (a->kind == Kind::Select) {
      return make(Kind::Select, a->number, make(Kind::Multiply, 0, a->left, b),
                  a->right->kind == Kind::Zero && below(random, 2) == 0
                      ? a->right
                      : make(Kind::Multiply, 0, a->right, b));
    }
    if (a->kind == Kind::Multiply && below(random, 2) == 0) {
      return make(Kind::Multiply, 0, a->left, make(Kind::Multiply, 0, a->right, b));
    }
    return make(Kind::Multiply, 0, b, a);
  }
  if (given->kind == Kind::Add) {
    if (a->kind == Kind::Select && b->kind == Kind::Select && a->number == b->number) {
      return make(Kind::Select, a->number, make(Kind::Add, 0, a->left, b->left),
                  make(Kind::Add, 0, a->right, b->right));
    }
    return make(Kind::Add, 0, b, a);
  }
  if (b->kind == Kind::Zero && below(random, 2) == 0) {
    return make(Kind::Multiply, 0, make(Kind::Condition, given->number), a);
  }
  if (a->kind == Kind::Multiply && b->kind == Kind::Multiply && a->right == b->right) {
    return make(Kind::Multiply, 0, make(Kind::Select, given->number, a->left, b->left), a->right);
  }
  if (a->kind == Kind::Multiply && b->kind == Kind::Zero) {
    return make(Kind::Multiply, 0, make(Kind::Select, given->number, a->left, b), a->right);
  }
  return make(Kind::Add, 0, make(Kind::Select, given->number, a, make(Kind::Zero)),
              make(Kind::Select, given->number, make(Kind::Zero), b));
}

std::string text_of(const Expression& given) {
  const auto operands = [&] { return text_of(*given.left) + ", " + text_of(*given.right) + ")"; };
  switch (given.kind) {
    case Kind::Zero:
      return "0";
    case Kind::Constant:
      return "0.5";
    case Kind::Input:
      return "x" + std::to_string(given.number);
    case Kind::Exponential:
      return "exp(x" + std::to_string(given.number) + ")";
    case Kind::Condition:
      return "c" + std::to_string(given.number);
    case Kind::Add:
      return "add(" + operands();
    case Kind::Multiply:
      return "multiply(" + operands();
    case Kind::Select:
      return "select(c" + std::to_string(given.number) + ", " + operands();
  }
  return {};
}

struct Point {
  std::array<double, kInputs> inputs = {};
  std::array<bool, kConditions> conditions = {};
};

double value_of(const Expression& given, const Point& at) {
  switch (given.kind) {
    case Kind::Zero:
      return 0;
    case Kind::Constant:
      return 0.5;
    case Kind::Input:
      return at.inputs[given.number];
    case Kind::Exponential:
      return std::exp(at.inputs[given.number]);
    case Kind::Condition:
      return at.conditions[given.number] ? 1 : 0;
    case Kind::Add:
      return value_of(*given.left, at) + value_of(*given.right, at);
    case Kind::Multiply:
      return value_of(*given.left, at) * value_of(*given.right, at);
    case Kind::Select:
      return value_of(at.conditions[given.number] ? *given.left : *given.right, at);
  }
  return 0;
}

class Interpretation {
 public:
  Interpretation(std::uint64_t seed, Algebra::Selections selections)
      : algebra_(seed, FloatEquality::Real, selections) {}

  Term of(const Expression& given) {
    const auto apply = [&](Element code, std::initializer_list<Term> operands) {
      return algebra_.apply({code, Direction::Eq, kFloat, kFloat},
                            std::span(operands.begin(), operands.size()));
    };
    const std::uint64_t keys[] = {given.number};
    const std::uint64_t condition_keys[] = {100 + given.number};
    const auto condition = [&] {
      const Term operands[] = {algebra_.input(condition_keys, kFloat), Term()};
      return algebra_.apply({Element::Compare, Direction::Gt, kFloat, kTruth}, operands);
    };
    switch (given.kind) {
      case Kind::Zero:
        return {};
      case Kind::Constant:
        return apply(Element::Divide,
                     {apply(Element::Exponential, {Term()}),
                      apply(Element::Add, {apply(Element::Exponential, {Term()}),
                                           apply(Element::Exponential, {Term()})})});
      case Kind::Input:
        return algebra_.input(keys, kFloat);
      case Kind::Exponential:
        return apply(Element::Exponential, {algebra_.input(keys, kFloat)});
      case Kind::Condition: {
        const Term operands[] = {condition()};
        return algebra_.apply({Element::Convert, Direction::Eq, kTruth, kFloat}, operands);
      }
      case Kind::Add:
        return apply(Element::Add, {of(*given.left), of(*given.right)});
      case Kind::Multiply:
        return apply(Element::Multiply, {of(*given.left), of(*given.right)});
      case Kind::Select:
        return apply(Element::Select, {condition(), of(*given.left), of(*given.right)});
    }
    return {};
  }
  bool equal(const Expression& a, const Expression& b) {
    return algebra_.equal(of(a), of(b), kFloat);
  }

 private:
  const ElementType kFloat = *ElementType::from_xla("f32");
  const ElementType kTruth = *ElementType::from_xla("pred");
  Algebra algebra_;
};

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 1e-9 * std::fabs(a);
}

/// Equal where every input is small, or so large that its exponential is infinite.
bool equal_everywhere(const Expression& a, const Expression& b) {
  for (std::size_t bits = 0; bits < 1U << (kInputs + kConditions); ++bits) {
    Point at;
    for (std::size_t k = 0; k < kInputs; ++k) {
      at.inputs[k] = (bits >> k & 1U) != 0 ? 1000.0 + static_cast<double>(k)
                                           : 0.3 + 0.21 * static_cast<double>(k);
    }
    for (std::size_t k = 0; k < kConditions; ++k) {
      at.conditions[k] = (bits >> (kInputs + k) & 1U) != 0;
    }
    if (!same(value_of(a, at), value_of(b, at))) return false;
  }
  return true;
}

TEST_CASE("what random interpretation finds equal is so where exponentials are infinite") {
  Random random(0x5E1EC7);
  std::size_t found = 0;
  std::size_t missed = 0;
  std::size_t different = 0;
  for (int k = 0; k < 40'000; ++k) {
    const Pointer before = drawn(random, 4);
    Pointer after = before;
    for (std::size_t rewrites = 1 + below(random, 4); rewrites > 0; --rewrites) {
      after = rewritten(random, after);
    }
    bool is_found = false;
    for (const auto selections :
         {Algebra::Selections::Uninterpreted, Algebra::Selections::Linear}) {
      Interpretation algebra(static_cast<std::uint64_t>(k), selections);
      is_found = algebra.equal(*before, *after) || is_found;
    }
    const bool is_equal = equal_everywhere(*before, *after);
    INFO(text_of(*before));
    INFO(text_of(*after));
    REQUIRE((is_equal || !is_found));
    found += is_found ? 1 : 0;
    missed += is_equal && !is_found ? 1 : 0;
    different += is_equal ? 0 : 1;
  }
  CHECK(found > 20'000);
  CHECK(missed < 4'000);
  CHECK(different > 1'000);
}

TEST_CASE("a selection of what may be infinite is linear") {
  const Pointer infinite = make(Kind::Exponential, 0);
  const Pointer other = make(Kind::Exponential, 1);
  const Pointer half = make(Kind::Constant);
  const Pointer zero = make(Kind::Zero);
  const auto times = [](const Pointer& a, const Pointer& b) {
    return make(Kind::Multiply, 0, a, b);
  };
  const auto select = [&](const Pointer& a) { return make(Kind::Select, 0, a, zero); };
  Interpretation algebra(7, Algebra::Selections::Linear);
  // As where data parallelism divides a gradient, before and after ReLU.
  CHECK(algebra.equal(*select(times(half, infinite)), *times(half, select(infinite))));
  CHECK(algebra.equal(*times(select(times(half, infinite)), other),
                      *times(half, times(select(infinite), other))));
  // 0 · ∞ is no 0.
  CHECK_FALSE(algebra.equal(*select(times(infinite, other)), *times(select(infinite), other)));
  CHECK_FALSE(algebra.equal(*times(select(other), infinite), *times(select(infinite), other)));
  CHECK_FALSE(algebra.equal(*select(infinite), *times(make(Kind::Condition, 0), infinite)));
}

/// Terms with and without bounds, constants among them, and maxima of others.
std::vector<Term> drawn_terms(Algebra& algebra, Random& random, ElementType type) {
  std::vector<Term> terms;
  for (std::size_t i = 0; i < 3 + below(random, 12); ++i) {
    const std::uint64_t keys[] = {below(random, 6)};
    const Term input = algebra.input(keys, type);
    const Term operands[] = {input, algebra.integer(static_cast<int>(below(random, 5)) - 2, type)};
    const auto apply = [&](Element code) {
      return algebra.apply({code, {}, type, type}, operands);
    };
    switch (below(random, 6)) {
      case 0:
        terms.push_back(operands[1]);
        break;
      case 1:
        terms.push_back(apply(Element::Maximum));
        break;
      case 2:
        terms.push_back(apply(Element::Exponential));
        break;
      case 3:
        terms.push_back(apply(Element::Log));
        break;
      default:
        terms.push_back(input);
    }
  }
  return terms;
}

TEST_CASE("maxima and sums of products of a list are those of its elements one by one") {
  const auto f32 = *ElementType::from_xla("f32");
  Random random(0x5EED19);
  for (int round = 0; round < 20'000; ++round) {
    Algebra algebra(0x5EED19);
    Algebra other(0x5EED19);
    const Random state = random;
    const std::vector<Term> terms = drawn_terms(algebra, random, f32);
    random = state;
    drawn_terms(other, random, f32);
    for (const Element code : {Element::Maximum, Element::Minimum}) {
      const ElementOperation operation{code, {}, f32, f32};
      Term total = terms[0];
      for (std::size_t i = 1; i < terms.size(); ++i) {
        const Term operands[] = {total, terms[i]};
        total = algebra.apply(operation, operands);
      }
      const Term found = *other.extremum(operation, terms[0], std::span(terms).subspan(1));
      CHECK(found.value == total.value);
      CHECK(found.low == total.low);
      CHECK(found.high == total.high);
      CHECK((found.nan || !total.nan));
    }
    std::vector<Algebra::Columns> columns(terms.size());
    std::vector<Algebra::Accumulator> one_by_one(Algebra::kColumns);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      for (std::size_t j = 0; j < Algebra::kColumns; ++j) {
        const Term& factor = terms[below(random, terms.size())];
        columns[k].set(j, factor);
        algebra.add_product(one_by_one[j], terms[k], factor, f32);
      }
    }
    std::vector<Algebra::Accumulator> sums(Algebra::kColumns);
    other.add_products(sums, terms, columns.data(), f32);
    for (std::size_t j = 0; j < Algebra::kColumns; ++j) {
      const Term expected = algebra.result(one_by_one[j], f32);
      const Term found = other.result(sums[j], f32);
      CHECK(
          std::tuple(found.value, found.exponent, found.low, found.high, found.nan) ==
          std::tuple(expected.value, expected.exponent, expected.low, expected.high, expected.nan));
    }
  }
}

TEST_CASE("whether all or any of a list is true is that of its elements one by one") {
  const auto pred = *ElementType::from_xla("pred");
  Random random(0x5EED20);
  for (int round = 0; round < 10'000; ++round) {
    Algebra algebra(0x5EED20);
    const auto apply = [&](Element code, const Term& a, const Term& b) {
      const Term operands[] = {a, b};
      return algebra.apply({code, {}, pred, pred}, operands);
    };
    const auto input = [&] {
      const std::uint64_t keys[] = {below(random, 20)};
      return algebra.input(keys, pred);
    };
    std::vector<Term> terms;
    for (std::size_t i = 0; i < 3 + below(random, 12); ++i) {
      const std::size_t kind = below(random, 8);
      terms.push_back(kind == 0   ? algebra.integer(below(random, 2), pred)
                      : kind == 1 ? apply(Element::Or, input(), input())
                      : kind == 2 ? apply(Element::And, input(), input())
                                  : input());
    }
    for (const Element code : {Element::And, Element::Or}) {
      Term total = terms[0];
      for (std::size_t i = 1; i < terms.size(); ++i) total = apply(code, total, terms[i]);
      const Term found =
          *algebra.extremum({code, {}, pred, pred}, terms[0], std::span(terms).subspan(1));
      CHECK(found.value == total.value);
      CHECK(found.low == total.low);
      CHECK(found.high == total.high);
    }
  }
  // As n - 1 of two these would be 10^10 members.
  Algebra algebra(0x5EED21);
  std::vector<Term> many;
  for (std::uint64_t k = 0; k < 150'000; ++k) {
    const std::uint64_t keys[] = {k};
    many.push_back(algebra.input(keys, pred));
  }
  const auto any = algebra.extremum({Element::Or, {}, pred, pred}, algebra.integer(0, pred), many);
  CHECK(algebra.members_of(any.value()) == many.size());
  CHECK(algebra.members_of(many[0]) == 1);
}

}  // namespace
}  // namespace p2::hlo::interpreter
