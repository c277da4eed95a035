// Modules without calls and tuples, as a relation is of them; what facts say of outputs; and facts
// that certificates give and no rule can use.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "proofs/kernel/xla/relation.h"

#include "tests/hlo/related_pairs.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Fact;
using kernel::xla::Index;
using kernel::xla::Op;
using kernel::xla::Piece;
using kernel::xla::Relation;

const std::string kAdd =
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
    "larger {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] maximum(a, b)\n}\n\n"
    "wide {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n"
    "  ROOT c = f32[4] maximum(a, b)\n}\n\n";

kernel::xla::Module module_of_lines(const std::string& lines, const std::string& others = "") {
  return kernel::xla::read_module(
      "HloModule m, num_partitions=2\n\n" + kAdd + others + "ENTRY main {\n" + lines + "}\n", "m");
}

/// The nodes of a module: a function with (), another operation with [], an array of which nothing
/// is known with its instruction's opcode alone.
std::string nodes_of(const std::string& lines, const std::string& others = "") {
  const auto module = module_of_lines(lines, others);
  kernel::Budget budget;
  const kernel::xla::FlatModule flat(module, budget);
  std::string text;
  for (std::size_t k = 0; k < flat.nodes.size(); ++k) {
    const auto& node = flat.nodes[k];
    text += (k == 0 ? "" : " ") + node.instruction->opcode;
    if (node.part > 0) text += fmt::format(".{}", node.part);
    if (node.operands.empty()) continue;
    std::string operands;
    for (const std::size_t each : node.operands)
      operands += fmt::format("{}{}", operands.empty() ? "" : " ", each);
    text += node.is_function ? "(" + operands + ")" : "[" + operands + "]";
  }
  text += " ->";
  for (const std::size_t each : flat.outputs) text += fmt::format(" {}", each);
  return text;
}

TEST_CASE("an empty place is refused as often as it is asked for") {
  kernel::xla::Places places(2);
  CHECK_THROWS_AS(places.free(0, 4), kernel::CheckFailure);
  CHECK_THROWS_AS(places.free(0, 4), kernel::CheckFailure);
  const std::size_t next = places.free(3, 4);
  CHECK(places.at(next).size == 3);
  CHECK(places.free(3, 4) == next);
  CHECK_THROWS_AS(places.free(0, 4), kernel::CheckFailure);
}

