// Relations through loops and all-to-alls: where they are found, and where what looks alike is not
// equal.

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

/// A right pair with one change in each of these texts; none if it is empty.
struct LoopChange {
  const char* why;
  std::size_t pair;
  std::string where;  ///< before, after, both: entries or computations
  std::string from, to;
};

const std::vector<LoopChange>& changes() {
  static const std::vector<LoopChange> kAll = {
      {"it begins later", 0, "after",
       "zero = s32[] constant(0)\n  t =", "zero = s32[] constant(1)\n  t ="},
      {"it ends sooner", 0, "after", "constant(3)", "constant(2)"},
      {"it also ends when the bound is reached", 0, "after", "direction=LT", "direction=LE"},
      {"two are left out", 0, "after", "one = s32[] constant(1)", "one = s32[] constant(2)"},
      {"another weight", 0, "after", "dynamic-slice(v, i,", "dynamic-slice(v, next,"},
      {"always the first weight", 0, "after", "dynamic-slice(w, i,", "dynamic-slice(w, zero,"},
      {"a sum is missing in every iteration", 0, "after", "add(x, s)", "add(x, d)"},
      {"a sum over the other axis", 0, "after", "{{0,1},{2,3}}", "{{0,2},{1,3}}"},
      {"it goes on with what it began with", 0, "after", "tuple(next, a, v, w)",
       "tuple(next, s, v, w)"},
      {"it goes on for other devices", 0, "after", "n = s32[] constant(3)",
       "u = u32[] partition-id()\n  n = s32[] convert(u)"},
      {"every part begins with one", 1, "both",
       "z = f32[] constant(0)\n  g =", "z = f32[] constant(1)\n  g ="},
      {"parts are multiplied", 1, "both", "a = f32[8,8] add(g, d)", "a = f32[8,8] multiply(g, d)"},
      {"a number is added to every part", 1, "both", "a = f32[8,8] add(g, d)",
       "k = f32[] constant(1)\n  kb = f32[8,8] broadcast(k), dimensions={}\n"
       "  ga = f32[8,8] add(g, d)\n  a = f32[8,8] add(ga, kb)"},
      {"parts are divided by the number of the iteration, which begins with zero", 1, "both",
       "a = f32[8,8] add(g, d)",
       "c = f32[] convert(i)\n  cb = f32[8,8] broadcast(c), dimensions={}\n"
       "  q = f32[8,8] divide(d, cb)\n  a = f32[8,8] add(g, q)"},
      {"parts are multiplied by a function of that number with a pole at zero", 1, "both",
       "a = f32[8,8] add(g, d)",
       "c = f32[] convert(i)\n  k = f32[] rsqrt(c)\n"
       "  cb = f32[8,8] broadcast(k), dimensions={}\n"
       "  q = f32[8,8] multiply(d, cb)\n  a = f32[8,8] add(g, q)"},
      {"the sum is missing", 1, "after", "all-reduce(y)", "copy(y)"},
      {"the sum is over the other axis", 1, "after", "{{0,2},{1,3}}", "{{0,1},{2,3}}"},
      {"it is stacked elsewhere", 1, "after", "(s, rs, i, zero)", "(s, rs, next, zero)"},
      {"results change places", 2, "after", "tuple(next, a, m)", "tuple(next, m, a)"},
      {"outputs change places", 2, "after", "tuple(y, q)", "tuple(q, y)"},
      {"rows of every device in another order", 3, "after", "{{0,2},{1,3}}", "{{2,0},{3,1}}"},
      {"devices of the other axis", 3, "after", "{{0,2},{1,3}}", "{{0,1},{2,3}}"},
      {"rows are not put together", 3, "after", "dimensions={1,0,2}", "dimensions={0,1,2}"},
      {"columns of another device", 3, "held", ".a", ".b"},
      {"another constant in the first iteration", 4, "after", "constant(1.5)", "constant(1)"},
      {"it is chosen in the second iteration", 4, "after", "compare(i, zero)", "compare(i, one)"},
      {"it is chosen in others than the first", 4, "after", "direction=EQ", "direction=NE"},
      {"it is chosen in the first two", 4, "after", "compare(i, zero), direction=EQ",
       "compare(i, one), direction=LE"},
      {"the counter begins later", 4, "after",
       "zero = s32[] constant(0)\n  b =", "zero = s32[] constant(1)\n  b ="},
      {"the array is chosen in the first", 4, "after", "select(w, c, m)", "select(w, m, c)"},
      {"one of two is what was there", 4, "after", "multiply(s, s)", "multiply(s, m)"},
      {"two constants are chosen", 4, "after",
       "  k = f32[] constant(1.5)\n  c = f32[2,8] broadcast(k), dimensions={}\n"
       "  s = f32[2,8] select(w, c, m)\n  d = f32[2,8] multiply(s, s)\n",
       "  k2 = f32[] constant(2)\n  c2 = f32[2,8] broadcast(k2), dimensions={}\n"
       "  u = f32[2,8] select(w, c2, m)\n  k = f32[] constant(1.5)\n"
       "  c = f32[2,8] broadcast(k), dimensions={}\n  s = f32[2,8] select(w, c, m)\n"
       "  d = f32[2,8] multiply(u, s)\n"},
      {"another array is what was there", 4, "both", "tuple(next, n, x)", "tuple(next, n, m)"},
      {"it is chosen in all", 4, "after", "compare(i, zero)", "compare(zero, zero)"},
      {"it is left as it is", 4, "after", "tuple(next, n, x)", "tuple(next, m, n)"},
      {"what it adds to is returned", 4, "after", "tuple(next, n, x)", "tuple(next, s, x)"},
      {"there is no iteration", 4, "both", "n = s32[] constant(3)", "n = s32[] constant(0)"},
      {"it is turned in the first iteration", 5, "after", "select(w, m, r)", "select(w, r, m)"},
      {"it is turned but in the second", 5, "after", "compare(zero, i)", "compare(one, i)"},
      {"it is turned in the first alone", 5, "after", "direction=EQ", "direction=NE"},
      {"it is not turned", 5, "after", "reverse(g), dimensions={1}", "copy(g)"},
      {"it is turned without the sign", 5, "after", "reverse(g)", "reverse(m)"},
      {"what it began with is left", 5, "after", "copy(t)", "copy(s)"},
      {"it is turned before, too", 5, "after", "copy(t)", "reverse(t), dimensions={1}"},
      {"the counter begins below", 5, "after",
       "zero = s32[] constant(0)\n  k =", "zero = s32[] constant(-1)\n  k ="},
      {"what is turned depends on the iteration", 5, "both", "negate(", "subtract(js, "},
  };
  return kAll;
}

