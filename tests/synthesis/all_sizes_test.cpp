#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "engine/program/symbolic/all_sizes.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;

namespace {

constexpr FactorSet kAll = 0xffff;

/// The same shapes on another system: `sizes` in place of the problem's.
Problem with_sizes(const Problem& problem, const std::vector<std::uint32_t>& sizes) {
  Problem other = problem;
  other.devices = 1;
  for (std::size_t f = sizes.size(); f-- > 0;) {
    other.factors[f] = {0, 0, sizes[f], other.devices};
    other.devices *= sizes[f];
  }
  other.contributors = other.devices;
  return other;
}

/// Whether the explicit engine lists exactly this program of its moves.
bool is_valid(const Problem& problem, const std::vector<std::uint32_t>& moves) {
  Problem chain = problem;  // the program's moves, each once
  chain.moves.clear();
  std::vector<std::uint32_t> renumbered;
  for (const std::uint32_t move : moves) {
    const auto known = std::ranges::find(chain.moves, problem.moves[move]);
    renumbered.push_back(static_cast<std::uint32_t>(known - chain.moves.begin()));
    if (known == chain.moves.end()) chain.moves.push_back(problem.moves[move]);
  }
  bool found = false;
  ProgramList(chain, static_cast<std::uint32_t>(moves.size()), {})
      .for_each([&](std::span<const std::uint32_t> listed) {
        found = found || std::ranges::equal(listed, renumbered);
      });
  return found;
}

}  // namespace

TEST_CASE("the programs of all small systems are those of all sizes") {
  std::set<Problem> known;
  for (const std::uint32_t devices : {2U, 4U, 6U, 8U}) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const Problem problem = make_problem(instance, dialect).problem;
      const bool many = instance.hierarchy.kind() != HierarchyKind::Reduction;
      if (problem.factors.size() > 2 && many) return;
      if (!known.insert(problem).second) return;
      const ProgramList list(problem, 3, {});
      const SizesAnswer answer = listed_for_all_sizes(problem, list, 3, kAll, {});
      CAPTURE(to_string(instance.hierarchy));
      CAPTURE(to_string(instance.grid.placement()));
      CHECK(answer.outcome == Outcome::Established);
    });
  }
  CHECK(known.size() > 50);
}

TEST_CASE("a list that lacks a program, or has one too many, is not that of all sizes") {
  for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
    const Problem problem = make_problem(instance_of("2,2", "4", "0", "[[2 2]]"), dialect).problem;
    for (const std::uint32_t other : {2U, 4U}) {
      const ProgramList list(problem, other, {});
      const SizesAnswer answer = listed_for_all_sizes(problem, list, 3, kAll, {});
      CHECK(answer.outcome == Outcome::Refuted);
      CHECK(answer.sizes == std::vector<std::uint32_t>{2, 2});
    }
  }
}

TEST_CASE("verdicts for all sizes are those of the explicit engine for many sizes") {
  std::mt19937 random(5);
  std::size_t valid = 0;
  std::size_t undecided = 0;
  std::size_t all = 0;
  for (const HierarchyKind kind : kHierarchyKinds) {
    for (const Dialect dialect : {Dialect::Printed, Dialect::Published}) {
      const Problem problem =
          make_problem(instance_of("2,2", "4", "0", "[[2 2]]", kind), dialect).problem;
      std::vector<std::vector<std::uint32_t>> programs;
      ProgramList(problem, 5, {}).for_each([&](std::span<const std::uint32_t> moves) {
        programs.emplace_back(moves.begin(), moves.end());
      });
      for (int i = 0; i < 40; ++i) {
        std::vector<std::uint32_t> program = programs[random() % programs.size()];
        const auto move = static_cast<std::uint32_t>(random() % problem.moves.size());
        if (i % 2 == 1) program[random() % program.size()] = move;
        const SizesAnswer answer = valid_for_all_sizes(problem, program, kAll, {});
        ++all;
        valid += answer.outcome == Outcome::Established ? 1 : 0;
        undecided += answer.outcome == Outcome::Undecided ? 1 : 0;
        if (answer.outcome == Outcome::Refuted) {
          CHECK(!is_valid(with_sizes(problem, answer.sizes), program));
        }
        if (answer.outcome != Outcome::Established) continue;
        for (const auto& sizes : std::vector<std::vector<std::uint32_t>>{
                 {2, 2}, {2, 3}, {3, 2}, {4, 6}, {5, 5}, {7, 3}, {6, 9}}) {
          CHECK(is_valid(with_sizes(problem, sizes), program));
        }
      }
    }
  }
  CHECK(valid * 3 > all);
  CHECK(undecided == 0);
}

TEST_CASE("sizes that are given stay as they are") {
  const Problem problem =
      make_problem(instance_of("3,4", "12", "0", "[[3 4]]"), Dialect::Printed).problem;
  const ProgramList longer(problem, 4, {});
  const SizesAnswer answer = listed_for_all_sizes(problem, longer, 3, 0b01, {});
  CHECK(answer.outcome == Outcome::Refuted);
  CHECK(answer.sizes == std::vector<std::uint32_t>{2, 4});
  const ProgramList list(problem, 3, {});
  CHECK(listed_for_all_sizes(problem, list, 3, 0b01, {}).outcome == Outcome::Established);
}
