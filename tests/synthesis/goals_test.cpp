#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "engine/collective/language/definition.h"
#include "engine/program/derivation.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using brute_force::Matrices;

namespace {

constexpr const char* kGoalNames[] = {"allreduce", "reducescatter", "allgather",
                                      "reduce",    "broadcast",     "alltoall"};

/// The ends of a goal, device by device and chunk by chunk.
class Reading {
 public:
  Reading(const Instance& instance, std::string goal)
      : devices_(instance.grid.devices()), goal_(std::move(goal)), classes_(instance.classes()) {
    const std::size_t n = classes_[0].size();
    // AllToAll on all devices has nothing to move with one chunk each.
    chunks_ = goal_ == "alltoall" && n == devices_ ? devices_ * n : devices_;
  }

  brute_force::Ends ends() const {
    brute_force::Ends ends{Matrices(devices_, std::vector<std::uint64_t>(chunks_, 0)), {}};
    ends.goal = ends.begin;
    for (const Group& members : classes_) {
      std::uint64_t sum = 0;
      for (const std::uint32_t device : members) sum |= std::uint64_t{1} << device;
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t r = 0; r < chunks_; ++r) {
          const bool shard = r / (chunks_ / members.size()) == i;
          ends.begin[members[i]][r] = begin(members[i], i, shard, sum);
          ends.goal[members[i]][r] = wanted(i, shard, r % members.size() == i) ? sum : 0;
        }
      }
    }
    return ends;
  }

 private:
  std::uint64_t begin(std::uint32_t device, std::size_t i, bool shard, std::uint64_t sum) const {
    if (goal_ == "allgather" || goal_ == "alltoall") return shard ? sum : 0;
    if (goal_ == "broadcast") return i == 0 ? sum : 0;
    return std::uint64_t{1} << device;
  }
  bool wanted(std::size_t i, bool shard, bool dealt) const {
    if (goal_ == "reducescatter") return shard;
    if (goal_ == "reduce") return i == 0;
    return goal_ != "alltoall" || dealt;
  }

  std::uint32_t devices_;
  std::string goal_;
  std::vector<Group> classes_;
  std::size_t chunks_ = 0;
};

std::vector<brute_force::Program> synthesised(const Instance& instance, Dialect dialect,
                                              std::uint32_t size, const Terms& terms) {
  SynthesisOptions options;
  options.dialect = dialect;
  options.terms = terms;
  options.size = size;
  options.jobs = 1;
  std::vector<brute_force::Program> all;
  find_programs({instance}, options)[0].for_each_lowered([&](const Program& program) {
    StateTable states(program.chunks());
    CHECK(check(program, dialect, states).outcome == Outcome::Established);
    auto& lowered = all.emplace_back();
    for (const Step& step : program.steps) lowered.push_back({step.groups, step.collective});
  });
  std::sort(all.begin(), all.end());
  return all;
}

/// A built-in definition under another name.
language::Definition renamed(Collective collective) {
  language::Definition definition = language::built_in(to_string(collective));
  definition.name = "Another" + definition.name;
  return definition;
}

/// All programs in which some of the steps with `original` have `copy` instead.
void exchange(brute_force::Program program, std::size_t from, Collective original, Collective copy,
              std::vector<brute_force::Program>& all) {
  while (from < program.size() && program[from].collective != original) ++from;
  if (from == program.size()) return all.push_back(std::move(program));
  exchange(program, from + 1, original, copy, all);
  program[from].collective = copy;
  exchange(std::move(program), from + 1, original, copy, all);
}

}  // namespace

TEST_CASE("every goal has exactly the programs of brute force: all systems of 2 to 6 devices") {
  const CollectiveSet with_all_to_all({language::all_to_all()});
  const std::vector<Collective> all = with_all_to_all.all();
  REQUIRE(all.back() == brute_force::kAllToAll);
  std::map<std::string, std::size_t> found;
  for (std::uint32_t devices = 2; devices <= 6; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const auto choices = brute_force::instructions(instance, dialect, all);
      for (const std::string goal : kGoalNames) {
        auto expected = brute_force::programs(choices, 3, Reading(instance, goal).ends());
        std::sort(expected.begin(), expected.end());
        const Terms terms{with_all_to_all, *goal_called(goal)};
        const bool equal = synthesised(instance, dialect, 3, terms) == expected;
        CHECK_MESSAGE(equal, goal, " ", to_string(instance.hierarchy), " ",
                      to_string(instance.grid.placement()), " ", to_string(dialect));
        found[goal] += expected.size();
      }
    });
  }
  for (const char* goal : kGoalNames) CHECK_MESSAGE(found[goal] > 0, goal);
}

TEST_CASE("a copy of a built-in collective has the built-in's programs, with names exchanged") {
  const auto copy = static_cast<Collective>(kCollectives.size());
  for (const char* placement : {"[[2 2] [1 2]]", "[[2 1] [1 4]]", "[[1 4] [2 1]]"}) {
    const char* axes = placement[4] == '1' ? "2,4" : "4,2";
    const Instance instance = instance_of("2,4", axes, "0", placement, HierarchyKind::Columns);
    for (const Collective original : kCollectives) {
      const CollectiveSet collectives({renamed(original)});
      std::vector<brute_force::Program> expected;
      for (const auto& program : synthesised(instance, Dialect::Printed, 3, {})) {
        exchange(program, 0, original, copy, expected);
      }
      std::sort(expected.begin(), expected.end());
      const bool equal = synthesised(instance, Dialect::Printed, 3, {collectives, {}}) == expected;
      CHECK_MESSAGE(equal, collectives.name_of(copy), " ", placement);
    }
  }
}

TEST_CASE("a goal given as a definition is the goal of that name") {
  const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows);
  for (const char* name : kGoalNames) {
    const Goal named = *goal_called(name);
    const Terms by_definition{{}, Goal::of(named.definition())};
    CHECK(synthesised(instance, Dialect::Printed, 3, {{}, named}) ==
          synthesised(instance, Dialect::Printed, 3, by_definition));
  }
}

TEST_CASE("dialect published allows no collective that a user defines with Master") {
  const Instance instance = instance_of("2,2", "4", "0", "[[2 2]]");
  const Terms terms{CollectiveSet({renamed(Collective::AllReduce)}), {}};
  for (const auto& [dialect, allowed] :
       {std::pair(Dialect::Published, false), std::pair(Dialect::Printed, true)}) {
    bool seen = false;
    for (const brute_force::Program& program : synthesised(instance, dialect, 3, terms)) {
      seen = seen || std::ranges::any_of(program, [](const brute_force::Instruction& each) {
               return !is_built_in(each.collective) && each.groups == std::vector<Group>{{0, 2}};
             });
    }
    CHECK(seen == allowed);
  }
}
