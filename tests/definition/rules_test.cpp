#include <map>
#include <set>

#include "tests/definition/examined.h"
#include "tests/definition/random_definitions.h"

namespace p2::definition {
namespace {

/// One change to the text of a built-in collective and the checks that it refutes.
struct Mutation {
  std::string file;
  std::string from, to;
  std::string refuted;
};

const std::string kDisjoint =
    "require disjoint \"no contribution is counted twice\":\n"
    "  forall i, j in group, r in chunks, c in contributors:\n"
    "    i < j implies not (s(i, r, c) and s(j, r, c))\n";
const std::string kMeasure = "measure sum i in group, r in chunks: amount(i, r) * amount(i, r)";

const std::vector<Mutation> kMutations = {
    {"allreduce", kDisjoint, "", "no-double-count realisable measure"},
    {"reduce", kDisjoint, "", "no-double-count realisable measure"},
    {"reducescatter", kDisjoint, "", "no-double-count realisable measure"},
    {"allreduce", "exists j in group: s(j, r, c)", "exists j in group, q in chunks: s(j, q, c)",
     "chunks-apart realisable"},
    {"allreduce", "= exists j in group: s(j, r, c)", "= exists j in group: held(j, r)",
     "nothing-invented chunks-apart realisable"},
    {"allreduce", "= exists j in group: s(j, r, c)", "= forall j in group: s(j, r, c)",
     "keeps-all measure"},
    {"allreduce", kMeasure, "measure 0", "measure"},
    {"allreduce", kMeasure, "measure sum i in group, r in chunks: amount(i, r)", ""},
    {"reduce", kMeasure, "measure sum i in group, r in chunks: amount(i, r)", "measure"},
    {"reduce", "and i = 0", "and i = n", "keeps-all measure"},
    {"reduce", "and i = 0", "and i = n - 1", ""},
    {"reducescatter", "i * total <= index", "i * total < index", "keeps-all measure"},
    {"reducescatter", "< (i + 1) * total", "<= (i + 1) * total", ""},
    {"reducescatter", "let index(r in chunks) = count q in chunks: q < r",
     "let index(r in chunks) = count q in chunks: q <= r", "keeps-all measure"},
    {"allgather", "not (held(i, r) and held(j, r))", "true", "no-double-count realisable measure"},
    {"broadcast", "s(i, r, c) implies s(0, r, c)", "true", "keeps-all measure"},
    {"broadcast", "s(0, r, c) and not s(i, r, c)\n", "true\n", "measure"},
    {"broadcast", "ensure s'(i, r, c) = s(0, r, c)",
     "ensure s'(i, r, c) = s(0, r, c) and (i = 0 or not s(i, r, c))",
     "sums-whole no-double-count realisable measure"},
    {"broadcast", "ensure s'(i, r, c) = s(0, r, c)",
     "ensure s'(i, r, c) = s(0, r, c) and (i = 0 or c = 0)",
     "sums-whole realisable measure equivariant"},
    {"allreduce", "ensure", "require never \"\": false\nensure", "satisfiable"},
    {"allgather", "ensure",
     "require by-number \"\": forall r in chunks, c in contributors: s(0, r, c) implies c = 0\n"
     "ensure",
     "equivariant"},
};

Definition mutated(const Mutation& mutation) {
  std::string text = text_of("engine/collective/" + mutation.file + ".p2c");
  const std::size_t place = text.rfind(mutation.from);
  REQUIRE(place != std::string::npos);
  text.replace(place, mutation.from.size(), mutation.to);
  return language::parse_definition("mutated.p2c", text);
}

}  // namespace

TEST_CASE("a rule that is broken is refuted by the check that speaks of it, and by no other") {
  std::set<std::string> seen;
  for (const Mutation& mutation : kMutations) {
    CAPTURE(mutation.file);
    CAPTURE(mutation.to);
    const Findings findings = examined(mutated(mutation), 2);
    CHECK(refuted(findings) == mutation.refuted);
    for (const Check& check : findings.checks) {
      if (check.verdict == Outcome::Refuted) seen.insert(check.name);
    }
  }
  // Every check that can be refuted is refuted by some mutation.
  CHECK(seen == std::set<std::string>{"satisfiable", "nothing-invented", "chunks-apart",
                                      "sums-whole", "no-double-count", "realisable", "keeps-all",
                                      "measure", "equivariant"});
}

// The table of docs/definitions.md, "What each premise is for".
TEST_CASE("each premise of the five is needed by a check, or is over-strict") {
  const std::map<std::string, std::string> broken_without = {
      {"AllReduce same-chunks", ""},
      {"AllReduce disjoint", "no-double-count realisable measure"},
      {"ReduceScatter same-chunks", "keeps-all measure"},
      {"ReduceScatter disjoint", "no-double-count realisable measure"},
      {"ReduceScatter divisible", ""},
      {"AllGather disjoint-chunks", "no-double-count realisable measure"},
      {"AllGather equal-count", ""},
      {"Reduce same-chunks", "measure"},
      {"Reduce disjoint", "no-double-count realisable measure"},
      {"Broadcast contained", "keeps-all measure"},
      {"Broadcast informative", "measure"}};
  std::size_t premises = 0;
  for (const Definition& definition : language::built_in_definitions()) {
    for (const language::Premise& premise : definition.premises) {
      CAPTURE(definition.name);
      CAPTURE(premise.name);
      Definition without = definition;
      std::erase_if(without.premises,
                    [&](const language::Premise& each) { return each.name == premise.name; });
      CHECK(refuted(examined(without)) == broken_without.at(definition.name + " " + premise.name));
      ++premises;
    }
  }
  CHECK(premises == broken_without.size());
}

TEST_CASE("on random definitions the engines agree, whatever they refute") {
  RandomDefinitions definitions;
  std::set<std::string> refuted_once;
  std::set<std::string> held_once;
  for (int i = 0; i < 40; ++i) {
    const std::string text = definitions.next();
    CAPTURE(text);
    const Findings findings = examined(language::parse_definition("random.p2c", text), 2);
    for (const Check& check : findings.checks) {
      CHECK(check.verdict != Outcome::Undecided);
      (check.verdict == Outcome::Refuted ? refuted_once : held_once).insert(check.name);
    }
  }
  const std::set<std::string> refutable = {"satisfiable", "nothing-invented", "chunks-apart",
                                           "sums-whole",  "no-double-count",  "realisable",
                                           "keeps-all",   "measure",          "equivariant"};
  CHECK(refuted_once == refutable);
  for (const std::string& name : refutable) CHECK(held_once.count(name) == 1);
}

}  // namespace p2::definition
