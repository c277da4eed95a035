#include <map>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/encodings/programs.h"
#include "tests/encodings/value_run.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

constexpr std::size_t kMutants = 10'500;
/// The solvers judge one mutant of so many; in the campaign (tests/CMakeLists.txt) all of them.
constexpr std::size_t kSolversJudgeOneOf = P2_SOLVERS_JUDGE_ONE_OF;

struct System {
  const char* hierarchy;
  const char* axes;
  const char* reduce;
  const char* placement;
  HierarchyKind kind;
  std::uint32_t size;
};

const System kSystems[] = {
    {"2,2", "4", "0", "[[2 2]]", HierarchyKind::Collapsed, 5},
    {"2,3", "6", "0", "[[2 3]]", HierarchyKind::Collapsed, 4},
    {"2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Collapsed, 4},
    {"2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows, 4},
    {"2,4", "2,4", "0,1", "[[1 2] [2 2]]", HierarchyKind::Lattice, 3},
    {"2,2,2", "8", "0", "[[2 2 2]]", HierarchyKind::Collapsed, 4},
    {"3,3", "9", "0", "[[3 3]]", HierarchyKind::Hardware, 4},
    {"2,6", "4,3", "0", "[[2 2] [1 3]]", HierarchyKind::Columns, 3},
    {"2,6", "12", "0", "[[2 6]]", HierarchyKind::Collapsed, 4},
    {"4,4", "4,4", "0", "[[2 2] [2 2]]", HierarchyKind::Reduction, 4},
    {"4,4", "16", "0", "[[4 4]]", HierarchyKind::Collapsed, 4},
    {"2,8", "8,2", "0", "[[2 4] [1 2]]", HierarchyKind::Rows, 3},
};

/// Valid programs, and what they are valid for.
struct Family {
  Instance instance;
  Dialect dialect;
  std::vector<Program> programs;
};

std::vector<Family> families() {
  std::vector<Family> all;
  for (const System& system : kSystems) {
    for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
      SynthesisOptions options;
      options.dialect = dialect;
      options.size = system.size;
      options.jobs = 1;
      Family family{
          instance_of(system.hierarchy, system.axes, system.reduce, system.placement, system.kind),
          dialect,
          {}};
      find_programs({family.instance}, options)[0].for_each_lowered(
          [&](const Program& program) { family.programs.push_back(program); });
      REQUIRE(!family.programs.empty());
      all.push_back(std::move(family));
    }
  }
  return all;
}

/// Calls `visit(number, mutant, family)` for kMutants different mutants of one to three changes,
/// the same in every run.
template <typename Visit>
void for_each_mutant(Visit visit) {
  const std::vector<Family> all = families();
  RandomPrograms random(20);
  std::set<std::pair<const Family*, std::string>> met;
  while (met.size() < kMutants) {
    const Family& family = all[random.below(static_cast<std::uint32_t>(all.size()))];
    const auto count = static_cast<std::uint32_t>(family.programs.size());
    Program mutant = family.programs[random.below(count)];
    for (std::uint32_t changes = 1 + random.below(3); changes > 0; --changes) {
      random.mutate(mutant);
    }
    if (!met.emplace(&family, to_string(mutant.steps, &family.instance)).second) continue;
    visit(met.size(), mutant, family);
  }
}

std::string rule_of(const std::string& verdict) { return verdict.substr(verdict.rfind(' ') + 1); }

void print(const char* what, const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [rule, count] : counts) text += " " + rule + " " + std::to_string(count);
  MESSAGE(std::string(what), ":", text);
}

}  // namespace

TEST_CASE("mutants of valid programs: the same verdict from all engines") {
  std::map<std::string, std::size_t> verdicts;
  for_each_mutant([&](std::size_t number, const Program& mutant, const Family& family) {
    if (number % kSolversJudgeOneOf != 0) return;
    const std::string expected = explicit_verdict(mutant, family.dialect);
    const Instance* instance = &family.instance;
    z3_encoding::ValidityQuery query;
    query.program = &mutant;
    query.instance = instance;
    query.dialect = family.dialect;
    const std::string z3 = solver_verdict(query);
    const std::string clauses = clause_verdict({&mutant, instance, family.dialect, {}});
    CHECK_MESSAGE(z3 == expected, to_string(mutant.steps, instance));
    CHECK_MESSAGE(clauses == expected, to_string(mutant.steps, instance));
    ++verdicts[rule_of(expected)];
  });
  print("judged by all engines", verdicts);
  for (const char* rule : {"valid", "same-chunks", "disjoint", "divisible", "disjoint-chunks",
                           "equal-count", "contained", "informative", "goal-lacks"}) {
    CHECK_MESSAGE(verdicts[rule] > 0, rule);
  }
}

TEST_CASE("mutants of valid programs: what is accepted computes the right sums") {
  std::mt19937_64 random(21);
  std::map<std::string, std::size_t> right;
  std::map<std::string, std::size_t> wrong;
  for_each_mutant([&](std::size_t, const Program& mutant, const Family& family) {
    ValueRun run(mutant.devices, random);
    for (const Step& step : mutant.steps) run.take(step);
    const std::string rule = rule_of(explicit_verdict(mutant, family.dialect));
    const bool is_right = run.is_right(mutant.classes);
    ++(is_right ? right : wrong)[rule];
    // Where all steps are legal the states say exactly what the data are.
    if (rule == "valid" || rule.starts_with("goal-")) {
      CHECK_MESSAGE(is_right == (rule == "valid"), to_string(mutant.steps, &family.instance));
    }
  });
  CHECK(wrong["valid"] == 0);
  CHECK(right["valid"] > 500);
  print("right data", right);
  print("wrong data", wrong);
}
