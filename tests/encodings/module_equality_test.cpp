// Z3 on modules: every rule of the translation on elements and on modules, right and wrong, against
// their execution on numbers.

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/hlo/interpreter/expressions.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"

namespace p2::hlo {
namespace {

using interpreter::Direction;
using interpreter::Element;
using interpreter::ElementOperation;
using interpreter::Expression;
using interpreter::Expressions;
using interpreter::Numbers;
using interpreter::OutputExpressions;
using interpreter::Scalar;

ElementType type_of(const char* name) { return *ElementType::from_xla(name); }

ComparisonOptions asking(ModuleEngine engine) {
  ComparisonOptions options;
  options.engine = engine;
  options.solver = [](const OutputExpressions& outputs, const Limits& limits) {
    return z3_encoding::judge(outputs, limits);
  };
  return options;
}

/// What Z3 says of two entries with these inputs: `x`, `y` of a type, `m` of pred and `i` of s32,
/// each of 4 elements. The other engines must not contradict it.
std::string verdict(const std::string& type, const std::string& before, const std::string& after) {
  const std::string inputs = fmt::format(
      "  x = {0}[4] parameter(0)\n  y = {0}[4] parameter(1)\n  m = pred[4] parameter(2)\n"
      "  i = s32[4] parameter(3)\n  zero = {0}[] constant(0)\n"
      "  none = {0}[4] broadcast(zero), dimensions={{}}\n",
      type);
  const auto module = [&](const std::string& body) {
    std::string text;
    std::string rest = body;
    std::size_t line = 0;
    for (std::size_t at = 0; at != std::string::npos; rest = rest.substr(at + 1)) {
      at = rest.find(';');
      const bool last = at == std::string::npos;
      text += fmt::format("  {}{}\n", last ? "ROOT " : "", rest.substr(0, at));
      if (last || ++line > 50) break;
    }
    return module_text(inputs + text, 1);
  };
  const std::string first = module(before);
  const std::string second = module(after);
  CHECK(compared(first, second, asking(ModuleEngine::All)).outcome != Outcome::Disagreement);
  return std::string(to_string(compared(first, second, asking(ModuleEngine::Solver)).outcome));
}

std::string of_floats(const std::string& before, const std::string& after) {
  return verdict("f32", before, after);
}
std::string of_integers(const std::string& type, const std::string& before,
                        const std::string& after) {
  return verdict(type, before, after);
}

TEST_CASE("sums and products are those of real numbers") {
  CHECK(of_floats("a = f32[4] add(x, y)", "a = f32[4] add(y, x)") == "valid");
  CHECK(of_floats("s = f32[4] add(x, y);a = f32[4] multiply(s, x)",
                  "p = f32[4] multiply(x, x);q = f32[4] multiply(y, x);a = f32[4] add(q, p)") ==
        "valid");
  CHECK(of_floats("a = f32[4] subtract(x, y)", "n = f32[4] negate(y);a = f32[4] add(n, x)") ==
        "valid");
  CHECK(of_floats("a = f32[4] subtract(x, y)", "a = f32[4] subtract(y, x)") == "invalid");
  CHECK(of_floats("s = f32[4] add(x, y);a = f32[4] divide(s, y)",
                  "p = f32[4] divide(x, y);q = f32[4] divide(y, y);a = f32[4] add(p, q)") ==
        "valid");
  CHECK(of_floats("a = f32[4] divide(x, y)", "a = f32[4] divide(y, x)") == "invalid");
  CHECK(of_floats("c = f32[4] constant({0.1,0.2,0.3,0.4});d = f32[4] constant({2,2,2,2});"
                  "a = f32[4] multiply(c, d)",
                  "a = f32[4] constant({0.2,0.4,0.6,0.8})") == "valid");
  CHECK(of_floats("c = f32[4] constant({0.1,0.2,0.3,0.4});d = f32[4] constant({2,2,2,2});"
                  "a = f32[4] multiply(c, d)",
                  "a = f32[4] constant({0.2,0.4,0.6,0.81})") == "invalid");
}

TEST_CASE("maxima, comparisons and selections are exact") {
  CHECK(of_floats("a = f32[4] maximum(x, y)",
                  "g = pred[4] compare(x, y), direction=GE;a = f32[4] select(g, x, y)") == "valid");
  CHECK(of_floats("a = f32[4] minimum(x, y)",
                  "g = pred[4] compare(x, y), direction=GE;a = f32[4] select(g, x, y)") ==
        "invalid");
  CHECK(of_floats("g = pred[4] compare(x, y), direction=GT;a = f32[4] select(g, x, y)",
                  "g = pred[4] compare(y, x), direction=GE;a = f32[4] select(g, y, x)") == "valid");
  CHECK(of_floats("a = pred[4] compare(x, y), direction=GT",
                  "g = pred[4] compare(x, y), direction=LE;a = pred[4] not(g)") == "valid");
  CHECK(of_floats("a = pred[4] compare(x, y), direction=GT",
                  "a = pred[4] compare(x, y), direction=GE") == "invalid");
  const auto compare_as = [](const std::string& operands, const std::string& direction) {
    return fmt::format("a = pred[4] compare({}), direction={}", operands, direction);
  };
  const std::map<std::string, std::string> turned = {{"EQ", "EQ"}, {"NE", "NE"}, {"LT", "GT"},
                                                     {"LE", "GE"}, {"GT", "LT"}, {"GE", "LE"}};
  for (const auto& [direction, other] : turned) {
    for (const auto& [second, unused] : turned) {
      CAPTURE(direction);
      CAPTURE(second);
      const std::string found =
          of_floats(compare_as("x, y", direction), compare_as("y, x", second));
      CHECK((found == "valid") == (second == other));
    }
  }
  CHECK(of_floats("p = f32[4] maximum(x, y);a = f32[4] maximum(p, none)",
                  "p = f32[4] maximum(none, x);a = f32[4] maximum(y, p)") == "valid");
  CHECK(of_floats("n = f32[4] negate(x);p = f32[4] negate(y);q = f32[4] maximum(n, p);"
                  "a = f32[4] negate(q)",
                  "a = f32[4] minimum(x, y)") == "valid");
  CHECK(of_floats("a = f32[4] abs(x)", "n = f32[4] negate(x);a = f32[4] maximum(n, x)") == "valid");
  CHECK(of_floats("s = f32[4] sign(x);a = f32[4] multiply(s, x)", "a = f32[4] abs(x)") == "valid");
  CHECK(of_floats("s = f32[4] sign(x);a = f32[4] multiply(s, x)", "a = f32[4] copy(x)") ==
        "invalid");
}

TEST_CASE("functions that are not understood are functions") {
  CHECK(of_floats("s = f32[4] add(x, y);a = f32[4] tanh(s)",
                  "s = f32[4] add(y, x);a = f32[4] tanh(s)") == "valid");
  CHECK(of_floats("a = f32[4] tanh(x)", "a = f32[4] sine(x)") == "invalid");
  CHECK(of_floats("s = f32[4] add(x, y);a = f32[4] exponential(s)",
                  "p = f32[4] exponential(x);q = f32[4] exponential(y);"
                  "a = f32[4] multiply(p, q)") == "unknown");
  CHECK(of_floats("a = f32[4] logistic(x)",
                  "n = f32[4] negate(x);e = f32[4] exponential(n);o = f32[] constant(1);"
                  "b = f32[4] broadcast(o), dimensions={};s = f32[4] add(e, b);"
                  "a = f32[4] divide(b, s)") == "valid");
  CHECK(of_floats("a = f32[4] rsqrt(x)",
                  "s = f32[4] sqrt(x);o = f32[] constant(1);b = f32[4] broadcast(o), "
                  "dimensions={};a = f32[4] divide(b, s)") == "valid");
  CHECK(of_floats("a = f32[4] custom-call(x), custom_call_target=\"f\"",
                  "c = f32[4] copy(x);a = f32[4] custom-call(c), custom_call_target=\"f\"") ==
        "valid");
  CHECK(of_floats("a = f32[4] custom-call(x), custom_call_target=\"f\"",
                  "a = f32[4] custom-call(x), custom_call_target=\"g\"") == "unknown");
  CHECK(of_floats("a = f32[4] custom-call(x), custom_call_target=\"f\"",
                  "a = f32[4] custom-call(y), custom_call_target=\"f\"") == "unknown");
}

TEST_CASE("0 times what may overflow is not 0, by whatever way 0 comes in") {
  const std::string e = "e = f32[4] exponential(x);";
  CHECK(of_floats("a = f32[4] multiply(none, x)", "a = f32[4] copy(none)") == "valid");
  CHECK(of_floats(e + "a = f32[4] multiply(none, e)", "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats(e + "a = f32[4] multiply(e, none)", e + "a = f32[4] multiply(none, e)") ==
        "valid");
  CHECK(of_floats("t = f32[4] tanh(x);a = f32[4] multiply(t, none)", "a = f32[4] copy(none)") ==
        "valid");
  CHECK(of_floats("t = f32[4] logistic(x);a = f32[4] multiply(t, none)", "a = f32[4] copy(none)") ==
        "valid");
  CHECK(of_floats("d = f32[4] subtract(y, y);" + e + "a = f32[4] multiply(d, e)",
                  "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats("n = f32[4] negate(y);d = f32[4] add(n, y);" + e + "a = f32[4] multiply(e, d)",
                  "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats("d = f32[4] multiply(y, none);" + e + "a = f32[4] multiply(d, e)",
                  "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats("s = f32[4] multiply(x, y);a = f32[4] multiply(s, none)",
                  "a = f32[4] copy(none)") != "valid");
  const std::string masked = e + "f = f32[4] convert(m);a = f32[4] multiply(f, e)";
  CHECK(of_floats(masked, e + "a = f32[4] select(m, e, none)") != "valid");
  CHECK(of_floats("f = f32[4] convert(m);a = f32[4] multiply(f, x)",
                  "a = f32[4] select(m, x, none)") == "valid");
  CHECK(of_floats("f = f32[4] convert(m);a = f32[4] multiply(f, x)",
                  "a = f32[4] select(m, none, x)") == "invalid");
  // A factor that is 0 for half of all inputs, and one that is 1 − [m].
  CHECK(of_floats(e + "r = f32[4] maximum(x, none);a = f32[4] multiply(r, e)",
                  e + "p = f32[4] multiply(x, e);g = pred[4] compare(x, none), direction=GT;"
                      "a = f32[4] select(g, p, none)") != "valid");
  CHECK(of_floats(e + "f = f32[4] convert(m);o = f32[] constant(1);"
                      "b = f32[4] broadcast(o), dimensions={};d = f32[4] subtract(b, f);"
                      "a = f32[4] multiply(d, e)",
                  e + "a = f32[4] select(m, none, e)") != "valid");
}

TEST_CASE("infinities and what is no number") {
  const std::string low = "l = f32[] constant(-inf);b = f32[4] broadcast(l), dimensions={};";
  const std::string not_a_number =
      "l = f32[] constant(nan);b = f32[4] broadcast(l), dimensions={};";
  CHECK(of_floats(low + "a = f32[4] maximum(x, b)", "a = f32[4] copy(x)") == "valid");
  CHECK(of_floats(low + "a = f32[4] minimum(x, b)", low + "a = f32[4] copy(b)") == "valid");
  CHECK(of_floats(low + "a = f32[4] subtract(b, b)", "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats(low + "s = f32[4] add(x, b);a = f32[4] subtract(s, b)", "a = f32[4] copy(x)") !=
        "valid");
  CHECK(of_floats(low + "s = f32[4] select(m, x, b);a = f32[4] exponential(s)",
                  "e = f32[4] exponential(x);a = f32[4] select(m, e, none)") == "valid");
  CHECK(of_floats(low + "s = f32[4] select(m, x, b);a = f32[4] exponential(s)",
                  "e = f32[4] exponential(x);a = f32[4] select(m, none, e)") == "invalid");
  CHECK(of_floats(low + "s = f32[4] select(m, x, b);t = f32[4] select(m, y, b);"
                        "a = f32[4] maximum(s, t)",
                  low + "t = f32[4] maximum(x, y);a = f32[4] select(m, t, b)") == "valid");
  CHECK(of_floats(low + "a = pred[4] compare(x, b), direction=GT",
                  "t = pred[] constant(true);a = pred[4] broadcast(t), dimensions={}") == "valid");
  CHECK(of_floats(not_a_number + "a = pred[4] compare(b, b), direction=EQ",
                  "t = pred[] constant(true);a = pred[4] broadcast(t), dimensions={}") ==
        "invalid");
  CHECK(of_floats(not_a_number + "a = f32[4] maximum(x, b)", "a = f32[4] copy(x)") == "invalid");
  CHECK(of_floats(low + "a = f32[4] multiply(b, x)", low + "a = f32[4] copy(b)") != "valid");
  CHECK(of_floats("a = f32[4] divide(x, none)", "a = f32[4] divide(y, none)") != "valid");
  CHECK(of_floats("d = f32[4] divide(x, none);a = f32[4] subtract(d, d)",
                  "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats("f = f32[4] convert(m);d = f32[4] divide(x, f);a = f32[4] subtract(d, d)",
                  "a = f32[4] copy(none)") != "valid");
  CHECK(of_floats("f = f32[4] convert(m);l = f32[4] log(f);a = f32[4] subtract(l, l)",
                  "a = f32[4] copy(none)") != "valid");
}

TEST_CASE("integers wrap around in their type, and not before they are looked at") {
  for (const std::string type : {"s8", "u8", "s16", "u32", "s64", "u64"}) {
    CAPTURE(type);
    const auto is = [&](const std::string& before, const std::string& after) {
      const auto typed = [&](std::string text) {
        for (std::size_t at = text.find("T["); at != std::string::npos; at = text.find("T[")) {
          text.replace(at, 1, type);
        }
        return text;
      };
      return of_integers(type, typed(before), typed(after));
    };
    CHECK(is("s = T[4] add(x, y);a = T[4] subtract(s, y)", "a = T[4] copy(x)") == "valid");
    CHECK(is("s = T[4] add(x, y);a = pred[4] compare(s, x), direction=GE",
             "a = pred[4] compare(y, none), direction=GE") != "valid");
    CHECK(is("s = T[4] add(x, y);w = f32[4] convert(s);a = f32[4] copy(w)",
             "p = f32[4] convert(x);q = f32[4] convert(y);a = f32[4] add(p, q)") != "valid");
    CHECK(is("two = T[4] constant({2,2,2,2});a = T[4] multiply(x, two)",
             "one = T[4] constant({1,1,1,1});a = T[4] shift-left(x, one)") == "valid");
    CHECK(is("two = T[4] constant({2,2,2,2});p = T[4] multiply(x, two);a = T[4] divide(p, two)",
             "a = T[4] copy(x)") != "valid");
    const bool is_unsigned = type[0] == 'u';
    const std::string half = "two = T[4] constant({2,2,2,2});a = T[4] divide(x, two)";
    const std::string logical =
        "one = T[4] constant({1,1,1,1});a = T[4] shift-right-logical(x, one)";
    CHECK((is(half, logical) == "valid") == is_unsigned);
    const std::string arithmetic =
        "one = T[4] constant({1,1,1,1});a = T[4] shift-right-arithmetic(x, one)";
    CHECK(is(half, arithmetic) != "valid");
    CHECK(is(logical, arithmetic) != "valid");
    const std::string rest = "four = T[4] constant({4,4,4,4});a = T[4] remainder(x, four)";
    const std::string mask = "three = T[4] constant({3,3,3,3});a = T[4] and(x, three)";
    CHECK((is(rest, mask) == "valid") == is_unsigned);
    CHECK(is("four = T[4] constant({4,4,4,4});q = T[4] divide(x, four);"
             "p = T[4] multiply(q, four);a = T[4] subtract(x, p)",
             rest) == "valid");
    CHECK(is("a = T[4] not(x)",
             "o = T[4] constant({1,1,1,1});n = T[4] negate(x);"
             "a = T[4] subtract(n, o)") == "valid");
    CHECK(is("a = T[4] maximum(x, y)",
             "g = pred[4] compare(x, y), direction=LT;a = T[4] select(g, y, x)") == "valid");
  }
  CHECK(of_integers("s8",
                    "w = s16[4] convert(x);v = s16[4] convert(y);s = s16[4] add(w, v);"
                    "a = s8[4] convert(s)",
                    "a = s8[4] add(x, y)") == "valid");
  CHECK(of_integers("s8", "w = s16[4] convert(x);v = s16[4] convert(y);a = s16[4] add(w, v)",
                    "s = s8[4] add(x, y);a = s16[4] convert(s)") != "valid");
  CHECK(of_integers("u8", "s = s8[4] convert(x);a = s16[4] convert(s)", "a = s16[4] convert(x)") !=
        "valid");
  CHECK(of_integers("s32", "a = s32[4] abs(x)", "n = s32[4] negate(x);a = s32[4] maximum(n, x)") ==
        "valid");
  CHECK(of_integers("s32", "a = s32[4] abs(x);b = pred[4] compare(a, none), direction=GE",
                    "t = pred[] constant(true);a = pred[4] broadcast(t), dimensions={}") !=
        "valid");
  // −2 divides what is positive into what is negative: 100 less than that wraps around.
  CHECK(of_integers("s8",
                    "c = s8[4] constant({100,100,100,100});d = s8[4] constant({-2,-2,-2,-2});"
                    "b = s8[4] maximum(x, c);q = s8[4] divide(b, d);s = s8[4] subtract(q, c);"
                    "a = pred[4] compare(s, none), direction=LT",
                    "t = pred[] constant(true);a = pred[4] broadcast(t), dimensions={}") ==
        "invalid");
  // 2^60 + 128 is no double; 128 is −128 in s8.
  const auto above = [&](const char* most) {
    return of_integers(
        "s64",
        fmt::format("l = s64[] constant(1152921504606846976);c = s64[4] broadcast(l), "
                    "dimensions={{}};u = s64[] constant({});d = s64[4] broadcast(u), "
                    "dimensions={{}};b = s64[4] clamp(c, x, d);s = s64[4] subtract(b, c);"
                    "n = s8[4] convert(s);k = s8[4] convert(none);"
                    "a = pred[4] compare(n, k), direction=GE",
                    most),
        "t = pred[] constant(true);a = pred[4] broadcast(t), dimensions={}");
  };
  CHECK(above("1152921504606847103") == "valid");
  CHECK(above("1152921504606847104") != "valid");
  // The least integer has no absolute value.
  const std::string least =
      "l = s64[] constant(-9223372036854775808);"
      "c = s64[4] broadcast(l), dimensions={};";
  CHECK(of_integers("s64", least + "a = s64[4] divide(x, c)",
                    least + "n = s64[4] constant({-1,-1,-1,-1});"
                            "e = pred[4] compare(x, c), direction=EQ;a = s64[4] select(e, n, "
                            "none)") != "valid");
  CHECK(of_integers("s32", "a = s32[4] divide(x, y)", "a = s32[4] divide(y, x)") == "invalid");
}

TEST_CASE("indices that depend on inputs choose among all elements") {
  const std::string start =
      "v = s32[1] slice(i), slice={[0:1]};s = s32[] reshape(v);a = f32[1] dynamic-slice(x, s), "
      "dynamic_slice_sizes={1}";
  const std::string mask =
      "v = s32[1] slice(i), slice={[0:1]};s = s32[] reshape(v);z = s32[] constant(0);"
      "t = s32[] constant(3);c = s32[] clamp(z, s, t);b = s32[4] broadcast(c), dimensions={};"
      "k = s32[4] iota(), iota_dimension=0;e = pred[4] compare(b, k), direction=EQ;"
      "f = f32[4] convert(e);p = f32[4] multiply(f, x);r = f32[] reduce(p, zero), dimensions={0}, "
      "to_apply=add;a = f32[1] reshape(r)";
  CHECK(of_floats(start, mask) == "valid");
  CHECK(of_floats(start, replaced(mask, "constant(3)", "constant(2)")) == "invalid");
  CHECK(of_floats(start, replaced(mask, "clamp(z, s, t)", "minimum(s, t)")) != "valid");
}

TEST_CASE("limits hold, and what is too large is left open") {
  const auto dot = [](int size, const std::string& first, const std::string& second) {
    return module_text(fmt::format("  x = f32[{0},{0}] parameter(0)\n  y = f32[{0},{0}] "
                                   "parameter(1)\n  p = f32[{0},{0}] dot({1}, {2}), "
                                   "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                                   "  ROOT t = f32[{0},{0}] tanh(p)\n",
                                   size, first, second),
                       1);
  };
  const auto decided = [](const std::string& a, const std::string& b, const Limits& limits) {
    return compare(module_of(a), module_of(b), asking(ModuleEngine::Solver), limits);
  };
  CHECK(summary(decided(dot(300, "x", "x"), dot(300, "x", "x"), {})) == "unknown");
  // One row and one column stand for all.
  const ModuleDecision reduced = decided(dot(300, "x", "y"), dot(300, "x", "y"), {});
  CHECK(summary(reduced) == "valid");
  CHECK(reduced.reduced == std::vector<std::int64_t>{300});
  CHECK(summary(decided(dot(8, "x", "y"), dot(8, "x", "y"), {})) == "valid");
  Limits now;
  now.deadline = std::chrono::steady_clock::now();
  CHECK(summary(decided(dot(8, "x", "y"), dot(8, "y", "x"), now)) == "unknown");
  Limits little;
  little.work = 1;
  const ModuleDecision stopped = decided(dot(8, "x", "y"), dot(8, "y", "x"), little);
  CHECK(summary(stopped) == "unknown");
  CHECK(stopped.reason.find("limit") != std::string::npos);
  // Normal forms take work, too, where the solver is asked nothing.
  const std::string minus_zero = replaced(
      dot(8, "x", "y"), "ROOT t = f32[8,8] tanh(p)",
      "z = f32[8,8] subtract(y, y)\n  q = f32[8,8] add(p, z)\n  ROOT t = f32[8,8] tanh(q)");
  CHECK(summary(decided(dot(8, "x", "y"), minus_zero, {})) == "valid");
  CHECK(summary(decided(dot(8, "x", "y"), minus_zero, little)) == "unknown");
}

TEST_CASE("squares of squares do not double numbers and products each time") {
  const auto squares = [](int count, const std::string& first, bool by_one) {
    std::string text = fmt::format(
        "o = f32[] constant(1);one = f32[4] broadcast(o), dimensions={{}};k = f32[] constant(1.1);"
        "c = f32[4] broadcast(k), dimensions={{}};p0 = f32[4] {}",
        first);
    for (int k = 1; k <= count; ++k) {
      const std::string last = fmt::format("p{}", k - 1);
      if (by_one) text += fmt::format(";q{} = f32[4] multiply(one, {})", k, last);
      text += fmt::format(";p{} = f32[4] multiply({}, {})", k,
                          by_one ? fmt::format("q{}", k) : last, last);
    }
    return text;
  };
  for (const std::string first : {"copy(c)", "multiply(c, x)", "copy(x)"}) {
    CAPTURE(first);
    CHECK(of_floats(squares(8, first, false), squares(8, first, true)) == "valid");
    CHECK(of_floats(squares(22, first, false), squares(22, first, true)) != "invalid");
    CHECK(of_floats(squares(7, first, false), squares(8, first, true)) != "valid");
  }
}

TEST_CASE("a difference only in what is infinite is open where real numbers are equal") {
  std::string before = "p0 = f32[4] copy(x)";
  std::string after = before;
  for (int k = 0; k < 12; ++k) {
    before +=
        fmt::format(";s{0} = f32[4] add(p{0}, y);p{1} = f32[4] multiply(s{0}, p{0})", k, k + 1);
    after += fmt::format(
        ";s{0} = f32[4] multiply(p{0}, y);t{0} = f32[4] multiply(p{0}, p{0});"
        "p{1} = f32[4] add(s{0}, t{0})",
        k, k + 1);
  }
  CHECK(of_floats(before, after) == "unknown");
}

TEST_CASE("Z3 and the other engines agree on random partitioned programs") {
  int right = 0;
  int proved = 0;
  int wrong = 0;
  int refuted = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const RandomProgram program(seed, seed % 3 == 0 ? 4 : 2, seed % 2 == 0 ? 0 : 50);
    const std::string text = program.before() + program.after() + program.relation_text();
    CAPTURE(text);
    ComparisonOptions options = asking(ModuleEngine::All);
    options.relation = program.relation_text();
    options.relation_file = "relation.json";
    const ModuleDecision decision = compared(program.before(), program.after(), options);
    REQUIRE(decision.outcome != Outcome::Disagreement);
    REQUIRE(decision.solver.has_value());
    if (!program.has_mistake()) {
      REQUIRE(decision.solver != Outcome::Refuted);
      ++right;
      if (decision.solver == Outcome::Established) ++proved;
    } else if (decision.outcome == Outcome::Refuted) {
      REQUIRE(decision.solver != Outcome::Established);
      ++wrong;
      if (decision.solver == Outcome::Refuted) ++refuted;
    }
  }
  MESSAGE(right, " right, ", proved, " of them proved, ", wrong, " wrong, ", refuted, " refuted");
  CHECK(right > 700);
  CHECK(proved * 10 > right * 9);
  CHECK(wrong > 150);
  CHECK(refuted * 10 > wrong * 9);
}

/// Random expressions of few inputs, and their values on many draws.
class RandomExpressions {
 public:
  static constexpr std::size_t kDraws = 60;

  struct Node {
    ElementType type;
    Expression expression;
    std::array<Scalar, kDraws> values;
    std::string text;
  };

  explicit RandomExpressions(std::uint64_t seed) : random_(seed) {
    const ElementType own = type_of(kTypes[below(std::size(kTypes))]);
    for (int i = 0; i < 2; ++i) add_input(own);
    add_input(type_of("pred"));
    for (const int value : {0, 1, 2, 3, -1}) add_constant(own, value);
    for (int i = 0; i < 34; ++i) add_operation();
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  /// On how many draws two nodes are different, not counting what is no number.
  static std::size_t differences(const Node& a, const Node& b) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < kDraws; ++k) count += differ(a.values[k], b.values[k], a.type);
    return count;
  }

  Outcome asked(const Node& a, const Node& b) {
    outputs_.elements = {{a.expression, b.expression, a.type}};
    return z3_encoding::judge(outputs_, {}).outcome;
  }

 private:
  static constexpr const char* kTypes[] = {"f32", "f32", "f32", "s8", "u8", "s32", "u32", "s64"};

  static bool differ(const Scalar& a, const Scalar& b, ElementType type) {
    if (a.arbitrary || b.arbitrary) return false;
    if (!type.is_float()) return a.integer != b.integer;
    if (!std::isfinite(a.real) || !std::isfinite(b.real)) return false;
    const double size = std::max(std::fabs(a.real), std::fabs(b.real));
    return std::fabs(a.real - b.real) > 1e-6 * size + 8 * (double{a.error} + b.error) + 1e-30;
  }

  Scalar drawn(ElementType type) {
    if (type.kind() == ElementType::Kind::Boolean) return {0, static_cast<std::int64_t>(below(2))};
    const auto small = static_cast<std::int64_t>(below(7)) - 3;
    if (type.is_float()) {
      const double fraction = static_cast<double>(below(4096)) / 256 - 8;
      return {below(3) == 0 ? static_cast<double>(small) : fraction, 0};
    }
    const std::int64_t wide = below(2) == 0 ? small : static_cast<std::int64_t>(random_());
    const std::uint64_t edge = std::uint64_t{1} << (type.bits() - 1 - below(2));
    const auto near = static_cast<std::int64_t>(edge + static_cast<std::uint64_t>(small));
    return numbers_.integer(below(4) == 0 ? near : wide, type);
  }

  void add_input(ElementType type) {
    const std::uint64_t keys[] = {nodes_.size()};
    Node node{type, outputs_.expressions.input(keys, type), {}, fmt::format("x{}", nodes_.size())};
    for (Scalar& value : node.values) value = drawn(type);
    nodes_.push_back(std::move(node));
  }

  void add_constant(ElementType type, int value) {
    Node node{type, outputs_.expressions.integer(value, type), {}, std::to_string(value)};
    node.values.fill(numbers_.integer(value, type));
    nodes_.push_back(std::move(node));
  }

  const Node& any(ElementType type) {
    for (;;) {
      const Node& node = nodes_[below(nodes_.size())];
      if (node.type == type) return node;
    }
  }

  void add(const ElementOperation& operation, const std::vector<const Node*>& operands,
           const std::string& name) {
    Node node{operation.to, {}, {}, name};
    std::vector<Expression> expressions;
    for (const Node* each : operands) {
      expressions.push_back(each->expression);
      node.text += " (" + each->text + ")";
    }
    node.expression = outputs_.expressions.apply(operation, expressions);
    for (std::size_t k = 0; k < kDraws; ++k) {
      std::vector<Scalar> values;
      for (const Node* each : operands) values.push_back(each->values[k]);
      node.values[k] = numbers_.apply(operation, values);
    }
    if (node.text.size() < 300) nodes_.push_back(std::move(node));
  }

  void add_operation() {
    static constexpr Element kReal[] = {
        Element::Add,    Element::Add,      Element::Multiply,    Element::Subtract,
        Element::Negate, Element::Maximum,  Element::Minimum,     Element::Abs,
        Element::Sign,   Element::Divide,   Element::Exponential, Element::Tanh,
        Element::Clamp,  Element::Logistic, Element::Power,       Element::Floor,
        Element::Sqrt,   Element::Log,      Element::Rsqrt,       Element::LogPlusOne};
    static constexpr Element kWhole[] = {Element::Add,
                                         Element::Multiply,
                                         Element::Subtract,
                                         Element::Negate,
                                         Element::Maximum,
                                         Element::Minimum,
                                         Element::Abs,
                                         Element::Sign,
                                         Element::Divide,
                                         Element::Remainder,
                                         Element::And,
                                         Element::Or,
                                         Element::Xor,
                                         Element::Not,
                                         Element::ShiftLeft,
                                         Element::Clamp,
                                         Element::ShiftRightLogical,
                                         Element::ShiftRightArithmetic};
    static constexpr Element kTruth[] = {Element::And, Element::Or, Element::Xor, Element::Not};
    static constexpr const char* kNumbers[] = {"f32", "s8", "u8", "s32", "u32", "s64"};
    const ElementType boolean = type_of("pred");
    const ElementType type = nodes_[below(nodes_.size())].type;
    const bool is_boolean = type == boolean;
    switch (below(9)) {
      case 0: {
        const auto direction = static_cast<Direction>(below(6));
        return add({Element::Compare, direction, type, boolean}, {&any(type), &any(type)},
                   fmt::format("compare{}", static_cast<int>(direction)));
      }
      case 1:
        return add({Element::Select, {}, type, type}, {&any(boolean), &any(type), &any(type)},
                   "select");
      case 2: {
        const ElementType to = below(3) == 0 ? boolean : type_of(kNumbers[below(6)]);
        return add({Element::Convert, {}, type, to}, {&any(type)}, fmt::format("{}", to.name()));
      }
      default:
        break;
    }
    const Element code = is_boolean        ? kTruth[below(std::size(kTruth))]
                         : type.is_float() ? kReal[below(std::size(kReal))]
                                           : kWhole[below(std::size(kWhole))];
    std::vector<const Node*> operands;
    for (std::size_t k = 0; k < interpreter::number_of_operands(code); ++k) {
      operands.push_back(&any(type));
    }
    add({code, {}, type, type}, operands, fmt::format("f{}", static_cast<int>(code)));
  }

  std::mt19937_64 random_;
  Numbers numbers_;
  OutputExpressions outputs_;
  std::vector<Node> nodes_;
};

TEST_CASE("what Z3 takes as equal has equal numbers") {
  std::size_t alike = 0;
  std::size_t alike_and_equal = 0;
  std::size_t asked = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    RandomExpressions random(seed);
    const std::vector<RandomExpressions::Node>& nodes = random.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (nodes[i].type != nodes[k].type) continue;
        if (nodes[i].expression.value == nodes[k].expression.value) continue;
        const std::size_t different = RandomExpressions::differences(nodes[i], nodes[k]);
        const bool is_near = different <= RandomExpressions::kDraws / 3 && random.below(4) == 0;
        if (!is_near && random.below(100) != 0) continue;
        ++asked;
        const Outcome outcome = random.asked(nodes[i], nodes[k]);
        CAPTURE(seed);
        CAPTURE(nodes[i].text);
        CAPTURE(nodes[k].text);
        if (outcome == Outcome::Established) CHECK(different == 0);
        alike += different == 0;
        alike_and_equal += different == 0 && outcome == Outcome::Established;
      }
    }
  }
  MESSAGE(asked, " pairs asked, ", alike, " alike on all draws, ", alike_and_equal, " equal");
  CHECK(asked > 5000);
  CHECK(alike_and_equal > 500);
}

}  // namespace
}  // namespace p2::hlo
