#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"

// The senses in which modules are equal: for every rule what holds, and what would be wrong.

namespace p2::hlo {
namespace {

/// Every sense that is shown, from the weakest: `real reassociated bitwise`; `invalid` otherwise.
std::string senses(const std::string& before, const std::string& after) {
  std::string all;
  bool weaker = true;
  for (const FloatEquality equality :
       {FloatEquality::Real, FloatEquality::Reassociated, FloatEquality::Bitwise}) {
    ComparisonOptions options;
    options.equality = equality;
    const ModuleDecision decision = compared(before, after, options);
    if (decision.outcome == Outcome::Refuted) {
      CHECK(decision.equality == FloatEquality::Real);
      return "invalid";
    }
    const bool valid = decision.outcome == Outcome::Established;
    INFO(decision.reason);
    CHECK(decision.equality == equality);
    CHECK((weaker || !valid));  // each implies those before
    CHECK(decision.shown.has_value() == (!valid && !all.empty()));
    if (decision.shown) CHECK(all.ends_with(to_string(*decision.shown)));
    weaker = valid;
    if (valid) all += (all.empty() ? "" : " ") + std::string(to_string(equality));
  }
  return all.empty() ? "unknown" : all;
}

constexpr const char* kReal = "real";
constexpr const char* kReassociated = "real reassociated";
constexpr const char* kBitwise = "real reassociated bitwise";

struct Rule {
  const char* name;
  std::string before;  ///< lines after the parameters a, b, c: f32[4]; h: bf16[4]; p: pred[4]
  std::string after;
  const char* senses;
};

std::string with_inputs(const std::string& lines) {
  return module_text(
      "  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  c = f32[4] parameter(2)\n"
      "  h = bf16[4] parameter(3)\n  p = pred[4] parameter(4)\n  i = s32[4] parameter(5)\n" +
          lines,
      1);
}

/// `name = f32[4] …` broadcast from a constant.
std::string splat(const char* name, const char* value) {
  return fmt::format(
      "  {0}0 = f32[] constant({1})\n  {0} = f32[4] broadcast({0}0), dimensions={{}}\n", name,
      value);
}

std::string root(const char* expression, const char* shape = "f32[4]") {
  return fmt::format("  ROOT r = {} {}\n", shape, expression);
}

std::vector<Rule> elementwise_rules() {
  const std::string a = root("copy(a)");
  return {
      {"addition commutes", root("add(a, b)"), root("add(b, a)"), kBitwise},
      {"addition is not associative", "  x = f32[4] add(a, b)\n" + root("add(x, c)"),
       "  x = f32[4] add(b, c)\n" + root("add(a, x)"), kReassociated},
      {"-0 + 0 is 0", splat("z", "0") + root("add(a, z)"), a, kReassociated},
      {"x + -0 is x", splat("z", "-0") + root("add(a, z)"), a, kBitwise},
      {"x - 0 is x", splat("z", "0") + root("subtract(a, z)"), a, kBitwise},
      {"x - -0 turns -0 into 0", splat("z", "-0") + root("subtract(a, z)"), a, kReassociated},
      {"-0 is not 0", splat("z", "-0") + root("copy(z)"), splat("z", "0") + root("copy(z)"),
       kReassociated},
      {"x * 1 is x", splat("z", "1") + root("multiply(a, z)"), a, kBitwise},
      {"x * -1 is -x", splat("z", "-1") + root("multiply(z, a)"), root("negate(a)"), kBitwise},
      {"x / 1 is x", splat("z", "1") + root("divide(a, z)"), a, kBitwise},
      {"x / 2 is x * 0.5", splat("z", "2") + root("divide(a, z)"),
       splat("z", "0.5") + root("multiply(a, z)"), kBitwise},
      {"x / 3 is rounded once", splat("z", "3") + root("divide(a, z)"),
       splat("z", "0.333333343") + root("multiply(a, z)"), kReal},
      {"x - x is NaN of infinity", root("subtract(a, a)"), splat("z", "0") + root("copy(z)"),
       kReal},
      {"0 * x is NaN of infinity", splat("z", "0") + root("multiply(a, z)"),
       splat("z", "0") + root("copy(z)"), kReal},
      {"x / x is NaN of 0", root("divide(a, a)"), splat("z", "1") + root("copy(z)"), kReal},
      {"negation twice", "  x = f32[4] negate(a)\n" + root("negate(x)"), a, kBitwise},
      {"a difference is a sum", root("subtract(a, b)"),
       "  x = f32[4] negate(b)\n" + root("add(a, x)"), kBitwise},
      {"-(a - a) is -0", "  x = f32[4] add(a, b)\n" + root("negate(x)"),
       "  x = f32[4] negate(a)\n  y = f32[4] negate(b)\n" + root("add(x, y)"), kReassociated},
      {"the sign of a product", "  x = f32[4] multiply(a, b)\n" + root("negate(x)"),
       "  x = f32[4] negate(a)\n" + root("multiply(b, x)"), kBitwise},
      {"both signs of a quotient", root("divide(a, b)"),
       "  x = f32[4] negate(a)\n  y = f32[4] negate(b)\n" + root("divide(x, y)"), kBitwise},
      {"products are not associative", "  x = f32[4] multiply(a, b)\n" + root("multiply(x, c)"),
       "  x = f32[4] multiply(b, c)\n" + root("multiply(a, x)"), kReal},
      {"products do not distribute", "  x = f32[4] add(b, c)\n" + root("multiply(a, x)"),
       "  x = f32[4] multiply(a, b)\n  y = f32[4] multiply(a, c)\n" + root("add(x, y)"), kReal},
      {"a + b - b", "  x = f32[4] add(a, b)\n" + root("subtract(x, b)"), a, kReal},
      {"x + x is no x", root("add(a, a)"), splat("z", "3") + root("multiply(a, z)"), "invalid"},
      {"a sum is no difference", root("add(a, b)"), root("subtract(a, b)"), "invalid"},
      {"maximum of 0 and -0", root("maximum(a, b)"), root("maximum(b, a)"), kReassociated},
      {"maximum of equals", root("maximum(a, a)"), a, kBitwise},
      {"maximum with -infinity", splat("z", "-inf") + root("maximum(z, a)"), a, kBitwise},
      {"maxima of three", "  x = f32[4] maximum(a, b)\n" + root("maximum(x, c)"),
       "  x = f32[4] maximum(b, c)\n" + root("maximum(a, x)"), kReassociated},
      {"minimum by maximum", root("minimum(a, b)"),
       "  x = f32[4] negate(a)\n  y = f32[4] negate(b)\n  z = f32[4] maximum(x, y)\n" +
           root("negate(z)"),
       kReassociated},
      {"selection the other way round", root("select(p, a, b)"),
       "  q = pred[4] not(p)\n" + root("select(q, b, a)"), kBitwise},
      {"comparison the other way round", root("compare(a, b), direction=LT", "pred[4]"),
       root("compare(b, a), direction=GT", "pred[4]"), kBitwise},
      {"inequality", root("compare(a, b), direction=NE", "pred[4]"),
       "  q = pred[4] compare(b, a), direction=EQ\n" + root("not(q)", "pred[4]"), kBitwise},
      {"NaN is neither less nor greater", root("compare(a, b), direction=GE", "pred[4]"),
       "  q = pred[4] compare(a, b), direction=LT\n" + root("not(q)", "pred[4]"), kReal},
      {"NaN is not equal to itself", root("compare(a, a), direction=EQ", "pred[4]"),
       "  t0 = pred[] constant(true)\n" + root("broadcast(t0), dimensions={}", "pred[4]"), kReal},
      {"the total order", root("compare(a, b), direction=LT", "pred[4]"),
       root("compare(a, b), direction=LT, type=TOTALORDER", "pred[4]"), kReal},
      {"a rounded exponential", "  x = f32[4] add(a, b)\n" + root("exponential(x)"),
       "  x = f32[4] exponential(a)\n  y = f32[4] exponential(b)\n" + root("multiply(x, y)"),
       kReal},
      {"a square root of its own", root("rsqrt(a)"),
       splat("z", "1") + "  x = f32[4] sqrt(a)\n" + root("divide(z, x)"), kReal},
      {"how exact an exponential is", root("exponential(a)"),
       root("exponential(a), result_accuracy={mode=highest}"), kReal},
      {"bits that are kept", root("reduce-precision(a), exponent_bits=8, mantissa_bits=7"),
       root("reduce-precision(a), exponent_bits=8, mantissa_bits=10"), kReal},
      {"to a narrow type and back", "  x = bf16[4] convert(a)\n" + root("convert(x)"), a, kReal},
      {"to a wide type and back", "  x = f32[4] convert(h)\n" + root("convert(x)", "bf16[4]"),
       root("copy(h)", "bf16[4]"), kBitwise},
      {"wider twice", "  x = f32[4] convert(h)\n" + root("convert(x)", "f64[4]"),
       root("convert(h)", "f64[4]"), kBitwise},
      {"rounded twice", "  x = bf16[4] convert(a)\n" + root("convert(x)", "f16[4]"),
       root("convert(a)", "f16[4]"), kReal},
      {"arithmetic in a wide type",
       "  x = f32[4] convert(h)\n  y = f32[4] multiply(x, x)\n" + root("convert(y)", "bf16[4]"),
       root("multiply(h, h)", "bf16[4]"), kReal},
      {"a slice that rounds without a word", root("slice(a), slice={[0:4]}", "bf16[4]"),
       root("convert(a)", "bf16[4]"), kReal},
      {"a sum that widens without a word", root("add(h, b)"),
       "  x = f32[4] convert(h)\n" + root("add(x, b)"), kReal},
      {"constants of one value", splat("z", "0.1") + root("multiply(a, z)"),
       splat("z", "0.100000001") + root("multiply(a, z)"), kBitwise},
      {"folded constants",
       splat("y", "1.5") + splat("z", "0.25") + "  x = f32[4] add(y, z)\n" + root("multiply(a, x)"),
       splat("x", "1.75") + root("multiply(a, x)"), kBitwise},
      {"integers are not rounded", "  j = s32[4] add(i, i)\n" + root("convert(j)"),
       "  t0 = s32[] constant(2)\n  t = s32[4] broadcast(t0), dimensions={}\n"
       "  j = s32[4] multiply(t, i)\n" +
           root("convert(j)"),
       kBitwise},
      {"an integer that is rounded", "  x = f32[4] convert(i)\n" + root("add(x, x)"),
       "  j = s32[4] add(i, i)\n" + root("convert(j)"), "unknown"},
  };
}

std::vector<Rule> sum_rules() {
  const std::string zero = "  z = f32[] constant(0)\n";
  const auto sum = [](const char* of, const char* rest = "") {
    return fmt::format("reduce({}, z), dimensions={{0}}{}, to_apply=add", of, rest);
  };
  const std::string plain = zero + root(sum("a").c_str(), "f32[]");
  const std::string dot = "dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  const std::string highest = dot + ", operand_precision={highest,highest}";
  const std::string halves =
      "  a0 = f32[2] slice(a), slice={[0:2]}\n  a1 = f32[2] slice(a), slice={[2:4]}\n"
      "  b0 = f32[2] slice(b), slice={[0:2]}\n  b1 = f32[2] slice(b), slice={[2:4]}\n"
      "  x = f32[] dot(a0, b0), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "  y = f32[] dot(a1, b1), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n";
  const std::string narrow_halves =
      "  h0 = bf16[2] slice(h), slice={[0:2]}\n  h1 = bf16[2] slice(h), slice={[2:4]}\n"
      "  x = bf16[] dot(h0, h0), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "  y = bf16[] dot(h1, h1), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n";
  const std::string one = "  s = f32[1] slice(a), slice={[1:2]}\n";
  const std::string scatter =
      "indices_are_sorted=false, unique_indices=false, update_window_dims={}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
      "to_apply=add";
  return {
      {"a sum of a reshape", plain,
       "  x = f32[2,2] reshape(a)\n" + zero +
           root("reduce(x, z), dimensions={0,1}, to_apply=add", "f32[]"),
       kBitwise},
      {"a sum the other way round", plain,
       "  x = f32[4] reverse(a), dimensions={0}\n" + zero + root(sum("x").c_str(), "f32[]"),
       kReassociated},
      {"a sum in two steps", plain,
       "  x = f32[2,2] reshape(a)\n" + zero +
           "  y = f32[2] reduce(x, z), dimensions={1}, to_apply=add\n" +
           root(sum("y").c_str(), "f32[]"),
       kReassociated},
      {"a sum from -0", plain, "  z = f32[] constant(-0)\n" + root(sum("a").c_str(), "f32[]"),
       kReassociated},
      {"a sum of one from 0", one + zero + root(sum("s").c_str(), "f32[]"),
       one + root("reshape(s)", "f32[]"), kReassociated},
      {"a sum of one from -0", one + "  z = f32[] constant(-0)\n" + root(sum("s").c_str(), "f32[]"),
       one + root("reshape(s)", "f32[]"), kBitwise},
      {"a sum from a number", "  z = f32[] constant(1)\n" + root(sum("a").c_str(), "f32[]"),
       zero + "  x = f32[] reduce(a, z), dimensions={0}, to_apply=add\n  y = f32[] constant(1)\n" +
           root("add(x, y)", "f32[]"),
       kReassociated},
      {"a product of many the other way round",
       "  z = f32[] constant(1)\n" +
           root("reduce(a, z), dimensions={0}, to_apply=multiply", "f32[]"),
       "  z = f32[] constant(1)\n  x = f32[4] reverse(a), dimensions={0}\n" +
           root("reduce(x, z), dimensions={0}, to_apply=multiply", "f32[]"),
       kReal},
      {"what pads a window",
       "  z = f32[] constant(0)\n" +
           root("reduce-window(a, z), window={size=2 pad=1_0}, to_apply=add"),
       "  z = f32[] constant(0)\n  y = f32[5] pad(a, z), padding=1_0\n" +
           root("reduce-window(y, z), window={size=2}, to_apply=add"),
       kBitwise},
      {"a window of what pads it",
       "  z = f32[] constant(0)\n" +
           root("reduce-window(a, z), window={size=2 pad=1_0}, to_apply=add"),
       "  z = f32[] constant(0)\n  y = f32[5] pad(a, z), padding=1_0\n"
       "  b0 = f32[4] slice(y), slice={[0:4]}\n  b1 = f32[4] slice(y), slice={[1:5]}\n" +
           root("add(b0, b1)"),
       kReassociated},
      {"negation without a sign of zero",
       "  x = f8e4m3fnuz[4] convert(a)\n  y = f8e4m3fnuz[4] negate(x)\n" +
           root("negate(y)", "f8e4m3fnuz[4]"),
       root("convert(a)", "f8e4m3fnuz[4]"), kReal},
      {"operands of a dot", root(dot.c_str(), "f32[]"),
       root("dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "f32[]"), kBitwise},
      {"a dot is a sum of products", root(dot.c_str(), "f32[]"),
       zero + "  x = f32[4] multiply(a, b)\n" + root(sum("x").c_str(), "f32[]"), kReassociated},
      {"a dot in two halves", root(dot.c_str(), "f32[]"), halves + root("add(x, y)", "f32[]"),
       kReassociated},
      {"a dot of another precision", root(dot.c_str(), "f32[]"), root(highest.c_str(), "f32[]"),
       kReal},
      {"a narrow dot is rounded at the end",
       root("dot(h, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "bf16[]"),
       narrow_halves + root("add(x, y)", "bf16[]"), kReal},
      {"a dot of widened operands",
       "  x = f32[4] convert(h)\n" +
           root("dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "f32[]"),
       root("dot(h, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "f32[]"),
       kReassociated},
      {"updates of one element",
       "  w = s32[2,1] constant({{1},{1}})\n  u = f32[2] slice(b), slice={[0:2]}\n" +
           root(("scatter(a, w, u), " + scatter).c_str()),
       "  w = s32[2,1] constant({{1},{1}})\n  u0 = f32[2] slice(b), slice={[0:2]}\n"
       "  u = f32[2] reverse(u0), dimensions={0}\n" +
           root(("scatter(a, w, u), " + scatter).c_str()),
       kReassociated},
      {"updates of different elements",
       "  w = s32[2,1] constant({{1},{2}})\n  u = f32[2] slice(b), slice={[0:2]}\n" +
           root(("scatter(a, w, u), " + scatter).c_str()),
       "  w = s32[2,1] constant({{2},{1}})\n  u0 = f32[2] slice(b), slice={[0:2]}\n"
       "  u = f32[2] reverse(u0), dimensions={0}\n" +
           root(("scatter(a, w, u), " + scatter).c_str()),
       kBitwise},
  };
}

/// Modules whole, for collectives and control flow.
std::vector<Rule> module_rules() {
  const auto reduced = [](const char* groups, const char* reducer = "add") {
    return module_text(
        fmt::format("  x = f32[8] parameter(0)\n  ROOT r = f32[8] all-reduce(x), "
                    "channel_id=1, replica_groups={}, use_global_device_ids=true, "
                    "to_apply={}\n",
                    groups, reducer));
  };
  const std::string scatter = module_text(
      "  x = f32[8] parameter(0)\n  y = f32[2] reduce-scatter(x), channel_id=1, "
      "replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}, to_apply=add\n"
      "  ROOT r = f32[8] all-gather(y), channel_id=2, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, dimensions={0}\n");
  const std::string pair = "{{0,1},{2,3}}";
  const std::string tuple = module_text(
      "  x = f32[8] parameter(0)\n  t = (f32[8], f32[8]) all-reduce(x, x), channel_id=3, "
      "replica_groups=[2,2]<=[4], use_global_device_ids=true, to_apply=add\n"
      "  ROOT r = f32[8] get-tuple-element(t), index=1\n");
  const std::string exponential =
      "HloModule m\n\nf {\n  a = f32[4] parameter(0)\n  b = f32[4] exponential(a)\n"
      "  ROOT c = f32[4] add(a, b)\n}\n\nENTRY e {\n  x = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] fusion(x), kind=kLoop, calls=f\n}\n";
  const std::string unfused =
      "HloModule m\n\nENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] exponential(p)\n"
      "  t = f32[2,2] reshape(q)\n  s = f32[4] reshape(t)\n  ROOT r = f32[4] add(s, p)\n}\n";
  const std::string loop =
      "HloModule m\n\nbody {\n  s = (s32[], f32[4]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n  x = f32[4] get-tuple-element(s), index=1\n"
      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  y = f32[4] multiply(x, x)\n"
      "  ROOT t = (s32[], f32[4]) tuple(j, y)\n}\n\ncondition {\n"
      "  s = (s32[], f32[4]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  two = s32[] constant(2)\n  ROOT l = pred[] compare(i, two), direction=LT\n}\n\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n  zero = s32[] constant(0)\n"
      "  t = (s32[], f32[4]) tuple(zero, x)\n"
      "  w = (s32[], f32[4]) while(t), condition=condition, body=body\n"
      "  ROOT r = f32[4] get-tuple-element(w), index=1\n}\n";
  const std::string unrolled =
      "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] multiply(x, x)\n"
      "  ROOT z = f32[4] multiply(y, y)\n}\n";
  return {
      {"sums by host", by_host().before, by_host().after, kReassociated},
      {"a reduction in two levels", split_reduction().before, split_reduction().after,
       kReassociated},
      {"two all-reduces as one", folded().before, folded().after, kReassociated},
      {"gathered and reduced", gathered_locally().before, gathered_locally().after, kReassociated},
      {"a reduce-scatter and an all-reduce", scatter_made().before, scatter_made().after,
       kReassociated},
      {"scattered and gathered", reduced("{{0,1,2,3}}"), scatter, kReassociated},
      {"a ring of permutes", ring_step().before, ring_step().after, kBitwise},
      {"an all-to-all", exchanged().before, exchanged().after, kBitwise},
      {"maxima in two levels", largest().before, largest().after, kReassociated},
      {"the order of a group", reduced("{{0,1,2,3}}"), reduced("{{3,2,1,0}}"), kReassociated},
      {"groups as tiles", reduced(pair.c_str()), tuple, kBitwise},
      {"other groups", reduced(pair.c_str()), reduced("{{0,2},{1,3}}"), "invalid"},
      {"products in another order", reduced("{{0,1,2,3}}", "multiply"),
       reduced("{{3,2,1,0}}", "multiply"), kReal},
      {"groups of one", reduced("{{0},{1},{2},{3}}"),
       module_text("  x = f32[8] parameter(0)\n  ROOT r = f32[8] copy(x)\n"), kBitwise},
      {"a fusion", exponential, unfused, kBitwise},
      {"a loop", loop, unrolled, kBitwise},
      {"an iteration more", loop,
       replaced(unrolled, "ROOT z = f32[4] multiply(y, y)",
                "w = f32[4] multiply(y, y)\n  ROOT z = f32[4] multiply(w, w)"),
       "invalid"},
  };
}

}  // namespace

TEST_CASE("every identity of floating-point numbers holds in the senses in which it is true") {
  std::vector<Rule> rules = elementwise_rules();
  for (Rule& rule : sum_rules()) rules.push_back(std::move(rule));
  for (const Rule& rule : rules) {
    CAPTURE(rule.name);
    CHECK(senses(with_inputs(rule.before), with_inputs(rule.after)) == rule.senses);
    CHECK(senses(with_inputs(rule.after), with_inputs(rule.before)) == rule.senses);
  }
}

TEST_CASE("collectives keep their groups, calls and loops do not count") {
  for (const Rule& rule : module_rules()) {
    CAPTURE(rule.name);
    CHECK(senses(rule.before, rule.after) == rule.senses);
    CHECK(senses(rule.after, rule.before) == rule.senses);
  }
}

TEST_CASE("what is not shown is said, with the first instruction that differs") {
  ComparisonOptions options;
  options.equality = FloatEquality::Bitwise;
  const ModuleDecision decision =
      compared(with_inputs("  x = f32[4] add(a, b)\n" + root("add(x, c)")),
               with_inputs("  x = f32[4] add(b, c)\n" + root("add(a, x)")), options);
  CHECK(decision.outcome == Outcome::Undecided);
  CHECK(decision.shown == FloatEquality::Reassociated);
  CHECK(decision.reason ==
        "Equal up to the order of sums, not shown equal bit for bit: element [0] of output 0 on "
        "device 0 is computed by a different sequence of floating-point operations. The first "
        "instruction after with a value that none before has is add x (test.hlo:40).");
}

TEST_CASE("identical modules are equal bit for bit whatever their size") {
  const auto large = [](const char* size, const char* last) {
    return module_text(
        fmt::format("  x = f32[{0},{0}] parameter(0)\n"
                    "  y = f32[{0},{0}] dot(x, x), lhs_contracting_dims={{1}}, "
                    "rhs_contracting_dims={{0}}\n  ROOT z = f32[{0},{0}] {1}\n",
                    size, last));
  };
  ComparisonOptions options;
  options.equality = FloatEquality::Bitwise;
  const auto outcome = [&](const std::string& before, const std::string& after) {
    return compared(before, after, options).outcome;
  };
  const std::string sum = large("60000", "add(x, y)");
  CHECK(outcome(sum, sum) == Outcome::Established);
  CHECK(outcome(sum, replaced(sum, "  y = ", "  unused = f32[60000,60000] negate(x)\n  y = ")) ==
        Outcome::Established);
  CHECK(outcome(sum, large("60000", "subtract(x, y)")) != Outcome::Established);
  CHECK(outcome(sum, large("60000", "add(y, x)")) == Outcome::Undecided);
  CHECK(outcome(sum, replaced(sum, "rhs_contracting_dims={0}",
                              "rhs_contracting_dims={0}, operand_precision={high,high}")) ==
        Outcome::Undecided);
  const std::string drawn = module_text(
      "  z = f32[] constant(0)\n  o = f32[] constant(1)\n"
      "  ROOT r = f32[4] rng(z, o), distribution=rng_uniform\n");
  CHECK(outcome(drawn, drawn) == Outcome::Undecided);
}

TEST_CASE("elements of rounded products are at their rows and columns") {
  const std::string operands = "  x = f32[3,2] parameter(0)\n  w = f32[2,6] parameter(1)\n";
  const std::string contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string whole =
      module_text(operands + "  ROOT y = f32[3,6] dot(x, w), " + contracted, 1);
  const auto joined = [&](const char* order) {
    return module_text(operands +
                           "  a = f32[2,1] slice(w), slice={[0:2],[0:1]}\n"
                           "  b = f32[2,5] slice(w), slice={[0:2],[1:6]}\n"
                           "  c = f32[3,1] dot(x, a), " +
                           contracted + "  d = f32[3,5] dot(x, b), " + contracted +
                           "  ROOT y = f32[3,6] concatenate(" + order + "), dimensions={1}\n",
                       1);
  };
  CHECK(senses(whole, joined("c, d")) == "real reassociated bitwise");
  CHECK(senses(whole, joined("d, c")) == "invalid");
}

}  // namespace p2::hlo
