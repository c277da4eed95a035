// Constants of f16 and bf16, and the same numbers in f32, as a compiler writes them that computes
// in f32 what is written in bf16.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/interpreter/execution.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// x · c in a type, from and to bf16, cut over two devices or not; n elements. `besides`: what is
/// added to it.
std::string times(const char* type, const std::string& constant, int n = 8,
                  const std::string& besides = "") {
  std::string text = fmt::format(
      "HloModule m, num_partitions=2\nENTRY e {{\n  p = bf16[{1}] parameter(0)\n  x = {0}[{1}] "
      "convert(p)\n  c = {0}[] constant({2})\n  b = {0}[{1}] broadcast(c), dimensions={{}}\n  m = "
      "{0}[{1}] multiply(x, b)\n  e = {0}[{1}] exponential(m)\n  w = bf16[{1}] convert(e)\n",
      type, n, constant);
  if (besides.empty()) return replaced(text, "  w =", "  ROOT w =") + "}\n";
  const std::size_t mark = besides.find('[');
  return text + fmt::format(
                    "  d = {0} constant({1})\n  f = {2}[{3}] broadcast(d), "
                    "dimensions={{}}\n  g = bf16[{3}] convert(f)\n  ROOT r = bf16[{3}] "
                    "add(w, g)\n}}\n",
                    besides.substr(0, mark + 2), besides.substr(mark + 3), besides.substr(0, mark),
                    n);
}

TEST_CASE("a number in bf16 or f16 and the same in f32 are one") {
  struct Number {
    const char* type;
    const char* narrow;
    const char* wide;
  };
  for (const auto& [type, narrow, wide] : {Number{"bf16", "0.04468", "0.0446777344"},
                                           {"bf16", "0.7969", "0.796875"},
                                           {"bf16", "-0.1001", "-0.100097656"},
                                           {"bf16", "1.001e-05", "1.00135803e-05"},
                                           {"bf16", "3.388e-21", "3.388131789e-21"},
                                           {"bf16", "1.002e+09", "1.002438656e+09"},
                                           {"f16", "0.1", "0.0999755859"},
                                           {"f16", "0.044708", "0.044708252"}}) {
    CAPTURE(std::string(narrow));
    CHECK(is_certified(times(type, narrow), times("f32", wide)));
    CHECK(is_certified(times("f32", wide), times(type, narrow)));
    CHECK(compared(times(type, narrow), times("f32", wide)).outcome == Outcome::Established);
    CHECK(compared(times(type, narrow, 1 << 26), times("f32", wide, 1 << 26)).outcome ==
          Outcome::Established);
  }
  // Lists of them.
  const std::string list =
      "HloModule m, num_partitions=2\nENTRY e {\n  p = bf16[3] parameter(0)\n  x = f32[3] "
      "convert(p)\n  c = f32[3] constant({0.0446777344, 0.5, 0.100097656})\n  m = f32[3] "
      "multiply(x, c)\n  ROOT w = bf16[3] convert(m)\n}\n";
  std::string narrow = list;
  for (std::size_t at = 0; (at = narrow.find("f32", at)) != std::string::npos; at += 4)
    if (at == 0 || narrow[at - 1] != 'b') narrow.replace(at, 3, "bf16");
  narrow = replaced(replaced(narrow, "0.0446777344", "0.04468"), "0.100097656", "0.1001");
  CHECK(is_certified(narrow, list));
  CHECK_FALSE(is_certified(narrow, replaced(list, "0.100097656", "0.1")));
}

TEST_CASE("numbers that differ by more than how they are written are not one") {
  // The number next to it in bf16, or in f32.
  for (const char* wide : {"0.0444335938", "0.0446777381", "0.0446777307", "0.0447761193"}) {
    CAPTURE(std::string(wide));
    CHECK_FALSE(is_certified(times("bf16", "0.04468"), times("f32", wide)) !=
                (std::string(wide) == "0.0447761193"));  // 3/67, the simplest fraction
  }
  // The same number twice, in two types and to two precisions: never 1/10 is 205/2048.
  const std::string tenth = times("f32", "0.1", 8, "bf16[] 0.1001");
  const std::string rounded = times("f32", "0.100097656", 8, "bf16[] 0.1001");
  CHECK_FALSE(is_certified(tenth, rounded));
  CHECK(compared(tenth, rounded).outcome != Outcome::Established);
  CHECK_FALSE(is_certified(times("f32", "0.1"), times("f32", "0.100097656")));
  // One of them rounds, and nothing refutes that: nor where the other is in the modules, too.
  CHECK(compared(times("bf16", "0.1001"), times("f32", "0.1")).outcome == Outcome::Established);
  for (const int n : {8, 1 << 26}) {
    CHECK(compared(times("bf16", "0.1001", n, "f32[] 0.100097656"),
                   times("f32", "0.1", n, "f32[] 0.100097656"))
              .outcome == Outcome::Undecided);
    CHECK(compared(times("bf16", "0.1001", n), times("f32", "0.2", n)).outcome == Outcome::Refuted);
  }
}

/// y where a condition on constants holds, else x, beside a product by `beside`.
std::string chosen(const std::string& condition, const std::string& beside,
                   const std::string& computations = "") {
  return "HloModule m\n" + computations +
         "ENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n" + condition +
         "  s = f32[2] select(c, y, x)\n  d = f32[] constant(" + beside +
         ")\n  b = f32[2] broadcast(d), dimensions={}\n  m = f32[2] multiply(x, b)\n  ROOT r = "
         "f32[2] add(m, s)\n}\n";
}

