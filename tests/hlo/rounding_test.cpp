#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/modules.h"

// Random programs in f32 and bf16, rewritten in ways that keep the bits and in ways that do not,
// and executed in float arithmetic: what is equal bit for bit never differs in a bit, whatever the
// order of sums that an implementation takes; what is equal up to the order of sums never differs
// where all sums are exact.

namespace p2::hlo {
namespace {

constexpr std::size_t kSize = 4;
constexpr int kInputs = 3;
constexpr int kExecutions = 60;
constexpr std::uint64_t kPairs = 3000;

enum class Op {
  Input,
  Constant,
  Add,
  Subtract,
  Multiply,
  Divide,
  Negate,
  Abs,
  Maximum,
  Minimum,
  Exponential,
  ToNarrow,
  ToWide,
  SelectLess,  ///< a < b ? c : d
  SelectGreater,
  SelectNotLess,  ///< a >= b ? c : d
  Reverse,
  Sum,   ///< broadcast
  Dot,   ///< broadcast
  Fold,  ///< the sum of the sums of both halves, broadcast
};

/// One operation on vectors.
struct Step {
  Op op = Op::Input;
  std::vector<std::size_t> operands = {};
  float constant = 0;
  bool narrow = false;  ///< bf16
};

using Program = std::vector<Step>;
using Vector = std::vector<float>;

float to_narrow(float value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U);
}

/// One way to execute what XLA leaves open: a function of the bits of the operands alone.
struct Implementation {
  int order = 0;  ///< of sums: ascending, descending, pairwise
  bool fused = false;
  bool prefers_first = false;  ///< maximum of 0 and −0
  std::uint32_t seed = 0;      ///< of the last bit of an exponential
};

class Execution {
 public:
  explicit Execution(const Implementation& way) : way_(way) {}

  Vector run(const Program& program, const std::vector<Vector>& inputs) {
    std::vector<Vector> values;
    std::size_t input = 0;
    for (const Step& step : program) {
      if (step.op == Op::Input) {
        values.push_back(inputs[input++]);
      } else {
        values.push_back(vector(step, values));
      }
    }
    return values.back();
  }

  /// No sum was rounded, nothing was divided by zero or is infinite.
  bool is_exact() const { return exact_; }

 private:
  float rounded(float value, bool narrow) {
    if (!std::isfinite(value)) exact_ = false;
    return narrow ? to_narrow(value) : value;
  }

  float add(float a, float b, bool narrow) {
    const double whole = static_cast<double>(a) + static_cast<double>(b);
    const float result = rounded(a + b, narrow);
    const double rest = std::fabs(a) > std::fabs(b) ? whole - a - b : whole - b - a;
    if (static_cast<double>(result) != whole || rest != 0) exact_ = false;
    return result;
  }

  float sum(Vector all, bool narrow) {
    if (way_.order == 1) std::reverse(all.begin(), all.end());
    if (way_.order == 2 && all.size() > 2) {
      const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      return add(sum({all.begin(), half}, narrow), sum({half, all.end()}, narrow), narrow);
    }
    float total = way_.order == 2 ? all[0] : add(0, all[0], narrow);
    for (std::size_t i = 1; i < all.size(); ++i) total = add(total, all[i], narrow);
    return total;
  }

  float dot(const Vector& a, const Vector& b, bool narrow) {
    if (!way_.fused) {
      Vector products;
      for (std::size_t i = 0; i < a.size(); ++i) products.push_back(rounded(a[i] * b[i], narrow));
      return sum(products, narrow);
    }
    float total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total = std::fma(a[i], b[i], total);
    if (narrow || sum(a, false) != 0) exact_ = false;  // its products are not rounded
    return rounded(total, narrow);
  }

  float maximum(float a, float b) const {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
    if (way_.prefers_first) return a >= b ? a : b;
    return b >= a ? b : a;
  }

