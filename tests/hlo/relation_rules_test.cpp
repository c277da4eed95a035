// The rules of a relation at every node: where they apply, and where each of their conditions is
// broken.

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

using kernel::Verdict;

bool is_related(const Pair& pair) {
  const auto made = related(whole(pair), local(pair), relation_json(pair.held));
  if (made.index() == 1) {
    MESSAGE(std::get<1>(made));
    return false;
  }
  // Execution does not see that an index wraps around, but finds no difference.
  CHECK(executed(std::get<0>(made)) != Verdict::Rejected);
  return true;
}

/// A right pair with changes, each in `before`, `after` or `held`, by which no rule may apply.
struct WrongPair {
  const char* why;
  std::size_t pair;
  std::vector<std::vector<std::string>> changes;
};

std::vector<WrongPair> wrong_pairs() {
  return {
      {"another constant", 0, {{"after", "constant(2)", "constant(3)"}}},
      {"the other choice", 1, {{"after", "select(p, x, n)", "select(p, n, x)"}}},
      {"a function of a part of a sum",
       2,
       {{"before", "negate", "exponential"}, {"after", "negate", "exponential"}}},
      {"a product of two sums",
       2,
       {{"before", "negate(d)", "multiply(d, d)"}, {"after", "negate(d)", "multiply(d, d)"}}},
      {"a number added to every part",
       2,
       {{"before", "n = f32[4,4] negate(d)",
         "c = f32[] constant(1)\n  b = f32[4,4] broadcast(c), dimensions={}\n  n = f32[4,4] add(d, "
         "b)"},
        {"after", "n = f32[4,4] negate(d)",
         "c = f32[] constant(1)\n  b = f32[4,4] broadcast(c), dimensions={}\n  n = f32[4,4] add(d, "
         "b)"}}},
      {"a quotient by a sum",
       2,
       {{"before", "n = f32[4,4] negate(d)",
         "c = f32[] constant(1)\n  b = f32[4,4] broadcast(c), dimensions={}\n  n = f32[4,4] "
         "divide(b, d)"},
        {"after", "n = f32[4,4] negate(d)",
         "c = f32[] constant(1)\n  b = f32[4,4] broadcast(c), dimensions={}\n  n = f32[4,4] "
         "divide(b, d)"}}},
      {"a sum over the other axis", 2, {{"after", "{{0,1},{2,3}}", "{{0,2},{1,3}}"}}},
      {"the largest part", 2, {{"after", "to_apply=add", "to_apply=maximum"}}},
      {"no sum", 2, {{"after", "all-reduce(t)", "copy(t)"}}},
      {"a contraction cut on one side only", 2, {{"held", ".b b.", ".b a."}}},
      {"shards in another order", 3, {{"after", "{{0,1},{2,3}}", "{{1,0},{3,2}}"}}},
      {"a sum of parts that are whole", 4, {{"held", "+b", "+a"}}},
      {"one axis twice", 5, {{"after", "{{0,2},{1,3}}", "{{0,1},{2,3}}"}}},
      {"one axis is left out", 5, {{"after", "all-reduce(e)", "copy(e)"}}},
      {"every part begins with a number",
       6,
       {{"before", "constant(0)", "constant(1)"}, {"after", "constant(0)", "constant(1)"}}},
      {"another reducer", 7, {{"after", "maximum\n  ROOT", "add\n  ROOT"}}},
      {"a cut that is not of the first dimension of a group",
       8,
       {{"before",
         "r = f32[2,2,8] reshape(x)\n  ROOT t = f32[8,2,2] transpose(r), dimensions={2,0,1}",
         "ROOT r = f32[32] reshape(x)"},
        {"after", "f32[2,8] parameter", "f32[4,4] parameter"},
        {"after",
         "r = f32[1,2,8] reshape(x)\n  ROOT t = f32[8,1,2] transpose(r), dimensions={2,0,1}",
         "ROOT r = f32[16] reshape(x)"},
        {"held", "a. -> .a.", ".b -> b"}}},
      {"another order of dimensions",
       8,
       {{"held", ".a.", "..a"},
        {"after", "f32[8,1,2] transpose(r), dimensions={2,0,1}",
         "f32[8,2,1] transpose(r), dimensions={2,1,0}"}}},
      {"a slice of every shard",
       9,
       {{"before", "f32[4,2] slice(x), slice={[0:4], [3:5]}",
         "f32[2,8] slice(x), slice={[0:2], [0:8]}"},
        {"before", "f32[4,4] concatenate(s, s), dimensions={1}", "f32[2,8] negate(s)"},
        {"after", "f32[2,2] slice(x), slice={[0:2], [3:5]}",
         "f32[1,8] slice(x), slice={[0:1], [0:8]}"},
        {"after", "f32[2,4] concatenate(s, s), dimensions={1}", "f32[1,8] negate(s)"}}},
      {"another slice", 9, {{"after", "[3:5]", "[4:6]"}}},
      {"an end of every shard",
       10,
       {{"before", "f32[4,10] pad(x, z), padding=0_0x1_1", "f32[6,8] pad(x, z), padding=1_1x0_0"},
        {"after", "f32[2,10] pad(x, z), padding=0_0x1_1", "f32[3,8] pad(x, z), padding=1_0x0_0"}}},
      {"another padding", 10, {{"after", "constant(1)", "constant(0)"}}},
      {"a reversal of every shard", 11, {{"before", "={1}", "={0}"}, {"after", "={1}", "={0}"}}},
      {"shards gathered in another order", 12, {{"after", "{{0,2},{1,3}}", "{{2,0},{3,1}}"}}},
      {"shards gathered along another dimension",
       12,
       {{"after", "g = f32[4,8] all-gather(x), dimensions={0}",
         "g = f32[2,16] all-gather(x), dimensions={1}"},
        {"after", "negate(g)", "reshape(g)"}}},
      {"another permutation", 13, {{"after", "{1,2},{2,1}", "{1,1},{2,2}"}}},
      {"who is no target has zeros", 13, {{"after", ",{3,3}", ""}}},
      {"slices at another number", 14, {{"after", "{0,0,2,2}", "{0,2,0,2}"}}},
      {"slices of every shard",
       15,
       {{"before", "f32[4,3] dynamic-slice(x, z, i), dynamic_slice_sizes={4,3}",
         "f32[2,8] dynamic-slice(x, i, z), dynamic_slice_sizes={2,8}"},
        {"after", "f32[2,3] dynamic-slice(x, z, i), dynamic_slice_sizes={2,3}",
         "f32[1,8] dynamic-slice(x, i, z), dynamic_slice_sizes={1,8}"}}},
      {"an update of every shard",
       16,
       {{"before", "u, z, i", "u, i, z"},
        {"after", "u, z, i", "u, i, z"},
        {"before", "f32[4,2]", "f32[2,8]"},
        {"after", "f32[2,2]", "f32[1,8]"}}},
      {"counted from another number", 17, {{"after", "{0,0,2,2}", "{0,0,1,1}"}}},
      {"an element that no device has",
       18,
       {{"after", "e = s32[] constant(1)", "e = s32[] constant(0)"}}},
      {"an element that two devices have", 18, {{"after", "direction=GT", "direction=LE"}}},
      {"indices that are not clamped", 18, {{"after", "clamp(zs, i, hs)", "add(zs, i)"}}},
      {"indices that are clamped too early",
       18,
       {{"after", "h = s32[] constant(3)", "h = s32[] constant(2)"}}},
      {"an index that is not the condition's", 18, {{"after", "subtract(c, o)", "subtract(c, q)"}}},
      {"an index beyond the table", 18, {{"after", "clamp(zs, i, hs)", "copy(i)"}}},
      {"one number that is taken for all beyond it",
       18,
       {{"after", "e = s32[] constant(1)", "e = s32[] constant(2)"},
        {"after", "direction=GT", "direction=EQ"}}},
      {"conditions on different indices",
       18,
       {{"after", "gt = pred[3,1] compare(c, q)",
         "ir = s32[3,1] reverse(c), dimensions={0}\n  gt = pred[3,1] compare(ir, q)"}}},
      {"rows from different numbers",
       21,
       {{"after", "o = s32[3,1] broadcast(r), dimensions={}",
         "v = s32[3,1] broadcast(r), dimensions={}\n  j = s32[3,1] constant({{0},{1},{0}})\n  o = "
         "s32[3,1] add(v, j)"}}},
      {"rows from another number", 18, {{"after", "{0,0,2,2}", "{2,2,0,0}"}}},
      {"not zero elsewhere", 18, {{"after", "fz = f32[] constant(0)", "fz = f32[] constant(1)"}}},
      {"rows that are not there",
       19,
       {{"held", ".b a. -> ab", "a. a. -> ab"},
        {"after", "f32[4,4] parameter", "f32[2,8] parameter"},
        {"after", "={1,4}", "={1,8}"},
        {"after", "f32[2,4] gather", "f32[2,8] gather"},
        {"held", "ab", "a."}}},
      {"updates of what is not zero",
       20,
       {{"before", "constant(0)", "constant(1)"}, {"after", "constant(0)", "constant(1)"}}},
      {"updates that are not added",
       20,
       {{"before", "to_apply=add", "to_apply=maximum"},
        {"after", "index_vector_dim=1, to_apply=add", "index_vector_dim=1, to_apply=maximum"}}},
      {"indices that are cut otherwise than updates", 20, {{"held", "a. ab", "b. ab"}}},
      {"updates of other rows", 21, {{"after", "{0,0,2,2}", "{0,0,1,1}"}}},
      {"all devices have what is added to", 22, {{"after", "{0,0,1,1}", "{0,0,0,0}"}}},
      {"no device has what is added to", 22, {{"after", "{0,0,1,1}", "{1,1,1,1}"}}},
      {"devices of another axis have what is added to", 22, {{"after", "{0,0,1,1}", "{0,1,0,1}"}}},
      {"a function of every shard",
       24,
       {{"held", ".. -> ..", ".b -> .b"},
        {"after", "f32[4,8] parameter", "f32[4,4] parameter"},
        {"after", "f32[4,8] sort", "f32[4,4] sort"}}},
      {"another function", 24, {{"after", "dimensions={1}", "dimensions={0}"}}},
  };
}

