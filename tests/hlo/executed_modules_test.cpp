// Verdicts on modules that are executed, on numbers or by random interpretation: of uninterpreted
// operations, of numbers that are not finite or of other types, and within limits.

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/execution_tensors.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// The verdict of two entries with the inputs `p` and `q`.
std::string verdict(const std::string& type, const std::string& before, const std::string& after) {
  const std::string inputs = fmt::format("  p = {0} parameter(0)\n  q = {0} parameter(1)\n", type);
  return summary(compared(module_text(inputs + before, 1), module_text(inputs + after, 1)));
}

std::string partitioned(const std::string& entry) { return module_text(entry, 4); }

}  // namespace

TEST_CASE("an uninterpreted operation depends on how elements are arranged") {
  const std::string call = "custom-call(a), custom_call_target=\"f\"\n";
  const std::string flat = "  a = f32[8] copy(p)\n";
  CHECK(verdict("f32[8]", flat + "  ROOT r = f32[8] " + call, flat + "  ROOT r = f32[8] " + call) ==
        "valid");
  CHECK(verdict("f32[8]", flat + "  c = f32[2,4] " + call + "  ROOT r = f32[8] reshape(c)\n",
                flat + "  c = f32[4,2] " + call + "  ROOT r = f32[8] reshape(c)\n") == "unknown");
  CHECK(verdict("f32[8]", "  a = f32[2,4] reshape(p)\n  ROOT r = f32[8] " + call,
                "  a = f32[4,2] reshape(p)\n  ROOT r = f32[8] " + call) == "unknown");
  const std::string parts =
      "  a = f32[{0}] slice(p), slice={{[0:{0}]}}\n  b = f32[{1}] slice(p), slice={{[{0}:8]}}\n"
      "  ROOT r = f32[8] custom-call(a, b), custom_call_target=\"f\"\n";
  CHECK(verdict("f32[8]", fmt::format(fmt::runtime(parts), 3, 5),
                fmt::format(fmt::runtime(parts), 5, 3)) == "unknown");
  // A dynamic slice at an unknown index.
  const std::string slice =
      "  x = f32[{0},{1}] reshape(p)\n  h = f32[] constant(1)\n"
      "  i = s32[] custom-call(h), custom_call_target=\"i\"\n"
      "  j = s32[] custom-call(h), custom_call_target=\"j\"\n"
      "  ROOT r = f32[2,2] dynamic-slice(x, i, j), dynamic_slice_sizes={{2,2}}\n";
  CHECK(verdict("f32[24]", fmt::format(fmt::runtime(slice), 4, 6),
                fmt::format(fmt::runtime(slice), 6, 4)) == "unknown");
  // What the bits of a number are depends on its type.
  const std::string bits = "  c = {}[4] convert(p)\n  ROOT r = u16[4] bitcast-convert(c)\n";
  CHECK(verdict("f32[4]", fmt::format(fmt::runtime(bits), "bf16"),
                fmt::format(fmt::runtime(bits), "f16")) == "unknown");
}

TEST_CASE("complex numbers are equal where they are the same") {
  const auto constant = [](const char* value) {
    return fmt::format("  ROOT r = c64[] constant({})\n", value);
  };
  CHECK(verdict("f32[]", constant("(1, 2)"), constant("(1, 2)")) == "valid");
  CHECK(verdict("f32[]", constant("(1, 2)"), constant("(3, 4)")) == "unknown");
  const auto comparison = [](const char* direction) {
    return fmt::format("  ROOT r = pred[] compare(p, q), direction={}\n", direction);
  };
  CHECK(verdict("c64[]", comparison("EQ"), comparison("EQ")) == "valid");
  CHECK(verdict("c64[]", comparison("EQ"), comparison("NE")) == "unknown");
}