  float exponential(float a, bool narrow) {
    const float value = rounded(static_cast<float>(std::exp(static_cast<double>(a))), narrow);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(a + 0.0F) * 2654435761U + way_.seed;
    if (!std::isfinite(value) || value == 0 || (bits >> 7U) % 3 != 0) return value;
    return rounded(value * (narrow ? 1.0078125F : 1.0000001F), narrow);
  }

  Vector vector(const Step& step, const std::vector<Vector>& values) {
    const auto at = [&](std::size_t k) -> const Vector& { return values[step.operands[k]]; };
    const Vector splat(kSize, step.constant);
    if (step.op == Op::Constant) return splat;
    if (step.op == Op::Sum) return Vector(kSize, sum(at(0), step.narrow));
    if (step.op == Op::Dot) return Vector(kSize, dot(at(0), at(1), step.narrow));
    if (step.op == Op::Fold) {
      const Vector& all = at(0);
      return Vector(kSize, add(sum({all[0], all[1]}, step.narrow),
                               sum({all[2], all[3]}, step.narrow), step.narrow));
    }
    Vector result;
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto x = [&](std::size_t k) { return at(k)[i]; };
      switch (step.op) {
        case Op::Add:
          result.push_back(add(x(0), x(1), step.narrow));
          break;
        case Op::Subtract:
          result.push_back(add(x(0), -x(1), step.narrow));
          break;
        case Op::Multiply:
          result.push_back(rounded(x(0) * x(1), step.narrow));
          break;
        case Op::Divide:
          if (x(1) == 0) exact_ = false;
          result.push_back(rounded(x(0) / x(1), step.narrow));
          break;
        case Op::Negate:
          result.push_back(-x(0));
          break;
        case Op::Abs:
          result.push_back(std::fabs(x(0)));
          break;
        case Op::Maximum:
          result.push_back(maximum(x(0), x(1)));
          break;
        case Op::Minimum:
          result.push_back(-maximum(-x(0), -x(1)));
          break;
        case Op::Exponential:
          result.push_back(exponential(x(0), step.narrow));
          break;
        case Op::ToNarrow:
          result.push_back(to_narrow(x(0)));
          break;
        case Op::SelectLess:
          result.push_back(x(0) < x(1) ? x(2) : x(3));
          break;
        case Op::SelectGreater:
          result.push_back(x(0) > x(1) ? x(2) : x(3));
          break;
        case Op::SelectNotLess:
          result.push_back(x(0) >= x(1) ? x(2) : x(3));
          break;
        case Op::Reverse:
          result.push_back(at(0)[kSize - 1 - i]);
          break;
        default:
          result.push_back(x(0));
      }
    }
    return result;
  }

  Implementation way_;
  bool exact_ = true;
};

