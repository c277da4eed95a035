// Certificates of modules: p2-check executes both modules by itself, so what it accepts has to be
// true whatever the certificate says.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/text/hlo_text.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"

namespace p2::hlo {
namespace {

/// Whether p2-check takes the modules to be equal on two devices, each with inputs of its own.
bool accepts(const std::string& before, const std::string& after) {
  ModuleDecision decision;
  decision.outcome = Outcome::Established;
  decision.devices.partitions = 2;
  decision.relation = std::make_shared<const ModuleRelation>();
  return std::holds_alternative<CertificateFiles>(
      module_certificate({before, after}, decision, {}));
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
         "second {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n"
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
      // Updates of a scatter that meet may come in another order.
      {x + "  i = s32[] constant(1)\n  u = f32[1] slice(y), slice={[1:2]}\n"
           "  ROOT o = f32[4] dynamic-update-slice(x, u, i)\n",
       x + "  k = s32[2,1] constant({{1},{1}})\n  u = f32[2] slice(y), slice={[0:2]}\n"
           "  ROOT o = f32[4] scatter(x, k, u), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n"},
      // So may elements of a reduction.
      {x + "  l = f32[1] slice(x), slice={[3:4]}\n  ROOT o = f32[] reshape(l)\n",
       x + "  z = f32[] constant(0)\n"
           "  ROOT o = f32[] reduce(x, z), dimensions={0}, to_apply=second\n"},
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
          module_certificate({rewrite.before, after}, same, {}));
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
  auto made = module_certificate({before, after}, decision, {});
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

/// All that a module says of its results, but for the positions and the language.
std::string description_of(const Module& module) {
  std::string text = fmt::format("{} {} {} {} {} {} {}\n", module.name, module.replicas.value_or(0),
                                 module.partitions.value_or(0), module.is_scheduled, module.entry,
                                 module.parameter_shardings, module.output_sharding);
  for (const auto& [name, mesh] : module.meshes) text += name + mesh + "\n";
  const auto shape = [](const auto& self, const Shape& of) -> std::string {
    if (!of.is_tuple)
      return to_string(of.array) + fmt::format("{{{}}}", fmt::join(of.array.minor_to_major, ","));
    std::string parts;
    for (const Shape& part : of.parts) parts += self(self, part) + ";";
    return "(" + parts + ")";
  };
  for (const Computation& computation : module.computations) {
    text += fmt::format("{} {} {}\n", computation.name, computation.root,
                        fmt::join(computation.parameters, ","));
    for (const Instruction& each : computation.instructions) {
      const Attributes& own = each.attributes;
      text += fmt::format("{} {} {} ({}) ({})", each.name, each.opcode, shape(shape, each.shape),
                          fmt::join(each.operands, ","), fmt::join(each.called, ","));
      for (const auto* list :
           {&own.dimensions, &own.starts, &own.limits, &own.strides, &own.slice_sizes}) {
        text += fmt::format(" [{}]", fmt::join(*list, ","));
      }
      for (const auto& group : own.groups.lists)
        text += fmt::format(" <{}>", fmt::join(group, ","));
      for (const auto& [from, to] : own.pairs) text += fmt::format(" {}-{}", from, to);
      text += fmt::format(" {} {} {} {} {} {} {} {} {} {}\n", own.groups.all_in_one,
                          own.has_channel, own.channel, own.global_ids.value_or(false),
                          own.concat_dimension.value_or(-1), own.index, own.direction, own.sharding,
                          own.others, own.accuracy);
      for (const auto& [name, value] : own.shardy) text += name + value + "\n";
      if (!each.literal) continue;
      for (const LiteralElement& element : each.literal->elements) text += to_string(element) + ",";
    }
  }
  return text;
}

const char* const kStableHlo = R"(
module @jit_step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<i1>) -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<8x2xf32>
    %c = stablehlo.constant dense<[[1.5, -0.0], [0x7F800000, 3.0]]> : tensor<2x2xf32>
    %0 = call @twice(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.dot_general %0, %cst, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %2 = "stablehlo.if"(%arg1) ({
      %5 = stablehlo.negate %1 : tensor<4x2xf32>
      stablehlo.return %5 : tensor<4x2xf32>
    }, {
      stablehlo.return %1 : tensor<4x2xf32>
    }) : (tensor<i1>) -> tensor<4x2xf32>
    %3 = stablehlo.slice %c [0:1, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<4x2xf32>
    %5 = stablehlo.multiply %2, %4 : tensor<4x2xf32>
    return %5 : tensor<4x2xf32>
  }
  func.func private @twice(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
})";

/// What the partitioner makes of kStableHlo, with a factor and with what sums the parts.
std::string step_after(const std::string& factor, const std::string& sum) {
  return "HloModule jit_step, num_partitions=2\n"
         "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
         "b)\n}\n"
         "yes {\n  x = f32[4,2] parameter(0)\n  ROOT n = f32[4,2] negate(x)\n}\n"
         "no {\n  ROOT x = f32[4,2] parameter(0)\n}\n"
         "ENTRY main_spmd {\n  x = f32[4,4] parameter(0)\n  p = pred[] parameter(1)\n"
         "  k = f32[] constant(" +
         factor +
         ")\n  w = f32[4,2] broadcast(k), dimensions={}\n  t = f32[4,2] dot(x, w), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  d = f32[4,2] " +
         sum +
         "\n  c = f32[4,2] conditional(p, d, d), true_computation=yes, false_computation=no\n"
         "  s = f32[2] constant({1.5, -0})\n  b = f32[4,2] broadcast(s), dimensions={1}\n"
         "  ROOT y = f32[4,2] multiply(c, b)\n}\n";
}

TEST_CASE("StableHLO is certified by its canonical text") {
  const auto before =
      std::make_shared<const Module>(read_stablehlo("step.mlir", kStableHlo).at(0).module);
  const std::string text = canonical_text(*before);
  const std::string reduced =
      "all-reduce(t), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, "
      "to_apply=add";
  const auto certified = [&](const std::string& after) -> std::optional<CertificateFiles> {
    const auto module = std::make_shared<const Module>(read_hlo("after.hlo", after));
    const ModuleDecision decision = compare(before, module, {}, {});
    auto files = module_certificate({text, after, {{"before", "step.mlir"}}}, decision, {});
    if (auto* found = std::get_if<CertificateFiles>(&files)) return std::move(*found);
    CAPTURE(std::get<std::string>(files));
    CHECK(decision.outcome == Outcome::Undecided);
    return std::nullopt;
  };
  const auto right = certified(step_after("0.2", reduced));
  REQUIRE(right);
  const kernel::Result accepted = check_certificate(*right);
  CHECK(accepted.verdict == kernel::Verdict::Accepted);
  CHECK(accepted.reason.find("a text written from step.mlir") != std::string::npos);
  CHECK(right->at("manifest.json").find("modules-equal") != std::string::npos);
  for (const auto& [factor, sum] :
       {std::pair<std::string, std::string>{"0.2", "copy(t)"}, {"0.1", reduced}}) {
    const auto wrong = certified(step_after(factor, sum));
    REQUIRE(wrong);
    CHECK(wrong->at("manifest.json").find("modules-different") != std::string::npos);
  }
  // What the key says has no effect on what is compared.
  const std::string& problem = right->at("problem.json");
  const std::string key = R"("written_from":{"before":"step.mlir"})";
  REQUIRE(problem.find(key) != std::string::npos);
  for (const char* const other : {R"("written_from":{})", R"("written_from":{"main":"a"})",
                                  R"("written_from":{"before":1})", R"("written_from":["a"])"}) {
    CAPTURE(other);
    CertificateFiles files = *right;
    std::string& changed = files["problem.json"];
    changed.replace(changed.find(key), key.size(), other);
    files.erase("manifest.json");
    add_manifest("modules-equal", {}, files);
    CHECK(check_certificate(files).verdict == kernel::Verdict::NotACertificate);
  }
}

TEST_CASE("a module's canonical text is read as that module") {
  std::vector<Module> modules;
  modules.push_back(read_stablehlo("step.mlir", kStableHlo).at(0).module);
  modules.push_back(read_hlo("after.hlo", step_after("0.2", "copy(t)")));
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const RandomProgram program(seed, 2, 10);
    modules.push_back(read_hlo("before", program.before()));
    modules.push_back(read_hlo("after", program.after()));
  }
  for (const Module& module : modules) {
    const std::string text = canonical_text(module);
    CAPTURE(text);
    CHECK(description_of(read_hlo("text", text)) == description_of(canonical_module(module)));
  }
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const auto module = std::make_shared<const Module>(modules[k]);
    const auto again = std::make_shared<const Module>(read_hlo("text", canonical_text(*module)));
    ModuleDecision decision = compare(module, again, {}, {});
    CHECK(decision.outcome == Outcome::Established);
  }
}

