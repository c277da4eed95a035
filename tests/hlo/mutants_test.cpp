#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

std::string explanation_of(const ModuleDecision& decision) {
  return decision.violation ? decision.violation->explanation : decision.reason;
}

struct Mutant {
  const char* name;
  Rewrite original;
  const char* from;  ///< in the module after
  const char* to;
  const char* verdict = "invalid contributions";
};

std::vector<Mutant> wrong_groups() {
  return {
      {"two ids swapped between groups", by_host(), "{{0,1,2,3},{4,5,6,7}}",
       "{{0,1,2,4},{3,5,6,7}}"},
      {"gathered in another order", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{1,0,2,3},{4,5,6,7}}"},
      {"one group in another order", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{0,1,2,3},{4,5,7,6}}"},
      {"hosts joined crosswise", by_host(), "[4,2]<=[2,4]T(1,0)", "{{0,5},{1,4},{2,6},{3,7}}"},
      {"the transposition left out", by_host(), "[4,2]<=[2,4]T(1,0)", "[4,2]<=[8]"},
      {"the scatter transposed", by_host(), "[2,4]<=[8]", "[2,4]<=[4,2]T(1,0)"},
      {"an id left out", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{0,1,2,3},{4,5,6}}",
       "invalid groups"},
      {"an id twice", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{0,1,2,3},{4,5,6,6}}",
       "invalid groups"},
      {"an id that does not exist", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{0,1,2,3},{4,5,6,8}}",
       "invalid groups"},
      {"shards in ascending order", scatter_made(), "{{1,3,2,0}}", "{{0,1,2,3}}"},
      {"two shards swapped", scatter_made(), "{{1,3,2,0}}", "{{3,1,2,0}}"},
      {"ids of replicas", folded(), "replica_groups={{0,1,2,3}}, use_global_device_ids=true",
       "replica_groups={{0,1},{2,3}}, use_global_device_ids=true"},
      {"a smaller fold", folded(), "{{0,1,2,3}}", "{{0,2},{1,3}}"},
      {"one device alone", folded(), "{{0,1,2,3}}", "{{0,1,2},{3}}"},
      {"the maximum of too few", largest(), "{{2,3,1,0}}", "{{2,1,0},{3}}"},
      {"gathered from the other pair", gathered_locally(), "{{0,1},{2,3}}", "{{0,2},{1,3}}"},
      {"a mesh axis instead of the other", split_reduction(), "{{0,4},{1,5},{2,6},{3,7}}",
       "mesh['a'=2,'b'=4] {'b'}"},
  };
}

std::vector<Mutant> wrong_collectives() {
  return {
      {"summed twice", folded(), "  ROOT all = f32[8] all-reduce(x), channel_id=1",
       "  twice = f32[8] all-reduce(x), channel_id=9, replica_groups={{0,1,2,3}}, "
       "use_global_device_ids=true, to_apply=add\n"
       "  ROOT all = f32[8] all-reduce(twice), channel_id=1"},
      {"the sum between hosts left out", by_host(), "all-gather(sum)", "all-gather(part)"},
      {"the outer sum left out", split_reduction(),
       "all-reduce(part), channel_id=2, "
       "replica_groups={{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true, to_apply=add",
       "copy(part)"},
      {"another reducer", by_host(), "[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=add",
       "[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=maximum"},
      {"a product for a sum", folded(), "to_apply=add", "to_apply=multiply"},
      {"the least for the largest", largest(),
       "replica_groups={{2,3,1,0}}, "
       "use_global_device_ids=true, to_apply=maximum",
       "replica_groups={{2,3,1,0}}, use_global_device_ids=true, to_apply=minimum"},
      {"a broadcast for a sum", folded(),
       "all-reduce(x), channel_id=1, "
       "replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add",
       "collective-broadcast(x), channel_id=1, replica_groups={{0,1,2,3}}"},
      {"a permute from itself", ring_step(), "{{0,1},{1,0}}", "{{0,0},{1,1}}"},
      {"a permute one way only", ring_step(), "{{0,1},{1,0}}", "{{0,1}}"},
      {"a permute with a target twice", ring_step(), "{{0,1},{1,0}}", "{{0,1},{1,1}}",
       "invalid pairs"},
      {"scattered along the other dimension", scatter_made(),
       "part = f32[8,5] reduce-scatter(x), channel_id=1, replica_groups={{1,3,2,0}}, "
       "use_global_device_ids=true, dimensions={0}",
       "part = f32[8,5] reduce-scatter(x), channel_id=1, replica_groups={{1,3,2,0}}, "
       "use_global_device_ids=true, dimensions={1}",
       "invalid shapes"},
      {"gathered along the other dimension", gathered_locally(), "dimensions={0}\n  zero",
       "dimensions={1}\n  zero", "invalid shapes"},
  };
}

