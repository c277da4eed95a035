#include "engine/program/goal.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/collective/kernels.h"
#include "engine/collective/language/definition.h"
#include "engine/collective/refusal.h"

namespace p2 {
namespace {

constexpr std::array<std::pair<std::string_view, Collective>, 5> kBuiltInGoals = {
    {{"allreduce", Collective::AllReduce},
     {"reducescatter", Collective::ReduceScatter},
     {"allgather", Collective::AllGather},
     {"reduce", Collective::Reduce},
     {"broadcast", Collective::Broadcast}}};

}  // namespace

Goal Goal::of(const language::Definition& definition) {
  const CollectiveSet collectives({definition});
  return {definition.name, collectives, collectives.all().back()};
}

std::optional<Goal> goal_called(std::string_view name) {
  if (name == "alltoall") {
    Goal goal = Goal::of(language::all_to_all());
    goal.name = name;
    return goal;
  }
  const auto found =
      std::ranges::find(kBuiltInGoals, name, [](const auto& each) { return each.first; });
  if (found == kBuiltInGoals.end()) return std::nullopt;
  return Goal{std::string(name), {}, found->second};
}

namespace {

constexpr std::array<Start, 3> kStarts = {Start::Contributions, Start::Shards, Start::RootSum};

/// The state in which a device holds its own contribution in every chunk.
StateId own_contribution(std::uint32_t device, StateTable& states) {
  return states.whole(states.sets().range(device, device + 1));
}

/// Runs the collective of a goal on whole classes.
class OnClasses {
 public:
  OnClasses(const Goal& goal, std::uint32_t contributors, StateTable& states)
      : goal_(goal), states_(states), kernels_(states, goal.collectives, contributors) {}

  /// The initial state of a class; empty if its preparation is refused.
  std::optional<SystemState> begin(const Group& members, Start start) {
    SystemState states;
    for (const std::uint32_t device : members) states.push_back(own_contribution(device, states_));
    const std::optional<Collective> prepared = preparation(start);
    return prepared ? run(*prepared, states) : states;
  }
  /// The final state from there; empty if a premise fails.
  std::optional<SystemState> goal(const SystemState& begin) { return run(goal_.collective, begin); }
  /// Why the collective may not run on one of the classes.
  std::optional<std::string> refusal(const std::vector<Group>& classes, Start start) {
    for (const Group& members : classes) {
      const std::optional<SystemState> begin = this->begin(members, start);
      if (!begin) return fmt::format("no {}", to_string(start));
      if (goal(*begin)) continue;
      return fmt::format("premise {} refuses the class of device {}", failed_premise(*begin),
                         members.front());
    }
    return std::nullopt;
  }

 private:
  std::optional<SystemState> run(Collective collective, const SystemState& before) {
    if (before.size() < 2) return before;
    SystemState after(before.size());
    if (!kernels_.apply(collective, before, after)) return std::nullopt;
    return after;
  }
  std::string failed_premise(const SystemState& begin) {
    if (!is_built_in(goal_.collective)) {
      return kernels_.defined().refusal(goal_.collective, begin).premise;
    }
    const std::optional<Refusal> refusal = find_refusal(goal_.collective, begin, states_);
    invariant(refusal.has_value(), "a kernel refuses where no premise fails");
    return std::string(name_of(refusal->premise));
  }

  const Goal& goal_;
  StateTable& states_;
  Kernels kernels_;
};

/// One class of every size.
std::vector<Group> representatives(const std::vector<Group>& classes) {
  std::set<std::size_t> sizes;
  std::vector<Group> some;
  std::ranges::copy_if(classes, std::back_inserter(some),
                       [&](const Group& members) { return sizes.insert(members.size()).second; });
  return some;
}

}  // namespace

std::string_view to_string(Start start) {
  constexpr std::array<std::string_view, 3> names = {"contributions", "shards", "root-sum"};
  return names[static_cast<std::size_t>(start)];
}

std::optional<Collective> preparation(Start start) {
  if (start == Start::Contributions) return std::nullopt;
  return start == Start::Shards ? Collective::ReduceScatter : Collective::Reduce;
}

Beginning beginning_of(const Goal& goal, std::uint32_t devices, const std::vector<Group>& classes,
                       const SourcePosition& where) {
  if (goal.is_allreduce()) return {};
  const std::vector<Group> some = representatives(classes);
  const std::size_t largest = std::ranges::max(some, {}, &Group::size).size();
  std::string refusal;
  for (const std::uint64_t chunks : {std::uint64_t{devices}, std::uint64_t{devices} * largest}) {
    if (chunks > Hierarchy::kMaxDevices) break;
    StateTable states(static_cast<std::uint32_t>(chunks));
    OnClasses on_classes(goal, devices, states);
    for (const Start start : kStarts) {
      std::optional<std::string> reason = on_classes.refusal(some, start);
      if (!reason) return {start, static_cast<std::uint32_t>(chunks / devices)};
      if (refusal.empty()) refusal = std::move(*reason);
    }
  }
  throw InputError(where, fmt::format("goal {}: {} where every device has its own contribution, "
                                      "and what ReduceScatter or Reduce of a class leaves is "
                                      "refused too, expected a collective that may run on a whole "
                                      "class",
                                      goal.name, refusal));
}

SystemState initial_state(std::uint32_t devices, StateTable& states) {
  SystemState state(devices);
  for (std::uint32_t d = 0; d < devices; ++d) state[d] = own_contribution(d, states);
  return state;
}

Ends ends_of(const Goal& goal, const Beginning& beginning, const std::vector<Group>& classes,
             std::uint32_t contributors, StateTable& states) {
  OnClasses on_classes(goal, contributors, states);
  std::size_t devices = 0;
  for (const Group& members : classes) devices += members.size();
  Ends ends{SystemState(devices), SystemState(devices)};
  for (const Group& members : classes) {
    const std::optional<SystemState> begin = on_classes.begin(members, beginning.start);
    const std::optional<SystemState> end = begin ? on_classes.goal(*begin) : std::nullopt;
    invariant(end.has_value(), "a goal that its beginning refuses");
    for (std::size_t i = 0; i < members.size(); ++i) {
      ends.begin[members[i]] = (*begin)[i];
      ends.goal[members[i]] = (*end)[i];
    }
  }
  return ends;
}

}  // namespace p2
