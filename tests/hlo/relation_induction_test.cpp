// What is assumed of the arrays that a loop changes: it has to hold of what the loop begins with,
// on devices that are executed element by element.

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_claims.h"
#include "tests/hlo/small_programs.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Fact;
using kernel::xla::Op;

constexpr std::size_t kDevices = 4;

constexpr const char* kGoesOn = "  ROOT g = pred[] copy(last)\n";

struct Variable {
  std::string name, shape;
};

std::string shape_of(const std::string& type, const Index& sizes) {
  return fmt::format("{}[{}]", type, fmt::join(sizes, ","));
}

/// A module that changes these arrays in a loop; the last one, a truth value, says whether it goes
/// on. `next`: what the iteration makes of them, by number.
std::string with_loop(std::string text, const std::vector<Variable>& variables,
                      const std::vector<std::string>& next, const std::string& suffix = "",
                      const std::string& goes_on = kGoesOn) {
  std::string shapes, names, elements, results;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const std::string comma = k == 0 ? "" : ", ";
    shapes += comma + variables[k].shape;
    names += comma + variables[k].name;
    elements +=
        fmt::format("  a{0} = {1} get-tuple-element(p), index={0}\n", k, variables[k].shape);
    results += comma + fmt::format("b{}", k);
    elements += fmt::format("  b{0} = {1} {2}(a{0})\n", k, variables[k].shape, next[k]);
  }
  const std::string loop = fmt::format(
      "body{4} {{\n  p = ({0}) parameter(0)\n{1}  ROOT o = ({0}) tuple({2})\n}}\n\n"
      "condition{4} {{\n  p = ({0}) parameter(0)\n"
      "  last = pred[] get-tuple-element(p), index={3}\n{5}}}\n\n",
      shapes, elements, results, variables.size() - 1, suffix, goes_on);
  text.insert(text.find("ENTRY"), loop);
  text.erase(text.find("ROOT ", text.find("ENTRY")), 5);
  text.erase(text.rfind("}\n"));
  return text + fmt::format(
                    "  t{2} = ({0}) tuple({1})\n"
                    "  ROOT l{2} = ({0}) while(t{2}), condition=condition{2}, body=body{2}\n}}\n",
                    shapes, names, suffix);
}

/// An iteration makes the opposite of everything: nothing is what it was.
std::vector<std::string> opposites(const std::vector<Variable>& variables) {
  std::vector<std::string> all;
  for (const Variable& each : variables)
    all.push_back(each.shape.starts_with("pred") ? "not" : "negate");
  return all;
}

/// Arrays that a loop of one module begins with, of every kind of fact, and tensors that one of the
/// other begins with.
struct Loops {
  SmallProgram program{0, kDevices};
  std::vector<std::size_t> arrays;  ///< steps
  std::vector<Variable> local, whole;

