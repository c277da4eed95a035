#include "engine/program/state_graph.h"

#include <algorithm>

#include "engine/base/invariant.h"
#include "engine/collective/device_state.h"

namespace p2 {
namespace {

void simulate(const DeviceGrid& grid, FactorSet kept, Problem& problem) {
  for (std::size_t f = 0; f < grid.factors().size(); ++f) {
    if ((kept >> f & 1U) != 0) problem.factors.push_back({0, 0, grid.factors()[f].size, 1});
  }
  for (auto factor = problem.factors.rbegin(); factor != problem.factors.rend(); ++factor) {
    factor->stride = problem.devices;
    problem.devices *= factor->size;
  }
}

}  // namespace

FactorSet simulated_factors(const Instance& instance) {
  return instance.hierarchy.confined_to_reduction() ? instance.grid.factors_of(instance.reduction)
                                                    : instance.grid.all_factors();
}

FactorSet digits_of(FactorSet factors, FactorSet simulated) {
  FactorSet digits = 0;
  for (std::uint32_t f = 0, next = 0; simulated >> f != 0; ++f) {
    if ((simulated >> f & 1U) == 0) continue;
    digits |= (factors >> f & 1U) << next++;
  }
  return digits;
}

NamedProblem make_problem(const Instance& instance, Dialect dialect,
                          const CollectiveSet& collectives, const Beginning& beginning) {
  const DeviceGrid& grid = instance.grid;
  const FactorSet reduction = grid.factors_of(instance.reduction);
  const FactorSet kept = simulated_factors(instance);
  NamedProblem named;
  simulate(grid, kept, named.problem);
  named.problem.contributors = grid.devices();
  named.problem.beginning = beginning;
  named.problem.reduction = digits_of(reduction, kept);
  named.shapes = all_shapes(instance.hierarchy);
  const std::vector<Collective> all = collectives.all();
  for (std::uint32_t i = 0; i < named.shapes.size(); ++i) {
    const Pattern& whole = named.shapes[i].pattern;
    invariant(((whole.reduced | whole.pinned) & ~kept) == 0, "a shape reaches outside its class");
    const Pattern pattern{digits_of(whole.reduced, kept), digits_of(whole.pinned, kept)};
    for (const Collective collective : all) {
      if (!allows(dialect, pattern, collective)) continue;
      named.problem.moves.push_back({pattern, collective});
      named.shape_of.push_back(i);
    }
  }
  return named;
}

namespace {

std::uint64_t hash_of(std::span<const StateId> state) {
  std::uint64_t hash = state.size();
  for (const StateId id : state) hash = mix(hash, id);
  return hash;
}

}  // namespace

StateGraph::StateGraph(const Problem& problem, const Terms& terms, std::uint32_t size,
                       const Limits& limits, SearchProgress* progress)
    : problem_(problem),
      limits_(limits),
      states_(problem.chunks()),
      kernels_(states_, terms.collectives, problem.contributors) {
  set_up(terms.goal);
  intern_work();
  NodeId begin = 0;
  for (std::uint32_t depth = 0; depth < size; ++depth) {
    const auto end = static_cast<NodeId>(graph_.offsets.size());
    for (NodeId node = begin; node < end; ++node) {
      if (!expand(node, depth + 1 == size)) return;
      if (progress != nullptr) progress->states.fetch_add(1, std::memory_order_relaxed);
    }
    begin = end;
    graph_.settled = depth + 1;
  }
}

void StateGraph::set_up(const Goal& goal) {
  const FactorSet all = (FactorSet{1} << problem_.factors.size()) - 1;
  for (std::size_t move = 0; move < problem_.moves.size(); ++move) {
    const Pattern& pattern = problem_.moves[move].pattern;
    if (move == 0 || pattern != problem_.moves[move - 1].pattern) {
      groups_.push_back({digit_sums(problem_.factors, all & ~(pattern.reduced | pattern.pinned)),
                         digit_sums(problem_.factors, pattern.reduced)});
    }
    groups_of_move_.push_back(static_cast<std::uint32_t>(groups_.size() - 1));
  }
  const std::vector<std::uint32_t> members = digit_sums(problem_.factors, problem_.reduction);
  std::vector<Group> classes;
  for (const std::uint32_t base : digit_sums(problem_.factors, all & ~problem_.reduction)) {
    classes.push_back(members);
    for (std::uint32_t& device : classes.back()) device += base;
  }
  Ends ends = ends_of(goal, problem_.beginning, classes, problem_.contributors, states_);
  work_ = std::move(ends.begin);
  goal_state_ = std::move(ends.goal);
}

bool StateGraph::expand(NodeId node, bool last) {
  const std::size_t first = graph_.transitions.size();
  bool within_limits = !over_limits();
  for (std::uint32_t move = 0; within_limits && node != goal_node_ && move < problem_.moves.size();
       ++move) {
    if (run(groups_[groups_of_move_[move]], problem_.moves[move].collective, node, last)) {
      graph_.transitions.push_back({move, intern_work()});
    }
    within_limits = !over_limits();
  }
  graph_.offsets[node] = {first, static_cast<std::uint32_t>(graph_.transitions.size() - first)};
  return within_limits;
}

/// Leaves the state after the move in `work_`. With `last`, a move is rejected at the first group
/// that misses the goal.
bool StateGraph::run(const Groups& groups, Collective collective, NodeId node, bool last) {
  const std::size_t n = groups.offsets.size();
  before_.resize(n);
  after_.resize(n);
  bool copied = false;
  for (const std::uint32_t base : groups.bases) {
    const auto current = state(node);
    bool anything = false;
    for (std::size_t i = 0; i < n; ++i) {
      before_[i] = current[base + groups.offsets[i]];
      anything = anything || before_[i] != kHoldsNothing;
    }
    if (!anything || !kernels_.apply(collective, before_, after_)) return false;
    if (!copied) work_.assign(current.begin(), current.end());
    copied = true;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t device = base + groups.offsets[i];
      if (last && after_[i] != goal_state_[device]) return false;
      work_[device] = after_[i];
    }
  }
  return !last || work_ == goal_state_;
}

NodeId StateGraph::intern_work() {
  const std::uint64_t hash = hash_of(work_);
  const auto known =
      ids_.find(hash, [&](NodeId node) { return std::ranges::equal(state(node), work_); });
  if (known) return *known;
  graph_.offsets.emplace_back(0, 0);
  states_of_nodes_.insert(states_of_nodes_.end(), work_.begin(), work_.end());
  const NodeId node = ids_.add(hash);
  if (work_ == goal_state_) {
    goal_node_ = node;
    graph_.goals = {node};
  }
  return node;
}

/// Counting what is used is a tenth of a small search, and asked for after every move.
bool StateGraph::over_limits() const {
  return limits_.exceeded(limits_.memory_bytes ? bytes() : 0);
}

std::size_t StateGraph::bytes() const {
  std::size_t fixed = (goal_state_.capacity() + work_.capacity()) * sizeof(StateId);
  for (const Groups& groups : groups_) {
    fixed += (groups.bases.capacity() + groups.offsets.capacity()) * sizeof(std::uint32_t);
  }
  return fixed + states_.bytes() + kernels_.bytes() + ids_.bytes() +
         states_of_nodes_.capacity() * sizeof(StateId) +
         graph_.transitions.capacity() * sizeof(Transition) +
         graph_.offsets.capacity() * sizeof(graph_.offsets[0]);
}

}  // namespace p2