TEST_CASE("unsigned indices beyond the sizes are moved to the last window") {
  const auto before = [](const char* index) {
    return fmt::format(
        "  i = {}\n  ROOT r = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={{2}}\n", index);
  };
  const std::string narrow = before("u32[] constant(4294967295)");
  const std::string wide = before("u64[] constant(18446744073709551615)");
  const std::string last = "  ROOT r = f32[2] slice(p), slice={[6:8]}\n";
  const std::string first = "  ROOT r = f32[2] slice(p), slice={[0:2]}\n";
  CHECK(verdict("f32[8]", narrow, last) == "valid");
  CHECK(verdict("f32[8]", narrow, first) == "invalid contributions");
  CHECK(verdict("f32[8]", wide, last) == "unknown");
  CHECK(verdict("f32[8]", wide, first) == "invalid value");
}

TEST_CASE("an update beyond the end is one of the last window, on the device that has it") {
  // As XLA partitions it: openxla/xla issue 49118.
  const std::string before =
      "HloModule g\nENTRY main {\n  x = f32[32] parameter(0), sharding={devices=[2]<=[2]}\n"
      "  u = f32[1] parameter(1)\n  i = s32[] parameter(2)\n"
      "  ROOT y = f32[32] dynamic-update-slice(x, u, i), sharding={devices=[2]<=[2]}\n}\n";
  const auto after = [](const std::string& index) {
    return module_text(
        "  x = f32[16] parameter(0)\n  u = f32[1] parameter(1)\n  p = s32[] parameter(2)\n"
        "  z = s32[] constant(0)\n  e = s32[] constant(31)\n  i = s32[] " +
            index +
            "\n  t = s32[2] constant({0, 16})\n  d = u32[] partition-id()\n"
            "  f = s32[1] dynamic-slice(t, d), dynamic_slice_sizes={1}\n  o = s32[] reshape(f)\n"
            "  n = s32[] constant(16)\n  end = s32[] add(o, n)\n"
            "  ge = pred[] compare(i, o), direction=GE\n"
            "  lt = pred[] compare(i, end), direction=LT\n  in = pred[] and(ge, lt)\n"
            "  r = s32[] subtract(i, o)\n  k = s32[] select(in, r, z)\n"
            "  b = pred[16] broadcast(in), dimensions={}\n"
            "  w = f32[16] dynamic-update-slice(x, u, k)\n"
            "  ROOT y = f32[16] select(b, w, x)\n",
        2);
  };
  ComparisonOptions options;
  options.engine = ModuleEngine::Interpreter;
  CHECK(summary(compared(before, after("copy(p)"), options)) == "invalid value");
  CHECK(summary(compared(before, after("clamp(z, p, e)"), options)) == "valid");
}

TEST_CASE("no arithmetic of infinities, of booleans or of e cancels") {
  // x − (−∞) is infinite; a quotient of its exponentials is none of x.
  const std::string softmax =
      "  i = f32[2] custom-call(p), custom_call_target=\"f\"\n  n = f32[] constant(-inf)\n"
      "  m = f32[] reduce(i, n), dimensions={{0}}, to_apply={}\n"
      "  b = f32[2] broadcast(m), dimensions={{}}\n  d = f32[2] subtract(i, b)\n"
      "  e = f32[2] exponential(d)\n  z = f32[] constant(0)\n"
      "  s = f32[] reduce(e, z), dimensions={{0}}, to_apply=add\n"
      "  t = f32[2] broadcast(s), dimensions={{}}\n  ROOT r = f32[2] divide(e, t)\n";
  CHECK(verdict("f32[2]", fmt::format(fmt::runtime(softmax), "maximum"),
                fmt::format(fmt::runtime(softmax), "minimum")) == "unknown");
  // e is no small integer, and e^x is positive.
  CHECK(verdict("f32[]", "  d = f32[] divide(p, p)\n  ROOT r = f32[] exponential(d)\n",
                "  ROOT r = f32[] constant(9)\n") == "invalid contributions");
  CHECK(verdict("f32[]",
                "  c = f32[] constant(-20000)\n  s = f32[] add(p, c)\n"
                "  e = f32[] exponential(s)\n  ROOT r = f32[] add(e, q)\n",
                "  ROOT r = f32[] copy(q)\n") == "unknown");
  // The dot of booleans is no sum of products.
  CHECK(
      verdict("pred[2]",
              "  d = pred[] dot(p, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
              "  ROOT r = s32[] convert(d)\n",
              "  a = s32[2] convert(p)\n  b = s32[2] convert(q)\n"
              "  ROOT r = s32[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n") ==
      "unknown");
  CHECK(verdict("s32[]",
                "  a = s32[] constant(-1)\n  b = s32[] constant(1)\n  ROOT r = s32[] mulhi(a, b)\n",
                "  ROOT r = s32[] constant(-1)\n") == "valid");
}

