// What p2-check may not decide by the bounds of real numbers, by infinities, by how numbers are
// rounded or by the sign of a zero; and what it still has to.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

struct Programs {
  const char* why;
  std::string before, after;
  bool is_itself = true;  ///< whether the module before is certified to be
};

std::string module_of_lines(const std::string& lines) {
  return "HloModule m\n\nENTRY e {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n" + lines +
         "}\n";
}

const std::string kTrue = "  ROOT r = pred[] constant(true)\n";
const std::string kX = "  ROOT r = f32[] copy(x)\n";
/// A choice of y where `lines` have p, of x elsewhere.
std::string chosen(const std::string& lines) {
  return lines + "  ROOT r = f32[] select(p, y, x)\n";
}
std::string with_inf(const std::string& lines) {
  return "  i = f32[] constant(-inf)\n  z = f32[] constant(0)\n  one = f32[] constant(1)\n"
         "  c = pred[] compare(y, z), direction=GT\n  q = f32[] select(c, x, i)\n" +
         lines;
}

/// A choice of y where v is equal to itself, as no number that is none is.
std::string chosen_if_number(const std::string& lines) {
  return chosen("  z = f32[] subtract(y, y)\n" + lines +
                "  p = pred[] compare(v, v), direction=EQ\n");
}

std::vector<Programs> different_programs() {
  const std::string nan_sum = "  n = f32[] constant(nan)\n  q = f32[] add(n, x)\n";
  return {
      {"a minimum that small inputs do not reach",
       "  c = f32[] constant(20000)\n  ROOT r = f32[] minimum(x, c)\n", kX},
      {"a product that is clamped",
       "  c = f32[] constant(3e8)\n  p = f32[] multiply(x, y)\n  ROOT r = f32[] minimum(p, c)\n",
       "  ROOT r = f32[] multiply(x, y)\n"},
      {"a choice where an input is large",
       chosen("  c = f32[] constant(65504)\n  p = pred[] compare(x, c), direction=GT\n"), kX},
      {"a maximum by which both bounds of small inputs are one",
       "  c = f32[] constant(1e4)\n  ROOT r = f32[] maximum(x, c)\n",
       "  ROOT r = f32[] constant(1e4)\n"},
      {"an exponential that underflows is not zero",
       "  t = f32[] tanh(x)\n  c = f32[] constant(800)\n  s = f32[] subtract(t, c)\n"
       "  e = f32[] exponential(s)\n  ROOT r = f32[] log(e)\n",
       "  ROOT r = f32[] constant(-inf)\n"},
      {"one that overflows is not infinite",
       "  t = f32[] tanh(x)\n  c = f32[] constant(800)\n  s = f32[] add(t, c)\n"
       "  e = f32[] exponential(s)\n  ROOT r = pred[] is-finite(e)\n",
       "  ROOT r = pred[] constant(false)\n"},
      {"a product of constants that underflows is not zero",
       "  c = f64[] constant(1e-200)\n  p = f64[] multiply(c, c)\n  ROOT r = f64[] log(p)\n",
       "  ROOT r = f64[] constant(-inf)\n"},
      {"a sum of constants that overflows does not stay what it is",
       "  c = f64[] constant(1e308)\n  s = f64[] add(c, c)\n  ROOT r = f64[] subtract(s, c)\n",
       "  c = f64[] constant(1e308)\n  ROOT r = f64[] add(c, c)\n"},
      {"what may be infinite less itself",
       with_inf("  d = f32[] subtract(q, q)\n  ROOT r = pred[] compare(d, z), direction=EQ\n"),
       kTrue},
      {"its exponential", with_inf("  d = f32[] subtract(q, q)\n  ROOT r = f32[] exponential(d)\n"),
       "  ROOT r = f32[] constant(1)\n"},
      {"one more, less itself",
       with_inf("  s = f32[] add(q, one)\n  ROOT r = f32[] subtract(s, q)\n"),
       "  ROOT r = f32[] constant(1)\n"},
      {"twice itself, less itself",
       with_inf("  s = f32[] add(q, q)\n  ROOT r = f32[] subtract(s, q)\n"),
       with_inf("  ROOT r = f32[] copy(q)\n")},
      {"what may be infinite, compared with two numbers",
       with_inf("  t = f32[] constant(2)\n  ROOT r = pred[] compare(q, t), direction=EQ\n"),
       with_inf("  ROOT r = pred[] compare(q, z), direction=EQ\n")},
      {"a hyperbolic tangent of NaN",
       with_inf("  d = f32[] subtract(q, q)\n  s = f32[] add(d, d)\n  e = f32[] exponential(s)\n"
                "  n = f32[] add(e, one)\n  u = f32[] divide(one, n)\n  h = f32[] tanh(d)\n"
                "  a = f32[] add(h, u)\n  ROOT r = f32[] add(a, u)\n"),
       "  ROOT r = f32[] constant(1)\n"},
      {"the power 1/2 of an infinity is no root",
       with_inf("  h = f32[] constant(0.5)\n  ROOT r = f32[] power(q, h)\n"),
       with_inf("  ROOT r = f32[] sqrt(q)\n")},
      {"a zero by itself",
       with_inf("  e = f32[] exponential(x)\n  m = f32[] multiply(z, e)\n"
                "  ROOT r = f32[] divide(m, m)\n"),
       "  ROOT r = f32[] constant(1)\n"},
      {"what may be infinite by itself", with_inf("  ROOT r = f32[] divide(q, q)\n"),
       "  ROOT r = f32[] constant(1)\n"},
      {"NaN is not equal to itself", nan_sum + "  ROOT r = pred[] compare(q, q), direction=EQ\n",
       kTrue},
      {"nor is it less or not less", nan_sum + "  ROOT r = pred[] compare(q, y), direction=LE\n",
       nan_sum + "  p = pred[] compare(q, y), direction=GT\n  ROOT r = pred[] not(p)\n"},
      {"the total order of NaN",
       "  n = f32[] constant(nan)\n  ROOT r = pred[] compare(x, n), direction=LT, "
       "type=TOTALORDER\n",
       "  n = f32[] constant(nan)\n  ROOT r = pred[] compare(x, n), direction=LT\n", false},
      {"NaN less NaN",
       "  n = f32[] constant(nan)\n  q = f32[] add(n, x)\n  ROOT r = f32[] subtract(q, n)\n", kX},
      {"an infinity times zero",
       "  i = f32[] constant(inf)\n  q = f32[] multiply(i, x)\n"
       "  ROOT r = pred[] compare(q, q), direction=EQ\n",
       kTrue},
      {"a pole less itself",
       with_inf("  d = f32[] divide(one, z)\n  s = f32[] add(d, x)\n  e = f32[] subtract(s, s)\n"
                "  ROOT r = pred[] compare(e, z), direction=EQ\n"),
       kTrue},
      {"the negative of a pole",
       with_inf("  d = f32[] divide(one, z)\n  t = f32[] negate(d)\n  m = f32[] multiply(t, x)\n"
                "  ROOT r = f32[] divide(m, t)\n"),
       kX},
      {"a number of f16 that is none below the least",
       chosen("  c = f16[] constant(1e-9)\n  z = f16[] constant(0)\n"
              "  p = pred[] compare(c, z), direction=GT\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"two of bf16 that are one",
       chosen("  c = bf16[] constant(1e-40)\n  d = bf16[] constant(9e-41)\n"
              "  p = pred[] compare(c, d), direction=EQ\n"),
       kX},
      {"a number that is rounded to f32 first",
       chosen("  c = bf16[] constant(1.0039062500001)\n  d = bf16[] constant(1)\n"
              "  p = pred[] compare(c, d), direction=EQ\n"),
       kX},
      {"an index that is rounded to bf16",
       "  n = bf16[300] iota(), iota_dimension=0\n  a = bf16[1] slice(n), slice={[256:257]}\n"
       "  b = bf16[1] slice(n), slice={[257:258]}\n"
       "  ROOT r = pred[1] compare(b, a), direction=GT\n",
       "  ROOT r = pred[1] constant({true})\n"},
      {"an integer that is cut before it is converted",
       "  c = s32[] constant(300)\n  b = s8[] convert(c)\n  ROOT r = f32[] convert(b)\n",
       "  ROOT r = f32[] constant(300)\n"},
      {"one below zero",
       "  c = s32[] constant(-1)\n  b = u8[] convert(c)\n  ROOT r = f32[] convert(b)\n",
       "  ROOT r = f32[] constant(-1)\n"},
      {"an index of 8 bits",
       "  n = s8[300] iota(), iota_dimension=0\n  a = s8[1] slice(n), slice={[200:201]}\n"
       "  ROOT r = f32[1] convert(a)\n",
       "  ROOT r = f32[1] constant({200})\n"},
      {"an integer that bf16 rounds, rounded",
       "  c = s32[] constant(257)\n  b = bf16[] convert(c)\n  ROOT r = s32[] convert(b)\n",
       "  ROOT r = s32[] constant(256)\n"},
      {"an integer that bf16 rounds, as it is",
       "  c = s32[] constant(257)\n  b = bf16[] convert(c)\n  ROOT r = s32[] convert(b)\n",
       "  ROOT r = s32[] constant(257)\n"},
      {"indices that bf16 rounds, as a list",
       "  n = bf16[260] iota(), iota_dimension=0\n  a = bf16[3] slice(n), slice={[257:260]}\n"
       "  ROOT r = s32[3] convert(a)\n",
       "  ROOT r = s32[3] constant({256, 258, 260})\n"},
      {"an index beyond f16",
       "  n = f16[70000] iota(), iota_dimension=0\n  a = f16[1] slice(n), slice={[69999:70000]}\n"
       "  ROOT r = pred[1] is-finite(a)\n",
       "  ROOT r = pred[1] constant({true})\n"},
      {"a remainder by what is always zero", chosen_if_number("  v = f32[] remainder(x, z)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"a remainder by zero",
       chosen_if_number("  c = f32[] constant(0)\n  v = f32[] remainder(x, c)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"a remainder of what is always infinite",
       chosen_if_number("  i = f32[] constant(inf)\n  q = f32[] multiply(x, i)\n"
                        "  v = f32[] remainder(q, y)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"a power of a negative number",
       chosen_if_number("  a = f32[] constant(-2)\n  b = f32[] constant(0.3)\n"
                        "  v = f32[] power(a, b)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"an inverse power of zero",
       chosen_if_number("  a = f32[] constant(0)\n  b = f32[] constant(-0.7)\n"
                        "  q = f32[] power(a, b)\n  t = f32[] multiply(x, q)\n"
                        "  v = f32[] subtract(t, t)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"inverse roots of what is always zero",
       chosen_if_number("  q = f32[] rsqrt(z)\n  v = f32[] subtract(q, q)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"a logarithm of what is below zero",
       chosen_if_number("  t = f32[] tanh(x)\n  c = f32[] constant(2)\n  a = f32[] subtract(t, c)\n"
                        "  v = f32[] log(a)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"a power of what is below zero",
       chosen_if_number("  t = f32[] tanh(x)\n  c = f32[] constant(2)\n  a = f32[] subtract(t, c)\n"
                        "  b = f32[] constant(0.3)\n  v = f32[] power(a, b)\n"),
       "  ROOT r = f32[] copy(y)\n"},
      {"the bits of a zero with a sign",
       "  n = f32[] constant(-0)\n  ROOT r = s32[] bitcast-convert(n)\n",
       "  n = f32[] constant(0)\n  ROOT r = s32[] bitcast-convert(n)\n", false},
      {"the angle of a zero with a sign",
       "  n = f32[] constant(-0)\n  z = f32[] constant(0)\n  ROOT r = f32[] atan2(z, n)\n",
       "  z = f32[] constant(0)\n  ROOT r = f32[] atan2(z, z)\n", false}};
}

TEST_CASE("what small inputs, infinities, rounding or the sign of a zero decide is not equal") {
  for (const Programs& each : different_programs()) {
    CAPTURE(std::string(each.why));
    CHECK_FALSE(is_certified(module_of_lines(each.before), module_of_lines(each.after)));
    // What is read and executed is right: each is itself.
    CHECK(is_certified(module_of_lines(each.before), module_of_lines(each.before)) ==
          each.is_itself);
  }
}

/// Infinite constants, and what is computed from them: no engine takes it as a number.
TEST_CASE("what is infinite or no number for all inputs is not compared as numbers are") {
  const std::string infinite =
      "  i = f32[] constant(inf)\n  q = f32[] multiply(x, i)\n  s = f32[] sine(q)\n";
  const std::string one = "  o = f32[] constant(1)\n";
  const std::pair<std::string, std::string> pairs[] = {
      {chosen_if_number(infinite + "  v = f32[] remainder(q, y)\n"), "  ROOT r = f32[] copy(y)\n"},
      {chosen_if_number(infinite + "  v = f32[] sine(q)\n"), "  ROOT r = f32[] copy(y)\n"},
      {infinite + one + "  ROOT r = pred[] compare(s, o), direction=GE\n",
       infinite + one + "  l = pred[] compare(s, o), direction=LT\n  ROOT r = pred[] not(l)\n"},
      {infinite + one +
           "  t = f32[] constant(2)\n  h = f32[] maximum(s, t)\n"
           "  ROOT r = f32[] minimum(h, o)\n",
       "  ROOT r = f32[] constant(1)\n"},
      {infinite + "  a = f32[] add(s, y)\n  ROOT r = f32[] subtract(a, s)\n",
       "  ROOT r = f32[] copy(y)\n"}};
  for (const auto& [before, after] : pairs) {
    CAPTURE(before);
    const std::string says = summary(compared(module_of_lines(before), module_of_lines(after)));
    CHECK(says != "valid");
    CHECK_FALSE(is_certified(module_of_lines(before), module_of_lines(after)));
  }
}

TEST_CASE("what holds of all real numbers is decided still") {
  const std::vector<Programs> all = {
      {"a maximum with less than everything",
       "  i = f32[] constant(-inf)\n  ROOT r = f32[] maximum(x, i)\n", kX},
      {"a function between bounds",
       "  t = f32[] tanh(x)\n  c = f32[] constant(1)\n  ROOT r = f32[] minimum(t, c)\n",
       "  ROOT r = f32[] tanh(x)\n"},
      {"what is never negative",
       "  s = f32[] logistic(x)\n  c = f32[] constant(-1)\n  p = pred[] compare(s, c), "
       "direction=GT\n  ROOT r = f32[] select(p, x, y)\n",
       kX},
      {"sums of what may be infinite, in another order",
       with_inf("  s = f32[] add(q, x)\n  ROOT r = f32[] add(s, y)\n"),
       with_inf("  s = f32[] add(x, y)\n  ROOT r = f32[] add(q, s)\n")},
      {"an integer that is cut and converted",
       "  c = s32[] constant(300)\n  b = s8[] convert(c)\n  ROOT r = f32[] convert(b)\n",
       "  ROOT r = f32[] constant(44)\n"},
      {"integers that bf16 rounds, converted or counted",
       "  n = bf16[260] iota(), iota_dimension=0\n  a = bf16[3] slice(n), slice={[257:260]}\n"
       "  ROOT r = s32[3] convert(a)\n",
       "  n = s32[260] iota(), iota_dimension=0\n  b = bf16[260] convert(n)\n"
       "  a = bf16[3] slice(b), slice={[257:260]}\n  ROOT r = s32[3] convert(a)\n"},
      {"an infinity and a number", with_inf("  ROOT r = f32[] add(i, x)\n"),
       "  ROOT r = f32[] constant(-inf)\n"},
      {"a zero times what is finite", "  z = f32[] constant(0)\n  ROOT r = f32[] multiply(x, z)\n",
       "  ROOT r = f32[] constant(0)\n"}};
  for (const Programs& each : all) {
    CAPTURE(std::string(each.why));
    CHECK(is_certified(module_of_lines(each.before), module_of_lines(each.after)));
  }
}

TEST_CASE("what is equal but for rounding, zeros' signs and overflow is no difference") {
  const std::vector<Programs> all = {
      {"numbers below the least of f16",
       "  c = f16[] constant(1.1e-7)\n  f = f32[] convert(c)\n  k = f32[] constant(1e7)\n"
       "  ROOT r = f32[] multiply(f, k)\n",
       "  c = f16[] constant(1.3e-7)\n  f = f32[] convert(c)\n  k = f32[] constant(1e7)\n"
       "  ROOT r = f32[] multiply(f, k)\n"},
      {"a root that is rounded before it is scaled",
       "  c = f32[] constant(2)\n  s = f32[] sqrt(c)\n  a = f32[] constant(5741)\n"
       "  m = f32[] multiply(s, a)\n  b = f32[] constant(8119)\n  d = f32[] subtract(m, b)\n"
       "  k = f32[] constant(1e10)\n  ROOT r = f32[] multiply(d, k)\n",
       "  ROOT r = f32[] constant(0)\n"},
      {"the sign of a zero",
       "  c = s32[] constant(0)\n  z = f32[] convert(c)\n  n = f32[] negate(z)\n"
       "  m = f32[] maximum(n, z)\n  ROOT r = s32[] bitcast-convert(m)\n",
       "  ROOT r = s32[] constant(0)\n"},
      {"products of doubles that are too small",
       "  t = f64[] constant(1e-322)\n  d = f64[] convert(x)\n  m = f64[] multiply(d, t)\n"
       "  ROOT r = f64[] divide(m, t)\n",
       "  ROOT r = f64[] convert(x)\n"},
      {"an integer that is rounded to its type",
       "  c = s32[] constant(257)\n  a = bf16[] convert(c)\n  b = bf16[] constant(257)\n"
       "  ROOT r = pred[] compare(a, b), direction=EQ\n",
       kTrue},
      {"indices that bf16 rounds, counted from an integer that it does not",
       "  n = bf16[260] iota(), iota_dimension=0\n  a = bf16[3] slice(n), slice={[257:260]}\n"
       "  ROOT r = s32[3] convert(a)\n",
       "  n = bf16[4] iota(), iota_dimension=0\n  a = bf16[3] slice(n), slice={[1:4]}\n"
       "  c = s32[] constant(256)\n  b = bf16[] convert(c)\n"
       "  o = bf16[3] broadcast(b), dimensions={}\n  s = bf16[3] add(a, o)\n"
       "  ROOT r = s32[3] convert(s)\n"},
      {"a product that is too large for its type",
       "  c = f16[] constant(60000)\n  p = f16[] multiply(c, c)\n  ROOT r = pred[] is-finite(p)\n",
       "  ROOT r = pred[] constant(false)\n"},
      {"a number that is too large for a narrower type",
       "  c = f32[] constant(100000)\n  d = f16[] convert(c)\n  ROOT r = pred[] is-finite(d)\n",
       "  ROOT r = pred[] constant(false)\n"},
      {"a number that a narrower type rounds",
       "  c = f32[] constant(257)\n  d = bf16[] convert(c)\n  ROOT r = s32[] convert(d)\n",
       "  ROOT r = s32[] constant(256)\n"},
      {"NaN in the total order",
       "  n = f32[] constant(nan)\n  ROOT r = pred[] compare(x, n), direction=LT, "
       "type=TOTALORDER\n",
       kTrue},
      {"an angle that its type rounds",
       "  i = f32[] constant(inf)\n  c = f32[] constant(1)\n  a = f32[] atan2(i, c)\n"
       "  b = f32[] constant(1.5707964)\n  ROOT r = pred[] compare(a, b), direction=EQ\n",
       kTrue}};
  for (const Programs& each : all) {
    CAPTURE(std::string(each.why));
    CHECK_FALSE(is_certified_different(module_of_lines(each.before), module_of_lines(each.after)));
  }
  CHECK(is_certified_different(module_of_lines("  ROOT r = f32[] add(x, y)\n"),
                               module_of_lines("  ROOT r = f32[] subtract(x, y)\n")));
}

TEST_CASE("a literal is what its type rounds it to, for every engine") {
  for (const ModuleEngine engine :
       {ModuleEngine::Symbolic, ModuleEngine::Interpreter, ModuleEngine::All}) {
    ComparisonOptions options;
    options.engine = engine;
    for (const Programs& each : different_programs()) {
      if (each.before.find("f16[] constant") == std::string::npos) continue;
      CAPTURE(std::string(each.why));
      CHECK(compared(module_of_lines(each.before), module_of_lines(each.after), options).outcome !=
            Outcome::Established);
    }
    const std::string equal = chosen(
        "  c = f32[] constant(16777217)\n  d = f32[] constant(16777216)\n"
        "  p = pred[] compare(c, d), direction=EQ\n");
    CHECK(compared(module_of_lines(equal), module_of_lines("  ROOT r = f32[] copy(y)\n"), options)
              .outcome == Outcome::Established);
    CHECK(compared(module_of_lines(equal), module_of_lines(kX), options).outcome ==
          Outcome::Refuted);
  }
}

/// Rows of which only what `k` has counts, in two blocks of 8.
std::string masked(const std::string& lines) {
  return "HloModule m\n\nmaximum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT r = f32[] maximum(a, b)\n}\n\nadd {\n  a = f32[] parameter(0)\n"
         "  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n\nENTRY e {\n"
         "  x = f32[2,16] parameter(0)\n  k = pred[2,16] parameter(1)\n  i = f32[] constant(-inf)\n"
         "  z = f32[] constant(0)\n  ib = f32[2,16] broadcast(i), dimensions={}\n"
         "  s = f32[2,16] select(k, x, ib)\n" +
         lines + "}\n";
}
/// The sum of exponentials of some elements, less the largest of these.
std::string summed(const std::string& n, const std::string& elements, int size) {
  const std::string row = "f32[2," + std::to_string(size) + "]";
  return "  m" + n + " = f32[2] reduce(" + elements +
         ", i), dimensions={1}, to_apply=maximum\n  b" + n + " = " + row + " broadcast(m" + n +
         "), dimensions={0}\n  d" + n + " = " + row + " subtract(" + elements + ", b" + n +
         ")\n  p" + n + " = " + row + " exponential(d" + n + ")\n  l" + n + " = f32[2] reduce(p" +
         n + ", z), dimensions={1}, to_apply=add\n";
}

TEST_CASE("a mask that leaves nothing of a block, or of a row, is tried") {
  const std::string whole =
      masked(summed("", "s", 16) + "  g = f32[2] log(l)\n  ROOT r = f32[2] add(m, g)\n");
  // Of a block of which nothing is left -inf − -inf is NaN, not 0.
  std::string blocks;
  for (const std::string n : {"0", "1"})
    blocks += "  s" + n + " = f32[2,8] slice(s), slice={[0:2], " + (n == "0" ? "[0:8]" : "[8:16]") +
              "}\n" + summed(n, "s" + n, 8);
  blocks += "  m = f32[2] maximum(m0, m1)\n";
  for (const std::string n : {"0", "1"})
    blocks += "  t" + n + " = f32[2] subtract(m" + n + ", m)\n  e" + n + " = f32[2] exponential(t" +
              n + ")\n  w" + n + " = f32[2] multiply(l" + n + ", e" + n + ")\n";
  blocks += "  l = f32[2] add(w0, w1)\n  g = f32[2] log(l)\n  ROOT r = f32[2] add(m, g)\n";
  CHECK(compared(whole, masked(blocks)).outcome == Outcome::Undecided);
  CHECK_FALSE(is_certified(whole, masked(blocks)));
  CHECK(compared(whole, whole).outcome == Outcome::Established);
  // Where every block has something the two are equal: no mask.
  const auto unmasked = [](const std::string& text) {
    return replaced(text, "select(k, x, ib)", "copy(x)");
  };
  CHECK(compared(unmasked(whole), unmasked(masked(blocks))).outcome == Outcome::Established);
  // The largest less itself is NaN in a row of which nothing is left.
  const std::string less = masked(summed("", "s", 16) +
                                  "  t = f32[2] subtract(m, m)\n"
                                  "  ROOT r = f32[2] exponential(t)\n");
  const std::string one =
      masked("  c = f32[] constant(1)\n  ROOT r = f32[2] broadcast(c), dimensions={}\n");
  CHECK(compared(less, one).outcome == Outcome::Undecided);
}

TEST_CASE("texts that XLA refuses are no certificates") {
  const std::string texts[] = {
      "  z = f32[2] constant({1, 2})\n  ROOT r = s32[2] reshape(z)\n",
      "  z = f32[2] constant({1, 2})\n  ROOT r = s32[2] transpose(z), dimensions={0}\n",
      "  z = f32[2] constant({1, 2})\n  c = f32[] constant(0)\n"
      "  ROOT r = f32[2,3] pad(z, c), padding=0_0\n",
      "  z = f32[2,2] constant({{1, 2}, {3, 4}})\n"
      "  ROOT r = f32[2,2] reverse(z), dimensions={0,0}\n",
      "  a = s32[] constant(-1)\n  b = s32[] constant(1)\n"
      "  ROOT r = pred[] compare(a, b), direction=LT, type=UNSIGNED\n",
      "  ROOT r = s8[] constant(300)\n",
      "  ROOT r = u8[] constant(-1)\n",
      "  ROOT r = f32[] constant(1e400)\n",
      "  ROOT r = f16[] constant(65520)\n",
      "  ROOT r = f32[] constant(banana)\n",
      "  ROOT r = f32[] constant(0x1p3)\n",
      "  ROOT a = f32[] negate(x)\n  ROOT r = f32[] negate(y)\n",
      "  ROOT r = f32[] negate(x), banana\n"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK_FALSE(is_certified(module_of_lines(text), module_of_lines(text)));
  }
}

TEST_CASE("computations that call themselves, and predicates that nest, end") {
  const std::string itself =
      "HloModule m\n\nf {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  v = f32[2] broadcast(a), dimensions={}\n"
      "  ROOT r = f32[] reduce(v, b), dimensions={0}, to_apply=f\n}\n\n"
      "ENTRY e {\n  x = f32[2] parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f\n}\n";
  CHECK_FALSE(is_certified(itself, itself));
  // Functions of two integers, each of which is chosen by the other.
  std::string nested =
      "HloModule m\n\nENTRY e {\n  i = s32[] parameter(0)\n  j = s32[] parameter(1)\n"
      "  k0 = s32[] copy(i)\n  l0 = s32[] copy(j)\n";
  for (int k = 0; k < 12; ++k) {
    const auto n = std::to_string(k), next = std::to_string(k + 1);
    nested += "  c" + n + " = s32[] constant(" + n + ")\n  p" + n + " = pred[] compare(k" + n +
              ", c" + n + "), direction=LT\n  q" + n + " = pred[] compare(l" + n + ", c" + n +
              "), direction=GT\n  k" + next + " = s32[] select(q" + n + ", k" + n + ", l" + n +
              ")\n  l" + next + " = s32[] select(p" + n + ", l" + n + ", k" + n + ")\n";
  }
  nested += "  ROOT r = s32[] add(k12, l12)\n}\n";
  CHECK(is_certified(nested, nested));
}

}  // namespace
}  // namespace p2::hlo