TEST_CASE("calls, tuples and copies are taken apart") {
  const std::string x = "  x = f32[4] parameter(0)\n";
  CHECK(nodes_of(x + "  ROOT y = f32[4] negate(x)\n") == "parameter negate(0) -> 1");
  CHECK(nodes_of(x + "  c = f32[4] copy(x)\n  t = (f32[4], f32[4]) tuple(c, x)\n"
                     "  ROOT y = f32[4] get-tuple-element(t), index=1\n") == "parameter -> 0");
  CHECK(nodes_of("  x = (f32[4], s32[2]) parameter(0)\n"
                 "  ROOT y = s32[2] get-tuple-element(x), index=1\n") ==
        "parameter parameter -> 1");
  CHECK(nodes_of(x + "  ROOT y = f32[4] call(x), to_apply=inner\n",
                 "inner {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n\n") ==
        "parameter negate(0) -> 1");
  CHECK(nodes_of(x + "  ROOT y = f32[4] fusion(x), kind=kLoop, calls=inner\n",
                 "inner {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n\n") ==
        "parameter negate(0) -> 1");
  // Notes to compilers return their operand; other calls are not known.
  CHECK(nodes_of(x + "  ROOT y = f32[4] custom-call(x), custom_call_target=\"Sharding\"\n") ==
        "parameter -> 0");
  CHECK(nodes_of(x + "  ROOT y = f32[4] custom-call(x), custom_call_target=\"AwsNeuronSilu\"\n") ==
        "parameter custom-call(0) -> 1");
  CHECK(nodes_of(x + "  ROOT y = f32[4] custom-call(x), custom_call_target=\"Other\"\n") ==
        "parameter custom-call[0] -> 1");
  CHECK(nodes_of(x + "  ROOT y = f32[4] custom-call(x)\n") == "parameter custom-call[0] -> 1");
  CHECK(nodes_of(x + "  ROOT y = f32[4] custom-call(x), custom_call_target=\"Sharding\", "
                     "custom_call_has_side_effect=true\n") == "parameter -> 0");
  CHECK(nodes_of(x + "  t = (f32[4]) tuple(x)\n"
                     "  ROOT y = f32[4] custom-call(t), custom_call_target=\"AwsNeuronSilu\"\n") ==
        "parameter custom-call -> 1");
  // A bitcast is a reshape where the last dimension is first in memory, or else transposes.
  const std::string matrix = "  x = f32[2,3]{1,0} parameter(0)\n";
  CHECK(nodes_of(matrix + "  ROOT y = f32[6]{0} bitcast(x)\n") == "parameter reshape(0) -> 1");
  CHECK(nodes_of(matrix + "  ROOT y = s32[6]{0} bitcast(x)\n") == "parameter bitcast[0] -> 1");
  CHECK(nodes_of(matrix + "  ROOT y = f32[3,2]{0,1} bitcast(x)\n") ==
        "parameter transpose(0) -> 1");
  // Back is where it came from.
  CHECK(nodes_of(matrix + "  r = f32[3,2]{1,0} bitcast(x)\n  ROOT y = f32[2,3] reshape(r)\n") ==
        "parameter reshape(0) -> 0");
  CHECK(nodes_of("  x = f32[2,3]{0,1} parameter(0)\n  ROOT y = f32[6]{0} bitcast(x)\n") ==
        "parameter transpose(0) reshape(1) -> 2");
  CHECK(nodes_of("  x = f32[8,128]{1,0:T(8,128)} parameter(0)\n"
                 "  ROOT y = f32[1024]{0} bitcast(x)\n") == "parameter bitcast[0] -> 1");
  // Several results, and what has no array.
  CHECK(nodes_of(x +
                 "  k = s32[4] parameter(1)\n  s = (f32[4], s32[4]) sort(x, k), dimensions={0}, "
                 "to_apply=add\n  ROOT y = s32[4] get-tuple-element(s), index=1\n") ==
        "parameter parameter sort(0 1) sort.1(0 1) -> 3");
  CHECK(nodes_of(x + "  t = token[] after-all()\n  ROOT y = f32[4] negate(x)\n") ==
        "parameter negate(0) -> 1");
  CHECK(nodes_of(x + "  t = (f32[4]) tuple(x)\n  w = (f32[4]) while(t), condition=c, body=b\n"
                     "  ROOT y = f32[4] get-tuple-element(w), index=0\n",
                 "b {\n  ROOT p = (f32[4]) parameter(0)\n}\n\nc {\n  p = (f32[4]) parameter(0)\n"
                 "  ROOT t = pred[] constant(true)\n}\n\n") ==
        "parameter parameter[0] constant -> 0");
}

TEST_CASE("collectives of several operands, and those that start and end") {
  const std::string x = "  x = f32[4] parameter(0)\n  k = f32[2] parameter(1)\n";
  const std::string sum = ", replica_groups={{0,1}}, to_apply=add";
  CHECK(nodes_of(x + "  r = (f32[4], f32[2]) all-reduce(x, k)" + sum +
                 "\n  ROOT y = f32[2] get-tuple-element(r), index=1\n") ==
        "parameter parameter all-reduce[0] all-reduce[1] -> 3");
  CHECK(nodes_of(x + "  r = f32[4] all-reduce-start(x)" + sum +
                 "\n  ROOT y = f32[4] all-reduce-done(r)\n") ==
        "parameter parameter all-reduce-start[0] -> 2");
  CHECK(nodes_of(x + "  r = (f32[4], f32[8]) all-gather-start(x), dimensions={0}, "
                     "replica_groups={{0,1}}\n  ROOT y = f32[8] all-gather-done(r)\n") ==
        "parameter parameter all-gather-start[0] -> 2");
  // Results of another form are arrays of which nothing is known.
  CHECK(nodes_of(x + "  ROOT r = (f32[4]) all-reduce(x)" + sum + "\n") ==
        "parameter parameter all-reduce -> 2");
  CHECK(nodes_of(x + "  ROOT r = f32[4] all-reduce(x, k)" + sum + "\n") ==
        "parameter parameter all-reduce -> 2");
  CHECK(nodes_of(x + "  r = (f32[8]) all-gather-start(x), dimensions={0}\n"
                     "  ROOT y = (f32[8]) all-gather-done(r)\n") ==
        "parameter parameter all-gather-start -> 2");
  CHECK(nodes_of(x + "  r = (f32[4], f32[8]) all-gather-start(x, k), dimensions={0}\n"
                     "  ROOT y = (f32[4], f32[8]) all-gather-done(r)\n")
            .find('[') == std::string::npos);
  CHECK(nodes_of(x + "  r = f32[8] all-gather-start(x), dimensions={0}\n"
                     "  ROOT y = f32[8] all-gather-done(r)\n") ==
        "parameter parameter all-gather-start -> 2");
  CHECK(nodes_of(x + "  r = ((f32[4], f32[2]), (f32[8], f32[4])) all-gather-start(x, k), "
                     "dimensions={0}\n  ROOT y = (f32[8], f32[4]) all-gather-done(r)\n") ==
        "parameter parameter all-gather-start[0] all-gather-start[1] -> 2 3");
  CHECK(nodes_of(x + "  r = (f32[4], (f32[8])) all-gather-start(x), dimensions={0}\n"
                     "  ROOT y = (f32[4], (f32[8])) all-gather-done(r)\n")
            .find('[') == std::string::npos);
}

