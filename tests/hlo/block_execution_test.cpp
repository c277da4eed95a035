// Execution on blocks of indices: what rounding, overflow and masks may hide refutes nothing, and
// what is wrong is found where it is known.

#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/interpreter/block_modules.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/ranges.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_rewrites.h"

namespace p2::hlo::refuted_on_blocks {
namespace {

using interpreter::NumberRange;
using interpreter::Ranges;
using interpreter::Scalar;

TEST_CASE("instructions that repeat others are left out, and no others") {
  const auto module = module_of(text_with("", R"(
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  a = f32[2] slice(x), slice={[0:2]}
  b = f32[2] slice(x), slice={[0:2]}
  c = f32[2] slice(x), slice={[1:3]}
  d = f32[2] slice(y), slice={[0:2]}
  e = f32[2] exponential(a)
  f = f32[2] exponential(b)
  g = f32[2] exponential(c)
  r = f32[2] rng(a, b), distribution=rng_uniform
  s = f32[2] rng(a, b), distribution=rng_uniform
  p = f32[2] all-reduce(e), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
  q = f32[2] all-reduce(f), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
  t = f32[2] all-reduce(f), channel_id=3, replica_groups={{0},{1}}, use_global_device_ids=true, to_apply=add
  u = f32[2] all-reduce(f), channel_id=4, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=maximum
  ROOT all = (f32[2], f32[2], f32[2], f32[2], f32[2], f32[2], f32[2], f32[2]) tuple(d, g, r, s, p, q, t, u)
)"));
  const Module kept = without_repetitions(*module);
  std::vector<std::string> names;
  for (const Instruction& each : kept.entry_computation().instructions) names.push_back(each.name);
  CHECK(fmt::format("{}", fmt::join(names, " ")) == "x y a c d e g r s p t u all");
  std::vector<std::string> operands;
  for (const std::uint32_t each : kept.entry_computation().instructions.back().operands) {
    operands.push_back(names[each]);
  }
  CHECK(fmt::format("{}", fmt::join(operands, " ")) == "d g r s p p t u");
}

NumberRange between(double low, double high) { return {Scalar{low}, Scalar{high}}; }

NumberRange applied(Ranges& ranges, const char* opcode, const NumberRange& a,
                    const NumberRange& b) {
  const ElementType type = *ElementType::from_xla("f32");
  const NumberRange operands[] = {a, b};
  const std::set<std::string> unary = {"exponential", "sine", "cosine"};
  const bool is_unary = unary.contains(opcode);
  return ranges.apply(
      {interpreter::element_of(opcode).value(), interpreter::Direction::Eq, type, type, {}},
      std::span(operands, is_unary ? 1 : 2));
}

TEST_CASE("a range is a point where adding it changes less than rounding does, and only there") {
  Ranges ranges;
  const NumberRange one = Scalar{1};
  const auto holds = [](const NumberRange& range, double number) {
    return range.low.real <= number && number <= range.high.real;
  };
  CHECK(applied(ranges, "add", one, between(0, 0x1p-52)).is_point);
  CHECK(applied(ranges, "subtract", one, between(-0x1p-52, 0x1p-52)).is_point);
  CHECK(applied(ranges, "subtract", between(0, 0x1p-52), one).low.real == -1);
  for (const double size : {0x1p-48, 0x1p-40, 0x1p-20, 0.5}) {
    const NumberRange sum = applied(ranges, "add", one, between(-size, size));
    CHECK(!sum.is_point);
    CHECK(holds(sum, 1 - size));
    CHECK(holds(sum, 1 + size));
  }
  // Rounding of what cancelled is no point that anything is added to.
  const NumberRange residue(Scalar{1e-20}, -1e-20);
  CHECK(!applied(ranges, "add", residue, between(0, 1e-30)).is_point);
  CHECK(!applied(ranges, "add", Scalar{0}, between(0, 1e-300)).is_point);

  CHECK(applied(ranges, "maximum", between(-1e30, 0.5), one).is_point);
  CHECK(applied(ranges, "maximum", one, between(-1e30, 0.5)).low.real == 1);
  CHECK(!applied(ranges, "maximum", one, between(-1e30, 1.5)).is_point);
  CHECK(!applied(ranges, "maximum", one, between(2, 3)).is_point);
  CHECK(applied(ranges, "minimum", one, between(2, 3)).low.real == 1);
  CHECK(!applied(ranges, "minimum", one, between(-2, 3)).is_point);
  CHECK(!applied(ranges, "minimum", one, between(-2, -1)).is_point);
  // Numbers that are hardly farther apart than they were disturbed.
  const NumberRange disturbed(Scalar{1}, 1.001);
  CHECK(!applied(ranges, "maximum", disturbed, between(0, 0.999)).is_point);

  // What underflows is not zero.
  const NumberRange tiny = applied(ranges, "exponential", between(-3000, -2000), one);
  CHECK(tiny.low.real >= 0);
  CHECK(tiny.high.real > 0);
  const NumberRange product = applied(ranges, "multiply", tiny, between(-1e-200, 1e-200));
  CHECK(product.low.real < 0);
  CHECK(product.high.real > 0);

  const ElementType type = *ElementType::from_xla("f32");
  const auto sum_of = [&](double size) {
    Ranges::Accumulator sum;
    ranges.add_product(sum, one, one, type);
    ranges.add_product(sum, between(-size, size), one, type);
    return ranges.result(sum, type);
  };
  CHECK(sum_of(0x1p-52).is_point);
  CHECK(!sum_of(0x1p-48).is_point);
  CHECK(holds(sum_of(0x1p-40), 1 + 0x1p-40));
  CHECK(holds(sum_of(0x1p-40), 1 - 0x1p-40));
  // One disturbance does not say how far points are rounded that cancel beside a range.
  Ranges::Accumulator cancelled;
  ranges.add_product(cancelled, one, NumberRange(Scalar{1}, 1 + 1e-9), type);
  ranges.add_product(cancelled, Scalar{-1}, one, type);
  ranges.add_product(cancelled, between(0, 1e-10), one, type);
  CHECK(holds(ranges.result(cancelled, type), 5e-8));
  CHECK(holds(ranges.result(cancelled, type), -5e-8));
}

TEST_CASE("ranges hold what functions make of the numbers in them") {
  const ElementType f32 = *ElementType::from_xla("f32");
  const ElementType s32 = *ElementType::from_xla("s32");
  Ranges ranges;
  std::mt19937 random(1);
  const auto drawn = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int k = 0; k < 3000; ++k) {
    const double base[] = {drawn(0.001, 3), drawn(3, 20000)};
    const double power[] = {drawn(-5, 1), drawn(1, 2)};
    const double x = drawn(base[0], base[1]);
    const double y = drawn(power[0], power[1]);
    const auto holds = [](const NumberRange& range, double number) {
      return range.low.real <= number * (number > 0 ? 1 + 1e-12 : 1 - 1e-12) &&
             number <= range.high.real + 1e-12 * std::fabs(number);
    };
    const NumberRange xs = between(base[0], base[1]);
    CHECK(holds(applied(ranges, "power", xs, between(power[0], power[1])), std::pow(x, y)));
    CHECK(holds(applied(ranges, "power", Scalar{x}, between(power[0], power[1])), std::pow(x, y)));
    CHECK(holds(applied(ranges, "power", xs, Scalar{y}), std::pow(x, y)));
    CHECK(holds(applied(ranges, "sine", xs, xs), std::sin(x)));
    CHECK(holds(applied(ranges, "cosine", xs, xs), std::cos(x)));
  }
  // Of numbers that may be negative, or zero, it is not known.
  CHECK(applied(ranges, "power", between(-1, 2), between(1, 2)).low.arbitrary);
  CHECK(applied(ranges, "power", between(0, 2), between(-2, -1)).low.arbitrary);
  const auto negated = [&](std::int64_t low, std::int64_t high) {
    const NumberRange range[] = {{Scalar{0, low}, Scalar{0, high}}};
    return ranges.apply({interpreter::Element::Negate, {}, s32, s32, {}}, range);
  };
  CHECK(negated(2, 5).low.integer == -5);
  CHECK(negated(2, 5).high.integer == -2);
  CHECK(negated(-2147483648, 5).low.arbitrary);  // it wraps around
  // A maximum is known where one of both is clearly larger, though rounding makes the other one.
  const NumberRange rounding(Scalar{1e-12}, -1e-12);
  CHECK(!applied(ranges, "maximum", rounding, Scalar{1}).low.arbitrary);
  CHECK(!applied(ranges, "minimum", rounding, Scalar{-1}).low.arbitrary);
  CHECK(applied(ranges, "maximum", rounding, Scalar{0}).low.arbitrary);
  CHECK(applied(ranges, "maximum", rounding, Scalar{1e-7}).low.arbitrary);
  // Whole numbers are seldom rounded ones.
  const auto moved = [&](const char* text) {
    LiteralElement element;
    element.number = *Number::read(text);
    const NumberRange constant = ranges.constant(element, f32);
    return constant.low.real != constant.shadow;
  };
  CHECK(!moved("10000"));
  CHECK(moved("10000.1"));
}

TEST_CASE("two attentions on top of one another are refuted by numbers of all tokens") {
  // Of the first one's results, but that of the first token, ranges are known that are not finite.
  const auto text = [](const char* factor) {
    constexpr int kTokens = 256;
    std::string lines = fmt::format(
        "x = f32[{0},64] parameter(0)\n h = s32[{0},64] iota(), iota_dimension=1\n hs = "
        "f32[{0},64] "
        "convert(h)\n x0 = f32[{0},64] multiply(x, hs)\n i = s32[{0},{0}] iota(), "
        "iota_dimension=0\n j = s32[{0},{0}] iota(), iota_dimension=1\n mask = pred[{0},{0}] "
        "compare(i, j), direction=GE\n least = f32[] constant(-inf)\n low = f32[{0},{0}] "
        "broadcast(least), dimensions={{}}\n zero = f32[] constant(0)\n factor = f32[] "
        "constant({1})\n small = f32[] constant(0x1p-20)\n scale = f32[{0},{0}] broadcast(small), "
        "dimensions={{}}\n",
        kTokens, factor);
    for (int k = 0; k < 2; ++k) {
      lines += fmt::format(
          " g{1} = f32[{0},{0}] dot(x{1}, x{1}), lhs_contracting_dims={{1}}, "
          "rhs_contracting_dims={{1}}\n d{1} = f32[{0},{0}] multiply(g{1}, scale)\n m{1} = "
          "f32[{0},{0}] select(mask, d{1}, low)\n t{1} = f32[{0}] reduce(m{1}, least), "
          "dimensions={{1}}, to_apply=maximum\n u{1} = f32[{0},{0}] broadcast(t{1}), "
          "dimensions={{0}}\n v{1} = f32[{0},{0}] subtract(m{1}, u{1})\n e{1} = f32[{0},{0}] "
          "exponential(v{1})\n s{1} = f32[{0}] reduce(e{1}, zero), dimensions={{1}}, "
          "to_apply=add\n b{1} = f32[{0},{0}] broadcast(s{1}), dimensions={{0}}\n p{1} = "
          "f32[{0},{0}] divide(e{1}, b{1})\n x{2} = f32[{0},64] dot(p{1}, x{1}), "
          "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
          kTokens, k, k + 1);
    }
    return lines + fmt::format(
                       " f = f32[{0},64] broadcast(factor), dimensions={{}}\n ROOT y = "
                       "f32[{0},64] multiply(x2, f)\n",
                       kTokens);
  };
  const auto before = module_of(text_with("", text("1")));
  const auto outcome = [&](const char* factor, bool every_number) {
    const auto after = module_of(text_with("", text(factor)));
    return refute_on_blocks(*before, *after, {1, 1}, {}, {}, every_number).outcome;
  };
  CHECK(outcome("1.01", false) == Outcome::Undecided);
  CHECK(outcome("1.01", true) == Outcome::Refuted);
  CHECK(outcome("1", true) == Outcome::Undecided);
}

TEST_CASE("a wrong attention with a causal mask of many tokens is refuted, a right one not") {
  const Devices devices{1, 1};
  constexpr int kTokens = 8192;
  const std::string scores = scores_of(kTokens);
  const auto outcome = [&](const char* compared, const std::string& other, const std::string& end) {
    const auto before =
        module_of(text_with("", attention(kTokens, "GE", scores, normalized_first(kTokens))));
    const auto after = module_of(text_with("", attention(kTokens, compared, other, end)));
    return refute_on_blocks(*before, *after, devices, {}, {}).outcome;
  };
  const std::string turned = fmt::format(
      "g = f32[{0},{0}] dot(k, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n  d = "
      "f32[{0},{0}] transpose(g), dimensions={{1,0}}",
      kTokens);
  const std::string doubled = fmt::format(
      "g = f32[{0},{0}] dot(q, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n  d = "
      "f32[{0},{0}] add(g, g)",
      kTokens);
  CHECK(outcome("GE", scores, normalized_last(kTokens)) == Outcome::Undecided);
  CHECK(outcome("GE", turned, normalized_last(kTokens)) == Outcome::Undecided);
  CHECK(outcome("GE", doubled, normalized_last(kTokens)) == Outcome::Refuted);
  CHECK(outcome("LE", scores, normalized_last(kTokens)) == Outcome::Refuted);
  CHECK(outcome("GE", scores, normalized_last(kTokens, "multiply")) == Outcome::Refuted);
}

TEST_CASE("a gradient that is small beside its weight is compared without it") {
  const Devices devices{1, 1};
  const auto step = [](const char* rate) {
    return module_of(text_with(
        "", fmt::format("w = f32[90,70] parameter(0)\n x = f32[90] parameter(1)\n y = f32[70] "
                        "parameter(2)\n xs = f32[90,70] broadcast(x), dimensions={{0}}\n ys = "
                        "f32[90,70] broadcast(y), dimensions={{1}}\n g = f32[90,70] multiply(xs, "
                        "ys)\n r = f32[] constant({})\n rs = f32[90,70] broadcast(r), "
                        "dimensions={{}}\n s = f32[90,70] multiply(g, rs)\n ROOT o = f32[90,70] "
                        "subtract(w, s)\n",
                        rate)));
  };
  const auto before = step("0x1p-40");
  const ModuleDecision found = refute_on_blocks(*before, *step("0x1p-39"), devices, {}, {});
  CHECK(found.outcome == Outcome::Refuted);
  CHECK(refute_on_blocks(*before, *step("0x1p-40"), devices, {}, {}).outcome == Outcome::Undecided);
}

TEST_CASE("what is wrong in a layer of a deep module is seen where other layers add nothing") {
  // x ← x + sin(1000·x)·Σw, which multiplies what rounding does. Of 24 layers all are known only if
  // the weights of most are 0.
  constexpr int kLayers = 24;
  constexpr int kWeights = 128;
  const auto steps = [](int wrong) {
    const char* const shape = "f32[90,70]";
    std::string text = fmt::format(" x0 = {} parameter(0)\n", shape);
    std::vector<std::string> outputs;
    const auto line = [&](const std::string& name, const std::string& operation) {
      text += fmt::format(" {} = {} {}\n", name, shape, operation);
    };
    const auto scalar = [&](const std::string& name, const std::string& value) {
      text += fmt::format(" {}s = f32[] constant({})\n", name, value);
      line(name, fmt::format("broadcast({}s), dimensions={{}}", name));
    };
    for (int k = 0; k < kLayers; ++k) {
      for (int i = 0; i < kWeights; ++i) {
        line(fmt::format("w{}_{}", k, i), fmt::format("parameter({})", 1 + k * kWeights + i));
        if (i > 0) {
          const std::string sum =
              i == 1 ? fmt::format("w{}_0", k) : fmt::format("t{}_{}", k, i - 1);
          line(fmt::format("t{}_{}", k, i), fmt::format("add({}, w{}_{})", sum, k, i));
        }
      }
      scalar(fmt::format("c{}", k), "1000");
      line(fmt::format("a{}", k), fmt::format("multiply(x{0}, c{0})", k));
      line(fmt::format("s{}", k), fmt::format("sine(a{})", k));
      line(fmt::format("d{}", k), fmt::format("multiply(s{}, t{}_{})", k, k, kWeights - 1));
      line(fmt::format("x{}", k + 1), fmt::format("add(x{0}, d{0})", k));
      scalar(fmt::format("r{}", k), k == wrong ? "0.5" : "0.25");
      line(fmt::format("g{}", k), fmt::format("multiply(s{0}, r{0})", k));
      line(fmt::format("o{}", k), fmt::format("subtract(w{0}_0, g{0})", k));
      outputs.push_back(fmt::format("o{}", k));
    }
    const std::vector<std::string> types(kLayers, shape);
    return module_of(text_with("", fmt::format("{} ROOT o = ({}) tuple({})\n", text,
                                               fmt::join(types, ", "), fmt::join(outputs, ", "))));
  };
  const Devices devices{1, 1};
  const auto before = steps(-1);
  CHECK(refute_on_blocks(*before, *steps(-1), devices, {}, {}).outcome == Outcome::Undecided);
  for (const int wrong : {0, 12, 17, 23}) {
    CAPTURE(wrong);
    CHECK(refute_on_blocks(*before, *steps(wrong), devices, {}, {}).outcome == Outcome::Refuted);
  }
}

TEST_CASE("a module that is too large to be executed is refuted, explained and repaired") {
  const auto before = module_of(before_text(
      "x = f32[6000,8000] parameter(0), sharding={devices=[1,2]<=[2]}\n w = f32[8000,9000] "
      "parameter(1), sharding={devices=[2,1]<=[2]}\n ROOT y = f32[6000,9000] dot(x, w), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
  const auto after = module_of(after_text(
      "x = f32[6000,4000] parameter(0)\n w = f32[4000,9000] parameter(1)\n part = f32[6000,9000] "
      "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT y = f32[6000,9000] "
      "copy(part)\n"));
  const ModuleDecision decision = compare(before, after, {}, {});
  CHECK(summary(decision) == "invalid value");
  const auto explanation = explain(*before, *after, decision, {});
  REQUIRE(explanation);
  CHECK(explanation->is_on_blocks);
  REQUIRE(explanation->repair);
  CHECK(explanation->repair->words == "an all-reduce (add) over {0,1} after part");
}

TEST_CASE("of two partitioned modules that are too large to be executed, wrong ones are refuted") {
  const auto module = [](const std::string& reduced) {
    return module_of(after_text(
        "x = f32[6000,4000] parameter(0)\n w = f32[4000,9000] parameter(1)\n part = f32[6000,9000] "
        "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n " +
        reduced));
  };
  const std::string group = ", channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true";
  const auto before =
      module("ROOT y = f32[6000,9000] all-reduce(part)" + group + ", to_apply=add\n");
  const auto verdict = [&](const std::string& reduced) {
    return summary(compare(before, module(reduced), {}, {}));
  };
  CHECK(verdict("ROOT y = f32[6000,9000] copy(part)\n") == "invalid value");
  CHECK(verdict("s = f32[3000,9000] reduce-scatter(part)" + group +
                ", dimensions={0}, to_apply=add\n ROOT y = f32[6000,9000] all-gather(s), "
                "channel_id=2, replica_groups={{1,0}}, use_global_device_ids=true, "
                "dimensions={0}\n") == "invalid value");
  CHECK(verdict("s = f32[3000,9000] reduce-scatter(part)" + group +
                ", dimensions={0}, to_apply=add\n ROOT y = f32[6000,9000] all-gather(s), "
                "channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, "
                "dimensions={0}\n") == "valid");
}

TEST_CASE("a difference that rounding may make is none") {
  const Devices devices{1, 1};
  const auto outcome = [&](const std::string& before, const std::string& after) {
    const auto first = module_of(module_text(before, 1));
    const auto second = module_of(module_text(after, 1));
    return refute_on_blocks(*first, *second, devices, {}, {}).outcome;
  };
  // x − (x + y) + y is 0, and a step there may be anywhere.
  const std::string sum =
      "x = f32[9] parameter(0)\n y = f32[9] parameter(1)\n e = f32[9] exponential(x)\n s = f32[9] "
      "add(e, y)\n d = f32[9] subtract(e, s)\n z = f32[9] add(d, y)\n";
  const std::string zero = "c = f32[] constant(0)\n b = f32[9] broadcast(c), dimensions={}\n";
  CHECK(outcome(sum + "ROOT o = f32[9] sign(z)\n", sum + zero + "ROOT o = f32[9] sign(b)\n") ==
        Outcome::Undecided);
  CHECK(outcome(sum + "ROOT o = f32[9] ceil(z)\n", sum + zero + "ROOT o = f32[9] ceil(b)\n") ==
        Outcome::Undecided);
  CHECK(outcome(sum + zero + "ROOT o = pred[9] compare(z, b), direction=GT\n",
                sum + zero + "ROOT o = pred[9] compare(b, b), direction=GT\n") ==
        Outcome::Undecided);
  const auto times = [&](const char* type, const char* number) {
    return fmt::format(
        "x = {0}[9] parameter(0)\n c = {0}[] constant({1})\n b = {0}[9] broadcast(c), "
        "dimensions={{}}\n ROOT o = {0}[9] multiply(x, b)\n",
        type, number);
  };
  // A third, rounded to f32 and to bf16, as constants that were folded are.
  CHECK(outcome(times("f32", "0.33333334"), times("f32", "0.33333337")) == Outcome::Undecided);
  CHECK(outcome(times("f32", "0.33333334"), times("f32", "0.3334")) == Outcome::Refuted);
  CHECK(outcome(times("bf16", "0.333"), times("bf16", "0.336")) == Outcome::Undecided);
  CHECK(outcome(times("bf16", "0.333"), times("bf16", "0.75")) == Outcome::Refuted);
  CHECK(outcome(times("f32", "2"), times("f32", "3")) == Outcome::Refuted);
}

TEST_CASE("how many elements a block stands for is not rounded to their type") {
  const auto sums = [](const char* type, int elements) {
    return fmt::format(
        "p = bf16[9] parameter(0)\n x = {0}[9] convert(p)\n b = {0}[9,{1}] broadcast(x), "
        "dimensions={{0}}\n e = {0}[9,{1}] exponential(b)\n zero = {0}[] constant(0)\n s = {0}[9] "
        "reduce(e, zero), dimensions={{1}}, to_apply=add\n ROOT o = bf16[9] convert(s)\n",
        type, elements);
  };
  const auto outcome = [&](const std::string& before, const std::string& after) {
    const auto first = module_of(module_text(before, 1));
    const auto second = module_of(module_text(after, 1));
    return refute_on_blocks(*first, *second, {1, 1}, {}, {}).outcome;
  };
  for (const char* type : {"bf16", "f16"}) {
    CHECK(outcome(sums(type, 1022), sums("f32", 1022)) == Outcome::Undecided);
    CHECK(outcome(sums(type, 100000), sums("f32", 100000)) == Outcome::Undecided);
    CHECK(outcome(sums(type, 1022), sums("f32", 1024)) == Outcome::Refuted);
  }
}

TEST_CASE("what overflows, underflows or is rounding alone refutes nothing on blocks") {
  const Devices devices{1, 1};
  const auto outcome = [&](const std::string& lines, const std::string& before,
                           const std::string& after) {
    const std::string x =
        "x = f32[9] parameter(0)\n y = f32[9] parameter(1)\n zero = f32[] constant(0)\n zs = "
        "f32[9] "
        "broadcast(zero), dimensions={}\n";
    const auto first = module_of(module_text(x + lines + before, 1));
    const auto second = module_of(module_text(x + lines + after, 1));
    return refute_on_blocks(*first, *second, devices, {}, {}).outcome;
  };
  const auto times = [](const char* number) {
    return fmt::format(
        "c = f32[] constant({})\n b = f32[9] broadcast(c), dimensions={{}}\n l = f32[9] "
        "multiply(x, b)\n e = f32[9] exponential(l)\n",
        number);
  };
  const std::string softmax = "t = f32[] reduce(e, zero), dimensions={0}, to_apply=add\n";
  const std::string quotient =
      "tb = f32[9] broadcast(t), dimensions={}\n ROOT o = f32[9] divide(e, tb)\n";
  const std::string logarithm =
      "lt = f32[] log(t)\n tb = f32[9] broadcast(lt), dimensions={}\n s = f32[9] subtract(l, tb)\n "
      "ROOT o = f32[9] exponential(s)\n";
  CHECK(outcome(times("1024") + softmax, quotient, logarithm) == Outcome::Undecided);
  CHECK(outcome(times("1") + softmax, quotient,
                "lt = f32[] log(t)\n tb = f32[9] broadcast(lt), dimensions={}\n ROOT o = f32[9] "
                "subtract(l, tb)\n") == Outcome::Refuted);
  // e^x and √(e^2x)
  const std::string root =
      "l2 = f32[9] add(l, l)\n e2 = f32[9] exponential(l2)\n ROOT o = f32[9] sqrt(e2)\n";
  for (const char* number : {"-600", "600"})
    CHECK(outcome(times(number), "ROOT o = f32[9] copy(e)\n", root) == Outcome::Undecided);
  // log(e^x) − x is zero, or what is rounded.
  const std::string residue =
      times("1") +
      "g = f32[9] log(e)\n r = f32[9] subtract(g, l)\n q = f32[9] subtract(l, l)\n k = f32[] "
      "constant(1e30)\n ks = f32[9] broadcast(k), dimensions={}\n kr = f32[9] multiply(ks, r)\n kq "
      "= f32[9] multiply(ks, q)\n";
  for (const char* function : {"tanh", "logistic", "exponential"}) {
    const auto of = [&](const char* operand) {
      return fmt::format("ROOT o = f32[9] {}({})\n", function, operand);
    };
    CHECK(outcome(residue, of("kr"), of("kq")) == Outcome::Undecided);
  }
  CHECK(outcome(residue, "ROOT o = f32[9] maximum(kr, zs)\n",
                "ROOT o = f32[9] maximum(kq, zs)\n") == Outcome::Undecided);
  const auto is_finite = [](const char* divisor) {
    return fmt::format("d = f32[9] divide(x, {})\n ROOT o = pred[9] is-finite(d)\n", divisor);
  };
  CHECK(outcome(residue, is_finite("r"), is_finite("q")) == Outcome::Undecided);
  // −0 and 0 − 0 are one number.
  const std::string zeros =
      "a = f32[9] abs(x)\n m = f32[9] negate(a)\n p = f32[9] maximum(m, zs)\n n = f32[9] "
      "negate(p)\n "
      "w = f32[9] subtract(zs, p)\n e = f32[9] exponential(y)\n v = f32[9] negate(e)\n";
  CHECK(outcome(zeros, "ROOT o = f32[9] atan2(n, v)\n", "ROOT o = f32[9] atan2(w, v)\n") ==
        Outcome::Undecided);
}

}  // namespace
}  // namespace p2::hlo::refuted_on_blocks
