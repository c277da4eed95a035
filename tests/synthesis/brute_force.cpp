#include "tests/synthesis/brute_force.h"

#include <algorithm>
#include <map>
#include <set>

namespace p2::brute_force {
namespace {

using Word = std::uint64_t;

/// The coordinates of a device on the levels of a hierarchy, and on whatever no level covers.
std::vector<std::uint32_t> coordinates(const Instance& instance, std::uint32_t device) {
  std::vector<std::uint32_t> result;
  FactorSet covered = 0;
  const auto append = [&](FactorSet factors) {
    std::uint32_t coordinate = 0;
    for (std::size_t f = 0; f < instance.grid.factors().size(); ++f) {
      if ((factors >> f & 1U) == 0) continue;
      const Factor& factor = instance.grid.factors()[f];
      coordinate = coordinate * factor.size + instance.grid.digit(device, factor);
    }
    result.push_back(coordinate);
  };
  for (const SynthesisLevel& level : instance.hierarchy.levels()) {
    append(level.factors);
    covered |= level.factors;
  }
  append(instance.grid.all_factors() & ~covered);
  return result;
}

/// Groups of at least two devices that agree wherever `agree` is set and are zero wherever `zero`
/// is.
std::vector<Group> groups_by(const Instance& instance, const std::vector<bool>& agree,
                             const std::vector<bool>& zero) {
  std::map<std::vector<std::uint32_t>, Group> groups;
  for (std::uint32_t device = 0; device < instance.grid.devices(); ++device) {
    std::vector<std::uint32_t> key = coordinates(instance, device);
    bool wanted = true;
    for (std::size_t i = 0; i < key.size(); ++i) {
      wanted = wanted && (!zero[i] || key[i] == 0);
      if (!agree[i]) key[i] = 0;
    }
    if (wanted) groups[key].push_back(device);
  }
  std::vector<Group> kept;
  for (auto& [key, group] : groups) {
    if (group.size() > 1) kept.push_back(group);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// The groups of every slice and form, with whether the form is Master.
std::vector<std::pair<std::vector<Group>, bool>> all_groups(const Instance& instance) {
  const std::size_t levels = instance.hierarchy.levels().size();
  std::vector<std::pair<std::vector<Group>, bool>> all;
  const std::vector<bool> nowhere(levels + 1, false);
  if (instance.hierarchy.is_lattice()) {
    for (std::uint32_t reduced = 0; reduced < 1U << levels; ++reduced) {
      for (std::uint32_t pinned = 0; pinned < 1U << levels; ++pinned) {
        if ((reduced & pinned) != 0) continue;
        std::vector<bool> agree(levels + 1, true);
        std::vector<bool> zero(levels + 1, false);
        for (std::size_t i = 0; i < levels; ++i) {
          agree[i] = (reduced >> i & 1U) == 0;
          zero[i] = (pinned >> i & 1U) != 0;
        }
        all.emplace_back(groups_by(instance, agree, zero), pinned != 0);
      }
    }
    return all;
  }
  for (std::size_t slice = 0; slice < levels; ++slice) {
    std::vector<bool> agree(levels + 1, true);
    for (std::size_t i = slice + 1; i < levels; ++i) agree[i] = false;
    all.emplace_back(groups_by(instance, agree, nowhere), false);
    for (std::size_t level = 0; level < slice; ++level) {
      std::vector<bool> parallel(levels + 1, true);
      std::vector<bool> below(levels + 1, false);
      for (std::size_t i = level + 1; i <= slice; ++i) parallel[i] = false;
      for (std::size_t i = slice + 1; i < levels; ++i) below[i] = true;
      all.emplace_back(groups_by(instance, parallel, nowhere), false);
      all.emplace_back(groups_by(instance, parallel, below), true);
    }
  }
  return all;
}

bool add_up(const Group& group, const Matrices& state, std::vector<Word>& total) {
  for (std::size_t row = 0; row < total.size(); ++row) {
    for (const std::uint32_t device : group) {
      const Word bits = state[device][row];
      if ((bits != 0) != (state[group[0]][row] != 0) || (bits & total[row]) != 0) return false;
      total[row] |= bits;
    }
  }
  return true;
}

bool scatter(const Group& group, const std::vector<Word>& total, Matrices& state) {
  const auto rows = static_cast<std::size_t>(
      std::count_if(total.begin(), total.end(), [](Word bits) { return bits != 0; }));
  if (rows % group.size() != 0) return false;
  const std::size_t share = rows / group.size();
  for (const std::uint32_t device : group) std::fill(state[device].begin(), state[device].end(), 0);
  std::size_t index = 0;
  for (std::size_t row = 0; row < total.size(); ++row) {
    if (total[row] != 0) state[group[index++ / share]][row] = total[row];
  }
  return true;
}

bool gather(const Group& group, Matrices& state) {
  std::vector<Word> all(state[0].size(), 0);
  std::set<std::size_t> counts;
  for (const std::uint32_t device : group) {
    std::size_t count = 0;
    for (std::size_t row = 0; row < all.size(); ++row) {
      if (state[device][row] == 0) continue;
      if (all[row] != 0) return false;
      all[row] = state[device][row];
      ++count;
    }
    counts.insert(count);
  }
  if (counts.size() != 1) return false;
  for (const std::uint32_t device : group) state[device] = all;
  return true;
}

bool broadcast(const Group& group, Matrices& state) {
  const std::vector<Word> root = state[group[0]];
  bool strict = false;
  for (const std::uint32_t device : group) {
    for (std::size_t row = 0; row < root.size(); ++row) {
      if ((state[device][row] & ~root[row]) != 0) return false;
      strict = strict || state[device][row] != root[row];
    }
  }
  for (const std::uint32_t device : group) state[device] = root;
  return strict;
}

/// Position i has chunks of the i-th of n blocks and gets those whose number is i modulo n.
bool all_to_all(const Group& group, Matrices& state) {
  const std::size_t chunks = state[0].size();
  const std::size_t n = group.size();
  if (chunks % n != 0) return false;
  std::vector<std::vector<Word>> after(n, std::vector<Word>(chunks, 0));
  bool moves = false;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t row = 0; row < chunks; ++row) {
      if (state[group[i]][row] == 0) continue;
      if (row / (chunks / n) != i) return false;
      moves = moves || row % n != i;
      after[row % n][row] = state[group[i]][row];
    }
  }
  for (std::size_t i = 0; i < n; ++i) state[group[i]] = after[i];
  return moves;
}

bool run(const Instruction& instruction, Matrices& state) {
  for (const Group& group : instruction.groups) {
    const bool empty = std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
      return std::all_of(state[device].begin(), state[device].end(), [](Word b) { return b == 0; });
    });
    if (empty || !apply(instruction.collective, group, state)) return false;
  }
  return true;
}

