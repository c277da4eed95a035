#include "proofs/claims/simulation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proofs/claims/frontier.h"
#include "proofs/claims/twin.h"

namespace p2::claims {
namespace {

/// Visits every reachable state of one system and every move that is legal there; `judge(twin,
/// before, move, after)` says what is wrong, if anything is.
template <typename Judge>
Answer for_every_step(const Subject& subject, const Bounds& bounds, Judge judge) {
  Twin twin = on_system(subject);
  Frontier frontier(twin.machine.initial());
  for (std::size_t node = 0; node < frontier.nodes(); ++node) {
    if (frontier.depth(node) == bounds.size) break;
    if (bounds.limits.exceeded(frontier.bytes())) {
      return {Outcome::Undecided, frontier.depth(node), {}, 0, {}};
    }
    const SystemState before = frontier.key(node);
    if (before == twin.machine.goal()) continue;
    for (std::uint32_t move = 0; move < subject.moves.size(); ++move) {
      SystemState after = before;
      if (!twin.machine.run(subject.moves[move].collective, twin.groups[move], after)) continue;
      const std::string why = judge(twin, before, move, after);
      if (!why.empty()) return refuted_on(subject, frontier.way(node), move, why);
      frontier.reach(node, move, after);
    }
  }
  return {Outcome::Holds, bounds.size, {}, 0, {}};
}

std::pair<std::uint64_t, std::uint64_t> information(const Machine& machine,
                                                    const SystemState& state) {
  return {machine.contributions(state), ~machine.chunks(state)};
}

/// Whether `first` and then `second` are legal and lead to `expected`.
bool leads_to(Machine& machine, const std::vector<Group>& groups, SystemState state,
              Collective first, Collective second, const SystemState& expected) {
  return machine.run(first, groups, state) && machine.run(second, groups, state) &&
         state == expected;
}

std::string decomposition_fault(Twin& twin, const SystemState& before,
                                const std::vector<Group>& groups, const SystemState& after) {
  if (!leads_to(twin.machine, groups, before, Collective::Reduce, Collective::Broadcast, after)) {
    return "Reduce; Broadcast does not do the same";
  }
  SystemState scattered = before;
  const bool scatters = twin.machine.run(Collective::ReduceScatter, groups, scattered);
  if (scatters && !leads_to(twin.machine, groups, before, Collective::ReduceScatter,
                            Collective::AllGather, after)) {
    return "ReduceScatter; AllGather does not do the same";
  }
  return {};
}

/// Runs the collective on one group with the states of two of its devices exchanged. Broadcast
/// keeps its first device, from which it sends.
std::string exchange_fault(Twin& twin, const SystemState& before, Collective collective,
                           const Group& group, const SystemState& after) {
  const std::size_t first = collective == Collective::Broadcast ? 1 : 0;
  for (std::size_t a = first; a < group.size(); ++a) {
    for (std::size_t b = a + 1; b < group.size(); ++b) {
      SystemState state = before;
      std::swap(state[group[a]], state[group[b]]);
      const bool same = twin.machine.run(collective, {group}, state) &&
                        std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
                          return state[device] == after[device];
                        });
      if (!same) {
        return fmt::format("not the same with devices {} and {} exchanged", group[a], group[b]);
      }
    }
  }
  return {};
}

}  // namespace

Answer information_increases(const Subject& subject, const Bounds& bounds) {
  return for_every_step(subject, bounds,
                        [](Twin& twin, const SystemState& before, std::uint32_t,
                           const SystemState& after) -> std::string {
                          const bool rises =
                              information(twin.machine, before) < information(twin.machine, after);
                          return rises ? "" : "the last step raises nothing";
                        });
}

Answer composes(const Subject& subject, const Bounds& bounds) {
  return for_every_step(subject, bounds,
                        [&](Twin& twin, const SystemState& before, std::uint32_t move,
                            const SystemState& after) -> std::string {
                          if (subject.moves[move].collective != Collective::AllReduce) return {};
                          return decomposition_fault(twin, before, twin.groups[move], after);
                        });
}

Answer order_does_not_matter(const Subject& subject, const Bounds& bounds) {
  return for_every_step(
      subject, bounds,
      [&](Twin& twin, const SystemState& before, std::uint32_t move, const SystemState& after) {
        std::string why;
        for (const Group& group : twin.groups[move]) {
          why = exchange_fault(twin, before, subject.moves[move].collective, group, after);
          if (!why.empty()) break;
        }
        return why;
      });
}

}  // namespace p2::claims
