// Integers as p2-check executes them for all inputs: programs written as modules and computed in
// C++ for every value of the inputs.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// Arithmetic of one integer of 8 bits, written as a module and computed in C++ for all its 256
/// values.
class Arithmetic8 {
 public:
  explicit Arithmetic8(std::uint32_t seed) : random_(seed) {}

  struct Type {
    const char* name;
    int bits;
    bool is_signed;
  };
  struct Step {
    int kind = 0;
    int number = 0;
    Type type = {};
  };

  std::vector<Step> drawn_steps() {
    static constexpr Type kTypes[] = {{"s8", 8, true},    {"u8", 8, false},  {"s16", 16, true},
                                      {"u16", 16, false}, {"s32", 32, true}, {"u32", 32, false}};
    std::vector<Step> steps(static_cast<std::size_t>(1 + below(6)));
    for (Step& step : steps)
      step = {below(9), below(12) * (below(3) == 0 ? 9 : 1), kTypes[below(6)]};
    return steps;
  }
  /// The same function in other words, or another function.
  std::vector<Step> changed(std::vector<Step> steps) {
    const auto at = static_cast<std::size_t>(below(static_cast<int>(steps.size())));
    switch (below(4)) {
      case 0:  // x + n as (x + 1) + (n - 1)
        if (steps[at].kind == 0) {
          steps[at].number -= 1;
          steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), Step{0, 1, {}});
        }
        break;
      case 1:
        steps[at].number += 1;
        break;
      case 2:
        if (at + 1 < steps.size()) std::swap(steps[at], steps[at + 1]);
        break;
      default:
        break;
    }
    return steps;
  }

  static std::string text_of(const std::vector<Step>& steps) {
    std::string body =
        "  v0 = s8[] parameter(0)\n  table = s32[8] constant({3, 1, 4, 1, 5, 9, 2, 6})\n";
    std::string type = "s8";
    int number = 0;
    const auto line = [&](const std::string& of, const std::string& what) {
      body += fmt::format("  v{} = {}[] {}\n", ++number, of, what);
    };
    for (const Step& step : steps) {
      const int x = number;
      if (step.kind == 7) {
        line(step.type.name, fmt::format("convert(v{})", x));
        type = step.type.name;
        continue;
      }
      if (step.kind == 8) {  // a look-up
        line("s32", fmt::format("convert(v{})", x));
        body += fmt::format("  v{} = s32[1] dynamic-slice(table, v{}), dynamic_slice_sizes={{1}}\n",
                            number + 1, number);
        ++number;
        line("s32", fmt::format("reshape(v{})", number));
        type = "s32";
        continue;
      }
      line(type, fmt::format("constant({})", step.number));
      const int c = number;
      switch (step.kind) {
        case 0:
          line(type, fmt::format("add(v{}, v{})", x, c));
          break;
        case 1:
          line(type, fmt::format("subtract(v{}, v{})", c, x));
          break;
        case 2:
          line(type, fmt::format("multiply(v{}, v{})", x, c));
          break;
        case 3:
          line(type, fmt::format("maximum(v{}, v{})", c, x));
          break;
        case 4:
          line(type, fmt::format("minimum(v{}, v{})", x, c));
          break;
        case 5:
          body += fmt::format("  p{} = pred[] compare(v{}, v{}), direction=LT\n", number, x, c);
          line(type, fmt::format("select(p{}, v{}, v{})", number, c, x));
          break;
        default:
          body += fmt::format("  p{} = pred[] compare(v{}, v{}), direction=EQ\n", number, c, x);
          line(type, fmt::format("convert(p{})", number));
          line(type, fmt::format("add(v{}, v{})", number, x));
      }
    }
    body += fmt::format("  ROOT out = s64[] convert(v{})\n", number);
    return "HloModule m, num_partitions=2\nENTRY main {\n" + body + "}\n";
  }

  static std::int64_t value_of(const std::vector<Step>& steps, std::int64_t x) {
    static constexpr std::int64_t kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
    Type type{"s8", 8, true};
    const auto wrap = [&](std::int64_t value) {
      const std::int64_t size = std::int64_t{1} << type.bits;
      value = ((value % size) + size) % size;
      return type.is_signed && value >= size / 2 ? value - size : value;
    };
    for (const Step& step : steps) {
      if (step.kind == 7) type = step.type;
      if (step.kind == 8) type = {"s32", 32, true};
      x = wrap(x);
      const std::int64_t c = wrap(step.number);
      switch (step.kind) {
        case 0:
          x = wrap(x + c);
          break;
        case 1:
          x = wrap(c - x);
          break;
        case 2:
          x = wrap(x * c);
          break;
        case 3:
          x = std::max(x, c);
          break;
        case 4:
          x = std::min(x, c);
          break;
        case 5:
          x = x < c ? c : x;
          break;
        case 6:
          x = wrap(x + (x == c ? 1 : 0));
          break;
        case 8:
          x = kTable[std::clamp<std::int64_t>(x, 0, 7)];
          break;
        default:
          break;
      }
    }
    return x;
  }

 private:
  int below(int end) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, end - 1)(random_));
  }
  std::mt19937 random_;
};

