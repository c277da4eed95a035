#include "engine/program/symbolic/chunk_tables.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// E of a device that holds nothing.
constexpr std::uint32_t kNothing = UINT32_MAX;
constexpr std::uint32_t kUndecidedGroup = UINT32_MAX;
constexpr std::uint32_t kIllegalGroup = UINT32_MAX - 1;
constexpr std::uint64_t kMaxCombinations = std::uint64_t{1} << 20U;

}  // namespace

ChunkTables::ChunkTables(const Problem& problem, std::uint32_t values, Collective goal)
    : problem_(problem, goal), grid_(problem_, values), sets_(grid_.points()) {
  intern({});
}

std::size_t ChunkTables::bytes() const {
  return sets_.bytes() + coordinates_.bytes() + tables_.bytes() + states_.bytes() +
         results_.bytes() + after_.capacity() * sizeof(Device) +
         goal_.capacity() * sizeof(std::uint32_t);
}

ChunkTables::Table ChunkTables::table(std::uint32_t id) const {
  const auto words = tables_[id];
  const std::uint32_t coordinates = words[0];
  Table table{{words.begin() + 1, words.begin() + 1 + coordinates}, {}};
  for (std::size_t i = 1 + coordinates; i < words.size(); i += 2) {
    table.entries.push_back({words[i], words[i + 1]});
  }
  return table;
}

std::uint32_t ChunkTables::coordinate(std::vector<std::uint32_t> given, std::uint32_t digit) {
  std::ranges::sort(given);
  given.insert(given.begin(), digit);
  return coordinates_.intern(given);
}

std::uint32_t ChunkTables::initial() {
  std::vector<std::uint32_t> state;
  for (std::uint32_t point = 0; point < grid_.points(); ++point) {
    state.insert(state.end(), {0, intern({{}, {{0, sets_.of({&point, 1})}}})});
  }
  using Kind = Replayed::Kind;
  const Kind begins = problem_.preparation ? advance(state, *problem_.preparation) : Kind::Legal;
  goal_ = state;
  const Kind ends = problem_.goal ? advance(goal_, *problem_.goal) : Kind::Legal;
  invariant(begins == Kind::Legal && ends == Kind::Legal, "a goal that its beginning refuses");
  return states_.intern(state);
}

bool ChunkTables::is_goal(std::uint32_t state) const {
  return std::ranges::equal(states_[state], goal_);
}

/// Drops the first coordinate without influence, if there is one.
bool ChunkTables::drop_coordinate(Table& table) const {
  std::uint64_t below = 1;  // combinations of the coordinates after this one
  for (std::size_t i = table.coordinates.size(); i-- > 0;) {
    const std::uint32_t values = values_of(table.coordinates[i]);
    std::vector<Entry> rest;
    for (const Entry& entry : table.entries) {
      const auto above = static_cast<std::uint32_t>(entry.combination / (below * values));
      const auto inside = static_cast<std::uint32_t>(entry.combination % below);
      rest.push_back({static_cast<std::uint32_t>(above * below + inside), entry.contributors});
    }
    std::ranges::sort(rest);
    bool droppable = rest.size() % values == 0;
    for (std::size_t at = 0; droppable && at < rest.size(); at += values) {
      droppable = rest[at] == rest[at + values - 1];
    }
    if (droppable) {
      rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
      table.entries = std::move(rest);
      table.coordinates.erase(table.coordinates.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    below *= values;
  }
  return false;
}

std::uint32_t ChunkTables::intern(Table table) {
  while (drop_coordinate(table)) {
  }
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(table.coordinates.size())};
  words.insert(words.end(), table.coordinates.begin(), table.coordinates.end());
  for (const Entry& entry : table.entries) {
    words.insert(words.end(), {entry.combination, entry.contributors});
  }
  return tables_.intern(words);
}

void ChunkTables::require_values(std::span<const std::uint32_t> coordinates) {
  for (const std::uint32_t each : coordinates) {
    const auto of_digit = std::ranges::count_if(
        coordinates, [&](std::uint32_t other) { return digit_of(other) == digit_of(each); });
    required_values_ = std::max(required_values_, 4 + static_cast<std::uint32_t>(of_digit));
  }
}

std::optional<ChunkTables::Table> ChunkTables::extend(
    const Table& table, std::span<const std::uint32_t> coordinates) const {
  std::uint64_t combinations = 1;
  for (const std::uint32_t each : coordinates) {
    combinations *= values_of(each);
    if (combinations > kMaxCombinations) return std::nullopt;
  }
  Table extended{{coordinates.begin(), coordinates.end()}, table.entries};
  // The values of the table's coordinates stay, those of the others are multiplied in.
  std::uint64_t below_old = 1;
  std::uint64_t below_new = 1;
  for (Entry& entry : extended.entries) entry.combination = 0;
  std::size_t old = table.coordinates.size();
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    const std::uint32_t values = values_of(coordinates[i]);
    if (old > 0 && table.coordinates[old - 1] == coordinates[i]) {
      --old;
      const std::size_t copies =
          extended.entries.size() / std::max<std::size_t>(table.entries.size(), 1);
      for (std::size_t at = 0; at < extended.entries.size(); ++at) {
        const std::uint32_t value =
            static_cast<std::uint32_t>(table.entries[at / copies].combination / below_old % values);
        extended.entries[at].combination += static_cast<std::uint32_t>(value * below_new);
      }
      below_old *= values;
    } else {
      std::vector<Entry> multiplied;
      for (const Entry& entry : extended.entries) {
        for (std::uint32_t value = 0; value < values; ++value) {
          multiplied.push_back({static_cast<std::uint32_t>(entry.combination + value * below_new),
                                entry.contributors});
        }
      }
      extended.entries = std::move(multiplied);
    }
    below_new *= values;
  }
  std::ranges::sort(extended.entries);
  return extended;
}

