#include "proofs/claims/best_programs.h"

#include <algorithm>

namespace p2::claims {

std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves) {
  std::vector<BareMove> bare;
  for (const Move& move : moves) {
    bare.push_back({move.collective, grid.groups(move.pattern.reduced, move.pattern.pinned)});
  }
  return bare;
}

std::vector<PricedFile> files_of(const CheaperPrograms& found, const Subject& subject) {
  std::vector<PricedFile> files;
  for (const PricedProgram& program : found.found) {
    std::vector<Step> steps = subject.steps(program.way);
    for (Step& step : steps) step = lower(subject.from.grid, *step.shape, step.collective);
    files.push_back({{{subject.from.grid.devices(), subject.from.classes(), std::move(steps)},
                      subject.from,
                      subject.dialect},
                     program.cost});
  }
  return files;
}

std::vector<PricedFile> files_of(const CheaperPrograms& found, const CostProblem& problem,
                                 Dialect dialect) {
  std::vector<PricedFile> files;
  for (const PricedProgram& program : found.found) {
    Program bare{problem.devices, problem.classes, {}};
    for (const std::uint32_t move : program.way) {
      bare.steps.push_back(
          {problem.moves[move].collective, problem.moves[move].groups, std::nullopt});
    }
    files.push_back({{std::move(bare), std::nullopt, dialect}, program.cost});
  }
  return files;
}

void BestPrograms::add(std::vector<PricedFile> programs, std::uint32_t settled) {
  settled_ = std::min(settled_, settled);
  for (PricedFile& program : programs) {
    front_.add(program.cost);
    programs_.push_back(std::move(program));
  }
}

void BestPrograms::add(const Subject& subject, const LatencyBandwidth& network,
                       const Bounds& bounds) {
  const CostProblem problem{subject.from.grid.devices(), subject.from.classes(),
                            bare_moves(subject.from.grid, subject.moves), network};
  const CheaperPrograms found = cheaper_programs(problem, front_, bounds);
  add(files_of(found, subject), found.settled);
  hierarchies_.push_back(subject.from);
}

std::vector<ProgramFile> BestPrograms::programs() const {
  std::vector<ProgramFile> files;
  for (const Cost& cost : front_.costs()) {
    const auto first = std::find_if(programs_.begin(), programs_.end(),
                                    [&](const PricedFile& each) { return each.cost == cost; });
    files.push_back(first->file);
  }
  return files;
}

BestPrograms best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                   Dialect dialect, const LatencyBandwidth& network,
                                   const Bounds& bounds) {
  BestPrograms best(bounds.size);
  for (const PlacedSystem& system : placed_systems(devices)) {
    if (system.grid.devices() != devices) continue;
    if (system.over(HierarchyKind::Hardware).classes() != classes) continue;
    for (const HierarchyKind kind : kHierarchyKinds) {
      best.add(Subject(system, kind, std::nullopt, dialect), network, bounds);
    }
  }
  return best;
}

}  // namespace p2::claims
