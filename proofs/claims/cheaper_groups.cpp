#include "proofs/claims/cheaper_groups.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/program/notation.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kMostDevices = 6;

constexpr HierarchyKind kKinds[] = {HierarchyKind::Hardware,  HierarchyKind::Columns,
                                    HierarchyKind::Rows,      HierarchyKind::Reduction,
                                    HierarchyKind::Collapsed, HierarchyKind::Lattice};

void add_all(const CheaperPrograms& programs, CostFront& front) {
  for (const PricedProgram& program : programs.found) front.add(program.cost);
}

/// The program that is the smallest part of what is known, the first of them; and where it is so.
struct Gain {
  const PricedProgram* program = nullptr;
  Cost::Ratio ratio;
};

Gain greatest_gain(const CheaperPrograms& programs, const CostFront& known) {
  Gain best;
  Rational smallest = 1;
  for (const PricedProgram& program : programs.found) {
    const Cost::Ratio ratio = *known.undercut_by(program.cost);
    const Rational part = program.cost.at(ratio) / *known.at(ratio);
    if (part >= smallest) continue;
    smallest = part;
    best = {&program, ratio};
  }
  return best;
}

/// `two-level: costs 2α + 11β, at α = 0 all over hierarchies at least 12β`.
std::string gain_in_words(const Gain& gain, const CostFront& known, CostModel model,
                          const char* others) {
  std::vector<std::string> costs;
  for (const Cost& cost : known.costs()) costs.push_back(p2::to_string(cost));
  return fmt::format(
      "{}: costs {}; over {} the least are {}; at {} it is {} against {}", to_string(model),
      p2::to_string(gain.program->cost), others, fmt::join(costs, ", "), p2::to_string(gain.ratio),
      p2::to_string(gain.program->cost.at(gain.ratio)), p2::to_string(*known.at(gain.ratio)));
}

Answer answer_of(const CheaperPrograms& programs, const Bounds& bounds) {
  const bool whole = programs.settled == bounds.size;
  return {whole ? Outcome::Holds : Outcome::Undecided,
          programs.settled,
          {},
          0,
          programs.any_length ? "no program of any length" : ""};
}

}  // namespace

std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves) {
  std::vector<BareMove> bare;
  for (const Move& move : moves) {
    bare.push_back({move.collective, grid.groups(move.pattern.reduced, move.pattern.pinned)});
  }
  return bare;
}

CostFront best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                Dialect dialect, const LatencyBandwidth& network,
                                const Bounds& bounds) {
  CostFront front;
  for (const PlacedSystem& system : placed_systems(devices)) {
    if (system.grid.devices() != devices) continue;
    if (system.over(HierarchyKind::Hardware).classes() != classes) continue;
    for (const HierarchyKind kind : kKinds) {
      const std::vector<Move> moves = instructions(system.over(kind), dialect);
      const CostProblem problem{devices, classes, bare_moves(system.grid, moves), network};
      add_all(cheaper_programs(problem, front, bounds), front);
    }
  }
  return front;
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
  const CostFront known =
      best_over_hierarchies(devices, problem.classes, subject.dialect, problem.network, bounds);
  const CheaperPrograms programs = cheaper_programs(problem, known, bounds);
  if (programs.found.empty()) return answer_of(programs, bounds);
  const Gain gain = greatest_gain(programs, known);
  const std::vector<std::uint32_t>& way = gain.program->way;
  return {Outcome::Refuted, programs.settled, to_string(problem.moves, way), way.size(),
          gain_in_words(gain, known, model, "hierarchies")};
}

Answer lattice_gains_nothing(const Subject& subject, const Bounds& bounds, CostModel model) {
  const PlacedSystem system{subject.from.grid, subject.from.reduction};
  CostProblem problem{subject.from.grid.devices(),
                      subject.from.classes(),
                      {},
                      network_of(subject.from.grid.hierarchy(), model)};
  CostFront known;
  for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
    problem.moves = bare_moves(system.grid, instructions(system.over(kind), subject.dialect));
    add_all(cheaper_programs(problem, known, bounds), known);
  }
  problem.moves = bare_moves(system.grid, subject.moves);
  const CheaperPrograms programs = cheaper_programs(problem, known, bounds);
  if (programs.found.empty()) return answer_of(programs, bounds);
  const Gain gain = greatest_gain(programs, known);
  const std::vector<std::uint32_t>& way = gain.program->way;
  return {Outcome::Refuted, programs.settled, p2::to_string(subject.steps(way), &subject.from),
          way.size(), gain_in_words(gain, known, model, "(d) and collapsed")};
}

}  // namespace p2::claims