  Loops() {
    const std::vector<Segments> tiles = {{{0, 0, 2}}, {{0, 2, 2}}, {{0, 0, 2}}, {{0, 2, 2}}};
    const std::vector<Segments> all(kDevices, {{0, 0, 4}});
    const std::vector<Segments> pairs(kDevices, {{0, 0, 2}});
    const Axis cut{2, 4, tiles}, uncut{2, 2, pairs};
    const std::size_t x = program.parameter("s32", {cut}, std::nullopt, {});
    const std::size_t parts = program.parameter("s32", {uncut}, Op::Add, {0, 1, 0, 1});
    const std::size_t largest = program.parameter("s32", {uncut}, Op::Maximum, {0, 1, 0, 1});
    const std::size_t held = program.parameter("s32", {uncut}, std::nullopt, {});
    const std::size_t goes_on = program.parameter("pred", {}, std::nullopt, {});
    const std::size_t scalar = program.parameter("s32", {}, Op::Add, {0, 1, 0, 1});
    // Of a third of these elements no device has any.
    const std::size_t lacking = program.parameter("s32", {{2, 6, tiles}}, std::nullopt, {});
    const std::size_t zero = program.splat("s32", "0", {{2, 2, {}}});
    const std::size_t free = program.splat("s32", "3", {{2, 4, {}}});
    const std::size_t wide =
        program.broadcast(program.by_device("s32", {0, 2, 0, 2}), {}, {{2, 2, {}}});
    const std::size_t view = program.apply("subtract", {x, wide});
    const std::size_t one = program.constant("s32", "0");
    Step sum{"reduce", "s32", {"reduce", "add", {{0}}}, {}, {x, one}, "", {}};
    sum.attributes = ", dimensions={0}, to_apply=add_s32";
    const std::size_t total = program.add(sum);
    sum.operands[0] = lacking;
    const std::size_t share = program.add(sum);
    const std::size_t free_parts = program.broadcast(scalar, {}, {{2, 4, {}}});
    arrays = {x, parts, largest, held, zero, free, view, total, share, free_parts, goes_on};
    for (const std::size_t each : arrays)
      local.push_back(
          {fmt::format("v{}", each), shape_of(program.at(each).type, program.at(each).sizes)});
    whole = {{"p0", "s32[4]"}, {"p1", "s32[2]"}, {"p2", "s32[2]"}, {"p3", "s32[2]"},
             {"n", "s32[2]"},  {"m", "s32[4]"},  {"s", "s32[]"},   {"q", "s32[]"},
             {"w", "s32[4]"},  {"p4", "pred[]"}};
  }

  std::string whole_text(const std::string& goes_on = kGoesOn) const {
    std::string text = program.whole_text();
    text.insert(text.find("ENTRY"), reducer_text("add", "s32"));
    text.insert(text.find("  ROOT r"),
                "  o = s32[] constant(0)\n  e = s32[] constant(3)\n"
                "  n = s32[2] broadcast(o), dimensions={}\n"
                "  m = s32[4] broadcast(e), dimensions={}\n"
                "  s = s32[] reduce(p0, o), dimensions={0}, to_apply=add_s32\n"
                "  q = s32[] reduce(p6, o), dimensions={0}, to_apply=add_s32\n"
                "  w = s32[4] broadcast(p5), dimensions={}\n");
    return with_loop(text, whole, opposites(whole), "", goes_on);
  }
};

