#include "engine/program/goal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/collective/language/built_in.h"

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

}  // namespace p2
