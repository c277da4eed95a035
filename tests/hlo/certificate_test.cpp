// Certificates of modules: p2-check executes both modules by itself, so what it accepts has to be
// true whatever the certificate says.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// Whether p2-check takes the modules to be equal on two devices, each with inputs of its own.
bool accepts(const std::string& before, const std::string& after) {
  ModuleDecision decision;
  decision.outcome = Outcome::Established;
  decision.devices.partitions = 2;
  decision.relation = std::make_shared<const ModuleRelation>();
  return std::holds_alternative<CertificateFiles>(
      module_certificate({before, after, decision}, {}));
}

std::string module_with(const std::string& body) {
  return "HloModule m, num_partitions=2\n"
         "add {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, "
         "b)\n}\n"
         "twice {\n  a = f32[] parameter(0)\n  ROOT c = f32[] add(a, a)\n}\n"
         "less {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
         "  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n"
         "  ROOT l = pred[] compare(a, b), direction=LT\n}\n"
         "none {\n  a = f32[] parameter(0)\n  ROOT c = f32[] subtract(a, a)\n}\n"
         "ENTRY main {\n" +
         body + "}\n";
}

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
    return module_with(body);
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
    const bool is_accepted = accepts(Arithmetic8::text_of(before), Arithmetic8::text_of(after));
    if (is_accepted) REQUIRE(is_equal);
    if (is_equal) ++equal;
    if (is_accepted) ++accepted;
  }
  CHECK(equal > 1000);
  CHECK(accepted * 10 > equal * 7);
}

TEST_CASE("p2-check accepts no equality that fails for some inputs") {
  const std::string x = "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n";
  const std::string sorted =
      "  k = s32[4] constant({1, 0, 1, 0})\n"
      "  s = (s32[4], f32[4]) sort(k, x), dimensions={0}, to_apply=less";
  const std::string element = "\n  ROOT o = f32[4] get-tuple-element(s), index=1\n";
  const std::pair<std::string, std::string> kWrong[] = {
      // 0 · e^(x·x) is no number where e^(x·x) is infinite.
      {x + "  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n"
           "  q = f32[4] multiply(x, x)\n  e = f32[4] exponential(q)\n"
           "  ROOT o = f32[4] multiply(e, b)\n",
       x + "  z = f32[] constant(0)\n  ROOT o = f32[4] broadcast(z), dimensions={}\n"},
      {x + "  ROOT o = f32[4] subtract(x, y)\n", x + "  ROOT o = f32[4] subtract(y, x)\n"},
      // The values of every device are its own.
      {x + "  ROOT o = f32[4] all-reduce(x), replica_groups={{0,1}}, channel_id=1, "
           "use_global_device_ids=true, to_apply=add\n",
       x + "  ROOT o = f32[4] add(x, x)\n"},
      {"  x = f32[2,4]{1,0} parameter(0)\n  c = f32[2,4]{0,1} copy(x)\n"
       "  ROOT o = f32[8]{0} bitcast(c)\n",
       "  x = f32[2,4]{1,0} parameter(0)\n  ROOT o = f32[8]{0} bitcast(x)\n"},
      {"  x = u8[] parameter(0)\n  y = u8[] add(x, x)\n  ROOT o = u32[] convert(y)\n",
       "  x = u8[] parameter(0)\n  y = u32[] convert(x)\n  ROOT o = u32[] add(y, y)\n"},
      {"  x = s64[] parameter(0)\n  y = s64[] add(x, x)\n  ROOT o = f64[] convert(y)\n",
       "  x = s64[] parameter(0)\n  y = f64[] convert(x)\n  ROOT o = f64[] add(y, y)\n"},
      // Calls look at their devices, attributes and operands.
      {x + "  i = u32[] partition-id()\n  ROOT o = f32[4] custom-call(x), "
           "custom_call_target=\"f\"\n",
       x + "  i = u32[] partition-id()\n  ROOT o = f32[4] custom-call(x), "
           "custom_call_target=\"g\"\n"},
      {x + "  p = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}\n"
           "  ROOT o = f32[4] custom-call(p), custom_call_target=\"f\"\n",
       x + "  c = f32[4] custom-call(x), custom_call_target=\"f\"\n"
           "  ROOT o = f32[4] collective-permute(c), channel_id=1, "
           "source_target_pairs={{0,1},{1,0}}\n"},
      // A name says nothing of the computation.
      {x + "  ROOT o = f32[4] custom-call(x), custom_call_target=\"f\", to_apply=twice\n",
       x + "  ROOT o = f32[4] custom-call(x), custom_call_target=\"f\", to_apply=none\n"},
      // A sort that is not stable may exchange elements with equal keys.
      {x + sorted + ", is_stable=true" + element, x + sorted + element},
      // 1/3 is no 0.333.
      {x + "  t = f32[] constant(0.333)\n  b = f32[4] broadcast(t), dimensions={}\n"
           "  ROOT o = f32[4] multiply(x, b)\n",
       x + "  t = f32[] constant(3)\n  b = f32[4] broadcast(t), dimensions={}\n"
           "  ROOT o = f32[4] divide(x, b)\n"},
  };
  for (const auto& [before, after] : kWrong) {
    CAPTURE(after);
    CHECK_FALSE(accepts(module_with(before), module_with(after)));
    CHECK(accepts(module_with(after), module_with(after)));
  }
  // An attribute that is not known may change anything.
  CHECK_FALSE(accepts(module_with(x + "  ROOT o = f32[4] add(x, y)\n"),
                      module_with(x + "  ROOT o = f32[4] add(x, y), sparsity=L.1@2:4\n")));
}

