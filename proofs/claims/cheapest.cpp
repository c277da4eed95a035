#include "proofs/claims/costs.h"

#include <algorithm>

#include "engine/collective/device_state.h"
#include "proofs/claims/search.h"

namespace p2::claims {
namespace {

/// Of a search that is not deep: a few seconds.
constexpr std::size_t kMaxShallowTries = 50'000'000;

class LabelSearch {
 public:
  LabelSearch(const CostProblem& problem, CostFront known)
      : problem_(problem),
        known_(std::move(known)),
        simulator_(problem.devices, problem.classes),
        lower_bound_(simulator_.states(), problem.classes, problem.network) {}

  CheaperPrograms operator()(const Bounds& bounds) {
    reach(simulator_.initial(), {});
    for (std::size_t label = 0; label < labels_.size(); ++label) {
      const bool exhausted = !bounds.deep && label * problem_.moves.size() >= kMaxShallowTries;
      const bool limit = exhausted || bounds.limits.exceeded(bytes());
      if (limit || labels_[label].depth == bounds.size) {
        answer_.settled = limit ? labels_[label].depth : bounds.size;
        return std::move(answer_);
      }
      if (labels_[label].dominated) continue;
      expand(label);
    }
    answer_.settled = bounds.size;
    answer_.any_length = true;
    return std::move(answer_);
  }

 private:
  /// One path to a state.
  struct Label {
    std::uint32_t state = 0;  ///< index into states_
    std::size_t parent = 0;
    std::uint32_t move = 0;
    std::uint32_t depth = 0;
    Cost cost = {};
    bool dominated = false;  ///< by another path of as many steps
  };

  void expand(std::size_t number) {
    const SystemState before = states_[labels_[number].state];
    const Cost so_far = labels_[number].cost;
    if (!may_improve(so_far, before)) return;
    for (std::uint32_t move = 0; move < problem_.moves.size(); ++move) {
      const BareMove& tried = problem_.moves[move];
      SystemState after = before;
      if (!simulator_.run(tried.collective, tried.groups, after)) continue;
      Label label{0, number, move, labels_[number].depth + 1, so_far + cost_of(tried, before)};
      if (after == simulator_.goal()) {
        finish(label);
      } else if (may_improve(label.cost, after)) {
        reach(after, std::move(label));
      }
    }
  }

  Cost cost_of(const BareMove& move, const SystemState& before) {
    held_.clear();
    for (const Group& group : move.groups) {
      held_.push_back(simulator_.chunks_held(before[group[0]]));
    }
    return problem_.network.of_step(move.collective, move.groups, held_, problem_.devices);
  }

  /// Bounding: whether a program that costs `so_far` up to `state` can be below what is known.
  bool may_improve(const Cost& so_far, const SystemState& state) {
    const std::optional<Cost> remaining = lower_bound_(state);
    return remaining && known_.undercut_by(so_far + *remaining).has_value();
  }

  void finish(const Label& last) {
    if (!known_.undercut_by(last.cost)) return;
    known_.add(last.cost);
    PricedProgram program{last.cost, {last.move}};
    for (std::size_t label = last.parent; labels_[label].depth > 0; label = labels_[label].parent) {
      program.path.insert(program.path.begin(), labels_[label].move);
    }
    answer_.found.push_back(std::move(program));
  }

  void reach(const SystemState& state, Label label) {
    bool known = false;
    std::uint32_t& entry = ids_.find(state, known);
    if (!known) {
      entry = static_cast<std::uint32_t>(states_.size());
      states_.push_back(state);
      paths_.emplace_back();
    }
    label.state = entry;
    for (const std::size_t path : paths_[entry]) {
      if (labels_[path].cost.at_most(label.cost)) return;
    }
    for (const std::size_t path : paths_[entry]) {
      if (labels_[path].depth == label.depth && label.cost.at_most(labels_[path].cost)) {
        labels_[path].dominated = true;
      }
    }
    paths_[entry].push_back(labels_.size());
    labels_.push_back(std::move(label));
  }

  std::size_t bytes() const {
    return states_.size() * (std::size_t{problem_.devices} * 2 * sizeof(StateId) + 128) +
           labels_.size() * (sizeof(Label) + sizeof(Charge) + sizeof(std::size_t) + 32);
  }

  const CostProblem& problem_;
  CostFront known_;
  Simulator simulator_;
  CostLowerBound lower_bound_;
  TupleCache ids_;
  std::vector<SystemState> states_;
  std::vector<std::vector<std::size_t>> paths_;  ///< labels, by state
  std::vector<Label> labels_;
  std::vector<std::uint32_t> held_;
  CheaperPrograms answer_;
};

}  // namespace

CheaperPrograms cheaper_programs(const CostProblem& problem, CostFront known,
                                 const Bounds& bounds) {
  return LabelSearch(problem, std::move(known))(bounds);
}

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
    std::vector<Step> steps = subject.steps(program.path);
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
    for (const std::uint32_t move : program.path) {
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
