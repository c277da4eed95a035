// Functions of elements have one form: element by element, and where a law does not apply.

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/made_tensors.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Tensors;
using kernel::xla::type_called;

/// Tensors of [2,3], [2], [3] and scalars, real or truth values, with their elements. Inputs are
/// neither zero nor near to it, so that nothing is infinite but by constants.
class Expressions : private MadeTensors {
 public:
  using MadeTensors::MadeTensors;
  using MadeTensors::simplified;

  void run() {
    for (const Index& sizes : kSizes) input(sizes);
    for (int k = 0; k < 16; ++k) step();
    check_elements();
  }

 private:
  inline static const std::vector<Index> kSizes = {{2, 3}, {2, 3}, {2}, {3}, {}};

  /// Operands that are sorted are the same.
  bool has_other_form(const Form& form, const std::vector<std::size_t>& operands,
                      const Tensors::Tensor& made) const override {
    const bool is_sorted = made.operands.size() == 2 && made.operands[0] == operands.back() &&
                           made.operands[1] == operands[0];
    return made.form != form || (made.operands != operands && !is_sorted);
  }
  std::size_t input(const Index& sizes) {
    Array array{sizes, {}};
    for (std::size_t k = 0; k < indices_of(sizes).size(); ++k) {
      const double size = 0.5 + static_cast<double>(below(1000)) / 500;
      array.cells.push_back(below(2) == 0 ? size : -size);
    }
    return add_input(std::move(array), "f32");
  }
  std::size_t apply(const Form& form, const std::vector<std::size_t>& operands,
                    const std::string& type = "f32") {
    return MadeTensors::apply(form, operands, type);
  }
  /// Most often what was made last.
  std::size_t some(const Index& sizes, const std::string& type) {
    for (int tries = 0; tries < 40; ++tries) {
      const std::size_t k =
          below(3) == 0 ? below(all_.size()) : all_.size() - 1 - below(all_.size());
      if (all_[k].elements.sizes == sizes && all_[k].type == type) return k;
    }
    return type == "pred" ? condition(sizes) : input(sizes);
  }
  std::size_t constant(const Index& sizes, const std::string& type) {
    static const std::vector<std::string> kReal = {"0",    "1",   "-1",   "0.5",   "3", "48",
                                                   "0.01", "inf", "-inf", "-0.25", "7", "nan"};
    static const std::vector<std::string> kTruth = {"true", "false"};
    const bool is_truth = type == "pred";
    const std::size_t one =
        add_scalar(one_of(is_truth ? kTruth : kReal), is_truth ? "pred" : "f32");
    return sizes.empty() ? one : apply({"broadcast", "", {{}, sizes}}, {one}, type);
  }
  std::size_t operand(const Index& sizes, const std::string& type) {
    return below(3) == 0 ? constant(sizes, type) : some(sizes, type);
  }
  /// Of numbers that are not nearly equal.
  std::size_t condition(const Index& sizes) {
    const std::size_t other = below(2) == 0 ? input(sizes) : constant(sizes, "f32");
    return apply({"compare", one_of<std::string>({"LT", "GE", "EQ"}), {}}, {input(sizes), other},
                 "pred");
  }

  /// A root or power of what is not negative.
  std::size_t below_of(std::size_t x, const Index& sizes) {
    return below(2) == 0 ? apply({"sqrt", "", {}}, {x})
                         : apply({"power", "", {}}, {x, input(sizes)});
  }

