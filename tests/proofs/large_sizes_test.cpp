// p2-check's tables of chunks against the explicit engine: what they accept is valid, of programs
// that are valid and of others.
#include <random>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/proofs/certificates.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// The steps that a program may have, in dialect printed.
std::vector<Step> choices_of(const Instance& instance) {
  const NamedProblem named = make_problem(instance, Dialect::Printed);
  std::vector<Step> choices;
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    choices.push_back(
        {named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  return choices;
}

kernel::Result judged(const Instance& instance, const std::vector<Step>& steps) {
  return check_certificate(large_sizes_certificate(instance, steps, {}));
}

/// Runs random steps that are legal, then asks for every prefix and every next step whether the
/// program of these is valid.
struct Walks {
  std::mt19937 random{25};
  std::size_t valid = 0;
  std::size_t found = 0;    ///< of these
  std::size_t legal = 0;    ///< all steps are
  std::size_t taken = 0;    ///< of these
  std::size_t others = 0;   ///< with an illegal step
  std::size_t refused = 0;  ///< of these, for certain

  /// Every step that p2-check takes must be legal, whether or not the goal is reached.
  void compare(const Instance& instance, const std::vector<Step>& steps, bool is_legal,
               bool is_valid) {
    const kernel::Result result = judged(instance, steps);
    const bool is_accepted = result.verdict == kernel::Verdict::Accepted;
    CAPTURE(to_string(steps, &instance));
    CAPTURE(result.reason);
    CHECK((is_accepted || result.verdict == kernel::Verdict::Rejected));
    CHECK((!is_accepted || is_valid));
    const bool all_taken = result.reason.find("the goal is not reached") != std::string::npos;
    CHECK((!all_taken || is_legal));
    const bool is_refused = result.reason.find("is refused") != std::string::npos;
    CHECK((!is_refused || !is_legal));
    refused += is_refused ? 1 : 0;
    valid += is_valid ? 1 : 0;
    found += is_accepted ? 1 : 0;
    legal += is_legal ? 1 : 0;
    taken += is_accepted || all_taken ? 1 : 0;
    others += is_legal ? 0 : 1;
  }

  void run(const Instance& instance, std::uint32_t length) {
    const std::vector<Step> choices = choices_of(instance);
    StateTable states(instance.grid.devices());
    Kernels kernels(states);
    const Ends ends = ends_of({}, {}, instance.classes(), instance.grid.devices(), states);
    SystemState devices = ends.begin;
    std::vector<Step> steps;
    for (std::uint32_t tried = 0; steps.size() < length && tried < 15 * length; ++tried) {
      const Step& next = choices[random() % choices.size()];
      SystemState after = devices;
      const Step lowered = lower(instance.grid, *next.shape, next.collective);
      steps.push_back(next);
      const bool is_legal = !run_step(lowered, Dialect::Printed, after, states, kernels);
      if (is_legal || random() % 4 == 0) {
        compare(instance, steps, is_legal, is_legal && after == ends.goal);
      }
      if (is_legal) {
        devices = std::move(after);
      } else {
        steps.pop_back();
      }
    }
  }
};

}  // namespace

TEST_CASE("whatever tables of chunks accept is valid: all systems of 2 to 8 devices") {
  Walks walks;
  std::set<Problem> known;
  for (std::uint32_t devices = 2; devices <= 8; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const NamedProblem named = make_problem(instance, dialect);
      if (dialect != Dialect::Printed || !known.insert(named.problem).second) return;
      const ProgramList list(named.problem, 3, {});
      const std::vector<Step> choices = choices_of(instance);
      std::size_t number = 0;
      list.for_each([&](std::span<const std::uint32_t> moves) {
        if (number++ % (1 + list.count() / 12) != 0) return;
        std::vector<Step> steps;
        for (const std::uint32_t move : moves) steps.push_back(choices[move]);
        walks.compare(instance, steps, true, true);
      });
      for (int i = 0; i < 3; ++i) walks.run(instance, 6);
    });
  }
  MESSAGE(walks.found << " of " << walks.valid << " valid, " << walks.taken << " of " << walks.legal
                      << " legal, " << walks.refused << " of " << walks.others
                      << " others refused");
  CHECK(walks.found == walks.valid);
  CHECK(walks.valid > 500);
  CHECK(walks.taken * 100 > walks.legal * 95);
  CHECK(walks.others > 2000);
  CHECK(walks.refused * 10 > walks.others * 7);
}

