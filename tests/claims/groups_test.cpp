#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/program/program.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/search.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using namespace p2::claims;

namespace {

/// The steps of the shortest mixing program by plain depth-first search: no state is ever left out,
/// and the collectives' rules are those of `check`. 0 where none of at most `most` steps exists.
std::size_t shortest_by_trying(std::uint32_t devices, const std::vector<Group>& classes,
                               const std::vector<BareMove>& moves, Program& program, bool mixed,
                               std::size_t most) {
  StateTable states(devices);
  const ProgramDecision verdict = check(program, Dialect::Published, states);
  if (verdict.legal_steps < program.steps.size()) return 0;
  if (verdict.outcome == Outcome::Established) return mixed ? program.steps.size() : 0;
  if (program.steps.size() == most) return 0;
  std::size_t best = 0;
  for (const BareMove& move : moves) {
    program.steps.push_back({move.collective, move.groups, std::nullopt});
    const std::size_t found = shortest_by_trying(devices, classes, moves, program,
                                                 mixed || mixes(move.groups, classes), most);
    program.steps.pop_back();
    if (found != 0 && (best == 0 || found < best)) best = found;
  }
  return best;
}

Program program_of(const Settlement& answer, std::uint32_t devices,
                   const std::vector<Group>& classes) {
  TextCursor cursor("program", answer.program);
  return {devices, classes, parse_steps(cursor, devices, nullptr)};
}

void check_valid_and_mixing(const Settlement& answer, std::uint32_t devices,
                            const std::vector<Group>& classes) {
  const Program program = program_of(answer, devices, classes);
  StateTable states(devices);
  CHECK(check(program, Dialect::Published, states).outcome == Outcome::Established);
  CHECK(std::any_of(program.steps.begin(), program.steps.end(),
                    [&](const Step& step) { return mixes(step.groups, classes); }));
}

Bounds steps(std::uint32_t size) {
  Bounds bounds;
  bounds.size = size;
  return bounds;
}

}  // namespace

TEST_CASE("four devices have 14 sets of disjoint groups, six have 202") {
  CHECK(all_bare_moves(4).size() == 14 * 5);
  CHECK(all_bare_moves(6).size() == 202 * 5);
  CHECK(mixes({{0, 1}, {2, 3}}, {{0, 1, 2}, {3}}));
  CHECK(!mixes({{0, 2}}, {{0, 1, 2}, {3}}));
}

TEST_CASE("the shortest mixing program of two classes of two has four steps") {
  for (const std::vector<Group>& classes : all_partitions(4)) {
    CAPTURE(p2::to_string(classes));
    const Settlement answer = smallest_mixing_program(4, classes, steps(32));
    const bool pairs = classes.size() == 2 && classes[0].size() == 2;
    CHECK(answer.outcome == (pairs ? Outcome::Refuted : Outcome::Established));
    if (!pairs) {
      CHECK(answer.note == "no program of any length");
      continue;
    }
    CHECK(answer.steps == 4);
    check_valid_and_mixing(answer, 4, classes);
  }
}

TEST_CASE("Z3 and the search agree on all partitions of at most four devices") {
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for (const std::vector<Group>& classes : all_partitions(devices)) {
      CAPTURE(p2::to_string(classes));
      // Refuting programs of four steps takes Z3 seconds; where there is one it is found at once.
      const bool pairs = devices == 4 && classes.size() == 2 && classes[0].size() == 2;
      const Bounds bounds = steps(pairs || devices < 4 ? 4 : 3);
      const Settlement searched = smallest_mixing_program(devices, classes, bounds);
      const Settlement solved = smallest_mixing_program_by_z3(devices, classes, bounds);
      CHECK(solved.outcome == searched.outcome);
      CHECK(solved.steps == searched.steps);
      if (solved.outcome == Outcome::Refuted) check_valid_and_mixing(solved, devices, classes);
    }
  }
}