  void step() {
    const Index sizes = one_of(kSizes);
    const Index wide = {2, 3};
    switch (below(15)) {
      case 0:
      case 1:
      case 2: {
        const std::string opcode = one_of<std::string>(
            {"add", "subtract", "multiply", "multiply", "divide", "divide", "maximum", "minimum"});
        const std::size_t x = operand(sizes, "f32");
        apply({opcode, "", {}}, {x, operand(sizes, "f32")});
        return;
      }
      case 3: {
        const std::size_t x = apply({"abs", "", {}}, {some(sizes, "f32")});
        const std::size_t below = below_of(x, sizes);
        apply({"divide", "", {}}, {operand(sizes, "f32"), below});
        return;
      }
      case 4: {
        const std::size_t where = operand(sizes, "pred");
        const std::string type = below(3) == 0 ? "pred" : "f32";
        const std::size_t x = operand(sizes, type);
        apply({"select", "", {}}, {where, x, below(5) == 0 ? x : operand(sizes, type)}, type);
        return;
      }
      case 5:
        if (below(2) == 0) {
          apply({"convert", "", {}}, {some(sizes, "pred")});
        } else {
          apply({one_of<std::string>({"and", "or", "xor"}), "", {}},
                {operand(sizes, "pred"), operand(sizes, "pred")}, "pred");
        }
        return;
      case 6: {
        const bool is_row = below(2) == 0;
        const std::size_t x = operand(is_row ? Index{2} : Index{3}, "f32");
        apply({"broadcast", "", {{is_row ? 0 : 1}, wide}}, {x});
        return;
      }
      case 7: {
        const std::size_t product =
            apply({"multiply", "", {}}, {operand(wide, "f32"), some(wide, "f32")});
        apply({"reduce", "add", {one_of<Index>({{0}, {1}, {0, 1}})}},
              {below(3) == 0 ? some(wide, "f32") : product, add_scalar("0", "f32")});
        return;
      }
      case 8: {
        const std::string by = one_of<std::string>({"maximum", "minimum", "multiply", "add"});
        const Index along = one_of<Index>({{}, {}, {1}});
        apply({"reduce", by, {along}}, {some(wide, "f32"), constant({}, "f32")});
        return;
      }
      case 9: {
        const std::size_t x = some(wide, "f32");
        const std::size_t y = below(4) == 0 ? some(wide, "f32") : x;
        const auto end = static_cast<std::int64_t>(1 + below(2));
        const std::int64_t next = below(4) == 0 ? 1 : end;
        const std::size_t first = apply({"slice", "", {{0, 0}, {2, end}, {1, 1}}}, {x});
        const std::size_t last = apply({"slice", "", {{0, next}, {2, 3}, {1, 1}}}, {y});
        apply({"concatenate", "", {{1}}}, {first, last});
        return;
      }
      case 10: {
        std::vector<std::size_t> sides;
        const auto low = static_cast<std::int64_t>(below(2));
        for (int k = 0; k < 2; ++k) {
          const std::int64_t own = low ^ (below(5) == 0 ? 1 : 0);
          const std::size_t edge = below(5) == 0 ? constant({}, "f32") : add_scalar("0", "f32");
          sides.push_back(
              apply({"pad", "", {{0, own}, {0, 1 - own}, {0, 0}}}, {some(wide, "f32"), edge}));
        }
        apply({"dot", "", {{}, {}, {1}, {1}}}, sides);
        return;
      }
      case 11: {
        static const std::vector<std::string> kExponents = {"1", "2", "3", "-1", "-2", "-3", "4"};
        const std::size_t scalar = add_scalar(one_of(kExponents), "f32");
        const std::size_t exponent =
            sizes.empty() ? scalar : apply({"broadcast", "", {{}, sizes}}, {scalar});
        apply({"power", "", {}}, {some(sizes, "f32"), exponent});
        return;
      }
      case 12: {
        // Of what is above zero, by more than it is rounded by.
        const std::size_t x = below(2) == 0 ? apply({"abs", "", {}}, {some(sizes, "f32")})
                                            : apply({"exponential", "", {}}, {input(sizes)});
        const std::size_t scalar =
            add_scalar(one_of<std::string>({"0.5", "3", "0.01", "inf"}), "f32");
        const std::size_t c =
            sizes.empty() ? scalar : apply({"broadcast", "", {{}, sizes}}, {scalar});
        const std::size_t above = apply({"add", "", {}}, {x, c});
        apply({"divide", "", {}}, {operand(sizes, "f32"), above});
        return;
      }
      case 13: {
        const Index narrow = below(2) == 0 ? Index{2} : Index{3};
        const Form broadcast{"broadcast", "", {{narrow[0] == 2 ? 0 : 1}, wide}};
        const std::size_t x =
            apply({"multiply", "", {}}, {apply(broadcast, {input(narrow)}), constant(wide, "f32")});
        if (below(3) == 0) {
          apply({one_of<std::string>({"exponential", "tanh", "abs"}), "", {}}, {x});
        } else if (below(2) == 0) {
          apply({"compare", one_of<std::string>({"LT", "GE"}), {}},
                {x, apply(broadcast, {input(narrow)})}, "pred");
        } else {
          apply({"maximum", "", {}}, {apply(broadcast, {some(narrow, "f32")}), x});
        }
        return;
      }
      default:
        if (below(2) == 0)
          apply({"reshape", "", {{1, 1}}}, {operand({}, "f32")});
        else
          apply({"negate", "", {}}, {some(sizes, "f32")});
        return;
    }
  }
};

