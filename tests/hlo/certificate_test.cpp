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
      // Only where p > 0 is p / 3 not negative.
      {x + "  p = s32[] parameter(2)\n  z = s32[] constant(0)\n  t = s32[] constant(3)\n"
           "  f = s32[] constant(5)\n  m = s32[] maximum(p, z)\n  d = s32[] divide(m, t)\n"
           "  c = pred[] compare(d, f), direction=GT\n  e = s32[] divide(p, t)\n"
           "  n = pred[] compare(e, z), direction=LT\n"
           "  ROOT o = (pred[], pred[]) tuple(c, n)\n",
       x + "  p = s32[] parameter(2)\n  z = s32[] constant(0)\n  t = s32[] constant(3)\n"
           "  f = s32[] constant(5)\n  m = s32[] maximum(p, z)\n  d = s32[] divide(m, t)\n"
           "  c = pred[] compare(d, f), direction=GT\n  n = pred[] constant(false)\n"
           "  ROOT o = (pred[], pred[]) tuple(c, n)\n"},
      // The same bits are other numbers, as are integers beyond 2^53.
      {"  p = s16[] parameter(0)\n  b = f16[] bitcast-convert(p)\n  ROOT o = f32[] convert(b)\n",
       "  p = s16[] parameter(0)\n  b = bf16[] bitcast-convert(p)\n  ROOT o = f32[] convert(b)\n"},
      {"  p = f32[] parameter(0)\n  c = s64[] constant(-1152921504606846976)\n"
       "  b = f32[] convert(c)\n  ROOT o = f32[] multiply(b, p)\n",
       "  p = f32[] parameter(0)\n  c = u64[] constant(17293822569102704640)\n"
       "  b = f32[] convert(c)\n  ROOT o = f32[] multiply(b, p)\n"},
      // The least integer has no negative.
      {"  p = s64[] parameter(0)\n  n = s64[] negate(p)\n  ROOT o = f64[] convert(n)\n",
       "  p = s64[] parameter(0)\n  n = f64[] convert(p)\n  ROOT o = f64[] negate(n)\n"},
      // The largest integer of 64 bits is no double.
      {"  p = u64[] parameter(0)\n  k = u64[] constant(3003)\n"
       "  n = u64[] constant(6142771919317200)\n  d = u64[] divide(p, k)\n"
       "  ROOT o = pred[] compare(d, n), direction=EQ\n",
       "  p = u64[] parameter(0)\n  ROOT o = pred[] constant(false)\n"},
      // A number that wraps around below 0 is that of the last branch.
      {"  p = u8[] parameter(0)\n  q = f32[] parameter(1)\n  i = s32[] convert(p)\n"
       "  j = s32[] multiply(i, i)\n  k = s32[] multiply(j, j)\n"
       "  ROOT o = f32[] conditional(k, q, q), branch_computations={none, twice}\n",
       "  p = u8[] parameter(0)\n  q = f32[] parameter(1)\n  i = s32[] convert(p)\n"
       "  j = s32[] multiply(i, i)\n  k = s32[] multiply(j, j)\n  z = s32[] constant(0)\n"
       "  e = s32[] constant(1)\n  c = s32[] clamp(z, k, e)\n"
       "  ROOT o = f32[] conditional(c, q, q), branch_computations={none, twice}\n"},
      // Numbers of 8 bits and complex ones are no integers.
      {"  p = f32[] parameter(0)\n  q = f32[] negate(p)\n  a = f8e4m3fn[] convert(p)\n"
       "  b = f8e4m3fn[] convert(q)\n  ROOT o = pred[] compare(a, b), direction=GT\n",
       "  p = f32[] parameter(0)\n  ROOT o = pred[] constant(false)\n"},
      {"  p = f32[] parameter(0)\n  a = f8e5m2[] convert(p)\n  ROOT o = s32[] convert(a)\n",
       "  p = f32[] parameter(0)\n  d = f32[] add(p, p)\n  a = f8e5m2[] convert(d)\n"
       "  ROOT o = s32[] convert(a)\n"},
      {"  p = f32[] parameter(0)\n  c = f32[] constant(0.5)\n  x = c64[] convert(c)\n"
       "  y = f32[] real(x)\n  ROOT o = f32[] multiply(p, y)\n",
       "  p = f32[] parameter(0)\n  c = f32[] constant(0.25)\n  x = c64[] convert(c)\n"
       "  y = f32[] real(x)\n  ROOT o = f32[] multiply(p, y)\n"},
      // Nothing divided by 0 is a number.
      {x + "  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n"
           "  s = f32[4] add(x, y)\n  ROOT o = f32[4] divide(s, b)\n",
       x + "  z = f32[] constant(0)\n  b = f32[4] broadcast(z), dimensions={}\n"
           "  p = f32[4] divide(x, b)\n  q = f32[4] divide(y, b)\n"
           "  ROOT o = f32[4] add(p, q)\n"},
      // 1/3 is no 0.333.
      {x + "  t = f32[] constant(0.333)\n  b = f32[4] broadcast(t), dimensions={}\n"
           "  ROOT o = f32[4] multiply(x, b)\n",
       x + "  t = f32[] constant(3)\n  b = f32[4] broadcast(t), dimensions={}\n"
           "  ROOT o = f32[4] divide(x, b)\n"},
  };
  for (const auto& [before, after] : kWrong) {
    CAPTURE(after);
    CHECK_FALSE(is_certified(module_with(before), module_with(after)));
    CHECK(is_certified(module_with(after), module_with(after)));
  }
  // An attribute that is not known may change anything.
  CHECK_FALSE(is_certified(module_with(x + "  ROOT o = f32[4] add(x, y)\n"),
                           module_with(x + "  ROOT o = f32[4] add(x, y), sparsity=L.1@2:4\n")));
}