TEST_CASE("modules that are not understood are refused") {
  const std::string x = "  x = f32[4] parameter(0)\n";
  std::string calls = "c0 {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n\n";
  for (int k = 1; k < 100; ++k)
    calls += fmt::format(
        "c{} {{\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] call(a), to_apply=c{}\n}}\n\n", k,
        k - 1);
  CHECK(nodes_of(x + "  ROOT y = f32[4] call(x), to_apply=c60\n", calls) ==
        "parameter negate(0) -> 1");
  CHECK_THROWS_AS(nodes_of(x + "  ROOT y = f32[4] call(x), to_apply=c99\n", calls),
                  kernel::CheckFailure);
  for (const char* line :
       {"  ROOT y = f32[4] rng(x, x), distribution=rng_uniform\n",
        "  ROOT y = f32[4] custom-call(x), custom_call_target=\"F\", "
        "custom_call_has_side_effect=true\n",
        // Shapes that do not fit.
        "  ROOT y = f32[5] copy(x)\n", "  ROOT y = s32[4] copy(x)\n",
        "  r = f32[4,2] reshape(x)\n  ROOT y = f32[4] copy(x)\n",
        "  r = f32[2,2] reshape(x)\n  ROOT y = f32[4,1] transpose(r), dimensions={1,0}\n",
        "  r = f32[2,2] reshape(x)\n  ROOT y = f32[2,2] transpose(r), dimensions={0,0}\n",
        "  ROOT y = f32[3] slice(x), slice={[0:2]}\n",
        "  ROOT y = f32[3,5] broadcast(x), dimensions={1}\n",
        "  ROOT y = f32[9] concatenate(x, x), dimensions={0}\n", "  ROOT y = bf16[5] convert(x)\n",
        "  z = f32[] constant(0)\n  ROOT y = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n",
        "  t = (f32[4]) tuple(x)\n  ROOT y = f32[4] get-tuple-element(t), index=1\n",
        "  t = (f32[4]) tuple(x)\n  ROOT y = f32[4] get-tuple-element(t), index=-1\n",
        "  ROOT y = f32[4] call(x, x), to_apply=inner\n",
        "  ROOT y = f32[5] call(x), to_apply=inner\n",
        "  z = f32[5] negate(x)\n  ROOT y = f32[4] call(z), to_apply=inner\n"}) {
    CAPTURE(std::string(line));
    CHECK_THROWS_AS(
        nodes_of(x + line,
                 "inner {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n\n"),
        kernel::CheckFailure);
  }
}

/// Two devices with the input of both: three arrays of four elements of a module, of which the
/// second is cut and the third a sum of parts.
struct Pair {
  kernel::xla::Module whole = module_of_lines(
      "  x = f32[4] parameter(0)\n  c = f32[8] parameter(1)\n  s = f32[4] parameter(2)\n"
      "  ROOT t = (f32[4], f32[8], f32[4]) tuple(x, c, s)\n");
  kernel::xla::Module local = module_of_lines(
      "  x = f32[4] parameter(0)\n  c = f32[4] parameter(1)\n  s = f32[4] parameter(2)\n"
      "  n = f32[4] negate(x)\n  ROOT t = (f32[4], f32[4], f32[4]) tuple(x, c, s)\n");
  Relation copied{0, {}, 1, {{0, 0, {0}, {0}, {4}}, {1, 0, {0}, {0}, {4}}}};
  Relation cut{1, {}, 1, {{0, 0, {0}, {0}, {4}}, {1, 0, {4}, {0}, {4}}}};
  Relation sum{2, Op::Add, 2, {{0, 0, {0}, {0}, {4}}, {1, 1, {0}, {0}, {4}}}};
  kernel::Budget budget;
  RelatedOnDevices modules{whole, local, {1, 2}, {copied, cut, sum}, {}, budget};
};