TEST_CASE("what is arbitrary equals nothing else, and computations are compared by what they do") {
  const std::string buffer = "  b = f32[4] custom-call(), custom_call_target=\"AllocateBuffer\"\n";
  const std::string x = "  x = f32[4] parameter(0)\n";
  CHECK_FALSE(accepts(module_with(x + buffer + "  ROOT o = f32[4] copy(b)\n"),
                      module_with(x + buffer + "  ROOT o = f32[4] copy(b)\n")));
  const std::string written =
      x + buffer + "  z = s32[] constant(0)\n  ROOT o = f32[4] dynamic-update-slice(b, x, z)\n";
  CHECK(accepts(module_with(written), module_with(x + "  ROOT o = f32[4] copy(x)\n")));
  // The same names, but `inner` is another function.
  const auto nested = [](const std::string& opcode) {
    return "HloModule m, num_partitions=2\n"
           "inner {\n  a = f32[] parameter(0)\n  ROOT c = f32[] " +
           opcode +
           "(a, a)\n}\n"
           "loop {\n  a = f32[] parameter(0)\n  ROOT c = f32[] while(a), condition=inner, "
           "body=inner\n}\n"
           "ENTRY main {\n  x = f32[4] parameter(0)\n  ROOT o = f32[4] custom-call(x), "
           "custom_call_target=\"g\", called_computations={%loop}\n}\n";
  };
  CHECK(accepts(nested("add"), nested("add")));
  CHECK_FALSE(accepts(nested("add"), nested("multiply")));
}

TEST_CASE("devices of one collective have to be in the same branch") {
  const auto body = [](const std::string& condition) {
    return "  x = f32[4] parameter(0)\n  id = u32[] partition-id()\n  zero = u32[] constant(0)\n"
           "  mine = pred[] compare(id, zero), direction=EQ\n  two = pred[] compare(zero, zero), "
           "direction=EQ\n"
           "  ROOT o = f32[4] conditional(" +
           condition +
           ", x, x), true_computation=sum, "
           "false_computation=twice\n";
  };
  const auto module = [&](const std::string& condition) {
    return "HloModule m, num_partitions=2\n"
           "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
           "b)\n}\n"
           "sum {\n  a = f32[4] parameter(0)\n  ROOT s = f32[4] all-reduce(a), channel_id=1, "
           "use_global_device_ids=true, replica_groups={{0,1}}, to_apply=add\n}\n"
           "twice {\n  a = f32[4] parameter(0)\n  ROOT s = f32[4] add(a, a)\n}\nENTRY main {\n" +
           body(condition) + "}\n";
  };
  CHECK(accepts(module("two"), module("two")));
  CHECK_FALSE(accepts(module("mine"), module("mine")));
}