/// Several functions of two integers of 8 bits, which use each other: comparisons with numbers,
/// choices by them, and what else is known of an integer where one of them holds.
class Functions8 {
 public:
  explicit Functions8(std::uint32_t seed) : random_(seed) {}

  struct Step {
    std::string opcode;
    std::vector<std::size_t> operands;
    std::int64_t number = 0;  ///< of a constant; an input
    bool is_truth = false;
  };
  using Program = std::vector<Step>;

  /// In s32, but for the inputs no value of which is beyond 24 bits.
  Program drawn() {
    Program program = {{"input", {}, 0}, {"input", {}, 1}};
    const int count = 4 + below(8);
    for (int k = 0; k < count; ++k) add_step(program);
    return program;
  }
  /// With a step that is another.
  Program changed(Program program) {
    const auto at = static_cast<std::size_t>(2 + below(static_cast<int>(program.size()) - 2));
    Step& step = program[at];
    switch (below(4)) {
      case 0:
        step = {"constant", {}, step.is_truth ? below(2) : below(9) - 4, step.is_truth};
        break;
      case 1:
        if (step.is_truth)
          step.opcode = step.opcode == "GT" ? "GE" : "GT";
        else
          step.number += 1;
        break;
      case 2:
        if (step.operands.size() == 2) std::swap(step.operands[0], step.operands[1]);
        break;
      default:
        if (!step.operands.empty()) step.operands[0] = some(program, step.opcode == "select", at);
    }
    return program;
  }

  static std::string text_of(const Program& program) {
    std::string body = "  a0 = s8[] parameter(0)\n  a1 = s8[] parameter(1)\n";
    std::string outputs, types;
    for (std::size_t k = 0; k < program.size(); ++k) {
      const Step& step = program[k];
      const std::string type = step.is_truth ? "pred" : "s32";
      std::string what;
      if (step.opcode == "input") {
        what = fmt::format("convert(a{})", step.number);
      } else if (step.opcode == "constant") {
        what = step.is_truth ? fmt::format("constant({})", step.number != 0)
                             : fmt::format("constant({})", step.number);
      } else {
        std::string operands;
        for (const std::size_t each : step.operands) operands += fmt::format("v{}, ", each);
        if (step.opcode != "select") {
          body += fmt::format("  c{} = s32[] constant({})\n", k, step.number);
          if (step.operands.size() == 1) operands += fmt::format("c{}, ", k);
        }
        operands.resize(operands.size() - 2);
        what = step.is_truth ? fmt::format("compare({}), direction={}", operands, step.opcode)
                             : fmt::format("{}({})", step.opcode, operands);
      }
      body += fmt::format("  v{} = {}[] {}\n", k, type, what);
      outputs += fmt::format("{}v{}", k == 0 ? "" : ", ", k);
      types += fmt::format("{}{}[]", k == 0 ? "" : ", ", type);
    }
    return fmt::format(
        "HloModule m, num_partitions=2\nENTRY main {{\n{}  ROOT o = ({}) tuple({})\n}}\n", body,
        types, outputs);
  }

  static std::vector<std::int64_t> values_of(const Program& program, std::int64_t x,
                                             std::int64_t y) {
    std::vector<std::int64_t> values;
    for (const Step& step : program) {
      const auto operand = [&](std::size_t k) {
        return k < step.operands.size() ? values[step.operands[k]] : step.number;
      };
      const std::string& opcode = step.opcode;
      std::int64_t value = step.number;
      if (opcode == "input") {
        value = step.number == 0 ? x : y;
      } else if (opcode == "select") {
        value = operand(0) != 0 ? operand(1) : operand(2);
      } else if (opcode != "constant") {
        const std::int64_t a = operand(0), b = operand(1);
        value = opcode == "add"         ? a + b
                : opcode == "subtract"  ? a - b
                : opcode == "multiply"  ? a * b
                : opcode == "maximum"   ? std::max(a, b)
                : opcode == "minimum"   ? std::min(a, b)
                : opcode == "divide"    ? a / b
                : opcode == "remainder" ? a % b
                : opcode == "GT"        ? a > b
                : opcode == "GE"        ? a >= b
                : opcode == "LT"        ? a < b
                                        : a == b;
      }
      values.push_back(value);
    }
    return values;
  }