TEST_CASE("a fact answers for an output if it says what the relation says") {
  Pair pair;
  RelatedOnDevices& modules = pair.modules;
  REQUIRE(modules.facts().size() == 3);
  CHECK(modules.answers(0, 0, pair.copied));
  CHECK(modules.answers(1, 1, pair.cut));
  CHECK(modules.answers(2, 2, pair.sum));
  // Another output of either module.
  CHECK(!modules.answers(0, 2, pair.copied));
  CHECK(!modules.answers(0, 1, pair.cut));
  Relation other = pair.copied;
  other.number = 2;
  CHECK(!modules.answers(0, 0, other));
  // Pieces that are elsewhere, or longer.
  for (const Piece& piece :
       {Piece{1, 0, {3}, {0}, {4}}, Piece{1, 0, {4}, {1}, {3}}, Piece{0, 0, {4}, {0}, {4}},
        Piece{1, 0, {4}, {0}, {5}}, Piece{1, 0, {3}, {-1}, {4}}}) {
    Relation moved = pair.cut;
    moved.pieces.push_back(piece);
    CHECK(!modules.answers(1, 1, moved));
  }
  // Parts and wholes, another reduction, parts that are counted twice or not at all.
  Relation plain = pair.copied;
  plain.number = 2;
  CHECK(!modules.answers(2, 2, plain));
  Relation sum = pair.sum;
  sum.number = 0;
  CHECK(!modules.answers(0, 0, sum));
  sum = pair.sum;
  sum.reducer = Op::Maximum;
  CHECK(!modules.answers(2, 2, sum));
  sum = pair.sum;
  sum.pieces[1].part = 0;
  CHECK(!modules.answers(2, 2, sum));
  sum = pair.sum;
  sum.pieces.push_back({0, 1, {0}, {0}, {4}});
  CHECK(!modules.answers(2, 2, sum));
  sum = pair.sum;
  sum.pieces.pop_back();
  CHECK(!modules.answers(2, 2, sum));
  sum = pair.sum;
  sum.parts = 3;
  CHECK(!modules.answers(2, 2, sum));
  // A view is not the elements.
  Fact viewed = modules.facts()[0];
  viewed.view = kernel::xla::View{};
  CHECK(!modules.answers(modules.add(viewed), 0, pair.copied));
}

TEST_CASE("facts that are not about the operands, and sizes that do not fit, are refused") {
  Pair pair;
  RelatedOnDevices& modules = pair.modules;
  const std::size_t negate = 3;
  REQUIRE(modules.local().nodes[negate].instruction->opcode == "negate");
  CHECK(modules.follows(negate, {0}, {}));
  CHECK(!modules.follows(negate, {1}, {}));
  CHECK(!modules.follows(negate, {0, 0}, {}));
  CHECK(!modules.follows(negate, {}, {}));
  CHECK(!modules.follows(0, {}, {4}));
  CHECK_THROWS(modules.follows(negate, {9}, {}));
  CHECK_THROWS(modules.follows(9, {0}, {}));
}

/// The facts about the last of some lines, whose first array is related to [8], cut in two.
bool follows(const std::string& lines, const Index& hint, const std::string& type = "f32[4]",
             const std::vector<std::size_t>& facts = {0}) {
  const auto whole = module_of_lines("  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n");
  const auto local = module_of_lines("  x = " + type + " parameter(0)\n" + lines);
  kernel::Budget budget;
  try {
    RelatedOnDevices modules(whole, local, {1, 2},
                             {{0, {}, 1, {{0, 0, {0}, {0}, {4}}, {1, 0, {4}, {0}, {4}}}}}, {},
                             budget);
    return modules.follows(modules.local().outputs.at(0), facts, hint).has_value();
  } catch (const kernel::CheckFailure&) {
    return false;  // a shape that does not follow from the operands
  }
}

