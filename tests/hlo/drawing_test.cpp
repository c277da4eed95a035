// Drawings of what an element is made of, by execution and by a proof.

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

std::string drawn_by_proof(const std::string& before, const std::string& after,
                           const ModuleDecision& decision) {
  const auto problem =
      problem_of(CertifiedModules{before, after}, *decision.relation, decision.devices, {});
  REQUIRE(problem.has_value());
  std::string drawing;
  with_held_arrays(*problem, false, {}, [&](const HeldArrays& held) {
    drawing = draw_output(module_of(before), module_of(after), decision, held, {});
  });
  return drawing;
}

}  // namespace

TEST_CASE("a drawing by a proof is the one by execution") {
  int drawn = 0;
  for (const Pair& pair : right_pairs()) {
    ComparisonOptions options;
    options.relation = relation_json(pair.held);
    const ModuleDecision decision = compared(whole(pair), local(pair), options);
    if (!decision.relation) continue;
    const std::string executed =
        draw_output(*module_of(whole(pair)), *module_of(local(pair)), decision, {});
    // Execution follows the iterations of loops.
    if (executed.empty() || local(pair).find(" while(") != std::string::npos) continue;
    CAPTURE(local(pair));
    CHECK(drawn_by_proof(whole(pair), local(pair), decision) == executed);
    ++drawn;
  }
  CHECK(drawn > 30);
}

TEST_CASE("modules without outputs are not drawn") {
  const TemporaryFile before(
      before_text(
          "  x = f32[8] parameter(0), sharding={devices=[2]<=[2]}\n  ROOT t = () tuple()\n"),
      ".hlo");
  const TemporaryFile after(after_text("  x = f32[4] parameter(0)\n  ROOT t = () tuple()\n"),
                            ".hlo");
  const Ran ran = run({"check", "--before", before.path(), "--after", after.path(), "--explain"});
  CHECK(ran.exit == kEstablished);
  CHECK(ran.out.ends_with("The modules are not understood for a drawing.\n"));
}

TEST_CASE("where one element comes from is where all do") {
  const std::vector<std::string> lines = {"r = f32[6,4] reshape(x)",
                                          "r = f32[4,6]{0,1} bitcast(x)",
                                          "r = f32[6,4]{0,1} bitcast(x)",
                                          "r = f32[2,4]{1,0} slice(x), slice={[0:4:2], [1:5]}",
                                          "r = f32[6,4]{1,0} transpose(x), dimensions={1,0}",
                                          "r = f32[4,3,6]{2,1,0} broadcast(x), dimensions={0,2}",
                                          "r = f32[4,6]{1,0} reverse(x), dimensions={1}",
                                          "r = f32[8,6]{1,0} concatenate(x, x), dimensions={0}",
                                          "r = f32[5,13]{1,0} pad(x, z), padding=1_0x1_1_1"};
  for (const std::string& line : lines) {
    CAPTURE(line);
    const auto module =
        module_of(module_text("  x = f32[4,6]{1,0} parameter(0)\n"
                              "  z = f32[] parameter(1)\n  ROOT " +
                              line + "\n"));
    const Computation& entry = module->entry_computation();
    const Instruction& moves = entry.instructions[entry.root];
    std::vector<ArrayShape> operands;
    for (const std::uint32_t each : moves.operands)
      operands.push_back(entry.instructions[each].shape.array);
    const ArrayShape& result = moves.shape.array;
    const auto all = interpreter::sources_of(moves, operands, result);
    REQUIRE(all.has_value());
    REQUIRE(std::ssize(*all) == result.elements());
    for (std::int64_t k = 0; k < result.elements(); ++k) {
      const auto one = interpreter::source_of(moves, operands, result, k);
      REQUIRE(one.has_value());
      CHECK(one->operand == (*all)[static_cast<std::size_t>(k)].operand);
      CHECK(one->element == (*all)[static_cast<std::size_t>(k)].element);
    }
  }
}

TEST_CASE("modules that are too large to be executed are drawn, right ones and wrong ones") {
  const auto text = [](const std::string& end) {
    return module_text(R"(
  x = f32[4096,1024] parameter(0)
  w = f32[1024,8192] parameter(1)
  i = s32[] partition-id()
  n = s32[] constant(2048)
  o = s32[] multiply(i, n)
  z = s32[] constant(0)
  p = f32[4096,8192] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)" + end);
  };
  const std::string after = text(
      "  s = f32[4096,8192] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=add\n"
      "  ROOT y = f32[4096,2048] dynamic-slice(s, z, o), dynamic_slice_sizes={4096,2048}\n");
  const TemporaryFile before(before_text(R"(
  x = f32[4096,4096] parameter(0), sharding={devices=[1,4]<=[4]}
  w = f32[4096,8192] parameter(1), sharding={devices=[4,1]<=[4]}
  ROOT p = f32[4096,8192] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[1,4]<=[4]}
)"),
                             ".hlo");
  const auto answer = [&](const std::string& module, int exit) {
    const TemporaryFile file(module, ".hlo");
    const Ran ran = run({"check", "--before", before.path(), "--after", file.path(), "--explain"});
    CHECK(ran.exit == exit);
    return ran.out;
  };
  CHECK(answer(after, kEstablished)
            .ends_with("output 0 [0,0] on device 0\n"
                       "└ device 0: s[0,0] = all-reduce (add), p[0,0] before\n"
                       "  ├ device 0: p[0,0] = dot over 0:1024 of dimension 1 of x before, a "
                       "partial sum of p[0,0] before\n"
                       "  ├ device 1: p[0,0] = dot over 1024:2048 of dimension 1 of x before, a "
                       "partial sum of p[0,0] before\n"
                       "  ├ device 2: p[0,0] = dot over 2048:3072 of dimension 1 of x before, a "
                       "partial sum of p[0,0] before\n"
                       "  └ device 3: p[0,0] = dot over 3072:4096 of dimension 1 of x before, a "
                       "partial sum of p[0,0] before\n"));
  const std::string wrong = answer(
      replaced(after, "replica_groups={{0,1,2,3}}", "replica_groups={{0,1},{2,3}}"), kRefuted);
  CHECK(wrong.find("  ├ device 0: p[0,0] = dot over 0:1024 of dimension 1 of x before, a partial "
                   "sum of p[0,0] before\n"
                   "  └ device 1: p[0,0] = dot over 1024:2048 of dimension 1 of x before") !=
        std::string::npos);
}

}  // namespace p2::hlo
