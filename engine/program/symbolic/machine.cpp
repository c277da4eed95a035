#include "engine/program/symbolic/machine.h"

#include <algorithm>

#include "engine/program/symbolic/exploration.h"

namespace p2 {
namespace {

bool is_subset(FactorSet some, FactorSet all) { return (some & ~all) == 0; }

}  // namespace

bool Machine::covers(const Problem& problem, const Terms& terms) {
  return terms.of_paper() && problem.beginning == Beginning{} &&
         std::ranges::all_of(problem.moves, [](const Move& move) {
           return move.pattern.pinned == 0 || move.collective == Collective::AllReduce;
         });
}

FactorSet Machine::State::merged() const {
  FactorSet all = summed;
  for (const Pending& each : pending) all |= each.summed;
  return all;
}

Machine::State Machine::state(std::uint32_t id) const {
  const auto words = states_[id];
  State state{words[0], words[1], words[2]};
  for (std::size_t i = 3; i < words.size(); i += 2) {
    state.pending.push_back({words[i], words[i + 1]});
  }
  return state;
}

std::uint32_t Machine::intern(State& state) {
  std::ranges::sort(state.pending);
  std::vector<std::uint32_t> words{state.scattered, state.reduced, state.summed};
  for (const Pending& each : state.pending) {
    words.push_back(each.summed);
    words.push_back(each.pinned);
  }
  return states_.intern(words);
}

std::uint32_t Machine::initial() {
  State start;
  return intern(start);
}

std::uint32_t Machine::distance_bound(std::uint32_t id) const {
  const State now = state(id);
  const FactorSet merged = now.merged();
  if (!is_subset(merged, problem_.reduction)) return kUnreachable;
  // Only merging steps add to T, only AllGather takes from S, only Broadcast ends R and pairs.
  return (merged != problem_.reduction ? 1U : 0U) + (now.scattered != 0 ? 1U : 0U) +
         (now.reduced != 0 || !now.pending.empty() ? 1U : 0U);
}

bool Machine::broadcast(FactorSet varied, State& state) {
  FactorSet summed = state.summed;
  bool informative = state.reduced != 0;
  for (const Pending& each : state.pending) {
    if (!is_subset(each.pinned, varied)) continue;
    summed |= each.summed;
    informative = true;
  }
  if (!informative || !is_subset(state.reduced, varied) || (varied & state.scattered) != 0 ||
      !is_subset(varied & ~state.reduced, summed)) {
    return false;
  }
  state.reduced = 0;
  state.summed = summed;
  std::erase_if(state.pending, [&](const Pending& each) { return is_subset(each.pinned, varied); });
  for (Pending& each : state.pending) each.pinned &= ~varied;
  return true;
}

std::optional<std::uint32_t> Machine::step(std::uint32_t id, std::uint32_t move) {
  const auto [varied, pinned] = problem_.moves[move].pattern;
  const Collective collective = problem_.moves[move].collective;
  State next = state(id);
  switch (collective) {
    case Collective::AllReduce:
    case Collective::ReduceScatter:
    case Collective::Reduce: {
      const FactorSet merged = next.merged();
      if ((varied & merged) != 0 || !is_subset(next.reduced, pinned) ||
          !is_subset(pinned, merged & ~next.scattered)) {
        return std::nullopt;
      }
      if (next.reduced == pinned) {
        next.summed |= varied;
      } else {
        next.pending.push_back({varied, pinned});
      }
      if (collective == Collective::ReduceScatter) next.scattered |= varied;
      if (collective == Collective::Reduce) next.reduced = varied;
      break;
    }
    case Collective::AllGather:
      if (next.reduced != 0 || !is_subset(varied, next.scattered)) return std::nullopt;
      next.scattered &= ~varied;
      break;
    case Collective::Broadcast:
      if (!broadcast(varied, next)) return std::nullopt;
      break;
  }
  return intern(next);
}

}  // namespace p2
