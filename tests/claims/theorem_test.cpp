#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "proofs/claims/campaign.h"
#include "proofs/claims/claim.h"
#include "tests/program/instances.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using namespace p2::claims;

namespace {

/// The smallest counterexample to a claim: devices, steps and the system's reduction.
struct Smallest {
  std::uint32_t devices = 0;
  std::size_t steps = 0;
};

Smallest smallest(const char* claim, Dialect dialect, bool several_axes, std::uint32_t most = 8) {
  CampaignRequest request;
  request.claims = {find_claim(claim)};
  REQUIRE(request.claims[0] != nullptr);
  request.dialects = {dialect};
  request.systems = placed_systems(most);
  const std::vector<SettledQuestion> results = settle(request, {});
  Smallest found;
  for (const Summary& row : summarize(results)) {
    if (row.several_axes != several_axes || row.smallest == nullptr) continue;
    const Smallest here{row.smallest->question.system->grid.devices(), row.smallest->answer.steps};
    if (found.devices == 0 || here.devices < found.devices) found = here;
  }
  return found;
}

void expect(const Smallest& found, std::uint32_t devices, std::size_t steps) {
  CHECK(found.devices == devices);
  CHECK(found.steps == steps);
}

constexpr bool kOneAxis = false;
constexpr bool kSeveralAxes = true;

}  // namespace

