#include "proofs/claims/cheaper_groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/program/notation.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kMostDevices = 6;

constexpr HierarchyKind kKinds[] = {HierarchyKind::Hardware,  HierarchyKind::Columns,
                                    HierarchyKind::Rows,      HierarchyKind::Reduction,
                                    HierarchyKind::Collapsed, HierarchyKind::Lattice};

/// Adds the best programs that are made of these moves.
void add_best(const CostProblem& problem, const Bounds& bounds, BestOverHierarchies& best) {
  const CheaperPrograms programs = cheaper_programs(problem, best.front, bounds);
  for (const PricedProgram& program : programs.found) best.front.add(program.cost);
  best.settled = std::min(best.settled, programs.settled);
}

/// The program that is the smallest part of what is known, the first of them; and where it is so.
struct Gain {
  const PricedProgram* program = nullptr;
  Cost::Ratio ratio;
};

Gain greatest_gain(const CheaperPrograms& programs, const CostFront& known) {
  Gain best;
  Fraction smallest = 1;
  for (const PricedProgram& program : programs.found) {
    const Cost::Ratio ratio = *known.undercut_by(program.cost);
    const Fraction part = program.cost.at(ratio) / *known.at(ratio);
    if (part >= smallest) continue;
    smallest = part;
    best = {&program, ratio};
  }
  return best;
}

/// `two-level: costs 8α + 13β; over (d) and collapsed the least are 8α + 16β; at α = 0 it is …`.
std::string gain_in_words(const Gain& gain, const CostFront& known, CostModel model,
                          const char* others) {
  std::vector<std::string> costs;
  for (const Cost& cost : known.costs()) costs.push_back(p2::to_string(cost));
  return fmt::format(
      "{}: costs {}; over {} the least are {}; at {} it is {} against {}", to_string(model),
      p2::to_string(gain.program->cost), others, fmt::join(costs, ", "), p2::to_string(gain.ratio),
      p2::to_string(gain.program->cost.at(gain.ratio)), p2::to_string(*known.at(gain.ratio)));
}

/// What the programs over the moves of `problem` say, given the best of the others; `notation`
/// writes one of them.
template <typename Notation>
Answer compare(const CostProblem& problem, const BestOverHierarchies& known, const Bounds& bounds,
               CostModel model, const char* others, Notation notation) {
  if (known.settled < bounds.size) {
    return {Outcome::Undecided, 0, {}, 0, fmt::format("the best over {} is not settled", others)};
  }
  const CheaperPrograms programs = cheaper_programs(problem, known.front, bounds);
  if (programs.found.empty()) {
    const bool whole = programs.settled == bounds.size;
    return {whole ? Outcome::Holds : Outcome::Undecided,
            programs.settled,
            {},
            0,
            programs.any_length ? "no program of any length" : ""};
  }
  const Gain gain = greatest_gain(programs, known.front);
  const std::vector<std::uint32_t>& way = gain.program->way;
  return {Outcome::Refuted, programs.settled, notation(way), way.size(),
          gain_in_words(gain, known.front, model, others)};
}

}  // namespace

std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves) {
  std::vector<BareMove> bare;
  for (const Move& move : moves) {
    bare.push_back({move.collective, grid.groups(move.pattern.reduced, move.pattern.pinned)});
  }
  return bare;
}

BestOverHierarchies best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                          Dialect dialect, const LatencyBandwidth& network,
                                          const Bounds& bounds) {
  BestOverHierarchies best{{}, bounds.size};
  for (const PlacedSystem& system : placed_systems(devices)) {
    if (system.grid.devices() != devices) continue;
    if (system.over(HierarchyKind::Hardware).classes() != classes) continue;
    for (const HierarchyKind kind : kKinds) {
      const std::vector<Move> moves = instructions(system.over(kind), dialect);
      const CostProblem problem{devices, classes, bare_moves(system.grid, moves), network};
      add_best(problem, bounds, best);
    }
  }
  return best;
}

Answer no_groups_are_cheaper(const Subject& subject, const Bounds& bounds, CostModel model) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (devices > kMostDevices) {
    return {Outcome::Undecided,
            0,
            {},
            0,
            fmt::format("arbitrary groups are tried on at most {} devices", kMostDevices)};
  }
  const CostProblem problem{devices, subject.from.classes(), all_bare_moves(devices),
                            network_of(subject.from.grid.hierarchy(), model)};
  const BestOverHierarchies known =
      best_over_hierarchies(devices, problem.classes, subject.dialect, problem.network, bounds);
  return compare(problem, known, bounds, model, "hierarchies",
                 [&](const auto& way) { return to_string(problem.moves, way); });
}

Answer lattice_gains_nothing(const Subject& subject, const Bounds& bounds, CostModel model) {
  const PlacedSystem system{subject.from.grid, subject.from.reduction};
  CostProblem problem{subject.from.grid.devices(),
                      subject.from.classes(),
                      {},
                      network_of(subject.from.grid.hierarchy(), model)};
  BestOverHierarchies known{{}, bounds.size};
  for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
    problem.moves = bare_moves(system.grid, instructions(system.over(kind), subject.dialect));
    add_best(problem, bounds, known);
  }
  problem.moves = bare_moves(system.grid, subject.moves);
  return compare(problem, known, bounds, model, "(d) and collapsed",
                 [&](const auto& way) { return p2::to_string(subject.steps(way), &subject.from); });
}

}  // namespace p2::claims