TEST_CASE("whatever tables of chunks accept is valid: unequal sizes, also beyond the grid") {
  Walks walks;
  for (const auto& [hierarchy, placement] :
       {std::pair{"2,3,2", "[[2 3 2]]"}, std::pair{"3,2,5", "[[3 2 5]]"},
        std::pair{"7,6", "[[7 6]]"}, std::pair{"11,5", "[[11 5]]"}, std::pair{"2,9,3", "[[2 9 3]]"},
        std::pair{"8,8", "[[8 8]]"}}) {
    const std::string axes = std::to_string(parse_hierarchy("h", hierarchy).devices());
    for (const HierarchyKind kind : {HierarchyKind::Lattice, HierarchyKind::Reduction}) {
      const Instance instance = instance_of(hierarchy, axes.c_str(), "0", placement, kind);
      const NamedProblem named = make_problem(instance, Dialect::Printed);
      const std::vector<Step> choices = choices_of(instance);
      const ProgramList list(named.problem, 4, {});
      std::size_t number = 0;
      list.for_each([&](std::span<const std::uint32_t> moves) {
        if (number++ % (1 + list.count() / 60) != 0) return;
        std::vector<Step> steps;
        for (const std::uint32_t move : moves) steps.push_back(choices[move]);
        walks.compare(instance, steps, true, true);
      });
      for (int i = 0; i < 60; ++i) walks.run(instance, 9);
    }
  }
  MESSAGE(walks.found << " of " << walks.valid << " valid, " << walks.taken << " of " << walks.legal
                      << " legal, " << walks.refused << " of " << walks.others
                      << " others refused");
  CHECK(walks.found * 100 > walks.valid * 95);
  CHECK(walks.valid > 300);
  CHECK(walks.taken * 100 > walks.legal * 90);
  CHECK(walks.others > 2000);
  CHECK(walks.refused * 10 > walks.others * 7);
}

TEST_CASE("a program on 65536 devices in printed: a certificate of a kilobyte") {
  const Instance instance = instance_of("16,16,16,16", "65536", "0", "[[16 16 16 16]]");
  const auto steps_of = [&](const char* text) {
    TextCursor cursor("test", text);
    return parse_steps(cursor, instance.grid.devices(), &instance, {}, nullptr, false);
  };
  const std::vector<Step> steps = steps_of(
      "Reduce(l1, InsideGroup); ReduceScatter(l1, Master(root)); AllGather(l1, Master(root)); "
      "Broadcast(l1, InsideGroup)");
  const CertificateFiles files = large_sizes_certificate(instance, steps, {});
  CHECK(files.at("problem.json").size() < 2000);
  const kernel::Result result = check_certificate(files);
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.find("where those from 5 on are any others from 5 on, by tables") !=
        std::string::npos);
  const json problem = json::parse(files.at("problem.json"));
  json fewer = problem["steps"];
  fewer.erase(fewer.size() - 1);
  CHECK(check_changed(files, "steps", fewer).reason.find("the goal is not reached") !=
        std::string::npos);
  json other = problem["steps"];
  other[2]["form"] = "InsideGroup";
  CHECK(check_changed(files, "steps", other).reason.find("step 3 (AllGather) is refused") !=
        std::string::npos);
  other[2]["form"] = "Outside";
  CHECK(check_changed(files, "steps", other).verdict != kernel::Verdict::Accepted);
  // More digits than the checker runs.
  const Instance many = instance_of("2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2", "65536", "0",
                                    "[[2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2]]");
  CHECK(judged(many, choices_of(many)).verdict == kernel::Verdict::Incomplete);
}
