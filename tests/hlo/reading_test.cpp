#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/text/hlo_text.h"
#include "tests/hlo/modules.h"

// Syntax errors, and inputs that are built to exhaust the reader.

namespace p2::hlo {
namespace {

std::string complaint(const std::string& text) {
  try {
    if (is_stablehlo(text)) {
      read_stablehlo("f", text);
    } else {
      check_well_formed(std::make_shared<const Module>(read_hlo("f", text)), {});
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string entry(const std::string& lines) { return "HloModule m\nENTRY e {\n" + lines + "\n}\n"; }

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kEightNumbers = "  x = f32[8] parameter(0)\n";

}  // namespace

TEST_CASE("complaints say where and what was expected") {
  CHECK(complaint("HloModule") == "f:1:10: found the end, expected the name of the module");
  CHECK(complaint("HloModule m\n") == "f:2:1: found the end, expected a computation");
  CHECK(complaint(entry("  x = f33[8] parameter(0)")) ==
        "f:3:7: unknown element type 'f33', expected one of XLA's");
  CHECK(complaint(entry(kEightNumbers + "  ROOT y = f32[8] copy(z)")) ==
        "f:4:24: no instruction 'z' before this one, expected one of the same computation");
  CHECK(complaint(entry(kEightNumbers + "  ROOT y = f32[8] call(x), to_apply=g")) ==
        "f:4:37: no computation 'g' before this one, expected one");
  CHECK(complaint(
            entry(kEightNumbers + "  ROOT y = f32[8] all-reduce(x), replica_groups={{0,-1}}")) ==
        "f:4:53: found -1, expected an id from 0 to 4194303");
  CHECK(complaint(
            entry(kEightNumbers + "  ROOT y = f32[8] all-reduce(x), replica_groups=[2,2]<=[3]")) ==
        "f:4:49: 2 groups of 2 out of 3 ids, expected all of them");
  CHECK(complaint(entry(kEightNumbers +
                        "  ROOT y = f32[8] all-reduce(x), replica_groups=mesh['a'=2] {'b'}")) ==
        "f:4:53: axis 'b' is not in the mesh, expected one that is");
  CHECK(complaint(entry("  x = s32[3] constant({1,2})")) ==
        "f:3:28: 2 elements for s32[3], expected 3");
  CHECK(complaint(entry("  x = f32[8] parameter(1)\n  y = f32[8] copy(x)")) ==
        "f:2:7: a parameter is missing, expected 0 …");
  CHECK(complaint("func.func @f(%x: tensor<?xf33>) {\n}") ==
        "f:1:25: '?xf33' of a tensor, expected sizes and an element type");
  CHECK(complaint("func.func @f(%x: tensor<2xf32>) {\n  return %y : tensor<2xf32>\n}") ==
        "f:2:12: no value '%y' before this one, expected one");
}

TEST_CASE("an element of a tuple, named behind it") {
  const std::string before =
      "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  t = (f32[4], (f32[4], f32[4])) "
      "tuple(x, u)\n";
  const std::string nested = replaced(before, "  t =", "  u = (f32[4], f32[4]) tuple(y, x)\n  t =");
  const std::string named = nested +
                            "  s = f32[4] subtract(%t#1#0, t#0)\n  ROOT r = f32[4] "
                            "add(f32[4] %s, /*index=1*/ %t#1#1)\n";
  const Module module = read_hlo("test.hlo", module_text(named, 1));
  std::vector<std::string> elements;
  for (const Instruction& each : module.entry_computation().instructions) {
    if (each.opcode == "get-tuple-element") elements.push_back(each.name);
  }
  CHECK(elements == std::vector<std::string>{"t#1", "t#1#0", "t#0", "t#1#1"});
  const std::string written =
      nested +
      "  a = (f32[4], f32[4]) get-tuple-element(t), index=1\n  b = f32[4] get-tuple-element(a), "
      "index=0\n  c = f32[4] get-tuple-element(t), index=0\n  s = f32[4] subtract(b, c)\n  d = "
      "f32[4] get-tuple-element(a), index=1\n  ROOT r = f32[4] add(s, d)\n";
  const auto outcome = [&](const std::string& other) {
    return compare(module_of(module_text(named, 1)), module_of(module_text(other, 1)), {}, {})
        .outcome;
  };
  CHECK(outcome(written) == Outcome::Established);
  CHECK(outcome(replaced(written, "subtract(b, c)", "subtract(c, b)")) == Outcome::Refuted);
  const auto refused = [&](const std::string& operand) {
    return complaint(module_text(replaced(named, "%t#1#1", operand), 1));
  };
  CHECK(refused("%t#2") == "f:39:46: 't' has no element 2, expected one of a tuple");
  CHECK(refused("%x#0") == "f:39:46: 'x' has no element 0, expected one of a tuple");
  CHECK(refused("%t#") ==
        "f:39:49: found ')', expected the number of an element from 0 to 4503599627370496");
}

TEST_CASE("every beginning of a module is refused or is a module, without a crash") {
  const std::string whole = module_text(
      "  x = f32[4,2] parameter(0), metadata={a=\"b\"}\n"
      "  y = f32[2,4]{0,1} bitcast(x) /* c */\n"
      "  ROOT t = (f32[4,2], f32[2,4]) tuple(x, y)\n");
  std::size_t refused = 0;
  for (std::size_t end = 0; end < whole.size(); ++end) {
    if (complaint(whole.substr(0, end)) != "accepted") ++refused;
  }
  CHECK(refused > whole.size() / 2);
}

TEST_CASE("too much of anything is refused at once") {
  constexpr std::size_t kDeep = 1000000;
  CHECK(complaint(entry("  x = " + repeated("(", kDeep) + "f32[]")).find("nested too deeply") !=
        std::string::npos);
  CHECK(complaint(entry("  x = f32[] parameter(0), metadata=" + repeated("{", kDeep)))
            .find("expected '}'") != std::string::npos);
  CHECK(complaint(entry("  x = f32[] constant(" + repeated("{", kDeep))).find("expected") !=
        std::string::npos);
  CHECK(complaint(entry("  x = f32[4503599627370496,2] parameter(0)")).find("2^52") !=
        std::string::npos);
  CHECK(complaint(entry(kEightNumbers +
                        "  y = f32[8] all-reduce(x), replica_groups=[1,1000000000]<=[1000000000]"))
            .find("expected a size from 0 to 4194304") != std::string::npos);
  CHECK(complaint("HloModule m, replica_count=1000000000\n").find("from 1 to 4194304") !=
        std::string::npos);
  CHECK(complaint(entry(kEightNumbers + "  y = f32[8] copy(y)")).find("no instruction 'y'") !=
        std::string::npos);
  CHECK(
      complaint("func.func @f(%x: tensor<f32>) {\n" + repeated("\"stablehlo.case\"(%x) ({\n", 100))
          .find("nested too deeply") != std::string::npos);
  CHECK(complaint("func.func @f() {\n  func.call @g() : () -> ()\n  return\n}\nfunc.func @g() {\n  "
                  "func.call @f() : () -> ()\n  return\n}\n")
            .find("calls itself") != std::string::npos);
  CHECK(complaint("func.func @f(%x: tensor<f32>) {\n  %y = \"stablehlo.all_reduce\"(%x) "
                  "{replica_groups = dense<0> : tensor<1x1000000000xi64>} : (tensor<f32>) -> "
                  "tensor<f32>\n}")
            .find("too many integers") != std::string::npos);
}

TEST_CASE("calls that double at every level, and long chains, end") {
  std::string doubling =
      "HloModule m\nc0 {\n  p = f32[] parameter(0)\n  ROOT r = f32[] add(p, p)\n}\n";
  for (int i = 1; i < 40; ++i) {
    doubling += fmt::format(
        "c{0} {{\n  p = f32[] parameter(0)\n  a = f32[] call(p), to_apply=c{1}\n"
        "  ROOT b = f32[] call(a), to_apply=c{1}\n}}\n",
        i, i - 1);
  }
  CHECK(complaint(doubling).find("operations after inlining all calls") != std::string::npos);
  const std::string less =
      "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n";
  for (const char* operation : {"exponential", "sort", "reverse"}) {
    std::string chain = kEightNumbers;
    chain += "  y0 = f32[8] copy(x)\n";
    for (int i = 1; i <= 5000; ++i) {
      chain += fmt::format("  y{} = f32[8] {}(y{}), dimensions={{0}}{}\n", i, operation, i - 1,
                           operation == std::string("sort") ? ", to_apply=less" : "");
    }
    chain = less + chain + "}\n";
    CHECK(summary(compared(chain, chain)) == "valid");
  }
}

}  // namespace p2::hlo
