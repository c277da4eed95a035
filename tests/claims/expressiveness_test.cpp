#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "proofs/claims/summary.h"
#include "tests/program/instances.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using namespace p2::claims;

namespace {

Request request_for(const char* claim, std::vector<PlacedSystem> systems, std::uint32_t size) {
  Request request;
  request.claims = {claim_called(claim)};
  REQUIRE(request.claims[0] != nullptr);
  request.dialects = {Dialect::Printed, Dialect::Published};
  request.systems = std::move(systems);
  request.size = size;
  return request;
}

using Lowered = std::set<brute_force::Instruction>;

/// The fewest steps of a program of `from`, by brute force, that has a step which `to` lacks; 0 for
/// none.
std::size_t shortest_inexpressible(const std::vector<brute_force::Program>& programs,
                                   const Lowered& to) {
  std::size_t fewest = 0;
  for (const auto& program : programs) {
    const bool expressible = std::all_of(program.begin(), program.end(),
                                         [&](const auto& step) { return to.contains(step); });
    if (!expressible && (fewest == 0 || program.size() < fewest)) fewest = program.size();
  }
  return fewest;
}

/// What brute force knows of a system, over every kind of hierarchy.
struct Known {
  std::map<HierarchyKind, std::vector<brute_force::Program>> programs;
  std::map<HierarchyKind, Lowered> instructions;
};

Known known_of(const PlacedSystem& system, Dialect dialect, std::uint32_t size) {
  Known known;
  for (const HierarchyKind kind : kHierarchyKinds) {
    const Instance instance = system.over(kind);
    known.programs[kind] = brute_force::programs(instance, dialect, size);
    const auto instructions = brute_force::instructions(instance, dialect);
    known.instructions[kind] = {instructions.begin(), instructions.end()};
  }
  return known;
}

}  // namespace

TEST_CASE(
    "verdicts and lengths agree with brute force: all pairs, all systems of up to 8 devices") {
  constexpr std::uint32_t kSize = 3;
  Request request = request_for("expressiveness", placed_systems(8), kSize);
  request.every_system = true;
  const std::vector<Result> results = settle(request, {});
  std::map<std::pair<const PlacedSystem*, Dialect>, Known> known;
  std::size_t refuted = 0;
  for (const Result& result : results) {
    const Question& question = result.question;
    auto& truth = known[{question.system, question.dialect}];
    if (truth.programs.empty()) truth = known_of(*question.system, question.dialect, kSize);
    const std::size_t steps = shortest_inexpressible(truth.programs.at(question.from),
                                                     truth.instructions.at(*question.to));
    CHECK(result.answer.steps == steps);
    CHECK((result.answer.verdict == Outcome::Refuted) == (steps > 0));
    CHECK(result.answer.verdict != Outcome::Undecided);
    refuted += steps > 0 ? 1 : 0;
  }
  CHECK(results.size() == request.systems.size() * 2 * 30);
  CHECK(refuted > 100);
}

TEST_CASE("a counterexample is a valid program with a step that the other hierarchy lacks") {
  const Request request = request_for("expressiveness", placed_systems(8), 4);
  std::size_t refuted = 0;
  for (const Result& result : settle(request, {})) {
    if (result.answer.verdict != Outcome::Refuted) continue;
    const Question& question = result.question;
    const Instance from = question.system->over(question.from);
    Program program = counterexample(result);
    StateTable states(program.devices);
    CHECK(check(program, question.dialect, states).kind == Verdict::Kind::Valid);
    const auto moves = instructions(question.system->over(*question.to), question.dialect);
    const bool lacks = std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& s) {
      return !std::binary_search(moves.begin(), moves.end(), Move{s.shape->pattern, s.collective});
    });
    CHECK(lacks);
    ++refuted;
  }
  CHECK(refuted > 100);
}

TEST_CASE("leaving out systems that are alike changes no verdict") {
  Request request = request_for("expressiveness", placed_systems(8), 4);
  const std::vector<Result> few = settle(request, {});
  request.every_system = true;
  const std::vector<Result> all = settle(request, {});
  CHECK(few.size() < all.size());
  const std::vector<Summary> a = summarise(few);
  const std::vector<Summary> b = summarise(all);
  REQUIRE(a.size() == b.size());
  for (std::size_t row = 0; row < a.size(); ++row) {
    CHECK(a[row].systems == b[row].systems);
    CHECK(a[row].refuted == b[row].refuted);
    CHECK(a[row].undecided == b[row].undecided);
    REQUIRE((a[row].smallest == nullptr) == (b[row].smallest == nullptr));
    if (a[row].smallest == nullptr) continue;
    CHECK(a[row].smallest->question.system == b[row].smallest->question.system);
    CHECK(a[row].smallest->answer == b[row].smallest->answer);
  }
}

TEST_CASE("levels and axes of size 1 change no verdict") {
  const auto answer_on = [](const char* hierarchy, const char* axes, const char* reduce,
                            const char* placement) {
    const Instance instance = instance_of(hierarchy, axes, reduce, placement);
    Request request = request_for("expressiveness", {{instance.grid, instance.reduction}}, 5);
    std::vector<std::pair<Outcome, std::size_t>> answers;
    for (const Result& result : settle(request, {})) {
      answers.emplace_back(result.answer.verdict, result.answer.steps);
    }
    return answers;
  };
  CHECK(
      answer_on("2,4", "4,2", "0", "[[2 2] [1 2]]") ==
      answer_on("1,2,1,4,1", "1,4,1,2", "1", "[[1 1 1 1 1] [1 2 1 2 1] [1 1 1 1 1] [1 1 1 2 1]]"));
  CHECK(answer_on("2,4", "4,2", "0,1", "[[2 2] [1 2]]") ==
        answer_on("2,4,1", "4,1,2", "0,2", "[[2 2 1] [1 1 1] [1 2 1]]"));
}

TEST_CASE("the result does not depend on the number of threads") {
  const Request request = request_for("expressiveness", placed_systems(6), 5);
  CampaignOptions one;
  one.jobs = 1;
  CampaignOptions four;
  four.jobs = 4;
  const auto a = settle(request, one);
  const auto b = settle(request, four);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].answer == b[i].answer);
}

TEST_CASE("a limit leaves questions undecided, never held") {
  Request request = request_for("expressiveness", placed_systems(8), 5);
  CampaignOptions options;
  options.limits.memory_bytes = 1;
  const auto results = settle(request, options);
  CHECK(verdict_of(results) == Outcome::Undecided);
  for (const Result& result : results) {
    // What needs no search is settled all the same.
    CHECK((result.answer.verdict == Outcome::Holds) == (result.answer.settled == 5));
  }
}