std::vector<Mutant> wrong_places() {
  return {
      {"a wrong entry of the table", split_reduction(), "{0,256,512,768,0,256,512,768}",
       "{0,256,512,768,0,256,768,512}"},
      {"the table moved by one", split_reduction(), "{0,256,512,768,0,256,512,768}",
       "{256,512,768,0,256,512,768,0}"},
      {"an offset between two parts", split_reduction(), "{0,256,512,768,0,256,512,768}",
       "{0,256,512,768,0,256,512,767}"},
      {"the slices in the other order", exchanged(), "concatenate(one, other)",
       "concatenate(other, one)"},
      {"the same slice twice", exchanged(), "concatenate(one, other)", "concatenate(one, one)"},
      {"a slice too far", exchanged(), "constant(4)", "constant(3)"},
      {"the multiple of another size", exchanged(), "constant(2)", "constant(1)"},
      {"written over its own part", ring_step(), "dynamic-update-slice(half, other, theirs, zero)",
       "dynamic-update-slice(half, other, mine, zero)"},
      {"one update left out", ring_step(), "dynamic-update-slice(half, other, theirs, zero)",
       "dynamic-update-slice(empty, other, theirs, zero)"},
      {"what begins the sum", gathered_locally(), "constant(0)", "constant(1)"},
      {"the maximum of what was gathered", gathered_locally(), "to_apply=add", "to_apply=maximum"},
      {"half of everything", by_host(), "ROOT result = f32[8,6] bitcast(whole)",
       "half = f32[] constant(0.5)\n  halves = f32[48] broadcast(half), dimensions={}\n"
       "  scaled = f32[48] multiply(halves, whole)\n  ROOT result = f32[8,6] bitcast(scaled)"},
      {"columns for rows", by_host(), "ROOT result = f32[8,6] bitcast(whole)",
       "turned = f32[6,8] bitcast(whole)\n  ROOT result = f32[8,6] transpose(turned), "
       "dimensions={1,0}"},
  };
}

}  // namespace

TEST_CASE("every right rewrite is accepted, both ways, and told from a reordered sum") {
  for (const Rewrite& rewrite : {by_host(), scatter_made(), split_reduction(), folded(),
                                 gathered_locally(), ring_step(), exchanged(), largest()}) {
    INFO(fmt::format("{}", rewrite.name));
    const ModuleDecision decision = compared(rewrite.before, rewrite.after);
    CAPTURE(explanation_of(decision));
    CHECK(summary(decision) == "valid");
    CHECK(decision.uninterpreted.empty());
    CHECK(summary(compared(rewrite.after, rewrite.before)) == "valid");
  }
}

TEST_CASE("no mutant passes, and each counterexample says where") {
  std::size_t count = 0;
  for (const auto& mutants : {wrong_groups(), wrong_collectives(), wrong_places()}) {
    for (const Mutant& mutant : mutants) {
      INFO(fmt::format("{}: {}", mutant.original.name, mutant.name));
      const std::string after = replaced(mutant.original.after, mutant.from, mutant.to);
      const ModuleDecision decision = compared(mutant.original.before, after);
      CAPTURE(explanation_of(decision));
      CHECK(summary(decision) == std::string(mutant.verdict));
      REQUIRE(decision.violation.has_value());
      CHECK_FALSE(decision.violation->explanation.empty());
      const auto& element = decision.violation->element;
      CHECK(element.has_value() != decision.violation->position.has_value());
      if (element) CHECK(element->before != element->after);
      ++count;
    }
  }
  CHECK(count >= 30);
}