/// P2_MUTANTS: of every rewrite; a campaign takes 2,000.
int mutants() {
  const char* const asked = std::getenv("P2_MUTANTS");
  return asked == nullptr ? 60 : std::atoi(asked);
}

/// Digits of the module replaced, and everything sealed anew.
TEST_CASE("mutated certificates of modules prove nothing that is false") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  int accepted = 0;
  int rejected = 0;
  for (const Rewrite& rewrite :
       {by_host(), scatter_made(), folded(), ring_step(), exchanged(), largest()}) {
    CAPTURE(std::string(rewrite.name));
    const ModuleDecision decision = compared(rewrite.before, rewrite.after);
    REQUIRE(decision.outcome == Outcome::Established);
    for (int i = 0; i < mutants(); ++i) {
      std::string after = rewrite.after;
      std::vector<std::size_t> digits;
      for (std::size_t at = after.find("ENTRY"); at < after.size(); ++at) {
        if (after[at] >= '0' && after[at] <= '9') digits.push_back(at);
      }
      after[digits[below(digits.size())]] = static_cast<char>('0' + below(10));
      ModuleDecision same = decision;
      const bool is_accepted = std::holds_alternative<CertificateFiles>(
          module_certificate({rewrite.before, after, same}, {}));
      ++(is_accepted ? accepted : rejected);
      if (!is_accepted) continue;
      CAPTURE(after);
      CHECK(compared(rewrite.before, after).outcome == Outcome::Established);
    }
  }
  CHECK(accepted > 20);
  CHECK(rejected > 100);
}

TEST_CASE("a certificate that modules differ names an element, and no other claim is accepted") {
  const std::string before =
      module_with("  x = f32[4] parameter(0)\n  ROOT o = f32[4] add(x, x)\n");
  const std::string after =
      module_with("  x = f32[4] parameter(0)\n  ROOT o = f32[4] multiply(x, x)\n");
  const ModuleDecision decision = compared(before, after);
  REQUIRE(decision.outcome == Outcome::Refuted);
  auto made = module_certificate({before, after, decision}, {});
  REQUIRE(std::holds_alternative<CertificateFiles>(made));
  CertificateFiles files = std::get<CertificateFiles>(made);
  CHECK(check_certificate(files).verdict == kernel::Verdict::Accepted);
  const auto sealed_with = [&](const std::string& name, const std::string& from,
                               const std::string& to, const std::string& claim) {
    CertificateFiles forged = files;
    forged[name] = replaced(forged[name], from, to);
    if (claim == "modules-equal") forged.erase("run.json");
    add_manifest(claim, {}, forged);
    return check_certificate(forged).verdict;
  };
  using kernel::Verdict;
  CHECK(sealed_with("problem.json", "multiply(", "add(", "modules-different") == Verdict::Rejected);
  CHECK(sealed_with("run.json", "\"output\":0", "\"output\":1", "modules-different") ==
        Verdict::Rejected);
  CHECK(sealed_with("run.json", "\"draw\":0", "\"draw\":9", "modules-different") ==
        Verdict::NotACertificate);
  CHECK(sealed_with("problem.json", "multiply(", "power(", "modules-equal") == Verdict::Incomplete);
  CHECK(sealed_with("problem.json", "multiply(", "add(", "modules-equal") == Verdict::Accepted);
}

}  // namespace
}  // namespace p2::hlo