TEST_CASE("a function of elements in its one form is what it makes, element by element") {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const auto programs = 4000U * (more == nullptr ? 1U : static_cast<unsigned>(std::atoi(more)));
  std::map<std::string, int> simplified;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    CAPTURE(seed);
    Expressions expressions(seed);
    expressions.run();
    for (const auto& [opcode, count] : expressions.simplified()) simplified[opcode] += count;
  }
  for (const char* opcode : {"add", "compare", "concatenate", "divide", "dot", "exponential",
                             "maximum", "multiply", "power", "reduce", "select", "subtract"}) {
    CAPTURE(opcode);
    CHECK(simplified[opcode] > 300);
  }
}

/// Tensors of [4], and their numbers.
struct Line {
  Tensors tensors{{}};
  std::size_t x = tensors.input(0, shape_of("f32", {4}));
  std::size_t y = tensors.input(1, shape_of("f32", {4}));
  std::size_t where = tensors.input(2, shape_of("pred", {4}));

  std::size_t of(const char* literal, const char* type = "f32") {
    return tensors
        .make({"broadcast", "", {{}, {4}}}, {tensors.scalar(literal, type_called(type))},
              kernel::xla::kind_of(type_called(type)))
        .value();
  }
  std::size_t of(const char* opcode, const std::vector<std::size_t>& operands,
                 const char* kind = "float") {
    return tensors.make({opcode, "", {}}, operands, kind).value();
  }
};

