#include <map>
#include <string>
#include <variant>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"

// What elements are: infinities and NaN, integers at the limits of their types, rounded constants.

namespace p2::hlo {

TEST_CASE("what may be infinite or NaN does not cancel") {
  const auto pair = [](const std::string& before, const std::string& after) {
    return verdicts(module_text(before, 1), module_text(after, 1));
  };
  const std::string infinite = "  k = f32[] constant(inf)\n";
  const std::string zero = "  ROOT z = f32[] constant(0)\n";
  CHECK(pair(infinite + "  ROOT r = f32[] subtract(k, k)\n", zero) == "unknown; invalid value");
  CHECK(pair("  k = f32[] constant(nan)\n  ROOT r = f32[] subtract(k, k)\n", zero) ==
        "unknown; invalid value");
  CHECK(pair(infinite + "  o = f32[] constant(1)\n  s = f32[] add(k, o)\n"
                        "  ROOT r = f32[] subtract(s, k)\n",
             "  ROOT z = f32[] constant(1)\n") == "unknown; invalid value");
  CHECK(pair("  a = f32[3] constant({inf, 0, 2})\n  o = f32[] constant(1)\n"
             "  ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=multiply\n",
             zero) == "unknown; invalid value");
  const std::string x = "  x = f32[4] parameter(0)\n";
  const std::string same = "  ROOT x = f32[4] parameter(0)\n";
  CHECK(pair(x + "  n = f32[] constant(-inf)\n  b = f32[4] broadcast(n), dimensions={}\n"
                 "  s = f32[4] add(x, b)\n  ROOT r = f32[4] subtract(s, b)\n",
             same) == "unknown; invalid value");
  CHECK(pair(x + "  b = f32[4] constant({-inf, 1, 2, 3})\n"
                 "  s = f32[4] add(x, b)\n  ROOT r = f32[4] subtract(s, b)\n",
             same) == "unknown; invalid value");
  CHECK(pair(x + "  b = f32[4] constant({8, 1, 2, 3})\n"
                 "  s = f32[4] add(x, b)\n  ROOT r = f32[4] subtract(s, b)\n",
             same) == "valid; valid");
  // A function may overflow.
  CHECK(pair("  x = f32[1] parameter(0)\n  e = f32[1] exponential(x)\n"
             "  w = f32[2] constant({0, 2})\n  a = f32[3] concatenate(e, w), dimensions={0}\n"
             "  o = f32[] constant(1)\n"
             "  ROOT r = f32[] reduce(a, o), dimensions={0}, to_apply=multiply\n",
             "  x = f32[1] parameter(0)\n" + zero) == "unknown; unknown");
}

TEST_CASE("a number that is not a number equals nothing") {
  for (const auto& [direction, result] :
       std::map<std::string, std::string>{{"EQ", "false"}, {"GE", "false"}, {"NE", "true"}}) {
    const std::string compared =
        "  k = f32[] constant(nan)\n  ROOT r = pred[] compare(k, k), "
        "direction=" +
        direction + "\n";
    const auto is = [&](const std::string& value) {
      return verdicts(module_text(compared, 1),
                      module_text("  ROOT r = pred[] constant(" + value + ")\n", 1));
    };
    CAPTURE(direction);
    CHECK(is(result) == "unknown; valid");
    CHECK(is(result == "true" ? "false" : "true") == "unknown; invalid value");
  }
}

TEST_CASE("NaNs with a payload are read") {
  const std::string bits =
      "  k = s16[2] constant({32767, 1})\n"
      "  ROOT r = bf16[2] bitcast-convert(k)\n";
  CHECK(verdicts(module_text(bits, 1), module_text(bits, 1)) == "valid; valid");
  const std::string folded = "  ROOT r = bf16[2] constant({nan(0x7f), -nan(0x1)})\n";
  CHECK(verdicts(module_text(folded, 1), module_text(folded, 1)) == "valid; valid");
}

TEST_CASE("constants that were folded in their type are equal bit for bit") {
  const auto pair = [](const std::string& before, const std::string& after) {
    const auto module = [](const std::string& text) { return module_text(text, 1); };
    const ModuleDecision decision = compared(module(before), module(after));
    return summary(decision) + " " + std::string(to_string(decision.equality));
  };
  const std::string sum =
      "  a = bf16[] constant(1.5)\n  b = bf16[] constant(300)\n"
      "  ROOT r = bf16[] add(a, b)\n";
  CHECK(pair(sum, "  ROOT r = bf16[] constant(302)\n") == "valid bitwise");
  CHECK(pair(sum, "  ROOT r = bf16[] constant(300)\n") == "invalid contributions real");
  const std::string reduced =
      "  a = f32[4] constant({5.48, -4.795, 1.37e+19, 1e-12})\n"
      "  ROOT r = f32[4] reduce-precision(a), exponent_bits=6, "
      "mantissa_bits=3\n";
  CHECK(pair(reduced, "  ROOT r = f32[4] constant({5.5, -5, inf, 0})\n") == "valid bitwise");
  CHECK(pair(reduced, "  ROOT r = f32[4] constant({5.5, -4.5, inf, 0})\n") == "invalid value real");
}

TEST_CASE("an arithmetic shift of unsigned numbers keeps their highest bit") {
  const std::string shifted =
      "  a = u8[] constant(186)\n  b = u8[] constant(7)\n"
      "  ROOT r = u8[] shift-right-arithmetic(a, b)\n";
  const auto is = [&](const std::string& value) {
    return verdicts(module_text(shifted, 1),
                    module_text("  ROOT r = u8[] constant(" + value + ")\n", 1));
  };
  CHECK(is("255") == "valid; valid");
  CHECK(is("1") == "invalid contributions; invalid value");
}

TEST_CASE("no index of a narrow type names the places beyond its range") {
  const std::string entry =
      "  x = f32[256] parameter(0)\n  i = s8[1] parameter(1)\n  u = f32[] parameter(2)\n";
  const std::string scattered =
      entry +
      "  ROOT y = f32[256] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add\n";
  const auto compared_with_positions = [&](const std::string& type) {
    const std::string added = fmt::format(
        "  k = s32[256] iota(), iota_dimension=0\n  n = {0}[256] convert(k)\n"
        "  j = {0}[1] convert(i)\n  r = {0}[] reshape(j)\n"
        "  w = {0}[256] broadcast(r), dimensions={{}}\n"
        "  e = pred[256] compare(n, w), direction=EQ\n  f = f32[256] convert(e)\n"
        "  v = f32[256] broadcast(u), dimensions={{}}\n  p = f32[256] multiply(f, v)\n"
        "  ROOT y = f32[256] add(x, p)\n",
        type);
    const std::string before = module_text(scattered, 1);
    const std::string after = module_text(entry + added, 1);
    ModuleDecision decision = compared(before, after);
    const std::string verdict = summary(decision);
    decision.outcome = Outcome::Established;
    const bool accepted =
        std::holds_alternative<CertificateFiles>(module_certificate({before, after}, decision, {}));
    return verdict + (accepted ? ", accepted" : "");
  };
  CHECK(compared_with_positions("s32") == "valid, accepted");
  CHECK(compared_with_positions("s8") == "unknown");  // the place 200 is not the index -56
}

TEST_CASE("a constant that is printed with few digits is a number of its type") {
  // 70144 in bf16
  const std::string text = "  k = bf16[] constant(7.014e+04)\n";
  const auto pair = [&](const std::string& convert, const std::string& after) {
    return verdicts(module_text(text + convert, 1), module_text(after, 1));
  };
  CHECK(pair("  ROOT r = u32[] convert(k)\n", "  ROOT r = u32[] constant(70140)\n") ==
        "unknown; invalid value");
  CHECK(pair("  ROOT r = u32[] convert(k)\n", "  ROOT r = u32[] constant(70144)\n") ==
        "unknown; valid");
  CHECK(pair("  ROOT r = f32[] convert(k)\n", "  ROOT r = f32[] constant(70144)\n") ==
        "unknown; valid");
}

TEST_CASE("a total order of floating-point numbers has all of them") {
  const std::string sorted = R"(HloModule m

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER
}

ENTRY e {
  k = f32[4] constant({nan, 1, -inf, -nan})
  ROOT r = f32[4] sort(k), dimensions={0}, is_stable=true, to_apply=less
}
)";
  const auto is = [&](const std::string& value) {
    return verdicts(sorted, module_text("  ROOT r = f32[4] constant({" + value + "})\n", 1));
  };
  CHECK(is("-nan, -inf, 1, nan") != "unknown; invalid value");
  CHECK(is("nan, 1, -inf, nan") == "unknown; invalid value");
}