/// The program as a module of XLA.
std::string text_of(const Program& program) {
  std::string text;
  int parameter = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    const std::string type = step.narrow ? "bf16" : "f32";
    const std::string shape = type + "[4]";
    const auto x = [&](std::size_t k) { return fmt::format("v{}", step.operands[k]); };
    const auto line = [&](const std::string& name, const std::string& what) {
      text += fmt::format("  {} = {}\n", name, what);
    };
    const std::string name = fmt::format("v{}", i);
    const std::string reducer = step.narrow ? "add16" : "add";
    const auto spread = [&] {
      line(name, fmt::format("{} broadcast({}s), dimensions={{}}", shape, name));
    };
    const auto reduce = [&](const std::string& to, const std::string& of) {
      line(to + "z", type + "[] constant(0)");
      line(to, fmt::format("{}[] reduce({}, {}z), dimensions={{0}}, to_apply={}", type, of, to,
                           reducer));
    };
    switch (step.op) {
      case Op::Input:
        line(name, fmt::format("{} parameter({})", shape, parameter++));
        break;
      case Op::Constant:
        line(name + "s", fmt::format("{}[] constant({:.9g})", type, step.constant));
        spread();
        break;
      case Op::Sum:
        reduce(name + "s", x(0));
        spread();
        break;
      case Op::Dot:
        line(name + "s",
             fmt::format("{}[] dot({}, {}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}",
                         type, x(0), x(1)));
        spread();
        break;
      case Op::Fold:
        for (int half = 0; half < 2; ++half) {
          const std::string part = fmt::format("{}h{}", name, half);
          line(part, fmt::format("{}[2] slice({}), slice={{[{}:{}]}}", type, x(0), 2 * half,
                                 2 * half + 2));
          reduce(part + "s", part);
        }
        line(name + "s", fmt::format("{0}[] add({1}h0s, {1}h1s)", type, name));
        spread();
        break;
      case Op::SelectLess:
      case Op::SelectGreater:
      case Op::SelectNotLess: {
        const char* const direction = step.op == Op::SelectLess      ? "LT"
                                      : step.op == Op::SelectGreater ? "GT"
                                                                     : "GE";
        line(name + "p",
             fmt::format("pred[4] compare({}, {}), direction={}", x(0), x(1), direction));
        line(name, fmt::format("{} select({}p, {}, {})", shape, name, x(2), x(3)));
        break;
      }
      case Op::Reverse:
        line(name, fmt::format("{} reverse({}), dimensions={{0}}", shape, x(0)));
        break;
      default: {
        const char* const opcode = step.op == Op::Add           ? "add"
                                   : step.op == Op::Subtract    ? "subtract"
                                   : step.op == Op::Multiply    ? "multiply"
                                   : step.op == Op::Divide      ? "divide"
                                   : step.op == Op::Negate      ? "negate"
                                   : step.op == Op::Abs         ? "abs"
                                   : step.op == Op::Maximum     ? "maximum"
                                   : step.op == Op::Minimum     ? "minimum"
                                   : step.op == Op::Exponential ? "exponential"
                                                                : "convert";
        std::vector<std::string> names;
        for (const std::size_t operand : step.operands)
          names.push_back(fmt::format("v{}", operand));
        line(name, fmt::format("{} {}({})", shape, opcode, fmt::join(names, ", ")));
      }
    }
  }
  const std::size_t root = text.rfind("  v");
  text.insert(root + 2, "ROOT ");
  return "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] add(a, b)\n}\n\nadd16 {\n  a = bf16[] parameter(0)\n"
         "  b = bf16[] parameter(1)\n  ROOT c = bf16[] add(a, b)\n}\n\nENTRY e {\n" +
         text + "}\n";
}

/// What a rewrite keeps.
enum class Keeps { Bits, Sums, Reals, Nothing };

/// Random programs and their rewrites.
class Rewriter {
 public:
  explicit Rewriter(std::uint64_t seed) : random_(seed) {}

  Program program() {
    Program all(kInputs);
    while (all.size() < 9) {
      const Op op = static_cast<Op>(1 + below(static_cast<std::uint64_t>(Op::Fold)));
      const bool narrow = below(4) == 0;
      if (op == Op::ToWide) continue;  // added where operands are narrow
      if (op == Op::Constant) {
        push(all, constant(narrow));
        continue;
      }
      const bool from_narrow = op == Op::ToNarrow ? false : narrow;
      const std::size_t count =
          op == Op::SelectLess || op == Op::SelectGreater || op == Op::SelectNotLess ? 4
          : op == Op::Negate || op == Op::Abs || op == Op::Exponential || op == Op::ToNarrow ||
                  op == Op::Reverse || op == Op::Sum || op == Op::Fold
              ? 1
              : 2;
      Step step{op, {}, 0, op == Op::ToNarrow || narrow};
      for (std::size_t k = 0; k < count; ++k) {
        step.operands.push_back(typed(all, below(all.size()), from_narrow));
      }
      push(all, std::move(step));
    }
    return all;
  }