TEST_CASE("what XLA's text does not say has no canonical text") {
  const auto module = [](const std::string& operation) {
    return read_stablehlo(
               "a.mlir",
               "module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = "
               "2 : i32} {\n  func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> "
               "{\n    %r = " +
                   operation + "\n    return %r : tensor<4x4xf32>\n  }\n}")
        .at(0)
        .module;
  };
  const std::string type = " : (tensor<4x4xf32>) -> tensor<4x4xf32>";
  CHECK_NOTHROW(canonical_text(module("stablehlo.negate %a : tensor<4x4xf32>")));
  CHECK_NOTHROW(canonical_text(
      module("\"stablehlo.all_to_all\"(%a) <{concat_dimension = 1 : i64, replica_groups = "
             "dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : "
             "i64}>" +
             type)));
  for (const char* const operation :
       {"\"stablehlo.all_to_all\"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, "
        "1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}>",
        "\"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, channel_handle = "
        "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : "
        "tensor<1x2xi64>}>",
        "\"other.operation\"(%a)"}) {
    CAPTURE(operation);
    CHECK_THROWS_AS(canonical_text(module(operation + type)), NoCanonicalText);
  }
  const std::string elided = "HloModule m\nENTRY e {\n  ROOT c = f32[4] constant({...})\n}\n";
  CHECK_THROWS_AS(canonical_text(read_hlo("a.hlo", elided)), NoCanonicalText);
}

