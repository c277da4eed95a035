#include "engine/synthesis/state_graph.h"

#include <algorithm>

#include "engine/collective/hashing.h"
#include "engine/invariant.h"

namespace p2 {
namespace {

/// All sums of digits × strides over the factors in `set`, ascending.
std::vector<std::uint32_t> points(const Problem& problem, FactorSet set) {
  std::vector<std::uint32_t> all{0};
  for (std::size_t f = 0; f < problem.factors.size(); ++f) {
    if ((set >> f & 1U) == 0) continue;
    std::vector<std::uint32_t> extended;
    extended.reserve(all.size() * problem.factors[f].size);
    for (const std::uint32_t point : all) {
      for (std::uint32_t digit = 0; digit < problem.factors[f].size; ++digit) {
        extended.push_back(point + digit * problem.factors[f].stride);
      }
    }
    all = std::move(extended);
  }
  return all;
}

std::uint64_t hash_of(std::span<const StateId> state) {
  std::uint64_t hash = state.size();
  for (const StateId id : state) hash = mix(hash, id);
  return hash;
}

}  // namespace

StateGraph::StateGraph(const Problem& problem, std::uint32_t size, const Limits& limits,
                       SearchProgress* progress)
    : problem_(problem), limits_(limits), states_(problem.chunks), kernels_(states_) {
  set_up();
  intern_work();
  NodeId begin = 0;
  for (std::uint32_t depth = 0; depth < size; ++depth) {
    const auto end = static_cast<NodeId>(offsets_.size());
    for (NodeId node = begin; node < end; ++node) {
      if (!expand(node, depth + 1 == size)) return;
      if (progress != nullptr) progress->states.fetch_add(1, std::memory_order_relaxed);
    }
    begin = end;
    settled_ = depth + 1;
  }
}

void StateGraph::set_up() {
  const FactorSet all = (FactorSet{1} << problem_.factors.size()) - 1;
  for (const Move& move : problem_.moves) {
    const FactorSet free = all & ~(move.pattern.reduced | move.pattern.pinned);
    groups_of_move_.push_back({points(problem_, free), points(problem_, move.pattern.reduced)});
  }
  const std::vector<std::uint32_t> members = points(problem_, problem_.reduction);
  goal_state_.resize(problem_.devices);
  for (const std::uint32_t base : points(problem_, all & ~problem_.reduction)) {
    std::vector<std::uint32_t> contributors = members;
    for (std::uint32_t& device : contributors) device += base;
    const StateId sum = states_.whole(states_.sets().of(contributors));
    for (const std::uint32_t device : contributors) goal_state_[device] = sum;
  }
  work_.resize(problem_.devices);
  for (std::uint32_t d = 0; d < problem_.devices; ++d) {
    work_[d] = states_.whole(states_.sets().range(d, d + 1));
  }
}

std::span<const Transition> StateGraph::transitions(NodeId node) const {
  return {transitions_.data() + offsets_[node].first, offsets_[node].second};
}

bool StateGraph::expand(NodeId node, bool last) {
  const std::size_t first = transitions_.size();
  bool within_limits = !limits_.exceeded(bytes());
  for (std::uint32_t move = 0; within_limits && node != goal_node_ && move < problem_.moves.size();
       ++move) {
    if (run(groups_of_move_[move], problem_.moves[move].collective, node, last)) {
      transitions_.push_back({move, intern_work()});
    }
    within_limits = !limits_.exceeded(bytes());
  }
  offsets_[node] = {first, static_cast<std::uint32_t>(transitions_.size() - first)};
  return within_limits;
}

/// Leaves the state after the move in `work_`. With `last`, moves that miss the goal are refused as
/// early as their first group.
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
  if (offsets_.size() * 2 >= slots_.size()) grow();
  const std::uint64_t hash = hash_of(work_);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const NodeId known = slots_[slot] - 1;
    if (hashes_[known] == hash && std::ranges::equal(state(known), work_)) return known;
  }
  const auto node = static_cast<NodeId>(offsets_.size());
  invariant(node + 1 < kNoNode, "too many system states");
  slots_[slot] = node + 1;
  hashes_.push_back(hash);
  offsets_.push_back({0, 0});
  states_of_nodes_.insert(states_of_nodes_.end(), work_.begin(), work_.end());
  if (work_ == goal_state_) goal_node_ = node;
  return node;
}

void StateGraph::grow() {
  std::vector<std::uint32_t> wider(slots_.size() * 2, 0);
  const std::size_t mask = wider.size() - 1;
  for (NodeId node = 0; node < offsets_.size(); ++node) {
    std::size_t slot = hashes_[node] & mask;
    while (wider[slot] != 0) slot = (slot + 1) & mask;
    wider[slot] = node + 1;
  }
  slots_ = std::move(wider);
}

std::size_t StateGraph::bytes() const {
  return states_.bytes() + kernels_.bytes() + states_of_nodes_.capacity() * sizeof(StateId) +
         hashes_.capacity() * sizeof(std::uint64_t) + slots_.capacity() * sizeof(std::uint32_t) +
         transitions_.capacity() * sizeof(Transition) + offsets_.capacity() * sizeof(offsets_[0]);
}

}  // namespace p2