TEST_CASE("hints of other forms, and modules whose shapes are wrong") {
  CHECK(follows("  ROOT y = f32[2,2] reshape(x)\n", {4, 2}));
  for (const Index& hint :
       {Index{}, Index{8}, Index{4, 2, 1}, Index{3, 2}, Index{0, 2}, Index{2, 4}})
    CHECK(!follows("  ROOT y = f32[2,2] reshape(x)\n", hint));
  CHECK(follows("  ROOT y = f32[2] slice(x), slice={[0:2]}\n", {}));
  CHECK(follows("  ROOT y = f32[2] slice(x), slice={[0:2]}\n", {0, 2, 1}));
  for (const Index& hint :
       {Index{0}, Index{0, 9, 1}, Index{2, 1, 1}, Index{3, 3, 1}, Index{0, 2, 2}})
    CHECK(!follows("  ROOT y = f32[2] slice(x), slice={[0:2]}\n", hint));
  CHECK(follows("  ROOT y = f32[3,4] broadcast(x), dimensions={1}\n", {5, 8}));
  for (const Index& hint : {Index{}, Index{8}, Index{0, 8}, Index{5, 4}})
    CHECK(!follows("  ROOT y = f32[3,4] broadcast(x), dimensions={1}\n", hint));
  CHECK(!follows("  ROOT y = f32[3] negate(x)\n", {}));
  CHECK(!follows("  ROOT y = s32[4] negate(x)\n", {}));
  CHECK(!follows("  ROOT y = f32[4] compare(x, x), direction=LT\n", {}, "f32[4]", {0, 0}));
  CHECK(follows("  ROOT y = pred[4] compare(x, x), direction=LT\n", {}, "f32[4]", {0, 0}));
  const std::string groups = ", channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}";
  CHECK(follows("  ROOT y = f32[8] all-gather(x), dimensions={0}" + groups + "\n", {}));
  CHECK(!follows("  ROOT y = f32[9] all-gather(x), dimensions={0}" + groups + "\n", {}));
  CHECK(!follows("  ROOT y = f32[8] all-gather(x), dimensions={1}" + groups + "\n", {}));
  CHECK(
      !follows("  ROOT y = f32[5] collective-permute(x), channel_id=1, "
               "source_target_pairs={{0,1},{1,0}}\n",
               {}));
  for (const char* shape : {"f32[4,2]", "f32[]"})
    CHECK(!follows(fmt::format("  ROOT y = {} collective-permute(x), channel_id=1, "
                               "source_target_pairs={{{{0,1}},{{1,0}}}}\n",
                               shape),
                   {}));
  CHECK(!follows("  ROOT y = f32[4] all-to-all(x), dimensions={0}" + groups + "\n", {}));
  CHECK(!follows("  ROOT y = f32[4] custom-call(x), custom_call_target=\"F\"\n", {}));
  // Reducers of whole arrays, and products of which not all is understood.
  CHECK(
      !follows("  ROOT y = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, "
               "sparsity=L.0@2:4\n",
               {}, "f32[4]", {0, 0}));
  CHECK(follows("  ROOT y = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
                {}, "f32[4]", {0, 0}));
  CHECK(follows("  ROOT y = f32[2,2]{1,0} bitcast(x)\n", {4, 2}, "f32[4]{0}"));
  for (const char* reducer : {"wide", "larger"})
    CHECK(follows(fmt::format("  ROOT y = f32[4] all-reduce(x), to_apply={}, channel_id=1, "
                              "use_global_device_ids=true, replica_groups={{{{0}},{{1}}}}\n",
                              reducer),
                  {}) == (std::string(reducer) == "larger"));
  // Groups that do not have all devices, or different numbers of them.
  const auto sum_over = [](const char* ids) {
    return std::string(
               "  ROOT y = f32[4] all-reduce(x), to_apply=larger, channel_id=1, "
               "use_global_device_ids=true, replica_groups=") +
           ids + "\n";
  };
  CHECK(follows(sum_over("{{0},{1}}"), {}));
  CHECK(!follows(sum_over("{{0}}"), {}));
  CHECK(!follows(sum_over("{{0,1}}"), {}));
  CHECK(
      !follows("  ROOT y = f32[3] reduce-scatter(x), dimensions={0}, to_apply=larger, "
               "channel_id=1, use_global_device_ids=true, replica_groups={{0},{1}}\n",
               {}));
  CHECK(
      follows("  ROOT y = f32[4] reduce-scatter(x), dimensions={0}, to_apply=larger, "
              "channel_id=1, use_global_device_ids=true, replica_groups={{0},{1}}\n",
              {}));
  // Numbers that devices know, as numbers and as an iota.
  const std::string id = "  i = u32[] partition-id()\n";
  CHECK(!follows(id + "  ROOT y = u32[] add(i, i)\n", {0}, "f32[4]", {}));
  const std::string same = "  ROOT y = s32[2] constant({3, 3})\n";
  CHECK(follows(same, {0, 5}, "f32[4]", {}));
  for (const Index& hint : {Index{0, 0}, Index{0, 5, 5}, Index{2, 5}, Index{1, 0, 8}, Index{1}})
    CHECK(!follows(same, hint, "f32[4]", {}));
  const std::string line = "  ROOT y = s8[2] constant({3, 4})\n";
  CHECK(follows(line, {1, 0, 5}, "f32[4]", {}));
  for (const Index& hint : {Index{1, 0, 4}, Index{1, 1, 5}, Index{1, 0, 129}, Index{0, 5}})
    CHECK(!follows(line, hint, "f32[4]", {}));
  CHECK(follows(line, {1, 0, 128}, "f32[4]", {}));
  CHECK(!follows("  ROOT y = pred[2] constant({0, 1})\n", {1, 0, 2}, "f32[4]", {}));
  CHECK(!follows("  ROOT y = s32[2] constant({-1, 0})\n", {1, 0, 8}, "f32[4]", {}));
}