TEST_CASE("unsigned numbers of 64 bits are no negative ones") {
  const auto pair = [](const std::string& before, const std::string& after) {
    return verdicts(module_text(before, 1), module_text(after, 1));
  };
  const std::string below =
      "  a = u64[] constant(3)\n  b = u64[] constant(5)\n"
      "  d = u64[] subtract(a, b)\n";
  CHECK(pair(below + "  ROOT r = f64[] convert(d)\n", "  ROOT r = f64[] constant(-2)\n") ==
        "unknown; invalid value");
  CHECK(pair(below + "  ROOT r = pred[] compare(d, a), direction=LT\n",
             "  ROOT r = pred[] constant(true)\n") == "unknown; invalid value");
  CHECK(pair("  k = f32[] constant(-1)\n  ROOT r = u64[] convert(k)\n",
             "  ROOT r = u64[] constant(0)\n") == "unknown; valid");
}

TEST_CASE("integers wrap") {
  const auto doubled = [](int times, const char* type) {
    std::string text = fmt::format(
        "HloModule m, num_partitions=1\nENTRY e {{\n  x0 = {}[3] "
        "parameter(0)\n",
        type);
    for (int i = 1; i <= times; ++i) {
      text += fmt::format("  x{} = {}[3] add(x{}, x{})\n", i, type, i - 1, i - 1);
    }
    return text + "}\n";
  };
  CHECK(summary(compared(doubled(8, "u8"), doubled(9, "u8"))) == "valid");
  CHECK(summary(compared(doubled(7, "u8"), doubled(8, "u8"))) == "invalid contributions");
  CHECK(summary(compared(doubled(8, "s16"), doubled(9, "s16"))) == "invalid contributions");
  CHECK(summary(compared(doubled(8, "f32"), doubled(9, "f32"))) == "invalid contributions");
}

}  // namespace p2::hlo
