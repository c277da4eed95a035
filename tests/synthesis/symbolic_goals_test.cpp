// Other goals than AllReduce by the two approximations, against the explicit engine.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/symbolic/all_sizes.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

namespace p2::symbolic_goals {
namespace {

constexpr bool kCampaign = P2_SYMBOLIC_DEVICES > 8;
constexpr const char* kGoalNames[] = {"reducescatter", "allgather", "reduce", "broadcast"};

using Programs = std::vector<std::vector<std::uint32_t>>;

Programs programs_of(const ProgramList& list) {
  Programs all;
  list.for_each(
      [&](std::span<const std::uint32_t> moves) { all.emplace_back(moves.begin(), moves.end()); });
  return all;
}

SynthesisOptions options_for(const std::string& goal, Dialect dialect, std::uint32_t size) {
  SynthesisOptions options;
  options.terms.goal = *goal_called(goal);
  options.dialect = dialect;
  options.size = size;
  options.jobs = 1;
  return options;
}

/// The number of programs; both engines list the same.
std::size_t compare(const Problem& problem, const SynthesisOptions& options) {
  const auto found =
      bracketed_programs(problem, options.size, {}, nullptr, options.terms.goal.collective);
  REQUIRE(found.has_value());
  const Programs expected =
      programs_of(ProgramList(problem, options.size, {}, nullptr, options.terms));
  CHECK(programs_of(*found) == expected);
  return expected.size();
}

struct Large {
  const char* hierarchy;
  const char* axes;
  const char* placement;
  const char* small_hierarchy;
  const char* small_axes;
  const char* small_placement;
};

}  // namespace

TEST_CASE("every goal has the explicit engine's programs: all systems of 2 devices and more") {
  for (const std::string goal : kGoalNames) {
    CAPTURE(goal);
    std::size_t programs = 0;
    for (std::uint32_t devices = 2; devices <= P2_SYMBOLIC_DEVICES; ++devices) {
      const std::uint32_t size = devices <= 4 || (kCampaign && devices <= 8) ? 4 : 3;
      std::set<Problem> known;
      for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
        const SynthesisOptions options = options_for(goal, dialect, size);
        const ProgramSearch search({instance}, options);
        const Problem& problem = search.problem(0);
        CHECK(problem.beginning ==
              beginning_of(options.terms.goal, devices, instance.classes(), {}));
        if (known.insert(problem).second) programs += compare(problem, options);
      });
    }
    CHECK(programs > 300);
  }
}

TEST_CASE("every goal has the explicit engine's programs: unequal and prime sizes") {
  for (const auto& [hierarchy, axes, placement] :
       {std::tuple{"2,3,5", "30", "[[2 3 5]]"}, std::tuple{"5,3,2", "30", "[[5 3 2]]"},
        std::tuple{"6,10", "60", "[[6 10]]"}, std::tuple{"7,11", "77", "[[7 11]]"},
        std::tuple{"6,6", "6,6", "[[2 3] [3 2]]"}}) {
    for (const std::string goal : kGoalNames) {
      for (const HierarchyKind kind :
           {HierarchyKind::Columns, HierarchyKind::Reduction, HierarchyKind::Lattice}) {
        for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
          CAPTURE(hierarchy);
          CAPTURE(goal);
          const SynthesisOptions options = options_for(goal, dialect, kCampaign ? 4 : 3);
          const ProgramSearch search({instance_of(hierarchy, axes, "0", placement, kind)}, options);
          compare(search.problem(0), options);
        }
      }
    }
  }
}

TEST_CASE("goals of systems that the explicit engine is too large for") {
  for (const Large& row :
       {Large{"1024,1024", "1048576", "[[1024 1024]]", "4,6", "24", "[[4 6]]"},
        Large{"101,103,97", "1009091", "[[101 103 97]]", "4,3,5", "60", "[[4 3 5]]"},
        Large{"256,256", "256,256", "[[16 16] [16 16]]", "4,9", "6,6", "[[2 3] [2 3]]"}}) {
    for (const std::string goal : kGoalNames) {
      for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
        for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Lattice}) {
          CAPTURE(row.hierarchy);
          CAPTURE(goal);
          const SynthesisOptions options = options_for(goal, dialect, 3);
          const auto count = [&](const Instance& instance, SearchEngine engine) {
            SynthesisOptions own = options;
            own.explicit_only = engine == SearchEngine::Explicit;
            const auto found = find_programs({instance}, own);
            CHECK(found[0].list().engine() == engine);
            return found[0].list().count();
          };
          CHECK(count(instance_of(row.hierarchy, row.axes, "0", row.placement, kind),
                      SearchEngine::Bracket) ==
                count(instance_of(row.small_hierarchy, row.small_axes, "0", row.small_placement,
                                  kind),
                      SearchEngine::Explicit));
        }
      }
    }
  }
}

}  // namespace p2::symbolic_goals