TEST_CASE("quotients and products with constants are one product, if the constants are") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const auto product = [&](std::size_t of, const char* by) {
    return line.of("multiply", {of, line.of(by)});
  };
  // As XLA writes x / 48 · 0.01, in f32.
  CHECK(product(line.of("divide", {x, line.of("48")}), "0.01") == product(x, "0.000208333338"));
  CHECK(product(line.of("divide", {x, line.of("48")}), "0.01") != product(x, "0.000208333352"));
  CHECK(line.of("divide", {x, line.of("-8")}) == product(x, "-0.125"));
  CHECK(product(product(x, "4"), "0.25") == x);
  CHECK(line.of("divide", {x, y}) ==
        line.of("multiply", {x, line.of("divide", {line.of("1"), y})}));
  CHECK(line.of("divide", {x, line.of("sqrt", {y})}) ==
        line.of("multiply", {x, line.of("rsqrt", {y})}));
  CHECK(line.of("subtract", {x, line.of("0.1")}) == line.of("add", {x, line.of("-0.1")}));
  CHECK(line.of("subtract", {line.of("0.5"), line.of("0.25")}) == line.of("0.25"));
  // Out of products, inverses, broadcasts and sums.
  CHECK(line.of("multiply", {product(x, "4"), product(y, "0.5")}) ==
        product(line.of("multiply", {x, y}), "2"));
  CHECK(line.of("divide", {x, product(y, "4")}) == product(line.of("divide", {x, y}), "0.25"));
  const auto wide = [&](std::size_t of, const char* by) {
    const std::size_t all =
        line.tensors.make({"broadcast", "", {{1}, {3, 4}}}, {of}, "float").value();
    const std::size_t one = line.tensors.scalar(by, type_called("f32"));
    const std::size_t ones =
        line.tensors.make({"broadcast", "", {{}, {3, 4}}}, {one}, "float").value();
    return line.of("multiply", {all, ones});
  };
  CHECK(wide(product(x, "4"), "1") == wide(x, "4"));
  const auto sum = [&](std::size_t of, const char* from) {
    const std::size_t first = line.tensors.scalar(from, type_called("f32"));
    return line.tensors.make({"reduce", "add", {{0}}}, {of, first}, "float").value();
  };
  const auto scalar = [&](std::size_t of, const char* by) {
    return line.of("multiply", {of, line.tensors.scalar(by, type_called("f32"))});
  };
  CHECK(sum(product(x, "4"), "0") == scalar(sum(x, "0"), "4"));
  CHECK(sum(line.of("negate", {x}), "0") == line.of("negate", {sum(x, "0")}));
  CHECK(sum(product(x, "4"), "1") != scalar(sum(x, "1"), "4"));
  CHECK(sum(line.of("negate", {x}), "1") != line.of("negate", {sum(x, "1")}));
  // Zero, infinity and what is beyond the parts of fractions are no factors.
  for (const char* constant : {"0", "inf", "nan", "3e30", "1e-30"}) {
    CAPTURE(constant);
    const std::size_t below = line.of(constant);
    CHECK(line.of("divide", {x, below}) ==
          line.of("multiply", {x, line.of("divide", {line.of("1"), below})}));
    CHECK(product(product(x, constant), "2") == product(product(x, "2"), constant));
    CHECK(product(product(x, constant), "2") != product(x, constant));
  }
  // Of two constants, in a broadcast, neither.
  const std::size_t large = line.tensors
                                .make({"multiply", "", {}},
                                      {line.tensors.scalar("1000003", type_called("f32")),
                                       line.tensors.scalar("1000033", type_called("f32"))},
                                      "float")
                                .value();
  CHECK(line.tensors.make({"broadcast", "", {{}, {4}}}, {large}, "float").has_value());
  CHECK(product(product(x, "1000003"), "1000033") != product(product(x, "1000033"), "1000003"));
  CHECK(line.of("convert", {line.of("3", "s32")}) == line.of("3"));
  CHECK(line.of("convert", {line.of("true", "pred")}) == line.of("1"));
  CHECK(line.of("convert", {line.of("16777217", "s32")}) != line.of("16777217"));
  // Integers wrap around, and are divided otherwise.
  const std::size_t i = line.tensors.input(3, shape_of("s32", {4}));
  const std::size_t two = line.of("2", "s32");
  CHECK(line.of("multiply", {line.of("divide", {i, two}, "s32"), two}, "s32") != i);
  CHECK(line.of("subtract", {i, two}, "s32") == line.of("add", {i, line.of("-2", "s32")}, "s32"));
}