TEST_CASE("what is assumed of a loop's variables is so of what it begins with") {
  Loops loops;
  const std::string whole = loops.whole_text();
  const std::string local =
      with_loop(loops.program.local_text(), loops.local, opposites(loops.local));
  CAPTURE(whole);
  CAPTURE(local);
  const auto arrays = loops.program.executed();
  DerivedFacts derived(loops.program, whole, local);
  auto& modules = derived.modules;
  REQUIRE(modules.local().loops.size() == 1);
  const auto& loop = modules.local().loops[0];
  REQUIRE(loop.variables.size() == loops.arrays.size());
  WholeTensors wholes(modules.tensors(), loops.program.inputs());
  // Places of dimensions: as they are, or segments that begin by device; then parts by device.
  const std::vector<Index> places = {
      {},     {0},       {2, 1, 0, 2}, {2, 2, 0, 2}, {2, 1, 2, 0}, {1, 1, 0}, {4, 1, 0, 1, 2, 0},
      {0, 1}, {3, 1, 0}, {2, 0, 0, 2}, {2, 1}};
  const std::vector<Index> parts = {{}, {2, 1, 0, 1}, {2, 2, 0, 1}, {1, 1, 0}, {2, 1, 0, 1, 0}};
  std::size_t follow = 0, refused = 0;
  std::set<std::size_t> with;  // facts
  for (std::size_t k = 0; k < loop.variables.size(); ++k) {
    for (std::size_t fact = 0; fact < modules.facts().size(); ++fact) {
      if (modules.facts()[fact].node != loop.first[k]) continue;
      for (std::size_t number = 0; number <= modules.variables().size(); ++number) {
        for (const Index& place : places) {
          for (const Index& part : parts) {
            Index hint = {static_cast<std::int64_t>(number)};
            hint.insert(hint.end(), place.begin(), place.end());
            hint.insert(hint.end(), part.begin(), part.end());
            std::optional<Fact> found;
            try {
              found = modules.follows(loop.variables[k], {fact}, hint);
            } catch (const kernel::CheckFailure&) {
            }
            if (!found) {
              ++refused;
              continue;
            }
            ++follow;
            with.insert(fact);
            CHECK(found->node == loop.variables[k]);
            REQUIRE(number < modules.variables().size());
            CHECK(found->tensor == modules.variables()[number].tensor);
            found->tensor = modules.variables()[number].first;
            const std::string why = contradiction(modules, *found, arrays[loops.arrays[k]], wholes);
            CHECK_MESSAGE(why.empty(), loops.local[k].name, " as ", number, " by {",
                          fmt::format("{}", fmt::join(hint, ",")), "}: ", why);
          }
        }
      }
    }
    // Not from nothing, and not from a fact about another array.
    CHECK(!modules.follows(loop.variables[k], {}, {0}));
    CHECK(!modules.follows(loop.variables[k], {0, 0}, {0}));
    // Lists that end too soon, that count in nothing, and what is behind all of them.
    for (std::size_t fact = 0; fact < modules.facts().size(); ++fact) {
      if (modules.facts()[fact].node != loop.first[k]) continue;
      for (std::size_t number = 0; number < modules.variables().size(); ++number) {
        std::vector<Index> wrong = {{2, 0, 0, 2}, {0, 1, 0}, {2, 1, 0}, {2, 1}, {-1, 1, 0}};
        const std::size_t rank = modules.local().nodes[loop.first[k]].shape.sizes.size();
        for (std::size_t all = wrong.size(), each = 0; each < all; ++each) {
          wrong.push_back(wrong[each]);  // Of parts: no dimension is before.
          wrong.back().insert(wrong.back().begin(), rank, 0);
        }
        wrong.emplace_back(rank, 0);
        wrong.back().insert(wrong.back().end(), {2, 1, 0, 1, 0});
        for (Index& each : wrong) {
          each.insert(each.begin(), static_cast<std::int64_t>(number));
          each.push_back(2);  // Behind the end, in memory.
          each.pop_back();
          CAPTURE(fmt::format("{}", fmt::join(each, ",")));
          CHECK(!modules.follows(loop.variables[k], {fact}, each));
        }
      }
    }
  }
  // Parts of a tensor that is zero are no zeros.
  const std::size_t zero = 4;
  for (std::size_t fact = 0; fact < modules.facts().size(); ++fact) {
    if (modules.facts()[fact].node != loop.first[zero]) continue;
    Fact forged = modules.facts()[fact];
    for (std::size_t& each : forged.places) each = modules.places().identity(2);
    const Index hint = {4, 0, 2, 1, 0, 1};
    CHECK(modules.follows(loop.variables[zero], {modules.add(forged)}, hint));
    forged.partial = modules.places().partial({Op::Add, {0, 0, 0, 0}, {0, 1, 2, 3}});
    CHECK(!modules.follows(loop.variables[zero], {modules.add(forged)}, hint));
    forged.partial.reset();
    forged.view.emplace();
    CHECK(!modules.follows(loop.variables[zero], {modules.add(forged)}, hint));
    break;
  }
  CHECK(with.size() >= 8);
  CHECK(follow >= 20);
  CHECK(refused > follow);
}