TEST_CASE("theorem 3.2 is false as printed: (d) lacks a program of (c) on 8 devices, 3 steps") {
  expect(smallest("lemma-b8", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b8-case3", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b8", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b8", Dialect::Published, kSeveralAxes), 0, 0);
}

TEST_CASE("lemma B.6 is false as printed, by the same programs") {
  expect(smallest("lemma-b6", Dialect::Printed, kOneAxis), 8, 3);
  expect(smallest("lemma-b6", Dialect::Published, kOneAxis), 0, 0);
}

TEST_CASE("lemma B.7 is false in case 3 over one axis, in dialect published too") {
  expect(smallest("lemma-b7", Dialect::Published, kOneAxis), 8, 3);
  expect(smallest("lemma-b7-case3", Dialect::Published, kOneAxis), 8, 3);
  expect(smallest("lemma-b7-case1", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b7-case2", Dialect::Published, kOneAxis), 0, 0);
}

TEST_CASE("(c) >= (b) and (d) >= (a) are false over several axes") {
  expect(smallest("lemma-b7", Dialect::Published, kSeveralAxes), 4, 3);
  expect(smallest("lemma-b7-case1", Dialect::Published, kSeveralAxes), 8, 1);
  expect(smallest("lemma-b7-case2", Dialect::Published, kSeveralAxes), 8, 1);
  CampaignRequest request;
  request.claims = {find_claim("expressiveness")};
  request.from = HierarchyKind::Hardware;
  request.to = HierarchyKind::Reduction;
  request.systems = placed_systems(8);
  const auto results = settle(request, {});
  const auto rows = summarize(results);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].refuted == 0);
  CHECK(rows[1].smallest->question.system->grid.devices() == 4);
  CHECK(rows[1].smallest->answer.steps == 3);
  CHECK(rows[1].shortest->answer.steps == 2);
}

TEST_CASE("the witness of lemma B.1 is wrong and the last factor is right") {
  expect(smallest("lemma-b1-witness", Dialect::Published, kOneAxis), 4, 1);
  expect(smallest("lemma-b1-corrected-witness", Dialect::Published, kOneAxis), 0, 0);
  expect(smallest("lemma-b1-corrected-witness", Dialect::Published, kSeveralAxes), 0, 0);
  expect(smallest("lemma-b1", Dialect::Printed, kSeveralAxes), 0, 0);
}

TEST_CASE("lemma B.3 is false for arbitrary groups: 4 devices, 4 steps, no shorter one") {
  expect(smallest("lemma-b3", Dialect::Published, kOneAxis, 4), 4, 4);
  expect(smallest("lemma-b3-hierarchical", Dialect::Printed, kOneAxis), 0, 0);
}

TEST_CASE("the witness of lemma B.7 is wrong for InsideGroup and right with Parallel") {
  expect(smallest("lemma-b7-witness", Dialect::Published, kOneAxis), 4, 1);
  expect(smallest("lemma-b7-corrected-witness", Dialect::Printed, kOneAxis), 0, 0);
  expect(smallest("lemma-b7-corrected-witness", Dialect::Published, kOneAxis), 0, 0);
}

namespace {

CampaignRequest request_for(const char* claim, std::vector<PlacedSystem> systems,
                            std::uint32_t size) {
  CampaignRequest request;
  request.claims = {find_claim(claim)};
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
  CampaignRequest request = request_for("expressiveness", placed_systems(8), kSize);
  request.every_system = true;
  const std::vector<SettledQuestion> results = settle(request, {});
  std::map<std::pair<const PlacedSystem*, Dialect>, Known> known;
  std::size_t refuted = 0;
  for (const SettledQuestion& result : results) {
    const Question& question = result.question;
    auto& truth = known[{question.system, question.dialect}];
    if (truth.programs.empty()) truth = known_of(*question.system, question.dialect, kSize);
    const std::size_t steps = shortest_inexpressible(truth.programs.at(question.from),
                                                     truth.instructions.at(*question.to));
    CHECK(result.answer.steps == steps);
    CHECK((result.answer.outcome == Outcome::Refuted) == (steps > 0));
    CHECK(result.answer.outcome != Outcome::Undecided);
    refuted += steps > 0 ? 1 : 0;
  }
  CHECK(results.size() == request.systems.size() * 2 * 30);
  CHECK(refuted > 100);
}

TEST_CASE("a counterexample is a valid program with a step that the other hierarchy lacks") {
  const CampaignRequest request = request_for("expressiveness", placed_systems(8), 4);
  std::size_t refuted = 0;
  for (const SettledQuestion& result : settle(request, {})) {
    if (result.answer.outcome != Outcome::Refuted) continue;
    const Question& question = result.question;
    const Instance from = question.system->over(question.from);
    Program program = counterexample(result);
    StateTable states(program.devices);
    CHECK(check(program, question.dialect, states).outcome == Outcome::Established);
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
  CampaignRequest request = request_for("expressiveness", placed_systems(8), 4);
  const std::vector<SettledQuestion> few = settle(request, {});
  request.every_system = true;
  const std::vector<SettledQuestion> all = settle(request, {});
  CHECK(few.size() < all.size());
  const std::vector<Summary> a = summarize(few);
  const std::vector<Summary> b = summarize(all);
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
    CampaignRequest request =
        request_for("expressiveness", {{instance.grid, instance.reduction}}, 5);
    std::vector<std::pair<Outcome, std::size_t>> answers;
    for (const SettledQuestion& result : settle(request, {})) {
      answers.emplace_back(result.answer.outcome, result.answer.steps);
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
  const CampaignRequest request = request_for("expressiveness", placed_systems(6), 5);
  const auto a = settle(request, {}, 1);
  const auto b = settle(request, {}, 4);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].answer == b[i].answer);
}

TEST_CASE("a limit leaves questions undecided, never held") {
  CampaignRequest request = request_for("expressiveness", placed_systems(8), 5);
  Limits limits;
  limits.memory_bytes = 1;
  const auto results = settle(request, limits);
  CHECK(outcome_of(results) == Outcome::Undecided);
  for (const SettledQuestion& result : results) {
    // What needs no search is settled all the same.
    CHECK((result.answer.outcome == Outcome::Established) == (result.answer.settled == 5));
  }
}

namespace {

/// What brute force knows of the steps of valid programs over one instance.
struct Used {
  Instance instance;
  std::vector<brute_force::Program> programs;

  /// The fewest steps of a program that has a step on one of these sets of groups; 0 for none.
  std::size_t shortest_on(const std::set<std::vector<Group>>& forbidden) const {
    std::size_t fewest = 0;
    for (const auto& program : programs) {
      const bool uses = std::any_of(program.begin(), program.end(), [&](const auto& step) {
        return forbidden.contains(step.groups);
      });
      if (uses && (fewest == 0 || program.size() < fewest)) fewest = program.size();
    }
    return fewest;
  }

  /// The groups of the instructions of one form that cover a level outside the reduction axes:
  /// those from below the ancestor (for InsideGroup the slice) down to the slice, or to the bottom.
  std::set<std::vector<Group>> covering_outside(Form form) const {
    const auto& levels = instance.hierarchy.levels();
    const FactorSet reduction = instance.grid.factors_of(instance.reduction);
    std::set<std::vector<Group>> groups;
    for (const GroupShape& shape : named_shapes(instance.hierarchy)) {
      if (shape.form != form) continue;
      const auto above = form == Form::InsideGroup ? shape.slice[0] : shape.ancestor[0];
      const auto last = form == Form::Parallel ? shape.slice[0] : levels.size() - 1;
      bool outside = false;
      for (std::size_t i = above + 1; i <= last; ++i) {
        outside = outside || (levels[i].factors & ~reduction) != 0;
      }
      if (outside) groups.insert(lower(instance.grid, shape, Collective::AllReduce).groups);
    }
    return groups;
  }
};

void compare(const std::vector<PlacedSystem>& systems, const std::vector<Dialect>& dialects) {
  constexpr std::uint32_t kSize = 3;
  CampaignRequest request;
  request.claims = {find_claim("corollary-b4"), find_claim("lemma-b5"), find_claim("lemma-b6")};
  request.dialects = dialects;
  request.systems = systems;
  request.size = kSize;
  std::map<std::tuple<const PlacedSystem*, HierarchyKind, Dialect>, Used> known;
  const std::map<std::string, Form> forms = {{"corollary-b4", Form::Parallel},
                                             {"lemma-b5", Form::InsideGroup},
                                             {"lemma-b6", Form::Master}};
  for (const SettledQuestion& result : settle(request, {})) {
    const Question& question = result.question;
    const std::tuple key(question.system, question.from, question.dialect);
    if (!known.contains(key)) {
      const Instance instance = question.system->over(question.from);
      known.emplace(key, Used{instance, brute_force::programs(instance, question.dialect, kSize)});
    }
    const Used& used = known.at(key);
    const std::size_t steps =
        used.shortest_on(used.covering_outside(forms.at(question.claim->name)));
    CHECK(result.answer.steps == steps);
    CHECK((result.answer.outcome == Outcome::Refuted) == (steps > 0));
  }
}

}  // namespace

TEST_CASE("corollary B.4, lemmas B.5 and B.6 as by brute force: all systems of up to 6 devices") {
  compare(placed_systems(6), {Dialect::Printed, Dialect::Published});
}

TEST_CASE("corollary B.4, lemmas B.5 and B.6 as by brute force: all systems of 8 devices") {
  std::vector<PlacedSystem> systems;
  for (PlacedSystem& system : placed_systems(8)) {
    if (system.grid.devices() == 8) systems.push_back(std::move(system));
  }
  compare(systems, {Dialect::Printed});
}