TEST_CASE("every rule applies where it should, and execution agrees") {
  int number = 0;
  for (const Pair& pair : right_pairs()) {
    CAPTURE(number);
    CAPTURE(pair.after);
    CHECK(is_related(pair));
    ++number;
  }
}

TEST_CASE("what is looked up is moved with its condition, and in no other way") {
  const char* const changes[][2] = {
      // the condition of other indices
      {"m = pred[2,2,8] broadcast(or), dimensions={0,1}",
       "m = pred[2,2,8] broadcast(or), dimensions={1,0}"},
      // what is looked up at other indices
      {"l = s32[4,1] reshape(s)",
       "st = s32[2,2] transpose(s), dimensions={1,0}\n  l = s32[4,1] reshape(st)"},
      {"gr = f32[2,2,8] reshape(g)",
       "gt2 = f32[2,2,8] reshape(g)\n  gr = f32[2,2,8] transpose(gt2), dimensions={1,0,2}"},
      {"g = f32[4,1,8] gather(x, l)",
       "lr = s32[4,1] reverse(l), dimensions={0}\n  g = f32[4,1,8] gather(x, lr)"},
      {"h = s32[] constant(3)", "h = s32[] constant(2)"},
      {"gr = f32[2,2,8] reshape(g)",
       "gs = f32[2,16] reshape(g)\n  gv = f32[2,16] reverse(gs), dimensions={1}\n  gr = f32[2,2,8] "
       "reshape(gv)"}};
  for (const auto& [from, to] : changes) {
    CAPTURE(to);
    Pair pair = looked_up_pairs()[0];
    pair.after = replaced(pair.after, from, to);
    CHECK(related(whole(pair), local(pair), relation_json(pair.held)).index() == 1);
  }
  // Moved in the same way, both are what they were.
  Pair pair = looked_up_pairs()[0];
  pair.before = replaced(pair.before, "ROOT y = f32[2,2,8] gather", "g = f32[2,2,8] gather") +
                "  ROOT y = f32[2,2,8] transpose(g), dimensions={1,0,2}\n";
  pair.after = replaced(pair.after, "gr = f32[2,2,8] reshape(g)",
                        "gs = f32[2,2,8] reshape(g)\n  gr = f32[2,2,8] transpose(gs), "
                        "dimensions={1,0,2}");
  CHECK(related(whole(pair), local(pair), relation_json(pair.held)).index() == 1);
  pair.after =
      replaced(pair.after, "broadcast(or), dimensions={0,1}", "broadcast(or), dimensions={1,0}");
  CHECK(is_related(pair));
  Pair listed = looked_up_pairs()[2];
  listed.after =
      replaced(listed.after, "l = s32[6,1] reshape(i)",
               "it = s32[3,2] transpose(i), dimensions={1,0}\n  l = s32[6,1] reshape(it)");
  CHECK(related(whole(listed), local(listed), relation_json(listed.held)).index() == 1);
}