TEST_CASE("constants of sums of integers are one, modulo two to the number of bits") {
  for (const char* type : {"s8", "u8", "s32", "u32", "s64"}) {
    CAPTURE(std::string(type));
    Line line;
    auto& tensors = line.tensors;
    std::mt19937 random(1);
    Array array{{4}, {}};
    for (int k = 0; k < 4; ++k) array.cells.push_back(static_cast<double>(random() % 100));
    const std::size_t x = tensors.input(3, shape_of(type, {4}));
    std::vector<std::pair<std::size_t, Array>> all = {{x, array}};
    int simplified = 0;
    for (int k = 0; k < 400; ++k) {
      const Form form{random() % 2 == 0 ? "add" : "subtract", "", {}};
      std::size_t sides[] = {random() % all.size(), 0};
      const std::string literal = std::to_string(random() % 128);
      const auto constant = tensors.make({"broadcast", "", {{}, {4}}},
                                         {tensors.scalar(literal, type_called(type))}, type);
      all.emplace_back(*constant, Array{{4}, std::vector<double>(4, std::stod(literal))});
      sides[1] = random() % 4 == 0 ? random() % all.size() : all.size() - 1;
      if (random() % 2 == 0) std::swap(sides[0], sides[1]);
      const auto made =
          tensors.make(form, {all[sides[0]].first, all[sides[1]].first}, type).value();
      simplified += tensors.at(made).form != form;
      const std::vector<const Array*> operands = {&all[sides[0]].second, &all[sides[1]].second};
      all.emplace_back(made, evaluate(form, operands, {4}, type));
    }
    WholeTensors wholes(tensors, {{3, array}});
    for (const auto& [tensor, elements] : all) CHECK(wholes.at(tensor).cells == elements.cells);
    CHECK(simplified > 20);
  }
}

TEST_CASE("constants of sums of real numbers are one") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const auto plus = [&](std::size_t a, std::size_t b) { return line.of("add", {a, b}); };
  const auto minus = [&](std::size_t a, std::size_t b) { return line.of("subtract", {a, b}); };
  const auto number = [&](const char* literal) { return line.of(literal); };
  CHECK(plus(plus(x, number("3")), number("0.5")) == plus(x, number("3.5")));
  CHECK(minus(plus(x, number("3")), number("0.5")) == plus(x, number("2.5")));
  CHECK(plus(minus(number("1999"), x), number("-4")) == minus(number("1995"), x));
  CHECK(minus(minus(number("1999"), x), number("4")) == minus(number("1995"), x));
  CHECK(minus(number("2"), plus(x, number("3"))) == minus(number("-1"), x));
  CHECK(minus(number("2"), minus(number("3"), x)) == plus(x, number("-1")));
  CHECK(plus(minus(x, number("4")), number("4")) == x);
  CHECK(plus(minus(number("1999"), x), number("-4")) != minus(number("1995"), y));
  CHECK(plus(minus(number("1999"), x), number("-4")) != plus(x, number("1995")));
  CHECK(minus(number("2"), plus(x, number("3"))) != minus(x, number("-1")));
  // An infinite one stays.
  CHECK(plus(plus(x, number("inf")), number("-inf")) != x);
}

TEST_CASE("squares and cubes are products") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const auto power = [&](const char* exponent) { return line.of("power", {x, line.of(exponent)}); };
  const std::size_t square = line.of("multiply", {x, x});
  const auto inverse = [&](std::size_t of) { return line.of("divide", {line.of("1"), of}); };
  CHECK(power("1") == x);
  CHECK(power("2") == square);
  CHECK(power("3") == line.of("multiply", {x, square}));
  CHECK(power("-1") == inverse(x));
  CHECK(power("-2") == inverse(square));
  CHECK(power("0.5") != line.of("sqrt", {x}));  // of -inf, inf
  CHECK(power("4") != line.of("multiply", {square, square}));
  CHECK(power("2") != line.of("multiply", {x, y}));
}

