#include <set>
#include <string>

#include <doctest/doctest.h>

#include "engine/msccl/algorithm_file.h"
#include "engine/msccl/verdict.h"
#include "mutants.h"

namespace p2::msccl {
namespace {

std::string verdict_of(const Algorithm& algorithm) {
  const Verdict verdict = judge(read_algorithm("test.xml", to_xml(algorithm)), {});
  return std::string(verdict.fault ? to_string(verdict.fault->kind) : to_string(verdict.kind));
}

}  // namespace

TEST_CASE("every mutant is refused for what was done to it") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    REQUIRE(verdict_of(algorithm) == "valid");
    mutant.change(algorithm);
    CHECK(verdict_of(algorithm) == mutant.verdict);
  }
}

TEST_CASE("there is a mutant for every rule") {
  std::set<std::string> rules;
  for (const Mutant& mutant : mutants()) rules.insert(mutant.verdict);
  for (int kind = 0; kind <= static_cast<int>(Fault::Kind::LostContribution); ++kind) {
    CHECK(rules.contains(std::string(to_string(static_cast<Fault::Kind>(kind)))));
  }
}

TEST_CASE("near misses are accepted") {
  CHECK(near_misses().size() >= 8);
  for (const Mutant& mutant : near_misses()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    REQUIRE(verdict_of(algorithm) == "valid");
    mutant.change(algorithm);
    REQUIRE(to_xml(algorithm) != to_xml(mutant.original));
    CHECK(verdict_of(algorithm) == mutant.verdict);
  }
}

}  // namespace p2::msccl