bool replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

/// What execution says, whatever a buffer is allocated with.
Verdict truth_of(Pair pair) {
  replace(pair.after, "  b = f32[2,8] custom-call(), custom_call_target=\"AllocateBuffer\"\n",
          "  j = f32[] constant(7)\n  b = f32[2,8] broadcast(j), dimensions={}\n");
  ComparisonOptions options;
  options.relation = relation_json(pair.held);
  options.relation_file = "relation.json";
  options.engine = ModuleEngine::Interpreter;
  const auto decision = compared(whole(pair), local(pair), options);
  return decision.outcome == Outcome::Refuted       ? Verdict::Rejected
         : decision.outcome == Outcome::Established ? Verdict::Accepted
                                                    : Verdict::Incomplete;
}

TEST_CASE("modules are related through loops and all-to-alls") {
  for (const Pair& pair : loop_pairs()) {
    CAPTURE(local(pair));
    const auto made = related(whole(pair), local(pair), relation_json(pair.held));
    if (made.index() == 1) MESSAGE(std::get<1>(made));
    REQUIRE(made.index() == 0);
    CHECK(executed(std::get<0>(made)) == Verdict::Accepted);
  }
}

TEST_CASE("no relation is found through a loop or all-to-all that differs") {
  int refuted = 0;
  for (const LoopChange& change : changes()) {
    CAPTURE(std::string(change.why));
    Pair pair = loop_pairs().at(change.pair);
    bool is_changed = false;
    const auto alter = [&](std::string& text) {
      is_changed = replace(text, change.from, change.to) || is_changed;
    };
    if (change.where == "held") alter(pair.held);
    if (change.where == "before" || change.where == "both") {
      alter(pair.before);
      alter(pair.computations_before);
    }
    if (change.where == "after" || change.where == "both") {
      alter(pair.after);
      alter(pair.computations_after);
    }
    REQUIRE(is_changed);
    CHECK(verdict_of(pair) != Verdict::Accepted);
    const Verdict truth = truth_of(pair);
    CHECK(truth != Verdict::Accepted);
    if (truth == Verdict::Rejected) ++refuted;
  }
  CHECK(refuted + 4 >= static_cast<int>(changes().size()));
}

TEST_CASE("parts are divided by a number of the iteration that is nowhere zero") {
  // By its constants, too: the counter, which is, is changed by what makes no zero of it.
  Pair pair = loop_pairs().at(1);
  for (std::string* text : {&pair.computations_before, &pair.computations_after}) {
    REQUIRE(replace(*text, "a = f32[8,8] add(g, d)",
                    "c = f32[] convert(i)\n  o1 = f32[] constant(1)\n  k = f32[] maximum(c, o1)\n"
                    "  cb = f32[8,8] broadcast(k), dimensions={}\n"
                    "  q = f32[8,8] divide(d, cb)\n  a = f32[8,8] add(g, q)"));
  }
  CHECK(verdict_of(pair) == Verdict::Accepted);
}

