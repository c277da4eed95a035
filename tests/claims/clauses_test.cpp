#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "proofs/claims/summary.h"

using namespace p2;
using namespace p2::claims;

namespace {

/// Outlives the results, which point into it.
Request request_for(Engine engine, const char* claim, std::uint32_t devices) {
  Request request;
  request.claims = {claim_called(claim)};
  request.dialects = {Dialect::Printed, Dialect::Published};
  request.systems = placed_systems(devices);
  request.size = 3;
  request.engine = engine;
  return request;
}

}  // namespace

TEST_CASE("clauses and enumeration give the same verdicts and the same lengths") {
  std::size_t refuted = 0;
  for (const char* claim : {"expressiveness", "lemma-b3-hierarchical", "lemma-b6"}) {
    Request request = request_for(Engine::Explicit, claim, 4);
    const std::vector<Result> explicitly = settle(request, {});
    request.engine = Engine::Clauses;
    const std::vector<Result> by_clauses = settle(request, {});
    REQUIRE(explicitly.size() == by_clauses.size());
    for (std::size_t i = 0; i < explicitly.size(); ++i) {
      CAPTURE(to_string(*explicitly[i].question.system));
      CHECK(explicitly[i].answer.verdict == by_clauses[i].answer.verdict);
      CHECK(explicitly[i].answer.steps == by_clauses[i].answer.steps);
      if (by_clauses[i].answer.verdict != Outcome::Refuted) continue;
      const Program program = counterexample(by_clauses[i]);
      StateTable states(program.devices);
      CHECK(check(program, by_clauses[i].question.dialect, states).kind == Verdict::Kind::Valid);
      ++refuted;
    }
  }
  CHECK(refuted > 20);
}

TEST_CASE("a claim about rules alone is asked once and stands for all systems") {
  Request request;
  request.claims = {claim_called("adequacy"), claim_called("composition-as-triples")};
  request.systems = placed_systems(4);
  const std::vector<Result> results = settle(request, {});
  REQUIRE(results.size() == 4);  // of each claim for one axis and for several
  std::size_t systems = 0;
  for (const Result& result : results) {
    CHECK(result.answer.verdict == Outcome::Holds);
    systems += result.systems;
  }
  CHECK(systems == 2 * request.systems.size());
}

TEST_CASE("no list of the enumerator lacks a program") {
  const Request request = request_for(Engine::Explicit, "synthesis-complete", 4);
  const std::vector<Result> results = settle(request, {});
  const std::size_t kinds = 6;  // of hierarchies that a program may be written for
  CHECK(results.size() == kinds * request.dialects.size() * request.systems.size());
  for (const Result& result : results) {
    CHECK(result.answer.verdict == Outcome::Holds);
  }
}