TEST_CASE("a loop is one loop of the other module, and goes on as it does") {
  Loops loops;
  const std::string whole = with_loop(loops.whole_text(), loops.whole, opposites(loops.whole), "2");
  const std::string local =
      with_loop(loops.program.local_text(), loops.local, opposites(loops.local));
  DerivedFacts derived(loops.program, whole, local);
  auto& modules = derived.modules;
  const auto& loop = modules.local().loops.at(0);
  const std::size_t count = loops.whole.size();
  REQUIRE(modules.variables().size() == 2 * count);
  const auto fact_of = [&](std::size_t variable) {
    for (std::size_t fact = 0; fact < modules.facts().size(); ++fact) {
      if (modules.facts()[fact].node == loop.first[variable]) return fact;
    }
    throw std::out_of_range("a fact about what the loop begins with");
  };
  const auto number = [](std::size_t of) { return static_cast<std::int64_t>(of); };
  const std::size_t held = 3, cut = 0, last = loop.variables.size() - 1;
  const auto first = modules.follows(loop.variables[held], {fact_of(held)}, {number(held)});
  REQUIRE(first);
  const std::size_t assumed = modules.add(*first);
  // Not of another loop.
  CHECK(!modules.follows(loop.variables[cut], {fact_of(cut)}, {number(count + cut)}));
  const auto goes_on = modules.follows(loop.variables[last], {fact_of(last)}, {number(count - 1)});
  REQUIRE(goes_on);
  const std::size_t condition = modules.add(*goes_on);
  REQUIRE(loop.condition == loop.variables[last]);
  std::vector<std::size_t> next;
  for (const auto& [variable, fact] : {std::pair(held, assumed), std::pair(last, condition)}) {
    const auto result = modules.follows(loop.next[variable], {fact}, {});
    REQUIRE(result);
    next.push_back(modules.add(*result));
  }
  const auto after = [&](std::size_t variable, const std::vector<std::size_t>& facts,
                         std::int64_t which) {
    return modules.follows(loop.results[variable], facts, {which}).has_value();
  };
  CHECK(!after(held, {}, 0));
  CHECK(!after(held, {next[0], next[1]}, 0));
  CHECK(!after(held, {next[1], next[0], condition}, 0));
  CHECK(!after(held, {assumed, next[1], condition}, 0));
  CHECK(!after(held, {next[0], next[1], next[1]}, 0));
  CHECK(!after(held, {next[0], next[1], assumed}, 0));
  CHECK(!after(held, {next[0], next[1], condition}, 2));
  CHECK(after(held, {next[0], next[1], condition}, 0));
  // Of what was assumed, and no more.
  CHECK(after(held, {}, 0));
  CHECK(!after(held, {}, 1));
  CHECK(!after(cut, {}, 0));
  CHECK(!after(held, {next[0], next[1], condition}, 0));
  CHECK(after(last, {}, 1));
  CHECK(!modules.follows(loop.variables[cut], {fact_of(cut)}, {number(cut)}));
}

TEST_CASE("a loop that goes on by another array is not related") {
  Loops loops;
  const auto pred = loops.local.back();
  const std::size_t other = loops.program.parameter("pred", {}, std::nullopt, {});
  loops.local = {pred, {fmt::format("v{}", other), "pred[]"}};
  loops.whole = {loops.whole.back()};
  DerivedFacts derived(loops.program, loops.whole_text(),
                       with_loop(loops.program.local_text(), loops.local, opposites(loops.local)));
  auto& modules = derived.modules;
  const auto& loop = modules.local().loops.at(0);
  for (std::size_t fact = 0; fact < modules.facts().size(); ++fact) {
    if (modules.facts()[fact].node != loop.first[0]) continue;
    const auto variable = modules.follows(loop.variables[0], {fact}, {0});
    REQUIRE(variable);
    const std::size_t assumed = modules.add(*variable);
    const auto next = modules.follows(loop.next[0], {assumed}, {});
    REQUIRE(next);
    // The fact is about the condition of the other loop, but not about that of this one.
    CHECK(!modules.follows(loop.results[0], {modules.add(*next), assumed}, {0}));
    return;
  }
  FAIL("no fact");
}