 private:
  int below(int end) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, end - 1)(random_));
  }
  /// A step before `end` that is a truth value, or one that is not.
  std::size_t some(const Program& program, bool is_truth, std::size_t end) {
    for (int tries = 0; tries < 20; ++tries) {
      const auto at = static_cast<std::size_t>(below(static_cast<int>(end)));
      if (program[at].is_truth == is_truth) return at;
    }
    return 0;
  }
  void add_step(Program& program) {
    const std::size_t end = program.size();
    const bool has_truth =
        std::any_of(program.begin(), program.end(), [](const Step& step) { return step.is_truth; });
    if (has_truth && below(3) == 0) {
      const std::size_t condition = some(program, true, end);
      if (!program[condition].is_truth) return;
      program.push_back(
          {"select", {condition, some(program, false, end), some(program, false, end)}});
      return;
    }
    if (below(3) == 0) {
      static const char* const kDirections[] = {"GT", "GE", "LT", "EQ"};
      program.push_back({kDirections[below(4)], {some(program, false, end)}, below(9) - 4, true});
      return;
    }
    static const char* const kOpcodes[] = {"add",     "subtract", "maximum",  "minimum",  "divide",
                                           "maximum", "minimum",  "multiply", "remainder"};
    const std::string opcode = kOpcodes[below(9)];
    Step step{opcode, {some(program, false, end)}, below(9) - 4};
    if (opcode == "divide" || opcode == "remainder") step.number = 2 + below(4);
    const bool takes_two = opcode == "add" || opcode == "maximum" || opcode == "subtract";
    if (takes_two && below(2) == 0) step.operands.push_back(some(program, false, end));
    program.push_back(std::move(step));
  }
  std::mt19937 random_;
};

TEST_CASE("what p2-check accepts of integer arithmetic holds for all values of the input") {
  int accepted = 0;
  int equal = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    Arithmetic8 arithmetic(seed);
    const auto before = arithmetic.drawn_steps();
    const auto after = arithmetic.changed(before);
    bool is_equal = true;
    for (std::int64_t x = -128; x < 128; ++x) {
      is_equal = is_equal && Arithmetic8::value_of(before, x) == Arithmetic8::value_of(after, x);
    }
    const std::string text = Arithmetic8::text_of(before) + Arithmetic8::text_of(after);
    CAPTURE(text);
    const bool is_accepted =
        is_certified(Arithmetic8::text_of(before), Arithmetic8::text_of(after));
    if (is_accepted) REQUIRE(is_equal);
    if (is_equal) ++equal;
    if (is_accepted) ++accepted;
  }
  CHECK(equal > 1000);
  CHECK(accepted * 10 > equal * 7);
}

TEST_CASE("what holds of an integer under a condition is not taken to hold without it") {
  int accepted = 0, equal = 0, different = 0;
  for (std::uint32_t seed = 0; seed < 6000; ++seed) {
    Functions8 functions(seed);
    const Functions8::Program before = functions.drawn();
    const Functions8::Program after = functions.changed(before);
    bool is_equal = true, is_small = true;
    for (std::int64_t x = -128; x < 128 && is_equal; ++x) {
      for (std::int64_t y = -128; y < 128 && is_equal; ++y) {
        const auto values = Functions8::values_of(before, x, y);
        is_equal = values == Functions8::values_of(after, x, y);
        for (const std::int64_t value : values)
          is_small = is_small && std::abs(value) < std::int64_t{1} << 31U;
      }
    }
    if (!is_small) continue;
    (is_equal ? equal : different) += 1;
    const std::string text = Functions8::text_of(before) + Functions8::text_of(after);
    CAPTURE(text);
    if (!is_certified(Functions8::text_of(before), Functions8::text_of(after))) continue;
    ++accepted;
    REQUIRE(is_equal);
  }
  CHECK(different > 2000);
  CHECK(accepted * 10 > equal * 7);
  MESSAGE(accepted << " accepted of " << equal << " equal, " << different << " different");
}

}  // namespace
}  // namespace p2::hlo