TEST_CASE("the bounds of a piece are not those of the integer, and pieces need not be numbers") {
  CHECK(verdict("s32[]",
                "  c = s32[] constant(7)\n  a = s32[] minimum(p, c)\n  m = s32[] maximum(p, a)\n"
                "  k = s32[] constant(100)\n  ROOT r = pred[] compare(m, k), direction=GT\n",
                "  ROOT r = pred[] constant(false)\n") == "invalid value");
  // A difference that is 0 is no integer with pieces.
  CHECK(verdict("s32[]",
                "  d = s32[] subtract(p, p)\n  ROOT r = pred[] compare(d, d), direction=GT\n",
                "  ROOT r = pred[] constant(false)\n") == "valid");
  const auto both = [](const char* last) {
    return fmt::format(
        "  t = s32[] constant(2)\n  e = pred[] compare(q, t), direction=EQ\n"
        "  f = pred[] constant(false)\n  x = pred[] compare(p, q), direction=LT\n"
        "  s = pred[] select(e, f, x)\n  ROOT r = pred[] {}\n",
        last);
  };
  CHECK(verdict("s32[]", both("and(s, f)"), "  ROOT r = pred[] constant(false)\n") == "valid");
  CHECK(verdict("s32[]", both("and(s, f)"), both("copy(s)")).starts_with("invalid"));
  CHECK(verdict("s32[]", both("or(s, f)"), both("copy(s)")) == "valid");
}

TEST_CASE(
    "a module in which partitions communicate is partitioned, whatever shardings are left over") {
  const std::string sharding = "sharding={devices=[4]<=[4]}\n";
  const std::string before =
      "  p = f32[4] parameter(0), " + sharding + "  c = f32[4] copy(p), " + sharding +
      "  ROOT r = f32[4] all-reduce(c), channel_id=1, "
      "replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add\n";
  const std::string after = replaced(before, "{{0,1},{2,3}}", "{{0,2},{1,3}}");
  CHECK(summary(compared(partitioned(before), partitioned(before))) == "valid");
  CHECK(compared(partitioned(before), partitioned(after)).outcome == Outcome::Refuted);
  const std::string number =
      "  p = u32[] parameter(0)\n  c = u32[] copy(p), sharding={devices=[4]<=[4]}\n"
      "  i = u32[] partition-id()\n  ROOT r = u32[] add(c, i)\n";
  CHECK(compared(partitioned(number), partitioned(replaced(number, "add(c, i)", "add(c, c)")))
            .outcome == Outcome::Refuted);
}

TEST_CASE("a TopK is one by a comparator that puts the largest first, and not by others") {
  const auto module = [](const std::string& root, const std::string& more = "") {
    return "HloModule m, num_partitions=1\n\ncomparator {\n  a = f32[] parameter(0)\n"
           "  b = f32[] parameter(1)\n" +
           more + "  ROOT c = pred[] compare(" + root +
           "\n}\n\nENTRY main {\n  x = f32[8] parameter(0)\n"
           "  ROOT t = (f32[2], s32[2]) custom-call(x), custom_call_target=\"TopK\", "
           "called_computations={comparator}\n}\n";
  };
  const auto total = [](const std::string& of, const std::string& bits) {
    return "  i" + of + " = s32[] bitcast(" + of + ")\n  n" + of + " = pred[] compare(i" + of +
           ", z), direction=LT\n  f" + of + " = s32[] xor(" + bits + ", i" + of + ")\n  s" + of +
           " = s32[] select(n" + of + ", f" + of + ", i" + of + ")\n";
  };
  const std::string constants = "  z = s32[] constant(0)\n  m = s32[] constant(2147483647)\n";
  const std::string by_bits = constants + total("a", "m") + total("b", "m");
  const std::string plain = module("a, b), direction=GT");
  const auto outcome = [&](const std::string& other) { return compared(plain, other).outcome; };
  CHECK(outcome(plain) == Outcome::Established);
  CHECK(outcome(module("sa, sb), direction=GT", by_bits)) == Outcome::Established);
  CHECK(outcome(module("a, b), direction=LT")) == Outcome::Undecided);
  CHECK(outcome(module("b, a), direction=GT")) == Outcome::Undecided);
  CHECK(outcome(module("sa, sb), direction=LT", by_bits)) == Outcome::Undecided);
  CHECK(outcome(module("sa, sb), direction=GT",
                       replaced(by_bits, "constant(2147483647)", "constant(2147483646)"))) ==
        Outcome::Undecided);
  CHECK(outcome(module("sa, sb), direction=GT", constants + total("a", "m") + total("b", "z"))) ==
        Outcome::Undecided);
}