TEST_CASE("a layout names every dimension once") {
  const auto read = [](const std::string& layout) {
    module_of_lines("  ROOT x = f32[4,2]" + layout + " parameter(0)\n");
  };
  for (const char* layout : {"", "{0,1}", "{1,0:T(2,128)}"}) CHECK_NOTHROW(read(layout));
  for (const char* layout : {"{0}", "{0,0}", "{0,2}", "{0,-1}", "{0,1,2}", "{1,1:T(2,128)}"})
    CHECK_THROWS_AS(read(layout), kernel::CheckFailure);
}

TEST_CASE("the module that is not partitioned has the shapes that it says") {
  const auto local = module_of_lines("  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n");
  const std::vector<Relation> inputs = {{0, {}, 1, {{0, 0, {0}, {0}, {4}}, {1, 0, {4}, {0}, {4}}}}};
  for (const auto& [lines, is_right] :
       {std::pair("  x = f32[8] parameter(0)\n  ROOT y = f32[8] negate(x)\n", true),
        std::pair("  x = f32[8] parameter(0)\n  ROOT y = f32[7] negate(x)\n", false),
        std::pair("  x = f32[8] parameter(0)\n  z = f32[8] parameter(1)\n"
                  "  ROOT y = f32[8] negate(x)\n",
                  false),
        std::pair("  x = f32[8] parameter(0)\n  i = s32[] constant(1)\n"
                  "  ROOT y = f32[8] dynamic-slice(x, i), dynamic_slice_sizes={8}\n",
                  true),
        std::pair("  x = f32[8] parameter(0)\n  i = pred[] constant(true)\n"
                  "  ROOT y = f32[8] dynamic-slice(x, i), dynamic_slice_sizes={8}\n",
                  false),
        std::pair("  x = f32[8] parameter(0)\n  i = f32[] constant(1)\n"
                  "  ROOT y = f32[8] dynamic-update-slice(x, x, i)\n",
                  false)}) {
    const auto whole = module_of_lines(lines);
    kernel::Budget budget;
    const auto relate = [&] { RelatedOnDevices(whole, local, {1, 2}, inputs, {}, budget); };
    if (is_right)
      CHECK_NOTHROW(relate());
    else
      CHECK_THROWS_AS(relate(), kernel::CheckFailure);
  }
}

TEST_CASE("a dimension of one index that a device does not have is not left out") {
  const auto module =
      module_of_lines("  x = f32[1,4] parameter(0)\n  ROOT y = f32[4] reshape(x)\n");
  const auto reshape = [&](const std::vector<Piece>& pieces) {
    kernel::Budget budget;
    RelatedOnDevices modules(module, module, {1, 2}, {{0, {}, 1, pieces}}, {}, budget);
    return modules.follows(1, {0}, {4}).has_value();
  };
  const Piece all{0, 0, {0, 0}, {0, 0}, {1, 4}};
  CHECK(reshape({all, {1, 0, {0, 0}, {0, 0}, {1, 4}}}));
  CHECK(!reshape({all}));
}

TEST_CASE("a scalar that one device does not have has no fact") {
  const auto module = module_of_lines("  x = f32[] parameter(0)\n  ROOT y = f32[] negate(x)\n");
  const auto facts = [&](const std::vector<Piece>& pieces) {
    kernel::Budget budget;
    return RelatedOnDevices(module, module, {1, 2}, {{0, {}, 1, pieces}}, {}, budget)
        .facts()
        .size();
  };
  CHECK(facts({{0, 0, {}, {}, {}}, {1, 0, {}, {}, {}}}) == 1);
  CHECK(facts({{0, 0, {}, {}, {}}}) == 0);
}