TEST_CASE("what is only written differently is accepted") {
  const std::vector<Mutant> near_misses = {
      {"groups in another order", by_host(), "{{0,1,2,3},{4,5,6,7}}", "{{4,5,6,7},{0,1,2,3}}"},
      {"gathered from the other host, which has the same", by_host(), "{{0,1,2,3},{4,5,6,7}}",
       "{{0,1,2,7},{4,5,6,3}}"},
      {"the members of a sum in another order", folded(), "{{0,1,2,3}}", "{{3,1,0,2}}"},
      {"the same groups as a tile", by_host(), "{{0,1,2,3},{4,5,6,7}}", "[2,4]<=[8]"},
      {"the same groups as mesh axes", by_host(), "[2,4]<=[8]", "mesh['h'=2,'d'=4] {'d'}"},
      {"the same groups as a sub-axis", by_host(), "[2,4]<=[8]", "mesh['d'=8] {'d':(2)4}"},
      {"the other groups as a sub-axis", by_host(), "[4,2]<=[2,4]T(1,0)", "mesh['d'=8] {'d':(1)2}"},
      {"pairs in another order", ring_step(), "{{0,1},{1,0}}", "{{1,0},{0,1}}"},
      {"a maximum twice", largest(), "{{0,1,2},{3}}", "{{0,1,2,3}}"},
      {"twice halved", folded(), "  ROOT all = f32[8] all-reduce(x)",
       "  two = f32[] constant(2)\n  twos = f32[8] broadcast(two), dimensions={}\n"
       "  double = f32[8] add(x, x)\n  again = f32[8] divide(double, twos)\n"
       "  ROOT all = f32[8] all-reduce(again)"},
      {"added and taken away", folded(), "  ROOT all = f32[8] all-reduce(x)",
       "  more = f32[8] add(x, x)\n  same = f32[8] subtract(more, x)\n"
       "  ROOT all = f32[8] all-reduce(same)"},
      {"turned and turned back", by_host(), "  flat = f32[48] bitcast(x)",
       "  turned = f32[6,8] transpose(x), dimensions={1,0}\n"
       "  back = f32[8,6] transpose(turned), dimensions={1,0}\n  flat = f32[48] reshape(back)"},
      {"a column-major copy of memory", by_host(), "  flat = f32[48] bitcast(x)",
       "  turned = f32[6,8]{0,1} transpose(x), dimensions={1,0}\n  flat = f32[48] bitcast(turned)"},
  };
  for (const Mutant& miss : near_misses) {
    INFO(fmt::format("{}", miss.name));
    const ModuleDecision decision =
        compared(miss.original.before, replaced(miss.original.after, miss.from, miss.to));
    CAPTURE(explanation_of(decision));
    CHECK(summary(decision) == "valid");
  }
}

TEST_CASE("swapping all-reduce and reduce-scatter is right for 48 of 144 pairs of groupings") {
  std::vector<std::string> groupings;
  std::array<int, 4> ids = {0, 1, 2, 3};
  do {
    if (std::min(ids[0], ids[1]) != 0) continue;  // groups have no order among themselves
    groupings.push_back(fmt::format("{{{{{},{}}},{{{},{}}}}}", ids[0], ids[1], ids[2], ids[3]));
  } while (std::next_permutation(ids.begin(), ids.end()));
  REQUIRE(groupings.size() == 12);
  const auto reduced = [](const std::string& of, const std::string& groups, const char* size) {
    return fmt::format(
        "f32[{}] all-reduce({}), channel_id=1, replica_groups={}, "
        "use_global_device_ids=true, to_apply=add\n",
        size, of, groups);
  };
  const auto scattered = [](const std::string& of, const std::string& groups) {
    return fmt::format(
        "f32[4] reduce-scatter({}), channel_id=1, replica_groups={}, "
        "use_global_device_ids=true, dimensions={{0}}, to_apply=add\n",
        of, groups);
  };
  const std::string input = "  x = f32[8] parameter(0)\n";
  std::size_t equal = 0;
  for (const std::string& one : groupings) {
    for (const std::string& other : groupings) {
      const ModuleDecision decision = compared(
          module_text(input + "  y = " + reduced("x", one, "8") + "  z = " + scattered("y", other)),
          module_text(input + "  y = " + scattered("x", other) +
                      "  z = " + reduced("y", one, "4")));
      CHECK(decision.outcome != Outcome::Undecided);
      if (decision.outcome == Outcome::Established) ++equal;
    }
  }
  CHECK(equal == 48);
}

}  // namespace p2::hlo
