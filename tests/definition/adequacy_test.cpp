#include "proofs/definition/every_size.h"

#include "tests/definition/examined.h"

namespace p2::definition {
namespace {

std::vector<std::string> not_proved(const Assumptions& assumptions) {
  std::vector<std::string> names;
  for (const Obligation& obligation : sum_obligations({}, assumptions)) {
    if (!obligation.proved) names.push_back(obligation.name);
  }
  return names;
}

bool every_size(const std::string& name) {
  return row_is_number(definition_in("examples/collectives/" + name + ".p2c"), {});
}

}  // namespace

TEST_CASE("numbers of disjoint rows add up in every commutative monoid, for groups of every size") {
  CHECK(sum_obligations({}).size() == 4);
  CHECK(not_proved({}).empty());
}

TEST_CASE("so do integers and words, whose laws are facts, where the rows are disjoint") {
  for (const Carrier carrier : {Carrier::Integers, Carrier::Words}) {
    Assumptions assumptions;
    assumptions.commutative = assumptions.associative = assumptions.neutral = false;
    for (const Obligation& part : sum_obligations({}, assumptions, carrier)) {
      CAPTURE(part.name);
      CHECK(part.proved);
    }
    assumptions.disjoint = false;
    const auto parts = sum_obligations({}, assumptions, carrier);
    CHECK(std::ranges::count(parts, false, &Obligation::proved) == 2);
  }
}

TEST_CASE("each law and the disjointness of the rows is needed") {
  using Names = std::vector<std::string>;
  Assumptions assumptions;
  assumptions.commutative = false;
  CHECK(not_proved(assumptions) == Names{"union, one contributor more"});
  assumptions = {};
  assumptions.associative = false;
  CHECK(not_proved(assumptions) == Names{"union, one contributor more"});
  assumptions = {};
  assumptions.neutral = false;
  CHECK(not_proved(assumptions).size() == 3);
  assumptions = {};
  assumptions.disjoint = false;
  CHECK(not_proved(assumptions) == Names{"union, one contributor more", "group, one device more"});
}

TEST_CASE("the five collectives add up, copy or drop rows, in groups of every size") {
  for (const Definition& definition : language::built_in_definitions()) {
    CAPTURE(definition.name);
    CHECK(row_is_number(definition, {}));
  }
}

TEST_CASE("what is proved for every size is no more than what holds") {
  for (const char* sound : {"sound/gather", "sound/scatter", "sound/ring-reducescatter"}) {
    CHECK(every_size(sound));
  }
  // That blocks are disjoint is arithmetic.
  CHECK_FALSE(every_size("sound/alltoall"));
  for (const char* wrong : {"wrong/allgather-invents", "wrong/allreduce-counts-twice",
                            "wrong/reduce-subtracts", "wrong/reducescatter-packs"}) {
    CHECK_FALSE(every_size(wrong));
  }
  const Findings findings = examined(language::built_in("Reduce"), 2);
  CHECK(check_called(findings, "realisable").every_size);
  CHECK_FALSE(check_called(findings, "measure").every_size);
}

TEST_CASE("a variable is not taken for a number that is counted, whatever its name") {
  // The proof named both `number!1`, took the premise for false, and proved everything.
  const Definition definition = language::parse_definition(
      "test.p2c",
      "collective Test \"\" "
      "let total = count r in chunks: exists c in contributors: s(0, r, c) "
      "require first \"\": (count r in chunks: true) >= 1 "
      "require other \"\": forall number in group: total != number "
      "ensure s'(i, r, c) = exists j in group: s(j, r, c) "
      "measure count i in group, r in chunks, c in contributors: s(i, r, c)");
  CHECK_FALSE(row_is_number(definition, {}));
  CHECK(refuted(examined(definition, 2)) == "no-double-count realisable measure");
}

TEST_CASE("without its premise about disjointness no sum is proved") {
  for (const char* name : {"AllReduce", "ReduceScatter", "Reduce", "AllGather"}) {
    CAPTURE(name);
    Definition wrong = language::built_in(name);
    std::erase_if(wrong.premises, [](const language::Premise& premise) {
      return premise.name == "disjoint" || premise.name == "disjoint-chunks";
    });
    CHECK_FALSE(row_is_number(wrong, {}));
  }
}

}  // namespace p2::definition