TEST_CASE("p2-check follows a part that is manual over some axes where its tensors are whole") {
  const std::string add =
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
  const auto before = [&](const std::string& outside, const std::string& inside,
                          const std::string& result) {
    return "HloModule m, num_partitions=4\n" + add +
           "ENTRY main {\n  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}\n"
           "  s = f32[8] custom-call(x), custom_call_target=\"Sharding\", sharding=" +
           outside +
           "\n  l = f32[4] custom-call(s), custom_call_target=\"SPMDFullToShardShape\", sharding=" +
           inside +
           "\n  r = f32[4] all-reduce(l), channel_id=1, replica_groups={{0,2},{1,3}}, "
           "use_global_device_ids=true, to_apply=add\n"
           "  e = f32[4] custom-call(r), custom_call_target=\"Sharding\", sharding=" +
           inside +
           "\n  ROOT y = f32[4] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", "
           "sharding=" +
           result + "\n}\n";
  };
  const auto trouble = [&](const std::string& first, const std::string& second) -> std::string {
    const auto a = std::make_shared<const Module>(read_hlo("before", first));
    const auto b = std::make_shared<const Module>(read_hlo("after", second));
    const ModuleDecision decision = compare(a, b, {}, {});
    CHECK(decision.outcome == Outcome::Established);
    const auto found = module_certificate({first, second}, decision, {});
    const auto* why = std::get_if<std::string>(&found);
    return why != nullptr ? *why : "";
  };
  const auto after = [&](const std::string& body) {
    return "HloModule m, num_partitions=4\n" + add +
           "ENTRY main_spmd {\n  x = f32[2] parameter(0)\n  r = f32[2] all-reduce(x), "
           "channel_id=1, replica_groups={{0,2},{1,3}}, use_global_device_ids=true, "
           "to_apply=add\n" +
           body + "}\n";
  };
  const std::string gather =
      "  ROOT y = f32[4] all-gather(r), channel_id=2, replica_groups={{0,1},{2,3}}, "
      "dimensions={0}, use_global_device_ids=true\n";
  const std::string whole = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}";
  CHECK(trouble(before("{devices=[2,2]<=[4] last_tile_dim_replicate}", whole, "{replicated}"),
                after(gather)) == "");
  const std::string tiled = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}";
  const std::string cut = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}";
  CHECK(trouble(before("{devices=[4]<=[4]}", tiled, cut), after("  ROOT y = f32[2] copy(r)\n"))
            .find("not covered") != std::string::npos);
}

}  // namespace
}  // namespace p2::hlo