void extend(const std::vector<Instruction>& choices, const Matrices& state, const Matrices& goal,
            std::uint32_t left, Program& prefix, std::vector<Program>& found) {
  if (state == goal) {
    found.push_back(prefix);
    return;
  }
  if (left == 0) return;
  for (const Instruction& instruction : choices) {
    Matrices next = state;
    if (!run(instruction, next)) continue;
    prefix.push_back(instruction);
    extend(choices, next, goal, left - 1, prefix, found);
    prefix.pop_back();
  }
}

}  // namespace

std::vector<Instruction> instructions(const Instance& instance, Dialect dialect,
                                      std::span<const Collective> collectives) {
  const auto all = all_groups(instance);
  std::set<std::vector<Group>> not_master;
  for (const auto& [groups, master] : all) {
    if (!master) not_master.insert(groups);
  }
  std::set<Instruction> distinct;
  for (const auto& [groups, master] : all) {
    if (groups.empty()) continue;
    for (const Collective collective : collectives) {
      const bool restricted = dialect == Dialect::Published && !not_master.contains(groups);
      if (!restricted || collective == Collective::AllReduce) distinct.insert({groups, collective});
    }
  }
  return {distinct.begin(), distinct.end()};
}

bool apply(Collective collective, const Group& group, Matrices& state) {
  if (collective == Collective::AllGather) return gather(group, state);
  if (collective == Collective::Broadcast) return broadcast(group, state);
  if (collective == kAllToAll) return all_to_all(group, state);
  std::vector<Word> total(state[0].size(), 0);
  if (!add_up(group, state, total)) return false;
  if (collective == Collective::ReduceScatter) return scatter(group, total, state);
  for (const std::uint32_t device : group) {
    const bool receives = collective == Collective::AllReduce || device == group[0];
    state[device] = receives ? total : std::vector<Word>(total.size(), 0);
  }
  return true;
}

std::vector<Program> programs(const Instance& instance, Dialect dialect, std::uint32_t size) {
  const std::uint32_t devices = instance.grid.devices();
  Matrices initial(devices);
  Matrices goal(devices);
  for (std::uint32_t d = 0; d < devices; ++d) initial[d].assign(devices, Word{1} << d);
  for (const Group& members : instance.classes()) {
    Word sum = 0;
    for (const std::uint32_t device : members) sum |= Word{1} << device;
    for (const std::uint32_t device : members) goal[device].assign(devices, sum);
  }
  return programs(instructions(instance, dialect), size, {initial, goal});
}

std::vector<Program> programs(const std::vector<Instruction>& choices, std::uint32_t size,
                              const Ends& ends) {
  Program prefix;
  std::vector<Program> found;
  extend(choices, ends.begin, ends.goal, size, prefix, found);
  return found;
}

}  // namespace p2::brute_force