TEST_CASE("no rule applies where one of its conditions is broken") {
  const std::vector<Pair> pairs = right_pairs();
  for (const WrongPair& wrong : wrong_pairs()) {
    CAPTURE(std::string(wrong.why));
    Pair pair = pairs.at(wrong.pair);
    for (const auto& change : wrong.changes) {
      std::string& text = change[0] == "before"  ? pair.before
                          : change[0] == "after" ? pair.after
                                                 : pair.held;
      const std::size_t at = text.find(change[1]);
      REQUIRE(at != std::string::npos);
      text.replace(at, change[1].size(), change[2]);
    }
    CAPTURE(pair.after);
    CHECK(related(whole(pair), local(pair), relation_json(pair.held)).index() == 1);
  }
}

/// What `reducer` makes of x at indices, of all updates or of those of a device, and what follows.
std::string scattered_by(const std::string& reducer, int updates, const std::string& rest) {
  return fmt::format(
      "  i = s32[{0},1] parameter(0)\n  u = f32[{0}] parameter(1)\n  x = f32[6] parameter(2)\n"
      "  {1} = f32[6] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, "
      "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={2}\n{3}",
      updates, rest.empty() ? "ROOT y" : "s", reducer, rest);
}

TEST_CASE("maxima over segments are those of what devices have of them") {
  std::vector<Pair> pairs;
  for (const char* reducer : {"maximum", "minimum", "add"}) {
    const std::string all =
        fmt::format("  ROOT y = f32[6] all-reduce(s), {}, to_apply={}\n", kAlongA, reducer);
    pairs.push_back({scattered_by(reducer, 4, ""), scattered_by(reducer, 2, all), "a. a . -> ."});
  }
  // What is added to counts once.
  CHECK(verdict_of(pairs.back()) == kernel::Verdict::Incomplete);
  pairs.pop_back();
  check_related(pairs, {{0, "to_apply=maximum\n  ROOT", "to_apply=minimum\n  ROOT"},
                        {0, "to_apply=maximum\n  ROOT", "to_apply=add\n  ROOT"},
                        {0, "ids=true, to_apply=maximum", "ids=true, to_apply=add"},
                        {0, "{{0,2},{1,3}}", "{{0,1},{2,3}}"},
                        {1, "to_apply=minimum\n  ROOT", "to_apply=maximum\n  ROOT"},
                        {1, "ids=true, to_apply=minimum", "ids=true, to_apply=maximum"}});
}

}  // namespace
}  // namespace p2::hlo
