#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "encodings/z3/synthesis.h"
#include "engine/base/files.h"
#include "engine/collective/language/definition.h"
#include "engine/program/synthesis.h"
#include "proofs/api/engines.h"
#include "proofs/api/reference_run.h"
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
  const ProgramDecision verdict = check(program, dialect, states);
  const EngineAnswer answer = engine_answer(verdict);
  const std::string text =
      program.terms.goal.name + ": " + to_string(program.steps, nullptr, program.terms.collectives);
  CHECK_MESSAGE(same_decision(reference_answer(program, dialect, verdict, {}), answer), text);
  z3_encoding::ValidityQuery query;
  query.program = &program;
  query.definitions = program.terms.collectives.definitions();
  CHECK_MESSAGE(solver_verdict(query) == explicit_verdict(program, dialect), text);
  if (answer.outcome == Outcome::Established) CHECK(answer_to(smt_lib(query)) == z3::unsat);
  rules.insert(answer.rule);
}

/// Z3 finds the programs of the enumerator.
void find_alike(const Instance& instance, const Terms& terms, std::set<std::string>& used) {
  SynthesisOptions options;
  options.terms = terms;
  options.size = 2;
  const PlacementPrograms found = std::move(find_programs({instance}, options)[0]);
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
  CHECK(find_one(query).outcome == Outcome::Refuted);
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

using namespace p2;
using language::Definition;

namespace {

/// A rule that is wrong in one place: what the definition says, and what it should not.
struct WrongRule {
  const char* collective;
  const char* right;
  const char* wrong;
  const char* program;    ///< on which the mistake shows
  EngineAnswer expected;  ///< by the right rules
  EngineAnswer mistaken;  ///< by the wrong one
};

const EngineAnswer kValid{"z3", Outcome::Established, 0, {}};

EngineAnswer refused(std::size_t step, const char* rule) {
  return {"z3", Outcome::Refuted, step, rule};
}

const WrongRule kWrongRules[] = {
    {"AllReduce", "i < j implies not (s(i, r, c) and s(j, r, c))", "true",
     "devices 2\nAllReduce{0,1}; AllReduce{0,1}", refused(2, "disjoint"), kValid},
    // Rotated blocks come together again where all groups are cut in the same way.
    {"ReduceScatter", "i * total <= index(r) * n and index(r) * n < (i + 1) * total",
     "(i + 1) % n * total <= index(r) * n and index(r) * n < ((i + 1) % n + 1) * total",
     "devices 8\nReduceScatter{0,1,2,3},{4,5},{6,7}; ReduceScatter{4,6},{5,7};"
     "AllReduce{0,4},{1,6},{2,5},{3,7}; AllGather{0,1,2,3},{4,5,6,7}",
     kValid, refused(3, "same-chunks")},
    {"ReduceScatter", "total % n = 0", "true",
     "devices 3\nclasses {0,1},{2}\nReduceScatter{0,1}; AllGather{0,1}", refused(1, "divisible"),
     refused(2, "equal-count")},
    {"AllGather", "holdings(i) = holdings(j)", "true",
     "devices 4\nReduceScatter{0,1,2,3}; AllGather{0,1}; AllGather{0,2}; AllGather{0,3};"
     "Broadcast{0,1,2,3}",
     refused(3, "equal-count"), kValid},
    {"Reduce", "(exists j in group: s(j, r, c)) and i = 0",
     "(exists j in group: s(j, r, c)) and i = 0 or not i = 0 and s(i, r, c)",
     "devices 4\nReduce{0,1},{2,3}; AllReduce{0,2},{1,3}; AllReduce{1,3}; Broadcast{0,1},{2,3}",
     kValid, refused(3, "disjoint")},
    {"Broadcast", "s(i, r, c) implies s(0, r, c)", "true",
     "devices 4\nAllReduce{0,1},{2,3}; Broadcast{1,2}; AllReduce{0,3}; Broadcast{0,1,2,3}",
     refused(2, "contained"), kValid},
    {"Broadcast", "s(0, r, c) and not s(i, r, c)", "true",
     "devices 2\nAllReduce{0,1}; Broadcast{0,1}", refused(2, "informative"), kValid},
};

/// The built-in definitions with this one mistake.
std::vector<Definition> mistaken_definitions(const WrongRule& rule) {
  std::vector<Definition> definitions;
  for (const language::BuiltInText& file : language::built_in_texts()) {
    Definition definition = language::parse_definition(file.source, file.text);
    if (definition.name == rule.collective) {
      std::string text(file.text);
      const std::size_t at = text.find(rule.right);
      REQUIRE(at != std::string::npos);
      text.replace(at, std::string_view(rule.right).size(), rule.wrong);
      definition = language::parse_definition(file.source, text);
    }
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

ProgramDecision explicit_verdict(const ProgramFile& file) {
  StateTable states(file.program.devices);
  return check(file.program, file.dialect, states);
}

EngineAnswer& answer_of(const char* engine, std::vector<EngineAnswer>& answers) {
  const auto found = std::ranges::find(answers, engine, &EngineAnswer::engine);
  REQUIRE(found != answers.end());
  return *found;
}

}  // namespace

TEST_CASE("a wrong definition in Z3 is a disagreement with every other engine") {
  for (const WrongRule& rule : kWrongRules) {
    CAPTURE(rule.program);
    const ProgramFile file = read_program("wrong.p2", rule.program, {});
    const ProgramDecision verdict = explicit_verdict(file);
    Engines engines = engines_called("all");
    std::vector<EngineAnswer> answers = ask(engines, file, verdict, {});
    CHECK(!disagree(answers));
    CHECK(answer_of("z3", answers) == rule.expected);
    const std::vector<Definition> definitions = mistaken_definitions(rule);
    engines.z3_definitions = definitions;
    answers = ask(engines, file, verdict, {});
    CHECK(disagree(answers));
    CHECK(answer_of("z3", answers) == rule.mistaken);
    for (const char* other : {"explicit", "cnf", "reference"}) {
      CHECK(disagree({answer_of("z3", answers), answer_of(other, answers)}));
    }
  }
}

TEST_CASE("explicit engine and clauses, had they the wrong rule, would disagree with the others") {
  for (const WrongRule& rule : kWrongRules) {
    CAPTURE(rule.program);
    const ProgramFile file = read_program("wrong.p2", rule.program, {});
    const auto right = ask(engines_called("all"), file, explicit_verdict(file), {});
    const std::vector<Definition> definitions = mistaken_definitions(rule);
    const EngineAnswer mistaken =
        ReferenceRun(file.program, file.dialect, definitions, {}).answer();
    CHECK(same_decision(mistaken, rule.mistaken));
    for (const char* engine : {"explicit", "cnf"}) {
      std::vector<EngineAnswer> answers = right;
      answer_of(engine, answers) = mistaken;
      CHECK(disagree(answers));
    }
  }
}

TEST_CASE("a counterexample that the reference run does not show is a disagreement") {
  const ProgramFile file =
      read_program("refused.p2", "devices 4\nAllReduce{0,1},{2,3}; AllReduce{0,1},{2,3}", {});
  ProgramDecision verdict = explicit_verdict(file);
  const Engines engines = engines_called("all");
  CHECK(!disagree(ask(engines, file, verdict, {})));
  verdict.violation->refusal.contributor = 2;
  CHECK(disagree(ask(engines, file, verdict, {})));
  verdict = explicit_verdict(file);
  verdict.violation->group = {2, 3};
  CHECK(disagree(ask(engines, file, verdict, {})));
}

using namespace p2;

namespace {

/// The reference run comes to the explicit engine's end and shows its counterexample.
void confirm(const Program& program, Dialect dialect, std::set<std::string>& rules) {
  StateTable states(program.devices);
  const ProgramDecision verdict = check(program, dialect, states);
  CHECK_MESSAGE(
      same_decision(reference_answer(program, dialect, verdict, {}), engine_answer(verdict)),
      to_string(program.steps, nullptr));
  rules.insert(engine_answer(verdict).rule);
}

Program one_all_reduce(std::uint32_t devices) {
  Program program{devices, {{}}, {{Collective::AllReduce, {{}}, std::nullopt}}};
  for (std::uint32_t d = 0; d < devices; ++d) program.classes[0].push_back(d);
  program.steps[0].groups = program.classes;
  return program;
}

Outcome outcome_on(const Program& program, const Limits& limits) {
  return ReferenceRun(program, Dialect::Published, language::built_in_definitions(), limits)
      .answer()
      .outcome;
}

}  // namespace

TEST_CASE("the reference run confirms verdicts and counterexamples of the explicit engine") {
  RandomPrograms random(30);
  std::set<std::string> rules;
  for (int i = 0; i < 3000; ++i) {
    confirm(random.program(1 + random.below(6)), Dialect::Published, rules);
  }
  const Instance instance = instance_of("2,4", "4,2", "0", "[[2 2] [1 2]]", HierarchyKind::Rows);
  SynthesisOptions options;
  options.dialect = Dialect::Printed;
  options.size = 3;
  find_programs({instance}, options)[0].for_each_lowered([&](const Program& program) {
    confirm(program, Dialect::Published, rules);
    for (int i = 0; i < 20; ++i) {
      Program mutant = program;
      random.mutate(mutant);
      confirm(mutant, Dialect::Printed, rules);
    }
  });
  CHECK(rules == std::set<std::string>{"", "same-chunks", "disjoint", "divisible",
                                       "disjoint-chunks", "equal-count", "contained", "informative",
                                       "master", "empty-group", "goal-lacks", "goal-excess"});
}

TEST_CASE("the reference run says nothing of what is too large for it or beyond a limit") {
  CHECK(outcome_on(one_all_reduce(16), {}) == Outcome::Established);
  CHECK(outcome_on(one_all_reduce(256), {}) == Outcome::Undecided);
  Limits limits;
  limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(outcome_on(one_all_reduce(16), limits) == Outcome::Undecided);
}