  /// The program with rewrites, none of which keeps less than `least`.
  Program rewritten(const Program& program, Keeps least) {
    Program all;
    std::vector<std::size_t> to;
    for (std::size_t i = 0; i < program.size(); ++i) {
      Step step = program[i];
      for (std::size_t& operand : step.operands) operand = to[operand];
      if (step.op == Op::Input) {
        to.push_back(push(all, step));
        continue;
      }
      const std::size_t value = rewrite(all, step, least);
      to.push_back(below(3) == 0 ? wrapped(all, value, least) : value);
    }
    // The root is the last step.
    if (to.back() + 1 != all.size()) {
      const Step step{Op::Reverse, {to.back()}, 0, all[to.back()].narrow};
      const std::size_t turned = push(all, step);
      push(all, {Op::Reverse, {turned}, 0, step.narrow});
    }
    return all;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  static std::size_t push(Program& all, Step step) {
    all.push_back(std::move(step));
    return all.size() - 1;
  }

  Step constant(bool narrow) {
    static constexpr float kValues[] = {
        0, -0.0F, 1, -1, 2, 0.5F, 3, 0.1F, -4, std::numeric_limits<float>::infinity()};
    const float value = kValues[below(std::size(kValues))];
    return {Op::Constant, {}, narrow ? to_narrow(value) : value, narrow};
  }

  static std::size_t typed(Program& all, std::size_t value, bool narrow) {
    if (all[value].narrow == narrow) return value;
    return push(all, {narrow ? Op::ToNarrow : Op::ToWide, {value}, 0, narrow});
  }

  std::size_t rewrite(Program& all, Step step, Keeps least) {
    const auto x = [&](std::size_t k) { return step.operands[k]; };
    const auto made = [&](Op op, std::vector<std::size_t> operands) {
      return push(all, {op, std::move(operands), 0, step.narrow});
    };
    const bool sums = least >= Keeps::Sums;
    const bool reals = least >= Keeps::Reals;
    if (below(2) == 0) return push(all, step);
    switch (step.op) {
      case Op::Add: {
        const Step& first = all[x(0)];
        if (sums && first.op == Op::Add && below(2) == 0) {
          const std::vector<std::size_t> inner = first.operands;
          return made(Op::Add, {inner[0], made(Op::Add, {inner[1], x(1)})});
        }
        if (reals && below(8) == 0) {
          const std::size_t half = push(all, {Op::Constant, {}, 0.5F, step.narrow});
          const std::size_t halves[] = {made(Op::Multiply, {half, x(0)}),
                                        made(Op::Multiply, {half, x(1)})};
          const std::size_t part = made(Op::Add, {halves[0], halves[1]});
          return made(Op::Add, {part, part});
        }
        if (below(3) == 0) return made(Op::Subtract, {x(0), made(Op::Negate, {x(1)})});
        return made(Op::Add, {x(1), x(0)});
      }
      case Op::Subtract:
        return made(Op::Add, {made(Op::Negate, {x(1)}), x(0)});
      case Op::Multiply:
        if (reals && all[x(0)].op == Op::Multiply && below(2) == 0) {
          const std::vector<std::size_t> inner = all[x(0)].operands;
          return made(Op::Multiply, {inner[0], made(Op::Multiply, {inner[1], x(1)})});
        }
        if (below(3) == 0) {
          return made(Op::Negate, {made(Op::Multiply, {made(Op::Negate, {x(0)}), x(1)})});
        }
        return made(Op::Multiply, {x(1), x(0)});
      case Op::Divide:
        if (reals && below(2) == 0) {
          const std::size_t one = push(all, {Op::Constant, {}, 1, step.narrow});
          return made(Op::Multiply, {x(0), made(Op::Divide, {one, x(1)})});
        }
        return made(Op::Divide, {made(Op::Negate, {x(0)}), made(Op::Negate, {x(1)})});
      case Op::Negate:
        if (sums && all[x(0)].op == Op::Add) {
          const std::vector<std::size_t> inner = all[x(0)].operands;
          return made(Op::Add, {made(Op::Negate, {inner[0]}), made(Op::Negate, {inner[1]})});
        }
        break;
      case Op::Abs:
        return made(Op::Abs, {made(Op::Negate, {x(0)})});
      case Op::Maximum:
      case Op::Minimum:
        if (sums) return made(step.op, {x(1), x(0)});
        break;
      case Op::SelectLess:
        if (reals && below(2) == 0) return made(Op::SelectNotLess, {x(0), x(1), x(3), x(2)});
        return made(Op::SelectGreater, {x(1), x(0), x(2), x(3)});
      case Op::SelectGreater:
        return made(Op::SelectLess, {x(1), x(0), x(2), x(3)});
      case Op::Sum:
        if (sums && below(2) == 0) return made(Op::Fold, {x(0)});
        if (sums) return made(Op::Sum, {made(Op::Reverse, {x(0)})});
        break;
      case Op::Fold:
        if (sums) return made(Op::Sum, {x(0)});
        break;
      case Op::Dot:
        if (sums && !step.narrow && below(2) == 0) {
          return made(Op::Sum, {made(Op::Multiply, {x(1), x(0)})});
        }
        if (sums) return made(Op::Dot, {made(Op::Reverse, {x(0)}), made(Op::Reverse, {x(1)})});
        return made(Op::Dot, {x(1), x(0)});
      default:
        break;
    }
    return push(all, step);
  }

  /// An identity around a value.
  std::size_t wrapped(Program& all, std::size_t value, Keeps least) {
    const bool narrow = all[value].narrow;
    const auto made = [&](Op op, std::vector<std::size_t> operands) {
      return push(all, {op, std::move(operands), 0, narrow});
    };
    const auto number = [&](float constant) {
      return push(all, {Op::Constant, {}, constant, narrow});
    };
    if (least == Keeps::Nothing && below(2) == 0) {
      return below(2) == 0 ? made(Op::Abs, {value}) : made(Op::Multiply, {value, number(1.5F)});
    }
    if (least >= Keeps::Reals && below(2) == 0) {
      switch (below(3)) {
        case 0:
          return made(Op::Subtract, {made(Op::Add, {value, number(3)}), number(3)});
        case 1:
          return made(Op::Add, {value, made(Op::Subtract, {value, value})});
        default:
          if (narrow) return made(Op::Divide, {made(Op::Multiply, {value, number(3)}), number(3)});
          return push(all, {Op::ToWide, {push(all, {Op::ToNarrow, {value}, 0, true})}, 0, false});
      }
    }
    if (least >= Keeps::Sums && below(3) == 0) return made(Op::Add, {number(0), value});
    switch (below(7)) {
      case 0:
        return made(Op::Multiply, {value, number(1)});
      case 1:
        return made(Op::Add, {value, number(-0.0F)});
      case 2:
        return made(Op::Subtract, {value, number(0)});
      case 3:
        return made(Op::Negate, {made(Op::Negate, {value})});
      case 4:
        return made(Op::Maximum, {value, value});
      case 5:
        if (narrow) {
          const std::size_t wide = push(all, {Op::ToWide, {value}, 0, false});
          return push(all, {Op::ToNarrow, {wide}, 0, true});
        }
        return made(Op::Divide, {made(Op::Negate, {value}), number(-1)});
      default:
        return made(Op::Reverse, {made(Op::Reverse, {value})});
    }
  }

  std::mt19937_64 random_;
};

/// Inputs: special values, small whole numbers, whatever bits.
std::vector<Vector> drawn_inputs(std::mt19937_64& random) {
  using Limits = std::numeric_limits<float>;
  static constexpr float kSpecial[] = {0,
                                       -0.0F,
                                       1,
                                       -1,
                                       Limits::infinity(),
                                       -Limits::infinity(),
                                       Limits::quiet_NaN(),
                                       Limits::min(),
                                       Limits::denorm_min(),
                                       -Limits::denorm_min(),
                                       Limits::max(),
                                       1 + Limits::epsilon()};
  const auto kind = random() % 4;
  std::vector<Vector> inputs(kInputs);
  for (Vector& input : inputs) {
    for (std::size_t i = 0; i < kSize; ++i) {
      const std::uint64_t bits = random();
      const auto small = static_cast<float>(bits % 9) - 4;
      const float unit = static_cast<float>(bits >> 40U) * 0x1p-23F - 1;
      input.push_back(kind == 0   ? kSpecial[bits % std::size(kSpecial)]
                      : kind == 1 ? small
                      : kind == 2 ? unit * 3
                                  : std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
  }
  return inputs;
}

bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// What executions of two programs show.
struct Shown {
  bool bits_differ = false;
  bool sums_differ = false;  ///< where no sum is rounded
  std::size_t exact = 0;     ///< executions in which none is
};

Shown executed(const Program& before, const Program& after, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Shown shown;
  for (int k = 0; k < kExecutions; ++k) {
    const std::vector<Vector> inputs = drawn_inputs(random);
    const Implementation way{k % 3, (random() & 1U) != 0, (random() & 1U) != 0,
                             static_cast<std::uint32_t>(random())};
    Execution first(way);
    Execution second(way);
    const Vector a = first.run(before, inputs);
    const Vector b = second.run(after, inputs);
    const bool exact = first.is_exact() && second.is_exact();
    shown.exact += exact ? 1 : 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      shown.bits_differ = shown.bits_differ || !same_bits(a[i], b[i]);
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      shown.sums_differ = shown.sums_differ || (exact && !same);
    }
  }
  return shown;
}

Outcome decided(const std::string& before, const std::string& after, FloatEquality equality) {
  ComparisonOptions options;
  options.equality = equality;
  return compared(before, after, options).outcome;
}

}  // namespace

TEST_CASE("what is equal bit for bit has equal bits in every execution") {
  std::size_t right[3] = {};
  std::size_t proved[3] = {};
  std::size_t wrong = 0;
  std::size_t exact = 0;
  for (std::uint64_t seed = 1; seed <= kPairs; ++seed) {
    Rewriter rewriter(seed);
    const auto least = static_cast<Keeps>(seed % 4);
    const Program before = rewriter.program();
    const Program after = rewriter.rewritten(before, least);
    const std::string first = text_of(before);
    const std::string second = text_of(after);
    CAPTURE(first);
    CAPTURE(second);
    const Shown shown = executed(before, after, seed);
    wrong += shown.bits_differ ? 1 : 0;
    exact += shown.exact;
    const Outcome bits = decided(first, second, FloatEquality::Bitwise);
    CHECK_FALSE((bits == Outcome::Established && shown.bits_differ));
    const Outcome sums = decided(first, second, FloatEquality::Reassociated);
    CHECK_FALSE((sums == Outcome::Established && shown.sums_differ));
    CHECK((bits != Outcome::Established || sums == Outcome::Established));
    const Outcome reals = decided(first, second, FloatEquality::Real);
    CHECK(reals != Outcome::Disagreement);
    if (least == Keeps::Nothing) continue;
    const auto kept = static_cast<std::size_t>(least);
    ++right[kept];
    const Outcome found = least == Keeps::Bits ? bits : least == Keeps::Sums ? sums : reals;
    proved[kept] += found == Outcome::Established ? 1 : 0;
  }
  MESSAGE(
      fmt::format("proved: {} of {} bit for bit, {} of {} up to the order of sums, {} of {} as "
                  "real numbers; {} pairs differ in bits; {} executions without a rounded sum",
                  proved[0], right[0], proved[1], right[1], proved[2], right[2], wrong, exact));
  CHECK(proved[0] * 100 >= right[0] * 99);
  CHECK(proved[1] * 100 >= right[1] * 98);
  CHECK(wrong * 4 >= kPairs);
  CHECK(exact >= kPairs);
}

}  // namespace p2::hlo
