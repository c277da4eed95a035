#include "proofs/claims/cheapest.h"

#include <algorithm>

#include "engine/collective/tuple_memory.h"
#include "proofs/claims/least_left.h"
#include "proofs/claims/machine.h"

namespace p2::claims {
namespace {

/// So many times a search that is not deep tries a move: a few seconds.
constexpr std::size_t kFewTries = 50'000'000;

class Search {
 public:
  Search(const CostProblem& problem, CostFront known)
      : problem_(problem),
        known_(std::move(known)),
        machine_(problem.devices, problem.classes),
        least_left_(machine_.states(), problem.classes, problem.network) {}

  CheaperPrograms operator()(const Bounds& bounds) {
    reach(machine_.initial(), {});
    for (std::size_t label = 0; label < labels_.size(); ++label) {
      const bool enough = !bounds.deep && label * problem_.moves.size() >= kFewTries;
      const bool limit = enough || bounds.limits.exceeded(bytes());
      if (limit || labels_[label].depth == bounds.size) {
        answer_.settled = limit ? labels_[label].depth : bounds.size;
        return std::move(answer_);
      }
      if (labels_[label].outdone) continue;
      expand(label);
    }
    answer_.settled = bounds.size;
    answer_.any_length = true;
    return std::move(answer_);
  }

 private:
  /// One way to a state.
  struct Label {
    std::uint32_t state = 0;  ///< index into states_
    std::size_t parent = 0;
    std::uint32_t move = 0;
    std::uint32_t depth = 0;
    Cost cost = {};
    bool outdone = false;  ///< by another way of as many steps
  };

  void expand(std::size_t number) {
    const SystemState before = states_[labels_[number].state];
    const Cost so_far = labels_[number].cost;
    if (!worth_going_on(so_far, before)) return;
    for (std::uint32_t move = 0; move < problem_.moves.size(); ++move) {
      const BareMove& tried = problem_.moves[move];
      SystemState after = before;
      if (!machine_.run(tried.collective, tried.groups, after)) continue;
      Label label{0, number, move, labels_[number].depth + 1, so_far + cost_of(tried, before)};
      if (after == machine_.goal()) {
        finish(label);
      } else if (worth_going_on(label.cost, after)) {
        reach(after, std::move(label));
      }
    }
  }

  Cost cost_of(const BareMove& move, const SystemState& before) {
    held_.clear();
    for (const Group& group : move.groups) {
      held_.push_back(machine_.chunks_held(before[group[0]]));
    }
    return problem_.network.of_step(move.collective, move.groups, held_, problem_.devices);
  }

  /// Whether a program that costs so much up to `state` may still be below what is known.
  bool worth_going_on(const Cost& so_far, const SystemState& state) {
    const std::optional<Cost> left = least_left_(state);
    return left && known_.undercut_by(so_far + *left).has_value();
  }

  void finish(const Label& last) {
    if (!known_.undercut_by(last.cost)) return;
    known_.add(last.cost);
    PricedProgram program{last.cost, {last.move}};
    for (std::size_t label = last.parent; labels_[label].depth > 0; label = labels_[label].parent) {
      program.way.insert(program.way.begin(), labels_[label].move);
    }
    answer_.found.push_back(std::move(program));
  }

  void reach(const SystemState& state, Label label) {
    bool known = false;
    std::uint32_t& entry = ids_.find(state, known);
    if (!known) {
      entry = static_cast<std::uint32_t>(states_.size());
      states_.push_back(state);
      ways_.emplace_back();
    }
    label.state = entry;
    for (const std::size_t way : ways_[entry]) {
      if (labels_[way].cost.at_most(label.cost)) return;
    }
    for (const std::size_t way : ways_[entry]) {
      if (labels_[way].depth == label.depth && label.cost.at_most(labels_[way].cost)) {
        labels_[way].outdone = true;
      }
    }
    ways_[entry].push_back(labels_.size());
    labels_.push_back(std::move(label));
  }

  std::size_t bytes() const {
    return states_.size() * (problem_.devices * 2 * sizeof(StateId) + 128) +
           labels_.size() * (sizeof(Label) + sizeof(Charge) + sizeof(std::size_t) + 32);
  }

  const CostProblem& problem_;
  CostFront known_;
  Machine machine_;
  LeastLeft least_left_;
  TupleMemory ids_;
  std::vector<SystemState> states_;
  std::vector<std::vector<std::size_t>> ways_;  ///< to every state
  std::vector<Label> labels_;
  std::vector<std::uint32_t> held_;
  CheaperPrograms answer_;
};

}  // namespace

CheaperPrograms cheaper_programs(const CostProblem& problem, CostFront known,
                                 const Bounds& bounds) {
  return Search(problem, std::move(known))(bounds);
}

}  // namespace p2::claims
