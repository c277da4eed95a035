#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "cli/output.h"
#include "proofs/api/reference_run.h"
#include "encodings/z3/synthesis.h"
#include "engine/collective/language/parser.h"
#include "engine/program/synthesis.h"
#include "tests/encodings/programs.h"
#include "tests/program/instances.h"

using namespace p2;

namespace {

/// Those of examples/collectives/sound, by file name.
std::vector<language::Definition> sound_examples() {
  std::set<std::string> files;
  const std::filesystem::path folder = std::string(P2_SOURCE_DIR) + "/examples/collectives/sound";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.insert(entry.path().string());
  }
  std::vector<language::Definition> definitions;
  for (const std::string& file : files) {
    definitions.push_back(language::parse_definition(file, read_file(file)));
  }
  return definitions;
}

std::vector<Goal> all_goals() {
  std::vector<Goal> goals;
  for (const char* name :
       {"allreduce", "reducescatter", "allgather", "reduce", "broadcast", "alltoall"}) {
    goals.push_back(*goal_called(name));
  }
  for (const language::Definition& definition : sound_examples()) {
    goals.push_back(Goal::of(definition));
  }
  return goals;
}

/// Explicit engine, Z3 and reference run come to the same end.
void judge_alike(const Program& program, std::set<std::string>& rules) {
  const Dialect dialect = Dialect::Published;
  StateTable states(program.chunks());
  const Verdict verdict = check(program, dialect, states);
  const Finding finding = finding_of(verdict);
  const std::string text =
      program.terms.goal.name + ": " + to_string(program.steps, nullptr, program.terms.collectives);
  CHECK_MESSAGE(reference_finding(program, dialect, verdict, {}) == finding, text);
  z3_encoding::ValidityQuery query;
  query.program = &program;
  query.definitions = program.terms.collectives.definitions();
  CHECK_MESSAGE(solver_verdict(query) == explicit_verdict(program, dialect), text);
  if (finding.verdict == "valid") CHECK(answer_to(smt_lib(query)) == z3::unsat);
  rules.insert(finding.rule);
}

/// Z3 finds the programs of the enumerator.
void find_alike(const Instance& instance, const Terms& terms, std::set<std::string>& used) {
  SynthesisOptions options;
  options.terms = terms;
  options.size = 2;
  const PlacementPrograms found = std::move(synthesise({instance}, options)[0]);
  std::set<std::string> listed;
  std::vector<std::vector<Step>> known;
  found.for_each_lowered([&](const Program& program) {
    listed.insert(to_string(program.steps, nullptr, terms.collectives));
    known.push_back(program.steps);
    for (const Step& step : program.steps) used.emplace(terms.collectives.name_of(step.collective));
  });
  z3_encoding::SynthesisQuery query;
  query.instance = &instance;
  query.size = options.size;
  query.definitions = terms.collectives.definitions();
  query.goal = terms.goal;
  query.beginning = found.beginning();
  const z3_encoding::SynthesisAnswer answer = enumerate(query);
  std::set<std::string> solved;
  for (const z3_encoding::Choices& choices : answer.programs) {
    std::vector<Step> steps;
    for (const std::uint32_t choice : choices) {
      const z3_encoding::Instruction& instruction = answer.instructions[choice];
      steps.push_back({static_cast<Collective>(instruction.rule), instruction.groups, {}});
    }
    solved.insert(to_string(steps, nullptr, terms.collectives));
  }
  CHECK(answer.complete);
  query.known = known;
  CHECK(answer_to(smt_lib(query, 2)) == z3::unsat);
  CHECK(find_one(query).existence == z3_encoding::Existence::None);
  CHECK_MESSAGE(solved == listed, terms.goal.name, " ", to_string(instance.grid.placement()));
}

}  // namespace

TEST_CASE("the engines judge programs of users' collectives, for all goals, alike") {
  const CollectiveSet collectives(sound_examples());
  RandomPrograms random(77, collectives);
  std::set<std::string> rules;
  std::set<Start> starts;
  for (int i = 0; i < 25; ++i) {
    for (const Goal& goal : all_goals()) {
      Program program = random.program(2 + random.below(5));
      program.terms = {collectives, goal};
      try {
        program.beginning = beginning_of(goal, program.devices, program.classes, {"a test"});
      } catch (const InputError&) {
        program.terms.goal = {};
      }
      starts.insert(program.beginning.start);
      judge_alike(program, rules);
    }
  }
  CHECK(starts.size() == 3);
  for (const char* rule : {"", "same-chunks", "root-alone", "blocks", "shards", "unreduced",
                           "divisible", "goal-lacks", "goal-excess"}) {
    CHECK_MESSAGE(rules.contains(rule), rule);
  }
}

TEST_CASE("Z3 finds the programs of the enumerator with users' collectives, for all goals") {
  const CollectiveSet collectives(sound_examples());
  std::set<std::string> used;
  for (const Goal& goal : all_goals()) {
    find_alike(instance_of("2,2", "2,2", "0", "[[1 2] [2 1]]"), {collectives, goal}, used);
    find_alike(instance_of("4", "4", "0", "[[4]]"), {collectives, goal}, used);
  }
  const Goal reducescatter = *goal_called("reducescatter");
  find_alike(instance_of("2,2", "4", "0", "[[2 2]]"), {collectives, reducescatter}, used);
  find_alike(instance_of("2,2", "2,2", "0", "[[2 1] [1 2]]", HierarchyKind::Rows),
             {collectives, reducescatter}, used);
  for (const Collective collective : collectives.all()) {
    CHECK_MESSAGE(used.contains(std::string(collectives.name_of(collective))),
                  collectives.name_of(collective));
  }
}

TEST_CASE("a wrong definition of a user's collective in one engine comes to light") {
  const CollectiveSet collectives(sound_examples());
  const auto all = collectives.definitions();
  std::vector<language::Definition> wrong(all.begin(), all.end());
  const Collective scatter = *collectives.called("Scatter");
  auto& premises = wrong[static_cast<std::size_t>(scatter)].premises;
  REQUIRE(premises.front().name == "root-alone");
  premises.erase(premises.begin());
  Program program{2, {{0, 1}}, {{scatter, {{0, 1}}, std::nullopt}}, {collectives, {}}};
  z3_encoding::ValidityQuery query;
  query.program = &program;
  query.definitions = wrong;
  CHECK(explicit_verdict(program, Dialect::Published) == "step 1 root-alone");
  CHECK(solver_verdict(query) == "step 1 goal-lacks");
}