TEST_CASE("the evidence of a right loop is none of one that differs") {
  for (const LoopChange& change : changes()) {
    if (change.where != "after") continue;
    CAPTURE(std::string(change.why));
    Pair pair = loop_pairs().at(change.pair);
    const auto made = related(whole(pair), local(pair), relation_json(pair.held));
    REQUIRE(made.index() == 0);
    CertificateFiles files = std::get<0>(made);
    if (!replace(pair.after, change.from, change.to))
      REQUIRE(replace(pair.computations_after, change.from, change.to));
    auto problem = nlohmann::ordered_json::parse(files.at("problem.json"));
    problem["after"] = local(pair);
    files["problem.json"] = problem.dump();
    files.erase("manifest.json");
    add_manifest("modules-equal", {}, files);
    CHECK(check_certificate(files).verdict != Verdict::Accepted);
  }
}

/// x is added to itself in every iteration.
std::string doubling(const std::string& name, const std::string& inside) {
  return fmt::format(
      "{0}_body {{\n  p = (s32[], f32[4,8]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  x = f32[4,8] get-tuple-element(p), index=1\n"
      "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n{1}"
      "  ROOT r = (s32[], f32[4,8]) tuple(next, y)\n}}\n"
      "{0}_condition {{\n  p = (s32[], f32[4,8]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT\n}}\n",
      name, inside);
}

std::string called(const std::string& name, const std::string& x) {
  return fmt::format(
      "  z{0} = s32[] constant(0)\n  t{0} = (s32[], f32[4,8]) tuple(z{0}, {1})\n"
      "  l{0} = (s32[], f32[4,8]) while(t{0}), condition={0}_condition, body={0}_body\n"
      "  y{0} = f32[4,8] get-tuple-element(l{0}), index=1\n",
      name, x);
}

TEST_CASE("a loop within a loop is not the loop around it") {
  const std::string twice = "  y = f32[4,8] add(x, x)\n";
  const std::string x = "  x = f32[4,8] parameter(0)\n";
  const std::string nested =
      doubling("in", twice) + doubling("out", called("in", "x") + "  y = f32[4,8] copy(yin)\n");
  const Pair once{x + called("in", "x") + "  ROOT o = f32[4,8] negate(yin)\n",
                  x + called("in", "x") + "  ROOT o = f32[4,8] negate(yin)\n", ".. -> ..",
                  doubling("in", twice), doubling("in", twice)};
  CHECK(verdict_of(once) == Verdict::Accepted);
  Pair nine = once;
  nine.after = x + called("out", "x") + "  ROOT o = f32[4,8] negate(yout)\n";
  nine.computations_after = nested;
  CHECK(verdict_of(nine) == Verdict::Incomplete);
  CHECK(truth_of(nine) == Verdict::Rejected);
  nine.before = nine.after;
  nine.computations_before = nested;
  CHECK(verdict_of(nine) == Verdict::Accepted);
  // One after the other: each is the one, but both together are not.
  Pair six = once;
  six.after =
      x + called("in", "x") + called("again", "yin") + "  ROOT o = f32[4,8] negate(yagain)\n";
  six.computations_after = doubling("in", twice) + doubling("again", twice);
  CHECK(verdict_of(six) == Verdict::Incomplete);
  six.before = six.after;
  six.computations_before = six.computations_after;
  CHECK(verdict_of(six) == Verdict::Accepted);
}

TEST_CASE("a loop whose condition is computed from data is related where that is not cut") {
  const auto loop = [](int rows, const std::string& condition) {
    return fmt::format(
        "loop_body {{\n  p = (f32[{0},8]) parameter(0)\n"
        "  x = f32[{0},8] get-tuple-element(p), index=0\n  y = f32[{0},8] add(x, x)\n"
        "  ROOT r = (f32[{0},8]) tuple(y)\n}}\n"
        "loop_condition {{\n  p = (f32[{0},8]) parameter(0)\n"
        "  x = f32[{0},8] get-tuple-element(p), index=0\n  z = f32[] constant(0)\n"
        "  s = f32[] reduce(x, z), dimensions={{0,1}}, to_apply=add\n{1}"
        "  n = f32[] constant(100)\n  ROOT c = pred[] compare(t, n), direction=LT\n}}\n",
        rows, condition);
  };
  const auto entry = [](int rows) {
    return fmt::format(
        "  x = f32[{0},8] parameter(0)\n  t = (f32[{0},8]) tuple(x)\n"
        "  l = (f32[{0},8]) while(t), condition=loop_condition, body=loop_body\n"
        "  ROOT y = f32[{0},8] get-tuple-element(l), index=0\n",
        rows);
  };
  const std::string sum = fmt::format("  t = f32[] all-reduce(s), {}, to_apply=add\n", kAlongA);
  const std::string none = "  t = f32[] copy(s)\n";
  Pair pair{entry(4), entry(2), "a. -> a.", loop(4, none), loop(2, sum)};
  CHECK(verdict_of(pair) == Verdict::Accepted);
  // Every device would go on until its own rows are large.
  pair.computations_after = loop(2, none);
  CHECK(verdict_of(pair) == Verdict::Incomplete);
}

}  // namespace
}  // namespace p2::hlo