TEST_CASE("inputs that are larger than a limit are not made") {
  const auto module = module_of(
      module_text("  x = f32[65536,4096] parameter(0)\n  ROOT y = f32[65536,4096] tanh(x)\n", 1));
  Limits limits;
  limits.memory_bytes = resident_memory() + (std::size_t{64} << 20U);
  const Devices devices{1, 1};
  ModuleRelation relation;
  relation.before = relation.after = Form::Partitioned;
  for (const std::uint64_t most : {std::uint64_t{1} << 40U, std::uint64_t{1} << 20U}) {
    interpreter::Work work(limits, most);
    interpreter::Algebra algebra(interpreter::kFirstSeed);
    const interpreter::Inputs inputs(devices, relation);
    CHECK_THROWS_AS(inputs.of(algebra, *module, Form::Partitioned, interpreter::kDraws[0],
                              interpreter::kFirstSeed, work),
                    LimitReached);
  }
  CHECK(resident_memory() < *limits.memory_bytes);
}

TEST_CASE("the products of a convolution and the elements of windows are operations") {
  const auto of = [](const std::string& lines) {
    return estimated_operations(*module_of(module_text(lines, 1)), {1, 1});
  };
  const double of_reducers = of("  ROOT r = f32[] constant(0)\n") - 1;
  const auto operations = [&](const std::string& lines) { return of(lines) - of_reducers; };
  CHECK(operations("  x = f32[1,8,8,4] parameter(0)\n  k = f32[3,3,4,16] parameter(1)\n"
                   "  ROOT r = f32[1,8,8,16] convolution(x, k), window={size=3x3 pad=1_1x1_1}, "
                   "dim_labels=b01f_01io->b01f\n") == 256 + 576 + 1024 * (1 + 36));
  CHECK(operations("  x = f32[8] parameter(0)\n  z = f32[] constant(0)\n"
                   "  ROOT r = f32[4] reduce-window(x, z), window={size=2 stride=2}, "
                   "to_apply=add\n") == 8 + 1 + 4 * (1 + 2));
}

TEST_CASE("what differs on numbers is refuted whether or not it is interpreted, too") {
  const auto module = [](const char* factor) {
    return module_of(module_text(
        fmt::format("  x = f32[4] parameter(0)\n  f = f32[] constant({})\n  w = f32[4] "
                    "broadcast(f), dimensions={{}}\n  y = f32[4] multiply(x, w)\n  u = f32[4] "
                    "custom-call(x), custom_call_target=\"f\"\n  ROOT r = (f32[4], f32[4]) "
                    "tuple(y, u)\n",
                    factor),
        1));
  };
  for (const double operations : {1e3, 1e9}) {
    const auto decide = [&](const char* factor) {
      return compare_by_execution(*module("2"), *module(factor), {1, 1}, {}, operations, 1000000,
                                  {});
    };
    const ModuleDecision wrong = decide("3");
    CHECK(wrong.outcome == Outcome::Refuted);
    CHECK(fmt::format("{}", fmt::join(wrong.uninterpreted, " ")) == "custom-call f");
    CHECK(decide("2").outcome == Outcome::Established);
  }
}

}  // namespace p2::hlo