TEST_CASE("what is the same all along a dimension is not after a scatter into it") {
  const auto module = module_of_lines(
      "  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  z = f32[] constant(0)\n"
      "  x = f32[4,8] broadcast(z), dimensions={}\n"
      "  ROOT y = f32[4,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n");
  const auto copied = [](std::size_t number, const Index& sizes) {
    return Relation{number, {}, 1, {{0, 0, {0, 0}, {0, 0}, sizes}, {1, 0, {0, 0}, {0, 0}, sizes}}};
  };
  kernel::Budget budget;
  RelatedOnDevices modules(module, module, {1, 2}, {copied(0, {3, 1}), copied(1, {3, 8})}, {},
                           budget);
  const std::size_t zero = modules.add(modules.follows(2, {}, {}).value());
  const std::size_t x = modules.add(modules.follows(3, {zero}, {4, 8}).value());
  CHECK(modules.places().is_free(modules.facts()[x].places[0]));
  const Fact scattered = modules.follows(4, {x, 0, 1}, {}).value();
  CHECK(!modules.places().is_free(scattered.places[0]));
}

TEST_CASE(
    "inputs whose pieces are no combinations of segments, or whose parts are not all there, "
    "have no fact") {
  const auto whole =
      module_of_lines("  x = f32[4,4] parameter(0)\n  ROOT y = f32[4,4] negate(x)\n");
  const auto local =
      module_of_lines("  x = f32[4,4] parameter(0)\n  ROOT y = f32[4,4] negate(x)\n");
  const auto facts = [&](const Relation& relation) {
    kernel::Budget budget;
    return RelatedOnDevices(whole, local, {1, 2}, {relation}, {}, budget).facts().size();
  };
  const auto piece = [](std::size_t device, std::uint32_t part, Index of, Index at, Index sizes) {
    return Piece{device, part, std::move(of), std::move(at), std::move(sizes)};
  };
  const Piece corner = piece(0, 0, {0, 0}, {0, 0}, {2, 2});
  CHECK(facts({0, {}, 1, {corner}}) == 1);
  CHECK(facts({0, {}, 1, {corner, piece(0, 0, {0, 2}, {0, 2}, {2, 2})}}) == 1);
  CHECK(facts({0, {}, 1, {corner, corner}}) == 1);
  CHECK(facts({0, {}, 1, {corner, piece(0, 0, {2, 2}, {2, 2}, {2, 2})}}) == 0);
  CHECK(facts({0, {}, 1, {corner, piece(0, 0, {0, 3}, {0, 1}, {2, 1})}}) == 0);
  CHECK(facts({0,
               {},
               1,
               {corner, piece(0, 0, {0, 2}, {0, 2}, {2, 2}), piece(0, 0, {2, 0}, {2, 0}, {2, 2}),
                piece(0, 0, {0, 2}, {0, 2}, {2, 2})}}) == 0);
  const Piece all = piece(0, 0, {0, 0}, {0, 0}, {4, 4});
  CHECK(facts({0, Op::Add, 2, {all, piece(1, 1, {0, 0}, {0, 0}, {4, 4})}}) == 1);
  CHECK(facts({0, Op::Add, 2, {all, piece(1, 0, {0, 0}, {0, 0}, {4, 4})}}) == 0);
  CHECK(facts({0, Op::Add, 2, {all}}) == 0);
  CHECK(facts({0,
               Op::Add,
               2,
               {all, piece(0, 1, {0, 0}, {0, 0}, {4, 4}), piece(1, 0, {0, 0}, {0, 0}, {4, 4})}}) ==
        0);
  CHECK(facts({0,
               Op::Add,
               2,
               {all, piece(0, 1, {0, 0}, {0, 0}, {4, 4}), piece(1, 1, {0, 0}, {0, 0}, {4, 4})}}) ==
        0);
  CHECK(facts({0, Op::Add, 2, {all, piece(1, 1, {0, 0}, {0, 0}, {4, 3})}}) == 0);
}

