#include <doctest/doctest.h>

#include "proofs/api/engines.h"
#include "proofs/api/reference_run.h"
#include "engine/collective/language/built_in.h"
#include "engine/collective/language/built_in_texts.h"
#include "engine/collective/language/parser.h"

using namespace p2;
using language::Definition;

namespace {

/// A rule that is wrong in one place: what the definition says, and what it should not.
struct WrongRule {
  const char* collective;
  const char* right;
  const char* wrong;
  const char* program;  ///< on which the mistake shows
  Finding expected;     ///< by the right rules
  Finding mistaken;     ///< by the wrong one
};

const Finding kValid{"valid", 0, {}};

Finding refused(std::size_t step, const char* rule) { return {"invalid", step, rule}; }

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

Verdict explicit_verdict(const ProgramFile& file) {
  StateTable states(file.program.devices);
  return check(file.program, file.dialect, states);
}

}  // namespace

TEST_CASE("a wrong definition in Z3 is a disagreement with every other engine") {
  for (const WrongRule& rule : kWrongRules) {
    CAPTURE(rule.program);
    const ProgramFile file = read_program("wrong.p2", rule.program, {});
    const Verdict verdict = explicit_verdict(file);
    Engines engines = engines_called("all");
    Findings findings = ask(engines, file, verdict, {});
    CHECK(!disagree(findings));
    CHECK(findings["z3"] == rule.expected);
    const std::vector<Definition> definitions = mistaken_definitions(rule);
    engines.z3_definitions = definitions;
    findings = ask(engines, file, verdict, {});
    CHECK(disagree(findings));
    CHECK(findings["z3"] == rule.mistaken);
    for (const char* other : {"explicit", "cnf", "reference"}) {
      CHECK(disagree({{"z3", findings["z3"]}, {other, findings[other]}}));
    }
  }
}

TEST_CASE("explicit engine and clauses, had they the wrong rule, would disagree with the others") {
  for (const WrongRule& rule : kWrongRules) {
    CAPTURE(rule.program);
    const ProgramFile file = read_program("wrong.p2", rule.program, {});
    const Findings right = ask(engines_called("all"), file, explicit_verdict(file), {});
    const std::vector<Definition> definitions = mistaken_definitions(rule);
    const Finding mistaken = ReferenceRun(file.program, file.dialect, definitions, {}).finding();
    CHECK(mistaken == rule.mistaken);
    for (const char* engine : {"explicit", "cnf"}) {
      Findings findings = right;
      findings[engine] = mistaken;
      CHECK(disagree(findings));
    }
  }
}

TEST_CASE("a counterexample that the reference run does not show is a disagreement") {
  const ProgramFile file =
      read_program("refused.p2", "devices 4\nAllReduce{0,1},{2,3}; AllReduce{0,1},{2,3}", {});
  Verdict verdict = explicit_verdict(file);
  const Engines engines = engines_called("all");
  CHECK(!disagree(ask(engines, file, verdict, {})));
  verdict.refutation->refusal.contributor = 2;
  CHECK(disagree(ask(engines, file, verdict, {})));
  verdict = explicit_verdict(file);
  verdict.refutation->group = {2, 3};
  CHECK(disagree(ask(engines, file, verdict, {})));
}