TEST_CASE("a state is left out only if nothing leads from it to the goal") {
  // Every state of three devices, classes {0,2} and {1}: what is reachable backwards is kept.
  for (const std::vector<Group>& classes : all_partitions(3)) {
    Simulator simulator(3, classes);
    GoalReachability may_reach_goal(simulator.states(), classes);
    const std::vector<BareMove> moves = all_bare_moves(3);
    std::vector<SystemState> known{simulator.initial()};
    std::vector<std::vector<std::size_t>> next;
    for (std::size_t i = 0; i < known.size(); ++i) {
      next.emplace_back();
      for (const BareMove& move : moves) {
        SystemState after = known[i];
        if (!simulator.run(move.collective, move.groups, after)) continue;
        const auto place = std::find(known.begin(), known.end(), after);
        next[i].push_back(static_cast<std::size_t>(place - known.begin()));
        if (place == known.end()) known.push_back(after);
      }
    }
    std::vector<bool> leads(known.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < known.size(); ++i) {
        const bool now =
            known[i] == simulator.goal() ||
            std::any_of(next[i].begin(), next[i].end(), [&](std::size_t j) { return leads[j]; });
        changed = changed || now != leads[i];
        leads[i] = now;
      }
    }
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const bool kept = may_reach_goal(known[i]);
      CHECK((kept || !leads[i]));
      left_out += kept ? 0U : 1U;
    }
    CHECK((left_out > 0 || classes.size() == 1));
  }
}

TEST_CASE("a plain search that leaves nothing out agrees up to three steps") {
  const std::vector<Group> classes = {{0, 1}, {2}};
  Program program{3, classes, {}};
  CHECK(shortest_by_trying(3, classes, all_bare_moves(3), program, false, 3) == 0);
  CHECK(smallest_mixing_program(3, classes, steps(3)).outcome == Outcome::Established);
}

TEST_CASE("no program of less than four steps mixes classes on six devices") {
  const Ran ran = run({"prove", "mixing", "--max-devices", "6"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("26 systems  holds everywhere up to 6 devices") != std::string::npos);
}

TEST_CASE("p2-check accepts the certificate of a mixing program on six devices") {
  const TemporaryFile place("", ".certificates");
  std::filesystem::remove(place.path());
  const Ran ran = run({"prove", "lemma-b3", "--hierarchy", "6", "--axes", "3,2", "--reduce", "0",
                       "--format", "json", "--certify", place.path()});
  CHECK(ran.exit == 1);
  const auto result = nlohmann::json::parse(ran.out).at("results").at(0);
  CHECK(result.at("counterexample").at("steps").size() == 4);
  CHECK(check_folder(result.at("certificate").get<std::string>()).verdict ==
        kernel::Verdict::Accepted);
  std::filesystem::remove_all(place.path());
}

TEST_CASE("prove certifies that fewer than four steps mix no classes") {
  const TemporaryFile place("", ".certificates");
  std::filesystem::remove(place.path());
  const Ran ran = run({"prove", "mixing", "lemma-b3", "--max-devices", "4", "--format", "json",
                       "--certify", place.path()});
  CHECK(ran.exit == 1);
  const auto answer = nlohmann::json::parse(ran.out);
  std::size_t unmixed = 0;
  for (const auto& result : answer.at("results")) {
    CAPTURE(result.dump());
    if (result.at("verdict") == "refuted") continue;
    REQUIRE(result.at("evidence") == "unmixed");
    const std::string folder = result.at("certificate");
    CHECK(check_folder(folder).verdict == kernel::Verdict::Accepted);
    std::ifstream file(folder + "/problem.json");
    const auto problem = nlohmann::json::parse(file);
    const bool pairs = problem.at("devices") == 4 && problem.at("classes").size() == 2;
    CHECK(problem.at("size") == (pairs ? 3 : 5));
    ++unmixed;
  }
  CHECK(unmixed == 10);
  std::filesystem::remove_all(place.path());
}
