#include "engine/program/goal.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/collective/kernels.h"
#include "engine/collective/language/definition.h"
#include "p2/error.h"

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

Beginning beginning_of(Collective built_in, std::uint64_t class_size) {
  if (class_size == 1) return {};
  if (built_in == Collective::AllGather) return {Start::Shards};
  if (built_in == Collective::Broadcast) return {Start::RootSum};
  return {};
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

namespace {

constexpr std::size_t kMaxBranches = 1'000'000;

class ExactCover {
 public:
  ExactCover(std::span<const Contributors> rows, const Contributors& wanted, std::uint32_t self)
      : wanted_(wanted), by_contributor_(wanted.size()), covered_(wanted.size(), false) {
    const auto n = static_cast<std::uint32_t>(rows.size());
    for (std::uint32_t i = 0; i < n; ++i) add((self + i) % n, rows[(self + i) % n]);
  }

  std::optional<std::vector<std::uint32_t>> find() {
    if (!cover(0)) return std::nullopt;
    std::vector<std::uint32_t> positions;
    for (const std::size_t row : chosen_) positions.push_back(rows_[row].position);
    std::ranges::sort(positions);
    return positions;
  }

 private:
  struct Row {
    std::uint32_t position = 0;
    std::vector<std::size_t> places;  // of its contributors in `wanted_`
  };

  /// A row that is part of what is wanted is a candidate, the first of equal ones.
  void add(std::uint32_t position, const Contributors& row) {
    if (row.empty() || !std::ranges::includes(wanted_, row)) return;
    Row candidate{position, {}};
    for (const std::uint32_t contributor : row) {
      const auto at = std::ranges::lower_bound(wanted_, contributor);
      candidate.places.push_back(static_cast<std::size_t>(at - wanted_.begin()));
    }
    std::vector<std::size_t>& rivals = by_contributor_[candidate.places.front()];
    const bool known = std::ranges::any_of(
        rivals, [&](std::size_t other) { return rows_[other].places == candidate.places; });
    if (known) return;
    rivals.push_back(rows_.size());
    rows_.push_back(std::move(candidate));
  }

  /// Covers the places from `first` on, those before being covered. A row that covers a place
  /// begins there: with an earlier place it would cover that one again.
  bool cover(std::size_t first) {
    while (first < covered_.size() && covered_[first]) ++first;
    if (first == covered_.size()) return true;
    if (++branches_ > kMaxBranches) {
      throw LimitReached(LimitReached::Kind::Size,
                         "a group is too large to see which of its rows are added up");
    }
    for (const std::size_t row : by_contributor_[first]) {
      const std::vector<std::size_t>& places = rows_[row].places;
      if (std::ranges::any_of(places, [&](std::size_t place) { return covered_[place]; })) continue;
      for (const std::size_t place : places) covered_[place] = true;
      chosen_.push_back(row);
      if (cover(first + 1)) return true;
      chosen_.pop_back();
      for (const std::size_t place : places) covered_[place] = false;
    }
    return false;
  }

  const Contributors& wanted_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> by_contributor_;  // first place → rows that begin there
  std::vector<bool> covered_;
  std::vector<std::size_t> chosen_;
  std::size_t branches_ = 0;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> addends(std::span<const Contributors> rows,
                                                  const Contributors& wanted, std::uint32_t self) {
  if (rows[self] == wanted) return std::vector{self};
  return ExactCover(rows, wanted, self).find();
}

std::optional<std::vector<std::vector<RowSum>>> row_sums(const StateTable& states,
                                                         const Group& group,
                                                         const SystemState& before,
                                                         const SystemState& after) {
  const auto row = [&](StateId state, std::uint32_t chunk) {
    return states.sets().members(states.row(state, chunk));
  };
  std::vector<std::vector<RowSum>> all(group.size());
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    std::vector<Contributors> rows;
    for (const std::uint32_t device : group) rows.push_back(row(before[device], chunk));
    for (std::uint32_t i = 0; i < group.size(); ++i) {
      const Contributors wanted = row(after[group[i]], chunk);
      if (wanted.empty()) continue;
      auto positions = addends(rows, wanted, i);
      if (!positions) return std::nullopt;
      all[i].push_back({chunk, std::move(*positions)});
    }
  }
  return all;
}

}  // namespace p2