TEST_CASE("a function of a broadcast times a constant is a broadcast") {
  Tensors tensors{{}};
  const std::size_t x = tensors.input(0, shape_of("f32", {2}));
  const std::size_t y = tensors.input(1, shape_of("f32", {2}));
  const auto wide = [&](std::size_t of, std::int64_t along) {
    return tensors.make({"broadcast", "", {{along}, {2, 2}}}, {of}, "float").value();
  };
  const auto number = [&](const Index& sizes) {
    return tensors.splat(tensors.scalar("0.01", type_called("f32")), sizes).value();
  };
  const auto times = [&](std::size_t of, const Index& sizes) {
    return tensors.make({"multiply", "", {}}, {of, number(sizes)}, "float").value();
  };
  const auto less = [&](std::size_t a, std::size_t b) {
    return tensors.make({"compare", "LT", {}}, {a, b}, "pred").value();
  };
  const std::size_t scaled = times(wide(y, 0), {2, 2});
  CHECK(less(wide(x, 0), scaled) ==
        tensors.make({"broadcast", "", {{0}, {2, 2}}}, {less(x, times(y, {2}))}, "pred"));
  CHECK(less(wide(x, 0), scaled) != less(wide(x, 1), scaled));
  CHECK(less(wide(x, 0), scaled) !=
        tensors.make({"broadcast", "", {{1}, {2, 2}}}, {less(x, times(y, {2}))}, "pred"));
  CHECK(tensors.make({"tanh", "", {}}, {scaled}, "float") ==
        wide(tensors.make({"tanh", "", {}}, {times(y, {2})}, "float").value(), 0));
}

// As the guard of a variance of more than one element.
TEST_CASE("a comparison of integers is decided, and so is a choice by it") {
  Tensors tensors{{}};
  const std::size_t x = tensors.input(0, shape_of("f32", {2}));
  const std::size_t y = tensors.input(1, shape_of("f32", {2}));
  const auto chosen = [&](const char* type, const char* direction, const char* a, const char* b) {
    const kernel::xla::Type own = kernel::xla::type_called(type);
    const auto wide = [&](const char* literal) {
      return tensors.splat(tensors.scalar(literal, own), {2}).value();
    };
    const auto where = tensors.make({"compare", direction, {}}, {wide(a), wide(b)}, "pred").value();
    return tensors.make({"select", "", {}}, {where, x, y}, "float").value();
  };
  const char* const pairs[][2] = {{"-1", "2"}, {"2", "2"}, {"32", "0"}};
  for (const char* type : {"f32", "s32"}) {
    for (const auto& [a, b] : pairs) {
      CAPTURE(std::string(a) + " " + b);
      const int left = std::stoi(a), right = std::stoi(b);
      CHECK(chosen(type, "EQ", a, b) == (left == right ? x : y));
      CHECK(chosen(type, "NE", a, b) == (left != right ? x : y));
      CHECK(chosen(type, "LT", a, b) == (left < right ? x : y));
      CHECK(chosen(type, "LE", a, b) == (left <= right ? x : y));
      CHECK(chosen(type, "GT", a, b) == (left > right ? x : y));
      CHECK(chosen(type, "GE", a, b) == (left >= right ? x : y));
    }
  }
  // What is rounded, infinite or no number is no integer.
  for (const auto& [a, b] : {std::pair{"0.1", "0.1"}, {"0.1", "1"}, {"inf", "0"}, {"nan", "0"}}) {
    for (const char* direction : {"EQ", "LT", "GE"}) {
      const std::size_t either = chosen("f32", direction, a, b);
      CHECK(either != x);
      CHECK(either != y);
    }
  }
  CHECK(chosen("u32", "LT", "4294967295", "1") == y);
}

TEST_CASE("what is above zero, whatever the inputs are, may not be zero") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const std::size_t mask = line.of("convert", {where});
  const auto plus = [&](std::size_t a, const char* literal) {
    return line.of("add", {a, line.of(literal)});
  };
  const auto may_be = [&](std::size_t number) { return line.tensors.may_be_zero(number); };
  const std::size_t zero = line.of("subtract", {x, x});
  CHECK(may_be(plus(zero, "0.5")));
  CHECK(may_be(plus(mask, "-1")));
  CHECK(may_be(mask));
  CHECK_FALSE(may_be(plus(mask, "1")));
  CHECK_FALSE(may_be(plus(line.of("abs", {zero}), "0.5")));
  CHECK_FALSE(may_be(plus(line.of("multiply", {zero, zero}), "0.5")));
  CHECK_FALSE(may_be(line.of("maximum", {zero, plus(line.of("abs", {zero}), "0.5")})));
  CHECK(may_be(line.of("minimum", {zero, line.of("0.5")})));
  CHECK(may_be(plus(line.of("abs", {zero}), "0")));
  CHECK(may_be(plus(line.of("abs", {zero}), "-0.5")));
  CHECK(may_be(line.of("add", {line.of("multiply", {zero, x}), line.of("0.5")})));
}

