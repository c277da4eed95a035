#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/text/hlo_text.h"
#include "tests/hlo/modules.h"
#include "tests/shared_data.h"

// What single operations mean, and what is not understood.

namespace p2::hlo {
namespace {

ModuleDecision same(const std::string& before, const std::string& after, int partitions = 2,
                    bool ordered = false) {
  return compared(module_text(before, partitions), module_text(after, partitions), {{}, ordered});
}

Collective resolved(const std::string& groups, const std::string& opcode, Devices devices,
                    Language language = Language::Hlo) {
  const std::string text = "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] " +
                           opcode + "(x), " + groups + "\n}\n";
  return resolve(module_of(text)->computations[0].instructions[1], language, devices);
}

using Groups = std::vector<std::vector<std::uint32_t>>;
const std::string kX = "  x = f32[6] parameter(0)\n";
const std::string kAll = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true";

}  // namespace

TEST_CASE("ids mean replicas, partitions, both, or devices") {
  const Devices devices{2, 2, false};
  CHECK(resolved("replica_groups={{1,0}}", "all-reduce", devices).groups == Groups{{2, 0}, {3, 1}});
  CHECK(resolved("replica_groups={}", "all-reduce", devices).groups == Groups{{0, 2}, {1, 3}});
  CHECK(resolved("channel_id=1, replica_groups={{1,0}}", "all-to-all", devices).groups ==
        Groups{{1, 0}, {3, 2}});
  CHECK(resolved("channel_id=1, replica_groups={{1,0}}", "all-reduce", devices).groups ==
        Groups{{2, 3, 0, 1}});
  CHECK(resolved("channel_id=1, replica_groups={{1,0}}", "all-reduce", devices, Language::StableHlo)
            .groups == Groups{{2, 0, 3, 1}});
  CHECK(resolved("channel_id=1, replica_groups={{3,0},{1,2}}, use_global_device_ids=true",
                 "all-reduce", devices)
            .groups == Groups{{3, 0}, {1, 2}});
  // Of a single replica, too, ids of these groups are no partitions.
  CHECK_THROWS_AS(resolved("channel_id=1, replica_groups={{1,0}}", "all-reduce", {1, 2, false}),
                  IllFormed);
  CHECK(resolved("channel_id=1, replica_groups={{0}}", "all-reduce", {1, 2, false}).groups ==
        Groups{{0, 1}});
  CHECK(resolved("source_target_pairs={{0,1}}", "collective-permute", devices).source ==
        std::vector<std::uint32_t>{kNone, kNone, 0, 1});
}

TEST_CASE("tiles and meshes name the same groups as lists") {
  const Devices devices{1, 8, false};
  const auto groups = [&](const std::string& text) {
    return resolved("channel_id=1, use_global_device_ids=true, replica_groups=" + text,
                    "all-reduce", devices)
        .groups;
  };
  CHECK(groups("[2,4]<=[8]") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("[4,2]<=[2,4]T(1,0)") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("[4,2]<=[2,2,2]T(1,0,2)") == Groups{{0, 1}, {4, 5}, {2, 3}, {6, 7}});
  CHECK(groups("mesh['a'=2,'b'=4] {'a'}") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("mesh['a'=2,'b'=4] {'b','a'}") == Groups{{0, 4, 1, 5, 2, 6, 3, 7}});
  CHECK(groups("mesh['a'=2,'b'=4] {'b':(2)2}") == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(groups("mesh['a'=2,'b'=4] {'b':(1)2}") == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
}

TEST_CASE("start and done, calls, fusions and tuples are seen through") {
  const std::string all = "f32[6] all-reduce(x), " + kAll + ", to_apply=add\n";
  const std::string plain = kX + "  ROOT y = " + all;
  CHECK(summary(same(plain, kX + "  s = f32[6] all-reduce-start(x), " + kAll +
                                ", to_apply=add\n  ROOT y = f32[6] all-reduce-done(s)\n")) ==
        "valid");
  CHECK(summary(same(plain, kX + "  y = " + all +
                                "  t = (f32[6], f32[6]) tuple(x, y)\n"
                                "  b = (f32[6], f32[6]) optimization-barrier(t)\n"
                                "  ROOT z = f32[6] get-tuple-element(b), index=1\n")) == "valid");
  const std::string before =
      "HloModule m, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b "
      "= f32[] parameter(1)\n  ROOT c = f32[] add(b, a)\n}\n"
      "inner {\n  p = f32[6] parameter(0)\n  ROOT y = f32[6] all-reduce(p), " +
      kAll + ", to_apply=add\n}\nENTRY e {\n  x = f32[6] parameter(0)\n";
  for (const char* call : {"ROOT y = f32[6] call(x), to_apply=inner\n}\n",
                           "ROOT y = f32[6] fusion(x), kind=kLoop, calls=inner\n}\n",
                           "s = ((f32[6]), f32[6]) async-start(x), calls=inner\n  ROOT y = f32[6] "
                           "async-done(s)\n}\n"}) {
    CHECK(summary(compared(before + call, module_text(plain, 2))) == "valid");
  }
  CHECK(summary(same(kX + "  ROOT y = f32[12] all-gather(x), " + kAll + ", dimensions={0}\n",
                     kX + "  s = (f32[6], f32[12]) all-gather-start(x), " + kAll +
                         ", dimensions={0}\n  ROOT y = f32[12] all-gather-done(s)\n")) == "valid");
}

TEST_CASE("what is not understood is equal where it is the same, and open where it is not") {
  const std::string all = "  y = f32[6] all-reduce(x), " + kAll + ", to_apply=add\n";
  const std::string called =
      kX + all + "  ROOT z = f32[6] custom-call(y), custom_call_target=\"f\"\n";
  const ModuleDecision alike = same(called, called);
  CHECK(summary(alike) == "valid");
  CHECK(alike.uninterpreted == std::vector<std::string>{"custom-call f"});
  const ModuleDecision other =
      same(called, kX + "  ROOT z = f32[6] custom-call(x), custom_call_target=\"f\"\n");
  CHECK(summary(other) == "unknown");
  CHECK(other.uninterpreted == std::vector<std::string>{"custom-call f"});
  // A difference beside it is certain.
  const auto sorted = [](const std::string& body) {
    const std::string less =
        "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY";
    return replaced(module_text(body, 2), "ENTRY", less);
  };
  const std::string sort = "  s = f32[6] sort(x), dimensions={0}, is_stable=true, to_apply=less\n";
  CHECK(summary(compared(sorted(kX + all + sort + "  ROOT z = f32[6] add(s, y)\n"),
                         sorted(kX + sort + "  ROOT z = f32[6] add(s, x)\n"))) ==
        "invalid contributions");
  CHECK(summary(same(kX + "  ROOT z = f32[6] exponential(x)\n",
                     kX + all + "  ROOT z = f32[6] exponential(y)\n")) == "invalid contributions");
  CHECK(summary(same(kX + all + "  ROOT z = f32[6] exponential(y)\n",
                     kX + all +
                         "  h = f32[6] slice(y), slice={[0:6]}\n"
                         "  ROOT z = f32[6] exponential(h)\n")) == "valid");
  CHECK(summary(same(kX + "  ROOT z = f32[6] rng(x, x), distribution=rng_uniform\n",
                     kX + "  ROOT z = f32[6] rng(x, x), distribution=rng_uniform\n")) == "unknown");
}

TEST_CASE("what depends on all devices through an opaque operation is told apart") {
  const auto loop = [](const char* groups) {
    return std::string(
               "HloModule m, num_partitions=4\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
               "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\nbody {\n  p = f32[6] "
               "parameter(0)\n  ROOT y = f32[6] all-reduce(p), channel_id=1, "
               "replica_groups=") +
           groups +
           ", use_global_device_ids=true, to_apply=add\n}\ncondition {\n  p = f32[6] "
           "parameter(0)\n  ROOT t = pred[] constant(true)\n}\nENTRY e {\n  x = f32[6] "
           "parameter(0)\n  ROOT w = f32[6] while(x), condition=condition, body=body\n}\n";
  };
  CHECK(summary(compared(loop("{{0,1},{2,3}}"), loop("{{0,1},{2,3}}"))) == "valid");
  CHECK(summary(compared(loop("{{0,1},{2,3}}"), loop("{{0,2},{1,3}}"))) == "unknown");
}

TEST_CASE("every attribute of what is not known counts, for each engine") {
  const auto module = [](const std::string& operation) {
    return module_text(kX + "  ROOT z = f32[6] " + operation + "\n", 2);
  };
  const std::string call = "custom-call(x), custom_call_target=\"f\", ";
  const std::pair<std::string, std::string> pairs[] = {
      {"replica_groups={{0,1}}", "replica_groups={{1,0}}"},
      {"source_target_pairs={{0,1}}", "source_target_pairs={{1,0}}"},
      {"channel_id=1", "channel_id=0"},
      {"sharding={replicated}", "sharding={devices=[2]0,1}"},
      {"dynamic_slice_sizes={1}", "dynamic_slice_sizes={2}"},
      {"index=1", "index=2"},
      {"later=1", "later=2"}};
  for (const std::string& name : {std::string("exchange(x), "), call}) {
    for (const auto& [one, other] : pairs) {
      CAPTURE(name + one);
      CHECK(verdicts(module(name + one), module(name + one)) == "valid; valid");
      CHECK(verdicts(module(name + one), module(name + other)) == "unknown; unknown");
    }
  }
  // Two calls with side effects are two calls.
  const std::string effect =
      "custom-call(x), custom_call_target=\"f\", custom_call_has_side_effect=true";
  CHECK(verdicts(module(effect), module(effect)) == "unknown; unknown");
}

TEST_CASE("an operation with an attribute that is not known is not known") {
  const auto module = [](const std::string& operation) {
    return module_text(
        kX + "  w = f32[6,6] broadcast(x), dimensions={0}\n  ROOT z = f32[6] " + operation + "\n",
        2);
  };
  const std::string operations[] = {"dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                                    "add(x, x)",
                                    "copy(x)",
                                    "reshape(x)",
                                    "all-reduce(x), " + kAll + ", to_apply=add",
                                    "reverse(x), dimensions={0}",
                                    "optimization-barrier(x)"};
  for (const std::string& operation : operations) {
    CAPTURE(operation);
    const std::string plain = module(operation);
    const std::string other = module(operation + ", sparsity=L.1@2:4");
    CHECK(verdicts(plain, other) == "unknown; unknown");
    CHECK(verdicts(other, other) == "valid; valid");
    CHECK(verdicts(other, module(operation + ", sparsity=L.1@1:4")) == "unknown; unknown");
    CHECK(verdicts(plain, module(operation + ", metadata={op_name=\"f\"}")) == "valid; valid");
  }
  CHECK(verdicts(module("negate(x)"), module("negate-done(x)")) == "unknown; unknown");
  CHECK(verdicts(module("copy(x)"), module("exchange-done(x)")) == "unknown; unknown");
}

TEST_CASE("a loop of a length that depends on inputs is what its condition and its body compute") {
  struct Loop {
    std::string condition = "compare(n, ten), direction=LT";
    std::string body = "add(x, x)";
    std::string begin = "copy(p)";
    std::string groups = "{{0,1}}";
  };
  const auto module = [](const Loop& loop) {
    return "HloModule m, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
           "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
           "condition {\n  s = (s32[], f32[4]) parameter(0)\n"
           "  n = s32[] get-tuple-element(s), index=0\n  ten = s32[] constant(10)\n"
           "  ROOT c = pred[] " +
           loop.condition +
           "\n}\nbody {\n  s = (s32[], f32[4]) parameter(0)\n"
           "  n = s32[] get-tuple-element(s), index=0\n  x = f32[4] get-tuple-element(s), index=1\n"
           "  one = s32[] constant(1)\n  m = s32[] add(n, one)\n  two = f32[] constant(2)\n"
           "  twos = f32[4] broadcast(two), dimensions={}\n  zero = f32[] constant(0)\n"
           "  zeros = f32[4] broadcast(zero), dimensions={}\n  none = f32[4] multiply(x, zeros)\n"
           "  y = f32[4] " +
           loop.body + "\n  z = f32[4] all-reduce(y), channel_id=1, replica_groups=" + loop.groups +
           ", use_global_device_ids=true, to_apply=add\n"
           "  ROOT t = (s32[], f32[4]) tuple(m, z)\n}\n"
           "count {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, "
           "b)\n}\n"
           "ENTRY e {\n  k = s32[] parameter(0)\n  n = s32[] all-reduce(k), channel_id=2, "
           "replica_groups={{0,1}}, use_global_device_ids=true, to_apply=count\n"
           "  p = f32[4] parameter(1)\n  b = f32[4] " +
           loop.begin +
           "\n  t = (s32[], f32[4]) tuple(n, b)\n"
           "  w = (s32[], f32[4]) while(t), condition=condition, body=body\n"
           "  ROOT r = f32[4] get-tuple-element(w), index=1\n}\n";
  };
  const auto verdict = [&](const Loop& before, const Loop& after) {
    ComparisonOptions options;
    options.engine = ModuleEngine::Interpreter;
    const ModuleDecision decision = compared(module(before), module(after), options);
    return std::string(to_string(decision.outcome));
  };
  const Loop loop;
  CHECK(verdict(loop, loop) == "valid");
  CHECK(verdict(loop, {.body = "multiply(twos, x)"}) == "valid");
  CHECK(verdict(loop, {.condition = "compare(ten, n), direction=GT"}) == "valid");
  CHECK(verdict(loop, {.begin = "negate(p)"}) != "valid");
  CHECK(verdict(loop, {.body = "multiply(x, x)"}) != "valid");
  CHECK(verdict(loop, {.condition = "compare(n, ten), direction=LE"}) != "valid");
  CHECK(verdict(loop, {.groups = "{{0},{1}}"}) != "valid");
  // A later state need not be finite, whatever the inputs are.
  CHECK(verdict({.body = "add(x, none)"}, {.body = "copy(x)"}) != "valid");
}

TEST_CASE("arrays whose sizes are not fixed are moved whole, and nothing else is known of them") {
  const auto module = [](const std::string& type, const std::string& body) {
    return "HloModule m\nENTRY e {\n  x = " + type + " parameter(0)\n  ROOT r = " + body + "\n}\n";
  };
  const std::string sum = module("f32[<=8,4]", "f32[<=8,4] add(x, x)");
  CHECK(verdicts(sum, sum) == "valid; valid");
  CHECK(verdicts(sum, module("f32[<=8,4]", "f32[<=8,4] multiply(x, x)")) == "unknown; unknown");
  const std::string same = module("f32[<=8]", "(f32[<=8]) tuple(x)");
  CHECK(verdicts(same, same) == "valid; valid");
  CHECK(verdicts(same, module("s32[<=8]", "(s32[<=8]) tuple(x)")).find("valid") != 0);
  CHECK(verdicts(same, module("f32[?]", "(f32[?]) tuple(x)")).find("valid") != 0);
  CHECK(verdicts(same, module("f32[8]", "(f32[8]) tuple(x)")).find("valid") != 0);
  // The elements of a dynamic size are not at places of the bound.
  const std::string slice = module("f32[<=8]", "f32[<=4] slice(x), slice={[0:4]}");
  CHECK(verdicts(slice, module("f32[<=8]", "f32[<=4] slice(x), slice={[0:8:2]}")) ==
        "unknown; unknown");
  // Nor are types that XLA does not have.
  const auto stablehlo = [](const std::string& type, const std::string& operation) {
    const std::string text = fmt::format(
        "func.func public @main(%x: {0}) -> {0} {{\n  %y = stablehlo.{1} %x, %x : {0}\n"
        "  return %y : {0}\n}}\n",
        type, operation);
    return std::make_shared<const Module>(read_stablehlo("test.mlir", text).at(0).module);
  };
  for (const std::string type : {"tensor<?x4xf32>", "tensor<4x!quant.uniform<i8:f32, 0.5>>"}) {
    CAPTURE(type);
    const auto sums = stablehlo(type, "add");
    CHECK(summary(compare(sums, stablehlo(type, "add"), {}, {})) == "valid");
    CHECK(summary(compare(sums, stablehlo(type, "multiply"), {}, {})) == "unknown");
  }
}

TEST_CASE(
    "what a custom call calls is compared by what it computes, whatever the order of its text") {
  const auto module = [](const std::string& body) {
    return "HloModule m, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b = f32[] "
           "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\ninner {\n" +
           body +
           "}\nENTRY e {\n  x = f32[6] parameter(0)\n  ROOT z = f32[6] custom-call(x, x), "
           "custom_call_target=\"f\", called_computations={inner}\n}\n";
  };
  const std::string p = "  p = f32[6] parameter(0)\n";
  const std::string q = "  q = f32[6] parameter(1)\n";
  const std::string first =
      "  s = f32[6] all-reduce(p), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=add\n";
  const std::string other =
      "  s = f32[6] all-reduce(p), channel_id=1, replica_groups={{0},{1}}, "
      "use_global_device_ids=true, to_apply=add\n";
  const std::string root = "  ROOT r = f32[6] subtract(s, q)\n";
  const std::string base = module(p + q + first + root);
  CHECK(verdicts(base, module(q + p + first + root)) == "valid; valid");
  CHECK(verdicts(base, module(p + first + q + root)) == "valid; valid");
  CHECK(verdicts(base, module(p + q + other + root)) == "unknown; unknown");
  CHECK(verdicts(base, module(p + q + first + "  ROOT r = f32[6] subtract(q, s)\n")) ==
        "unknown; unknown");
  const std::string random = "  s = f32[6] rng(p, q), distribution=rng_uniform\n";
  CHECK(verdicts(module(p + q + random + root), module(p + q + random + root)) ==
        "unknown; unknown");
}

TEST_CASE("what is not known may look at all devices") {
  // z is x on device 0, and only what device 0 makes of it is compared.
  const std::string first =
      "  x = f32[6] parameter(0)\n  id = u32[] partition-id()\n  zero = u32[] constant(0)\n"
      "  f = pred[] compare(id, zero), direction=EQ\n  b = pred[6] broadcast(f), dimensions={}\n"
      "  t = f32[6] add(x, x)\n  z = f32[6] select(b, x, t)\n  n = f32[] constant(0)\n"
      "  e = f32[6] broadcast(n), dimensions={}\n";
  const auto module = [&](const std::string& operation) {
    return module_text(
        first + "  y = f32[6] " + operation + "\n  ROOT s = f32[6] select(b, y, e)\n", 2);
  };
  for (const std::string name : {"exchange", "custom-call"}) {
    const std::string target = ", custom_call_target=\"f\"";
    const std::string before = module(name + "(x)" + target);
    CHECK(verdicts(before, module(name + "(z)" + target)) == "unknown; unknown");
    CHECK(verdicts(before, before) == "valid; valid");
  }
  CHECK(summary(compared(module("cholesky(x)"), module("cholesky(z)"))) == "valid");
}

TEST_CASE("conversions between floating-point types keep real numbers") {
  const std::string head =
      "HloModule m, num_partitions=2\nnarrow {\n  a = bf16[] parameter(0)\n  b "
      "= bf16[] parameter(1)\n  ROOT c = bf16[] add(a, b)\n}\nwide {\n  a = "
      "f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
      "b)\n}\nENTRY e {\n  x = bf16[6] parameter(0)\n";
  const std::string narrow =
      head + "  ROOT y = bf16[6] all-reduce(x), " + kAll + ", to_apply=narrow\n}\n";
  const std::string there_and_back = head +
                                     "  w = f32[6] convert(x)\n  n = bf16[6] convert(w)\n  "
                                     "ROOT y = bf16[6] all-reduce(n), " +
                                     kAll + ", to_apply=narrow\n}\n";
  const std::string wide = head + "  w = f32[6] convert(x)\n  s = f32[6] all-reduce(w), " + kAll +
                           ", to_apply=wide\n  ROOT y = bf16[6] convert(s)\n}\n";
  CHECK(summary(compared(narrow, there_and_back)) == "valid");
  // As real numbers both are the sum: rounding is left out.
  CHECK(summary(compared(narrow, wide)) == "valid");
}

TEST_CASE("the order of addition is compared where that is asked") {
  const std::string head = "  x = f32[4] parameter(0)\n";
  const auto reduced = [&](const char* groups) {
    return head + "  ROOT y = f32[4] all-reduce(x), channel_id=1, replica_groups=" + groups +
           ", use_global_device_ids=true, to_apply=add\n";
  };
  CHECK(summary(same(reduced("{{0,1},{2,3}}"), reduced("{{1,0},{3,2}}"), 4, true)) == "valid");
  CHECK(summary(same(reduced("{{0,1,2,3}}"), reduced("{{0,1,2,3}}"), 4, true)) == "valid");
  CHECK(summary(same(reduced("{{0,1,2,3}}"), reduced("{{0,2,1,3}}"), 4, false)) == "valid");
  CHECK(summary(same(reduced("{{0,1,2,3}}"), reduced("{{0,2,1,3}}"), 4, true)) == "invalid order");
  CHECK(summary(same(reduced("{{0,1,2,3}}"),
                     head +
                         "  rs = f32[1] reduce-scatter(x), channel_id=1, "
                         "replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}, "
                         "to_apply=add\n  ROOT ag = f32[4] all-gather(rs), channel_id=1, "
                         "replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}\n",
                     4, true)) == "valid");
}

TEST_CASE("modules with other inputs or outputs are not equal") {
  CHECK(summary(same(kX + "  ROOT y = f32[6] copy(x)\n",
                     kX + "  ROOT y = f32[1,6] reshape(x)\n")) == "invalid signature");
  CHECK(summary(same(kX + "  ROOT y = f32[6] copy(x)\n",
                     kX + "  z = f32[6] parameter(1)\n  ROOT y = f32[6] copy(x)\n")) ==
        "invalid signature");
}

TEST_CASE("what is put together of other types has no meaning") {
  const auto module = [](const std::string& first, const std::string& second) {
    return "HloModule m\nENTRY e {\n  x = s32[4] parameter(0)\n"
           "  s = s32[2] slice(x), slice={[0:2]}\n  t = s32[2] slice(x), slice={[2:4]}\n"
           "  h = s8[2] convert(s)\n  g = s8[2] convert(t)\n  ROOT y = s32[4] concatenate(" +
           first + ", " + second + "), dimensions={0}\n}\n";
  };
  CHECK(verdicts(module("s", "t"), module("s", "t")) == "valid; valid");
  CHECK(verdicts(module("s", "t"), module("h", "t")) == "invalid shapes; invalid shapes");
  CHECK(verdicts(module("s", "t"), module("s", "g")) == "invalid shapes; invalid shapes");
}

TEST_CASE("reshapes that cut across one another are followed") {
  const std::string x = "  x = f32[6,10] parameter(0)\n";
  CHECK(summary(
            same(x + "  a = f32[4,15] reshape(x)\n  b = f32[15,4] transpose(a), dimensions={1,0}\n"
                     "  c = f32[4,15] transpose(b), dimensions={1,0}\n"
                     "  ROOT d = f32[6,10] reshape(c)\n",
                 x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
  CHECK(summary(same(x + "  a = f32[4,15] reshape(x)\n  b = f32[15,4] reshape(a)\n"
                         "  c = f32[4,15] transpose(b), dimensions={1,0}\n"
                         "  ROOT d = f32[6,10] reshape(c)\n",
                     x + "  ROOT d = f32[6,10] copy(x)\n")) == "invalid contributions");
  CHECK(summary(
            same(x + "  r = f32[6,10] reverse(x), dimensions={0,1}\n  f = f32[60] reshape(r)\n"
                     "  g = f32[60] reverse(f), dimensions={0}\n  ROOT d = f32[6,10] reshape(g)\n",
                 x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
  CHECK(summary(same(x + "  z = f32[] constant(0)\n  p = f32[9,10] pad(x, z), padding=1_2x0_0\n"
                         "  ROOT d = f32[6,10] slice(p), slice={[1:7], [0:10]}\n",
                     x + "  ROOT d = f32[6,10] copy(x)\n")) == "valid");
}

TEST_CASE("what is not understood may have no operands, or no results") {
  const std::string call = "  c = f32[6] custom-call(), custom_call_target=\"table\"\n";
  CHECK(summary(same(kX + call + "  ROOT y = f32[6] add(x, c)\n",
                     kX + call + "  ROOT y = f32[6] add(c, x)\n")) == "valid");
  CHECK(summary(same(kX + "  n = () custom-call(x), custom_call_target=\"log\"\n"
                          "  ROOT y = f32[6] copy(x)\n",
                     kX + "  ROOT y = f32[6] copy(x)\n")) == "valid");
}

TEST_CASE("a constant that was folded in its type is no difference for any engine") {
  const auto scaled = [](const char* by) {
    return kX + "  c = f32[] constant(" + by +
           ")\n  b = f32[6] broadcast(c), dimensions={}\n  ROOT y = f32[6] multiply(x, b)\n";
  };
  const std::string before = kX +
                             "  c = f32[] constant(6)\n  b = f32[6] broadcast(c), dimensions={}\n"
                             "  ROOT y = f32[6] divide(x, b)\n";
  for (const ModuleEngine engine :
       {ModuleEngine::Symbolic, ModuleEngine::Interpreter, ModuleEngine::All}) {
    ComparisonOptions options;
    options.engine = engine;
    const auto verdict = [&](const char* by) {
      return compared(module_text(before, 1), module_text(scaled(by), 1), options).outcome;
    };
    CHECK(verdict("0.166666672") == Outcome::Established);
    CHECK(verdict("0.1667") == Outcome::Refuted);
  }
}

TEST_CASE("a custom call that reads its operands as they lie in memory is one of their layouts") {
  const std::string x = "  x = f32[2,3]{1,0} parameter(0)\n";
  const auto call = [](const char* operand, const char* layout, const char* result) {
    return fmt::format(
        "  y = f32[2,3]{} custom-call({}), custom_call_target=\"f\", "
        "operand_layout_constraints={{f32[2,3]{}}}\n",
        result, operand, layout);
  };
  const std::string copied = "  c = f32[2,3]{0,1} copy(x)\n";
  const std::string root = "  ROOT r = f32[2,3]{1,0} copy(y)\n";
  const std::string before = x + call("x", "{1,0}", "{1,0}") + root;
  CHECK(summary(same(before, before)) == "valid");
  CHECK(summary(same(before, x + call("x", "{1,0:T(2,128)S(1)}", "{1,0:T(8,128)}") + root)) ==
        "valid");
  CHECK(summary(same(before, x + copied + call("c", "{0,1}", "{1,0}") + root)) == "unknown");
  CHECK(summary(same(before, x + call("x", "{1,0}", "{0,1}") + root)) == "unknown");
  CHECK(summary(same(before, x + "  y = f32[2,3]{1,0} custom-call(x), custom_call_target=\"f\"\n" +
                                 root)) == "unknown");
}

TEST_CASE("modules that do other things beside their outputs are not equal") {
  const std::string t = kX + "  t = token[] after-all()\n";
  const std::string twice = "  y = f32[6] add(x, x)\n";
  const std::string two =
      "  c = f32[] constant(2)\n  b = f32[6] broadcast(c), dimensions={}\n"
      "  y = f32[6] multiply(b, x)\n";
  const auto out = [](const char* name, const char* value, const char* after) {
    return fmt::format("  {} = token[] outfeed({}, {}), outfeed_config=\"a\"\n", name, value,
                       after);
  };
  const std::string root = "  ROOT r = f32[6] negate(y)\n";
  const auto verdict = [](const std::string& before, const std::string& after) {
    const std::string first = summary(same(before, after));
    CHECK(summary(same(after, before)) == first);
    return first;
  };
  const std::string one = t + twice + out("o", "y", "t") + root;
  CHECK(verdict(one, one) == "valid");
  CHECK(verdict(one, t + two + out("o", "y", "t") + root) == "valid");
  CHECK(verdict(one, t + two + root) == "unknown");
  CHECK(verdict(one, t + twice + out("o", "x", "t") + root) == "unknown");
  CHECK(verdict(one, t + two + replaced(out("o", "y", "t"), "\"a\"", "\"b\"") + root) == "unknown");
  CHECK(verdict(one, t + twice + out("o", "y", "t") + out("p", "y", "o") + root) == "unknown");
  // The order that the tokens make.
  const std::string ordered = t + twice + out("o", "x", "t") + out("p", "y", "o") + root;
  CHECK(verdict(ordered, ordered) == "valid");
  CHECK(verdict(ordered, t + two + out("o", "x", "t") + out("p", "y", "o") + root) == "valid");
  CHECK(verdict(ordered, t + twice + out("o", "x", "t") + out("p", "y", "t") + root) == "unknown");
  CHECK(verdict(ordered, t + twice + out("p", "y", "t") + out("o", "x", "p") + root) == "unknown");
  // Callbacks, and what is sent to the host.
  const std::string call = "  n = () custom-call(y), custom_call_target=\"print\"";
  const std::string effect = ", custom_call_has_side_effect=true\n";
  CHECK(verdict(kX + twice + call + effect + root, kX + two + call + effect + root) == "valid");
  CHECK(verdict(kX + twice + call + effect + root, kX + two + root) == "unknown");
  CHECK(verdict(kX + twice + call + effect + root, kX + two + call + "\n" + root) == "unknown");
  CHECK(verdict(kX + twice + call + effect + root,
                kX + twice + replaced(call, "(y)", "(x)") + effect + root) == "unknown");
  const std::string send =
      "  s = (f32[6], u32[], token[]) send(y, t), channel_id=2, is_host_transfer=true\n"
      "  d = token[] send-done(s), channel_id=2, is_host_transfer=true\n";
  CHECK(verdict(t + twice + send + root, t + two + root) == "unknown");
}

TEST_CASE("what a computation that is called does beside its result is not passed over") {
  const auto module = [](const std::string& effect) {
    return "HloModule m\n\nf {\n  x = f32[6] parameter(0)\n" + effect +
           "  ROOT y = f32[6] add(x, x)\n}\n\nENTRY e {\n  x = f32[6] parameter(0)\n"
           "  ROOT y = f32[6] call(x), to_apply=f\n}\n";
  };
  const std::string print =
      "  n = () custom-call(x), custom_call_target=\"print\", custom_call_has_side_effect=true\n";
  CHECK(summary(compared(module(""), module(""))) == "valid");
  CHECK(summary(compared(module(print), module(""))) == "unknown");
  CHECK(summary(compared(module(""), module(print))) == "unknown");
}

TEST_CASE("an update at an offset that an input gives stays whole, however large the tensor is") {
  const std::string update =
      "  x = f32[1000000,4] parameter(0)\n  u = f32[1,4] parameter(1)\n"
      "  at = s32[] parameter(2)\n  zero = s32[] constant(0)\n"
      "  y = f32[1000000,4] dynamic-update-slice(x, u, at, zero)\n";
  const std::string all = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true";
  CHECK(
      summary(same(update + "  ROOT z = f32[1000000,4] all-reduce(y), " + all + ", to_apply=add\n",
                   update + "  ROOT z = f32[1000000,4] all-reduce(y), " +
                       replaced(all, "{0,1}", "{1,0}") + ", to_apply=add\n")) == "valid");
}

TEST_CASE("the interpreter's tests come out as StableHLO expects") {
  const std::map<std::string, std::size_t> samples = {{"stablehlo/all_gather.mlir", 5},
                                                      {"stablehlo/all_reduce.mlir", 5},
                                                      {"stablehlo/reduce_scatter.mlir", 3}};
  for (const auto& [name, count] : samples) {
    const auto text = shared_text("hlo/" + name);
    if (!text) continue;
    INFO(name);
    const std::vector<StableHloModule> modules = read_stablehlo(name, *text);
    CHECK(modules.size() == count);
    for (StableHloModule module : modules) {
      REQUIRE(module.run.has_value());
      const RunModules right = modules_of(module);
      CHECK(summary(compare(right.expected, right.actual, {}, {})) == "valid");
      Literal& expected = module.run->expected.back().value;
      expected.elements.back().number.numerator += 1;
      const RunModules wrong = modules_of(module);
      CHECK(summary(compare(wrong.expected, wrong.actual, {}, {})) == "invalid contributions");
    }
  }
  if (const auto text = shared_text("hlo/stablehlo/replica_groups_mesh_axes.mlir")) {
    const std::vector<StableHloModule> modules = read_stablehlo("mesh", *text);
    CHECK(modules.size() == 1);
    CHECK(modules.at(0).module.entry_computation().instructions.at(1).opcode == "custom-call");
  }
}

}  // namespace p2::hlo
