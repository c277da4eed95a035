#include <map>
#include <random>
#include <set>

#include "tests/definition/examined.h"

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
     "sums-whole realisable measure"},
    {"broadcast", "ensure s'(i, r, c) = s(0, r, c)",
     "ensure s'(i, r, c) = s(0, r, c) and (i = 0 or c = 0)",
     "sums-whole realisable measure equivariant"},
    {"allreduce", "ensure", "require odd \"\": n % 2 = 1\nensure", "satisfiable"},
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

namespace {

constexpr const char* kLets = R"(
let held(i in group, r in chunks) = exists c in contributors: s(i, r, c)
let amount(i in group, r in chunks) = count c in contributors: s(i, r, c)
let total = count r in chunks: held(0, r)
let index(r in chunks) = count q in chunks: q < r and held(0, q)
)";

const std::vector<std::string> kPremises = {
    "forall i, j in group, r in chunks: held(i, r) iff held(j, r)",
    "forall i, j in group, r in chunks, c in contributors: i < j implies not (s(i, r, c) and s(j, "
    "r, c))",
    "forall i, j in group, r in chunks: i < j implies not (held(i, r) and held(j, r))",
    "forall i in group, r in chunks, c in contributors: s(i, r, c) implies s(0, r, c)",
    "exists i in group, r in chunks, c in contributors: s(0, r, c) and not s(i, r, c)",
    "forall i in group, r in chunks: held(i, r) implies i = 0",
    "total % n = 0",
    "forall i in group, r in chunks: amount(i, r) <= 1"};

const std::vector<std::string> kHeld = {
    "(exists j in group: s(j, r, c))",
    "(exists j in group, q in chunks: q = index(r) and s(j, q, c))",
    "s(0, r, c)",
    "s(i, r, c)",
    "(forall j in group: s(j, r, c))",
    "(exists j in group: held(j, r))",
    "(exists j in group: j = (i + 1) % n and s(j, r, c))"};

const std::vector<std::string> kWhere = {
    "true",      "i = 0",          "i * total <= index(r) * n and index(r) * n < (i + 1) * total",
    "r % n = i", "not s(0, r, c)", "c <= i",
    "held(i, r)"};

const std::vector<std::string> kMeasures = {
    "sum i in group, r in chunks: amount(i, r) * amount(i, r)",
    "count i in group, r in chunks: i > 0 and held(i, r)", "count r in chunks: held(0, r)",
    "sum i in group, r in chunks: (i + 1) * (r + 1) * amount(i, r)",
    "4294967295 * 4294967295 * 4294967295 * (sum i in group, r in chunks: amount(i, r))"};

class RandomDefinitions {
 public:
  std::string next() {
    std::string text = std::string("collective Random \"\"") + kLets;
    const std::size_t premises = random_() % 4;
    for (std::size_t i = 0; i < premises; ++i) {
      text += "require p" + std::to_string(i) + " \"\": " + one_of(kPremises) + "\n";
    }
    text += "ensure s'(i, r, c) = " + one_of(kHeld) + " and " + one_of(kWhere);
    if (random_() % 3 == 0) text += " or " + one_of(kHeld) + " and " + one_of(kWhere);
    return text + "\nmeasure " + one_of(kMeasures) + "\n";
  }

 private:
  const std::string& one_of(const std::vector<std::string>& texts) {
    return texts[random_() % texts.size()];
  }
  std::mt19937_64 random_{20211121};
};

}  // namespace

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