TEST_CASE("views of another kind, of parts or of other numbers lead nowhere") {
  using kernel::xla::View;
  const auto whole = module_of_lines(
      "  x = f32[4,8] parameter(0)\n  i = s32[3] parameter(1)\n  ROOT y = f32[4,8] negate(x)\n");
  const auto local = module_of_lines(
      "  x = f32[2,8] parameter(0)\n  i = s32[3] parameter(1)\n  id = u32[] partition-id()\n"
      "  t = s32[2] constant({0, 2})\n  e = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
      "  r = s32[] reshape(e)\n  o = s32[3] broadcast(r), dimensions={}\n"
      "  k = s32[] constant(2)\n  re = s32[] add(r, k)\n  q = s32[3] broadcast(re), dimensions={}\n"
      "  z = s32[] constant(0)\n  zs = s32[3] broadcast(z), dimensions={}\n  h = s32[] "
      "constant(3)\n"
      "  hs = s32[3] broadcast(h), dimensions={}\n  c = s32[3] clamp(zs, i, hs)\n"
      "  ge = pred[3] compare(c, o), direction=GE\n  lt = pred[3] compare(c, q), direction=LT\n"
      "  in = pred[3] and(ge, lt)\n  m = pred[3,8] broadcast(in), dimensions={0}\n"
      "  s = s32[3] subtract(c, o)\n"
      "  g = f32[3,8] gather(x, s), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
      "  f = f32[] constant(0)\n  fs = f32[3,8] broadcast(f), dimensions={}\n"
      "  ROOT y = f32[3,8] select(m, g, fs)\n");
  const std::vector<Relation> inputs = {
      {0, {}, 1, {{0, 0, {0, 0}, {0, 0}, {2, 8}}, {1, 0, {2, 0}, {0, 0}, {2, 8}}}},
      {1, {}, 1, {{0, 0, {0}, {0}, {3}}, {1, 0, {0}, {0}, {3}}}}};
  kernel::Budget budget;
  RelatedOnDevices modules(whole, local, {1, 2}, inputs, {}, budget);
  std::map<std::string, std::size_t> nodes, facts = {{"x", 0}, {"i", 1}};
  for (std::size_t k = 0; k < modules.local().nodes.size(); ++k)
    nodes[modules.local().nodes[k].instruction->name] = k;
  using Names = std::vector<std::string>;
  const auto follow = [&](const std::string& name, const std::vector<std::size_t>& all,
                          const Index& hint) { return modules.follows(nodes.at(name), all, hint); };
  const auto derive = [&](const std::string& name, const Names& operands, const Index& hint) {
    std::vector<std::size_t> all;
    for (const std::string& each : operands) all.push_back(facts.at(each));
    facts[name] = modules.add(follow(name, all, hint).value());
  };
  derive("z", {}, {});
  derive("zs", {"z"}, {3});
  derive("h", {}, {});
  derive("hs", {"h"}, {3});
  derive("c", {"zs", "i", "hs"}, {});
  derive("ge", {"c"}, {});
  derive("lt", {"c"}, {});
  derive("in", {"ge", "lt"}, {});
  derive("m", {"in"}, {3, 8});
  derive("s", {"c"}, {});
  derive("g", {"x", "s"}, {});
  derive("f", {}, {});
  derive("fs", {"f"}, {3, 8});
  derive("y", {"m", "g", "fs"}, {});
  REQUIRE(modules.facts()[facts["y"]].partial);
  const std::size_t sum = *modules.facts()[facts["y"]].partial;
  const std::pair<std::string, Names> uses[] = {
      {"in", {"ge", "lt"}}, {"g", {"x", "s"}}, {"y", {"m", "g", "fs"}}};
  for (const auto& [name, operands] : uses) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Fact right = modules.facts()[facts[operands[k]]];
      const auto leads_nowhere = [&](const Fact& wrong) {
        std::vector<std::size_t> all;
        for (const std::string& each : operands) all.push_back(facts[each]);
        all[k] = modules.add(wrong);
        CAPTURE(name);
        CAPTURE(operands[k]);
        CHECK(!follow(name, all, {}));
      };
      for (const View::Kind kind :
           {View::Kind::Minus, View::Kind::Within, View::Kind::Where, View::Kind::Only}) {
        if (right.view && right.view->kind == kind) continue;
        Fact wrong = right;
        wrong.view = View{kind, false, {0, 2}, {2, 4}, modules.facts()[facts["c"]].tensor};
        if (right.view) wrong.view->of = right.view->of;
        leads_nowhere(wrong);
      }
      // No rule makes a view of parts.
      Fact wrong = right;
      if (!right.view) {
        wrong.partial = sum;
        leads_nowhere(wrong);
        wrong = right;
        wrong.places[0] = modules.places().segments(3, 3, {{{0, 0, 3}}, {{0, 0, 2}}});
        if (operands[k] == "fs") leads_nowhere(wrong);
        continue;
      }
      wrong.view.reset();
      if (name != "g") leads_nowhere(wrong);
      wrong = right;
      ++wrong.view->from[1];
      if (name != "in") leads_nowhere(wrong);
      wrong = right;
      wrong.tensor = modules.facts()[facts["hs"]].tensor;
      if (operands[k] == "m" || name == "in") leads_nowhere(wrong);
    }
  }
}

}  // namespace
}  // namespace p2::hlo::small