TEST_CASE("what is arbitrary equals nothing else, and computations are compared by what they do") {
  const std::string buffer = "  b = f32[4] custom-call(), custom_call_target=\"AllocateBuffer\"\n";
  const std::string x = "  x = f32[4] parameter(0)\n";
  CHECK_FALSE(is_certified(module_with(x + buffer + "  ROOT o = f32[4] copy(b)\n"),
                           module_with(x + buffer + "  ROOT o = f32[4] copy(b)\n")));
  const std::string written =
      x + buffer + "  z = s32[] constant(0)\n  ROOT o = f32[4] dynamic-update-slice(b, x, z)\n";
  CHECK(is_certified(module_with(written), module_with(x + "  ROOT o = f32[4] copy(x)\n")));
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
  CHECK(is_certified(nested("add"), nested("add")));
  CHECK_FALSE(is_certified(nested("add"), nested("multiply")));
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
  CHECK(is_certified(module("two"), module("two")));
  CHECK_FALSE(is_certified(module("mine"), module("mine")));
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

TEST_CASE("what rounding decides is no difference to p2-check") {
  // 10 · (0.1 + 0.7) is just below 8 in double precision, 10 · 0.1 + 10 · 0.7 is 8.
  const std::string constants =
      "  x = f32[] parameter(0)\n  a = f32[] constant(0.1)\n  b = f32[] constant(0.7)\n"
      "  t = f32[] constant(10)\n";
  const std::string product = constants + "  s = f32[] add(a, b)\n  m = f32[] multiply(s, t)\n";
  const std::string sum = constants +
                          "  p = f32[] multiply(a, t)\n  q = f32[] multiply(b, t)\n"
                          "  m = f32[] add(p, q)\n";
  const std::string floor = "  f = f32[] floor(m)\n  ROOT o = f32[] multiply(f, x)\n";
  const std::string compared_with_8 =
      "  e = f32[] constant(8)\n  c = pred[] compare(m, e), direction=LT\n"
      "  ROOT o = f32[] select(c, x, e)\n";
  const std::string as_integer =
      "  i = s32[] convert(m)\n  f = f32[] convert(i)\n  ROOT o = f32[] multiply(f, x)\n";
  // A square root of what is no real number's.
  const std::string root =
      "  x = f32[] parameter(0)\n  q = f32[] multiply(x, x)\n  n = f32[] negate(q)\n"
      "  r = f32[] sqrt(n)\n  z = f32[] constant(0)\n";
  const std::string positive =
      root + "  c = pred[] compare(r, z), direction=GT\n  ROOT o = f32[] select(c, x, q)\n";
  const std::string not_positive =
      root + "  c = pred[] compare(r, z), direction=LE\n  ROOT o = f32[] select(c, q, x)\n";
  // Too large for a double.
  const std::string large =
      "  x = f32[] parameter(0)\n  l = f64[] constant(1e200)\n  d = f64[] convert(x)\n"
      "  t = f64[] multiply(d, l)\n";
  const std::string squared = large +
                              "  s = f64[] multiply(t, t)\n  q = f64[] divide(t, s)\n"
                              "  ROOT o = f64[] multiply(q, l)\n";
  const std::string inverse = large + "  i = f64[] constant(1)\n  ROOT o = f64[] divide(i, d)\n";
  const std::pair<std::string, std::string> kPairs[] = {
      {squared, inverse},
      {product + floor, sum + floor},
      {product + compared_with_8, sum + compared_with_8},
      {product + as_integer, sum + as_integer},
      {positive, not_positive}};
  for (const auto& [before, after] : kPairs) {
    CAPTURE(after);
    auto made = certified_equal(module_with(before), module_with(after));
    REQUIRE(std::holds_alternative<CertificateFiles>(made));
    CertificateFiles files = std::get<CertificateFiles>(made);
    files.erase("relation.json");
    // In no way that inputs are drawn.
    for (int draw = 0; draw < 4; ++draw) {
      files["run.json"] =
          fmt::format("{{\"device\":0,\"draw\":{},\"index\":[],\"output\":0,\"seed\":1}}\n", draw);
      add_manifest("modules-different", {}, files);
      CHECK(check_certificate(files).verdict == kernel::Verdict::Rejected);
    }
  }
  // A difference that is none of rounding.
  const std::string other = module_with(sum + "  ROOT o = f32[] multiply(m, x)\n");
  const std::string twice =
      module_with(sum + "  n = f32[] add(m, m)\n  ROOT o = f32[] multiply(n, x)\n");
  const auto made = module_certificate({other, twice}, compared(other, twice), {});
  CHECK(std::holds_alternative<CertificateFiles>(made));
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

TEST_CASE("p2-check follows a part that is manual over some axes") {
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
  CHECK(trouble(before("{devices=[4]<=[4]}", tiled, cut), after("  ROOT y = f32[2] copy(r)\n")) ==
        "");
}

}  // namespace
}  // namespace p2::hlo