TEST_CASE("laws that are applied to what they make end") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  std::size_t sides[] = {x, y};
  for (std::size_t& side : sides) {
    for (int k = 0; k < 20000; ++k) side = line.of("divide", {line.of("1"), side});
  }
  CHECK_THROWS_AS(line.tensors.make({"multiply", "", {}}, {sides[0], sides[1]}, "float"),
                  kernel::CheckFailure);
}

TEST_CASE("inverses are those of products, of roots and of powers") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const auto over = [&](std::size_t above, std::size_t below) {
    return line.of("divide", {above, below});
  };
  const std::size_t one = line.of("1");
  const std::size_t product = line.of("multiply", {x, y});
  CHECK(over(over(one, x), y) == over(one, product));
  CHECK(line.of("multiply", {over(y, x), over(one, y)}) == over(y, product));
  CHECK(line.of("multiply", {over(y, x), over(one, y)}) != over(one, x));  // 0 / 0 at 0
  const std::size_t zero = line.of("subtract", {x, x});
  CHECK(line.of("multiply", {over(one, x), over(one, zero)}) !=
        over(one, line.of("multiply", {x, zero})));  // the sign of infinity
  CHECK(over(one, line.of("power", {x, y})) == line.of("power", {x, line.of("negate", {y})}));
  CHECK(over(line.of("2"), line.of("power", {x, y})) ==
        line.of("multiply", {line.of("power", {x, line.of("negate", {y})}), line.of("2")}));
  // 2^-26, as XLA prints it.
  CHECK(over(x, line.of("67108864")) == line.of("multiply", {x, line.of("1.49011612e-08")}));
}

// What guards against what is no number is no factor, and what decides is not left out.
TEST_CASE("a choice of zero is a product where all is finite, whatever the inputs are") {
  Line line;
  const auto& [tensors, x, y, where] = line;
  const std::size_t zero = line.of("0");
  const auto product = [&](std::size_t of) {
    return line.of("multiply", {line.of("convert", {where}), of});
  };
  const auto is_product = [&](std::size_t of) {
    return line.of("select", {where, of, zero}) == product(of);
  };
  const std::size_t sum = line.of("add", {x, line.of("tanh", {y})});
  CHECK(is_product(x));
  CHECK(is_product(sum));
  CHECK(line.of("select", {where, zero, x}) ==
        line.of("multiply", {line.of("convert", {line.of("not", {where}, "pred")}), x}));
  const std::size_t n = line.tensors.input(3, shape_of("s32", {4}));
  const std::size_t number = line.of("convert", {n});
  CHECK(is_product(number));
  CHECK(!is_product(line.of("divide", {x, number})));
  CHECK(!is_product(line.of("divide", {x, y})));
  CHECK(!is_product(line.of("log", {x})));
  CHECK(!is_product(line.of("exponential", {x})));  // which overflows
  CHECK(!is_product(line.of("sqrt", {x})));
  CHECK(!is_product(line.of("rsqrt", {x})));
  CHECK(!is_product(line.of("power", {x, y})));
  CHECK(!is_product(line.of("add", {sum, line.of("log", {x})})));
  CHECK(!is_product(line.of("-inf")));
  CHECK(!is_product(line.of("maximum", {x, line.of("inf")})));
  const std::size_t variable = line.tensors.variable(0, x, shape_of("f32", {4}));
  CHECK(!is_product(line.of("add", {variable, y})));
  CHECK(!is_product(line.tensors.unknown(shape_of("f32", {4}))));
  CHECK(line.of("select", {where, x, x}) != x);
}

}  // namespace
}  // namespace p2::hlo::small
