#include <chrono>

#include "engine/collective/language/interpreter.h"
#include "proofs/definition/claim.h"
#include "proofs/definition/symbolic_step.h"
#include "tests/collective/language_states.h"
#include "tests/definition/examined.h"

namespace p2::definition {
namespace {

Findings read_differently(const Definition& by_states, const Definition& by_z3) {
  Scope scope;
  scope.max_group = 2;
  return examine(by_states, {}, scope, by_z3);
}

bool differ(const Findings& findings, std::string_view check) {
  return std::any_of(findings.differences.begin(), findings.differences.end(),
                     [&](const Difference& difference) { return difference.check == check; });
}

/// The first position, chunk and contributor that break the claim, as `1/0/2`; empty where none do.
std::string broken_at(Claim claim, const Definition& definition, std::string_view before,
                      std::string_view after) {
  const Step step{definition, language::group(before), language::group(after)};
  const auto found = violation(claim, step);
  if (!found) return {};
  CHECK_FALSE(explain(claim, step, *found).empty());
  return std::to_string(found->position) + "/" + std::to_string(found->chunk) + "/" +
         std::to_string(found->contributor);
}

}  // namespace

TEST_CASE("engines that read different definitions are found to differ, whichever is wrong") {
  const Definition& right = language::built_in("AllGather");
  Definition wrong = right;
  wrong.premises.erase(wrong.premises.begin());
  for (const Findings& findings :
       {read_differently(right, wrong), read_differently(wrong, right)}) {
    CHECK(differ(findings, "no-double-count"));
    CHECK(differ(findings, "measure"));
    CHECK(check_called(findings, "measure").verdict == Outcome::Undecided);
  }
  Definition never = right;
  never.premises.push_back(language::with_clauses("require never \"\": false").premises.front());
  CHECK(differ(read_differently(right, never), "satisfiable"));
  CHECK(differ(read_differently(never, right), "satisfiable"));
}

TEST_CASE("engines that read different definitions of larger groups are found to differ") {
  std::string text = text_of("engine/collective/allreduce.p2c");
  text.replace(text.find("i < j implies"), 0, "n < 9 and ");
  const Definition wrong = language::parse_definition("wrong.p2c", text);
  CHECK(differ(read_differently(language::built_in("AllReduce"), wrong), "no-double-count"));
}

TEST_CASE("the explicit engine's words for what adding cannot do, on drawn steps") {
  const Definition& any = language::built_in("AllReduce");
  // A copy, a sum of two, and nothing at all.
  CHECK(broken_at(Claim::Realisable, any, "100|010", "110|100").empty());
  CHECK(broken_at(Claim::Realisable, any, "110|011", "000|011").empty());
  CHECK(broken_at(Claim::Realisable, any, "110|011", "110|111") == "1/0/0");
  CHECK(broken_at(Claim::NoDoubleCount, any, "110|011", "110|111") == "1/0/0");
  CHECK(broken_at(Claim::SumsWhole, any, "110|011", "110|111").empty());
  // Three sums of which two are disjoint.
  CHECK(broken_at(Claim::Realisable, any, "110|011|001", "111|000|000").empty());
  CHECK(broken_at(Claim::SumsWhole, any, "110|001", "110|010") == "1/0/1");
  CHECK(broken_at(Claim::NoDoubleCount, any, "110|001", "110|010").empty());
  CHECK(broken_at(Claim::NothingInvented, any, "100|010", "100|001") == "1/0/2");
  CHECK(broken_at(Claim::ChunksApart, any, "10 01|00 00", "10 01|00 10") == "1/1/0");
  CHECK(broken_at(Claim::NothingInvented, any, "10 01|00 00", "10 01|00 10").empty());
  CHECK(broken_at(Claim::KeepsAll, any, "100|010", "110|000").empty());
  CHECK(broken_at(Claim::KeepsAll, any, "100|010", "100|100") == "1/0/1");
  CHECK(broken_at(Claim::RootKeeps, any, "100|010", "010|100") == "0/0/0");
  CHECK(broken_at(Claim::OthersKeep, any, "100|010", "010|100") == "1/0/1");
  CHECK(broken_at(Claim::OthersKeep, any, "100|010", "010|110").empty());
}

TEST_CASE("the parts of a measure that chunks have add up to it") {
  const std::vector<std::string> measures = {
      "sum i in group, r in chunks: (count c in contributors: s(i, r, c)) * (r + 1)",
      "count r in chunks, c in contributors: s(0, r, c)"};
  const language::GroupState state = language::group("110 011 000|111 001 010");
  for (const std::string& measure : measures) {
    const Definition whole = language::parse_definition(
        "test.p2c", "collective Test \"\" ensure s'(i, r, c) = s(i, r, c) measure " + measure);
    std::uint64_t sum = 0;
    for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
      sum += language::measure(*measuring_chunk(whole, chunk), state);
    }
    CHECK(sum == language::measure(whole, state));
    CHECK(sum > 0);
  }
  const Definition other = language::parse_definition(
      "test.p2c",
      "collective Test \"\" ensure s'(i, r, c) = s(i, r, c) measure count i in group: true");
  CHECK_FALSE(measuring_chunk(other, 0));
}

TEST_CASE("a measure that rises only over all chunks together is found to rise") {
  // What the root holds moves from chunk 0 to chunk 1: what chunk 0 adds to the measure falls.
  const Definition moves = language::parse_definition(
      "test.p2c",
      "collective Test \"\" "
      "require room \"\": k >= 2 "
      "require start \"\": forall i in group, r in chunks, c in contributors: "
      "  s(i, r, c) implies i = 0 and r = 0 "
      "ensure s'(i, r, c) = exists q in chunks: q = 0 and r = 1 and i = 0 and s(i, q, c) "
      "measure sum i in group, r in chunks: (r + 1) * (count c in contributors: s(i, r, c))");
  const Findings findings = examined(moves);
  CHECK(check_called(findings, "measure").verdict == Outcome::Established);
  CHECK(refuted(findings) == "chunks-apart realisable keeps-all");
}

TEST_CASE("the smallest step is shown") {
  Definition wrong = language::built_in("AllGather");
  wrong.premises.erase(wrong.premises.begin());
  const Check check = check_called(examined(wrong), "no-double-count");
  REQUIRE(check.counterexample);
  CHECK(shape_of(*check.counterexample->before) == Shape{2, 1, 3});
  CHECK(amount(*check.counterexample->before) == 4);
}

TEST_CASE("premises that exclude each other are named, and those that can be spared are not") {
  const Findings findings =
      examined(definition_in("examples/collectives/wrong/allgather-never-runs.p2c"));
  const std::string reason = check_called(findings, "satisfiable").counterexample->reason;
  CHECK(reason.find("same-chunks and disjoint-chunks exclude each other") != std::string::npos);
  CHECK(reason.find("disjoint and") == std::string::npos);
}

TEST_CASE("a limit leaves checks undecided and refutes none") {
  Scope scope;
  scope.limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Definition& definition = language::built_in("ReduceScatter");
  const Findings findings = examine(definition, known_with({}), scope);
  CHECK(findings.differences.empty());
  for (const Check& check : findings.checks) {
    if (check.settled_by == SettledBy::Construction) continue;
    CAPTURE(check.name);
    CHECK(check.verdict == Outcome::Undecided);
    CHECK(check.settled_by == SettledBy::Nobody);
  }
}

}  // namespace p2::definition