TEST_CASE("a loop goes on by what is known on every device") {
  Loops loops;
  const std::string otherwise = "  ROOT g = pred[] not(last)\n";
  loops.local = {loops.local.back()};
  loops.whole = {loops.whole.back()};
  const std::string whole = loops.whole_text(otherwise);
  const std::string local =
      with_loop(loops.program.local_text(), loops.local, opposites(loops.local), "", otherwise);
  DerivedFacts derived(loops.program, whole, local);
  auto& modules = derived.modules;
  const auto& loop = modules.local().loops.at(0);
  std::size_t fact = 0;
  while (modules.facts().at(fact).node != loop.first[0]) ++fact;
  const std::size_t assumed = modules.add(*modules.follows(loop.variables[0], {fact}, {0}));
  const std::size_t next = modules.add(*modules.follows(loop.next[0], {assumed}, {}));
  const Fact known = *modules.follows(loop.condition, {assumed}, {});
  const auto closes = [&](const Fact& goes_on) {
    return modules.follows(loop.results[0], {next, modules.add(goes_on)}, {0}).has_value();
  };
  std::vector<Fact> others(3, known);
  others[0].partial = modules.places().partial({Op::Or, {0, 0, 0, 0}, {0, 1, 2, 3}});
  others[1].view.emplace();
  others[2].share.emplace();
  for (const Fact& each : others) CHECK(!closes(each));
  CHECK(closes(known));
}

TEST_CASE("a loop and one within it are no one loop") {
  SmallProgram program(0, kDevices);
  const std::vector<Segments> pairs(kDevices, {{0, 0, 2}});
  program.parameter("s32", {{2, 2, pairs}}, std::nullopt, {});
  program.parameter("pred", {}, std::nullopt, {});
  const std::vector<Variable> variables = {{"p0", "s32[2]"}, {"p1", "pred[]"}};
  const std::string whole = with_loop(program.whole_text(), variables, opposites(variables));
  const auto computations = [](const std::string& name, const std::string& more,
                               const std::string& shapes, const std::string& kept) {
    return fmt::format(
        "{0}_body {{\n  p = (s32[2], pred[]{2}) parameter(0)\n"
        "  a = s32[2] get-tuple-element(p), index=0\n  g = pred[] get-tuple-element(p), index=1\n"
        "{1}  b = s32[2] negate(a)\n  h = pred[] not(g)\n"
        "  ROOT o = (s32[2], pred[]{2}) tuple(b, h{3})\n}}\n\n"
        "{0}_condition {{\n  p = (s32[2], pred[]{2}) parameter(0)\n"
        "  ROOT g = pred[] get-tuple-element(p), index=1\n}}\n\n",
        name, more, shapes, kept);
  };
  const auto called = [](const std::string& name, const std::string& shapes,
                         const std::string& first) {
    return fmt::format(
        "{0} = (s32[2], pred[]{1}) while({2}), condition={0}_condition, "
        "body={0}_body\n",
        name, shapes, first);
  };
  const std::string more = ", s32[2], pred[]";
  std::string local = program.local_text();
  local.erase(local.find("ROOT "), 5);
  local.erase(local.rfind("}\n"));
  local.insert(local.find("ENTRY"), computations("inner", "", "", "") +
                                        computations("outer",
                                                     "  x = s32[2] get-tuple-element(p), index=2\n"
                                                     "  q = pred[] get-tuple-element(p), index=3\n"
                                                     "  t = (s32[2], pred[]) tuple(x, q)\n  " +
                                                         called("inner", "", "t"),
                                                     more, ", x, q"));
  local += "  t = (s32[2], pred[]" + more + ") tuple(v0, v1, v0, v1)\n  ROOT " +
           called("outer", more, "t") + "}\n";
  for (const std::size_t one : {0U, 1U}) {
    DerivedFacts derived(program, whole, local);
    auto& modules = derived.modules;
    const auto& loops = modules.local().loops;
    REQUIRE(loops.size() == 2);
    REQUIRE(loops[1].contains(loops[0]));
    const auto assumed = [&](std::size_t loop) {
      std::size_t fact = 0;
      while (modules.facts().at(fact).node != loops[loop].first[0]) ++fact;
      return modules.follows(loops[loop].variables[0], {fact}, {0});
    };
    const auto first = assumed(one);
    REQUIRE(first);
    modules.add(*first);
    CHECK(assumed(one));
    CHECK(!assumed(1 - one));
  }
}

}  // namespace
}  // namespace p2::hlo::small