bool ChunkTables::join(std::span<const std::uint32_t> ids, std::vector<Table>& joined) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t id : ids) {
    joined.push_back(table(id));
    all.insert(all.end(), joined.back().coordinates.begin(), joined.back().coordinates.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  require_values(all);
  for (Table& each : joined) {
    if (each.coordinates == all) continue;
    std::optional<Table> extended = extend(each, all);
    if (!extended) return false;
    each = std::move(*extended);
  }
  return true;
}

std::optional<ChunkTables::Table> ChunkTables::sum(std::span<const std::uint32_t> ids,
                                                   bool& illegal) {
  std::vector<Table> group;
  if (!join(ids, group)) return std::nullopt;
  Table total{group[0].coordinates, {}};
  std::map<std::uint32_t, std::vector<std::uint32_t>> held;  // combination → contributor sets
  for (const Table& each : group) {
    for (const Entry& entry : each.entries) held[entry.combination].push_back(entry.contributors);
  }
  bool decided = true;
  for (const auto& [combination, sets] : held) {
    const auto all = sets_.disjoint_union(sets);
    if (all && sets.size() == group.size()) {
      total.entries.push_back({combination, *all});
      continue;
    }
    decided = false;
    illegal = illegal || occurs_here(total.coordinates, combination);
  }
  return decided ? std::optional(std::move(total)) : std::nullopt;
}

bool ChunkTables::scatter(std::uint32_t move, Device total, std::span<Device> group) {
  const FactorSet varied = problem_.moves[move].pattern.reduced;
  if ((total.divided & varied) != 0) return false;
  const Table whole = table(total.table);
  // A box: every coordinate has one value where something is held, or all.
  std::vector<std::uint32_t> fixed;
  std::uint64_t boxed = 1;
  std::uint64_t below = 1;
  for (std::size_t i = whole.coordinates.size(); i-- > 0;) {
    const std::uint32_t values = values_of(whole.coordinates[i]);
    std::vector<bool> occurring(values, false);
    for (const Entry& entry : whole.entries) occurring[entry.combination / below % values] = true;
    const auto count = static_cast<std::uint32_t>(std::ranges::count(occurring, true));
    if (count != 1 && count != values) return false;
    if (count == 1) fixed.push_back(whole.coordinates[i]);
    boxed *= count;
    below *= values;
  }
  if (boxed != whole.entries.size()) return false;

  std::vector<std::pair<std::uint32_t, std::size_t>> cuts;  // coordinate, digit
  std::vector<std::uint32_t> coordinates = whole.coordinates;
  for (std::uint32_t f = 0; f < grid_.digits(); ++f) {
    if ((varied >> f & 1U) == 0) continue;
    cuts.emplace_back(coordinate(fixed, f), f);
    fixed.push_back(cuts.back().first);
    coordinates.push_back(fixed.back());
  }
  std::ranges::sort(coordinates);
  coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
  require_values(coordinates);
  const std::optional<Table> extended = extend(whole, coordinates);
  if (!extended) return false;
  const ProxyGrid::Groups& groups = grid_.groups(move);
  for (std::size_t member = 0; member < group.size(); ++member) {
    Table part{coordinates, {}};
    for (const Entry& entry : extended->entries) {
      std::uint64_t rest = entry.combination;
      bool kept = true;
      for (std::size_t i = coordinates.size(); i-- > 0;) {
        const std::uint32_t values = values_of(coordinates[i]);
        for (const auto& [cut, digit] : cuts) {
          if (cut == coordinates[i]) {
            kept = kept && rest % values == grid_.value(groups.offsets[member], digit);
          }
        }
        rest /= values;
      }
      if (kept) part.entries.push_back(entry);
    }
    group[member] = {total.divided | varied, intern(std::move(part))};
  }
  return true;
}

std::optional<ChunkTables::Device> ChunkTables::gather(std::uint32_t move,
                                                       std::span<const Device> group,
                                                       bool& illegal) {
  const FactorSet varied = problem_.moves[move].pattern.reduced;
  std::vector<std::uint32_t> ids;
  for (const Device& each : group) ids.push_back(each.table);
  std::vector<Table> tables;
  if (!join(ids, tables)) return std::nullopt;
  Table all{tables[0].coordinates, {}};
  for (const Table& each : tables) {
    all.entries.insert(all.entries.end(), each.entries.begin(), each.entries.end());
  }
  std::ranges::sort(all.entries);
  bool once = true;
  for (std::size_t i = 1; i < all.entries.size(); ++i) {
    if (all.entries[i].combination != all.entries[i - 1].combination) continue;
    once = false;
    illegal = illegal || occurs_here(all.coordinates, all.entries[i].combination);
  }
  const bool cut = std::ranges::all_of(group, [&](const Device& each) {
    return each.divided == group[0].divided && (varied & ~each.divided) == 0;
  });
  if (!once || !cut) return std::nullopt;
  return Device{group[0].divided & ~varied, intern(std::move(all))};
}

bool ChunkTables::is_informative(std::span<const Device> group, bool& illegal) {
  std::vector<std::uint32_t> ids;
  for (const Device& each : group) ids.push_back(each.table);
  std::vector<Table> tables;
  if (!join(ids, tables)) return false;
  const std::vector<std::uint32_t>& coordinates = tables[0].coordinates;
  std::map<std::uint32_t, std::uint32_t> root;
  for (const Entry& entry : tables[0].entries) root[entry.combination] = entry.contributors;
  bool contained = true;
  bool informative = false;
  bool different = false;
  for (const Table& each : tables) {
    std::map<std::uint32_t, std::uint32_t> learned = root;  // what the device lacks
    for (const auto& [combination, contributors] : each.entries) {
      const auto known = root.find(combination);
      const bool inside = known != root.end() && sets_.is_subset(contributors, known->second);
      contained = contained && inside;
      illegal = illegal || (!inside && occurs_here(coordinates, combination));
      if (inside && contributors == known->second) learned.erase(combination);
    }
    different = different || !learned.empty();
    for (const auto& [combination, contributors] : learned) {
      informative = informative || occurs(coordinates, combination);
    }
  }
  illegal = illegal || !different;
  return contained && informative;
}

std::uint32_t ChunkTables::run(std::uint32_t move, std::span<const std::uint32_t> before) {
  std::vector<Device> group;
  for (std::size_t i = 0; i < before.size(); i += 2) group.push_back({before[i], before[i + 1]});
  const Collective collective = problem_.moves[move].collective;
  const Device root = group[0];
  const auto with_nothing = std::ranges::count(group, kNothing, &Device::divided);
  const bool broadcast = collective == Collective::Broadcast;
  // Some hold chunks and some do not: chunks and counts differ, and a root has to hold something.
  if (with_nothing > 0 && (!broadcast || root.divided == kNothing)) return kIllegalGroup;
  bool illegal = false;
  bool legal = false;
  if (broadcast) {
    legal = is_informative(group, illegal);
    if (legal) std::ranges::fill(group, root);
  } else if (collective == Collective::AllGather) {
    const auto all = gather(move, group, illegal);
    legal = all.has_value();
    if (legal) std::ranges::fill(group, *all);
  } else {
    std::vector<std::uint32_t> ids;
    for (const Device& each : group) ids.push_back(each.table);
    std::optional<Table> summed = sum(ids, illegal);
    legal = summed.has_value();
    if (legal) {
      // All hold the same chunks, whose number the E of any of them says.
      const Device total{root.divided, intern(std::move(*summed))};
      if (collective == Collective::ReduceScatter) {
        legal = scatter(move, total, group);
      } else {
        std::ranges::fill(group, collective == Collective::AllReduce ? total : Device{kNothing, 0});
        group[0] = total;
      }
    }
  }
  if (!legal) return illegal ? kIllegalGroup : kUndecidedGroup;
  const auto begin = static_cast<std::uint32_t>(after_.size());
  after_.insert(after_.end(), group.begin(), group.end());
  return begin;
}

Replayed ChunkTables::replay(std::uint32_t state, std::uint32_t move) {
  const auto words = states_[state];
  std::vector<std::uint32_t> next(words.begin(), words.end());
  const Replayed::Kind kind = advance(next, move);
  if (kind != Replayed::Kind::Legal) return {kind};
  return {kind, states_.intern(next)};
}

Replayed::Kind ChunkTables::advance(std::vector<std::uint32_t>& next, std::uint32_t move) {
  const ProxyGrid::Groups& groups = grid_.groups(move);
  std::vector<std::uint32_t> key;
  bool decided = true;
  for (const std::uint32_t base : groups.bases) {
    key.assign(1, move);
    for (const std::uint32_t offset : groups.offsets) {
      const std::size_t device = std::size_t{base} + offset;
      key.insert(key.end(), {next[2 * device], next[2 * device + 1]});
    }
    bool known = false;
    std::uint32_t& result = results_.find(key, known);
    if (!known) result = run(move, std::span(key).subspan(1));
    if (result == kIllegalGroup) return Replayed::Kind::Illegal;
    decided = decided && result != kUndecidedGroup;
    if (!decided) continue;
    for (std::size_t i = 0; i < groups.offsets.size(); ++i) {
      const std::size_t device = std::size_t{base} + groups.offsets[i];
      next[2 * device] = after_[result + i].divided;
      next[2 * device + 1] = after_[result + i].table;
    }
  }
  return decided ? Replayed::Kind::Legal : Replayed::Kind::Undecided;
}

}  // namespace p2