TEST_CASE("conditions on exact constants are those of their types") {
  struct Condition {
    const char* lines;
    bool holds[2];
    const char* computations = "";
  };
  const Condition all[] = {
      // A number listed beside one that the modules have in f32, too, and alone.
      {"  k = bf16[2] constant({0.1, 0.3})\n  l = bf16[2] constant({0.3, 0.3})\n  c = pred[2] "
       "compare(k, l), direction=EQ\n",
       {false, true}},
      {"  k = bf16[2] constant({0.1, 0.3})\n  l0 = bf16[] constant(0.3)\n  l = bf16[2] "
       "broadcast(l0), dimensions={}\n  c = pred[2] compare(k, l), direction=LT\n",
       {true, false}},
      {"  k = f32[2] constant({0.10009765625, 0.7})\n  l0 = f32[] constant(0.7)\n  l = f32[2] "
       "broadcast(l0), dimensions={}\n  c = pred[2] compare(k, l), direction=EQ\n",
       {false, true}},
      {"  k = bf16[2] constant({0.1, 0.1})\n  l = bf16[2] constant({-0.1, -0.1})\n  n = bf16[2] "
       "negate(k)\n  c = pred[2] compare(n, l), direction=EQ\n",
       {true, true}},
      {"  k = bf16[2] constant({0.1, 0.1})\n  l = bf16[2] constant({0.2, 0.3})\n  n = bf16[2] "
       "add(k, k)\n  c = pred[2] compare(n, l), direction=EQ\n",
       {true, false}},
      {"  k = bf16[2] constant({0.1, inf})\n  l = bf16[2] constant({0.1, 0.1})\n  c = pred[2] "
       "compare(k, l), direction=EQ\n",
       {true, false}},
      {"  k0 = bf16[] call(), to_apply=tenth\n  k = bf16[2] broadcast(k0), dimensions={}\n  l = "
       "bf16[2] constant({0.1, 0.3})\n  c = pred[2] compare(k, l), direction=EQ\n",
       {true, false},
       "tenth {\n  ROOT k = bf16[] constant(0.1)\n}\n"}};
  for (const char* beside : {"0.10009765625", "0.25"}) {
    for (const auto& [lines, holds, computations] : all) {
      const std::string before = chosen(lines, beside, computations);
      CAPTURE(before);
      for (int k = 0; k < 4; ++k) {
        const std::string after =
            chosen(fmt::format("  c = pred[2] constant({{{}, {}}})\n", k & 1, k >> 1), beside);
        const bool is_right = holds[0] == ((k & 1) != 0) && holds[1] == (k >> 1 != 0);
        const Outcome found = compared(before, after).outcome;
        if (!is_right) CHECK_FALSE(is_certified(before, after));
        if (!is_right) CHECK(found != Outcome::Established);
        if (is_right) CHECK(found != Outcome::Refuted);
      }
    }
  }
}

TEST_CASE("what cancels exactly is not refuted where one of its constants is listed") {
  const std::string lines =
      "HloModule m\nENTRY e {\n  y = f32[2] parameter(0)\n  k = bf16[2] constant({0.1, 0.3})\n  l0 "
      "= "
      "bf16[] constant(0.3)\n  l = bf16[2] broadcast(l0), dimensions={}\n  n = bf16[2] subtract(k, "
      "l)\n  o = f32[2] convert(n)\n  t0 = f32[] constant(1024)\n  t = f32[2] broadcast(t0), "
      "dimensions={}\n  p = f32[2] multiply(o, t)\n  q = f32[2] multiply(p, y)\n  z = f32[1] "
      "slice(q), slice={[1:2]}\n  d = f32[1] constant({0.10009765625})\n  u = f32[1] slice(y), "
      "slice={[0:1]}\n  v = f32[1] multiply(u, d)\n  ROOT r = f32[1] add(v, z)\n}\n";
  const std::string without = replaced(lines, "add(v, z)", "copy(v)");
  CHECK(compared(lines, without).outcome == Outcome::Established);
}

TEST_CASE("exact constants keep their type where a function takes them") {
  const auto module = [](const std::string& sum) {
    return "HloModule m\nscaled {\n  p = f32[2] parameter(0)\n  k = bf16[] parameter(1)\n"
           "  w = f32[] convert(k)\n  b = f32[2] broadcast(w), dimensions={}\n"
           "  ROOT q = f32[2] multiply(p, b)\n}\n"
           "ENTRY e {\n  x = f32[2] parameter(0)\n  c = bf16[] constant(0.1)\n"
           "  y = f32[2] fusion(x, c), kind=kLoop, calls=scaled\n"
           "  d = f32[] constant(0.10009765625)\n  e = f32[2] broadcast(d), dimensions={}\n"
           "  z = f32[2] multiply(x, e)\n  ROOT r = f32[2] " +
           sum + "\n}\n";
  };
  CHECK(is_certified(module("add(y, z)"), module("add(z, y)")));
  CHECK(is_certified(module("add(y, z)"), module("add(y, y)")));
  CHECK_FALSE(is_certified(module("add(y, z)"), module("add(y, x)")));
}

}  // namespace
}  // namespace p2::hlo
