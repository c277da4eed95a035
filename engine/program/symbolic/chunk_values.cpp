// What is known of single chunks: which combinations of coordinates' values some chunk has.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/program/symbolic/chunk_tables.h"

namespace p2 {
namespace {

/// More chunks are not gone through one by one.
constexpr std::uint32_t kMaxChunks = 1U << 14U;

}  // namespace

bool ChunkTables::misses_goal(std::uint32_t state) {
  const std::vector<std::uint32_t> words(states_[state].begin(), states_[state].end());
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] != goal_[i]) return true;  // fewer chunks
    const Table now = table(words[i + 1]);
    const Table goal = table(goal_[i + 1]);
    std::vector<std::uint32_t> chunks;
    add_ends(goal, chunks);
    add_ends(now, chunks);
    for (const std::uint32_t chunk : chunks) {
      const auto has = contributors_at(now, chunk);
      const auto should = contributors_at(goal, chunk);
      if (has && should && *has != *should) return true;
    }
    if (problem_.chunks() > kMaxChunks) continue;
    std::vector<Table> tables;
    const std::uint32_t ids[] = {words[i + 1], goal_[i + 1]};
    if (!join(ids, tables)) continue;
    const auto& [held, wanted] = std::tie(tables[0].entries, tables[1].entries);
    for (const Entry& entry : wanted) {
      if (std::ranges::find(held, entry) == held.end() &&
          occurs_here(tables[0].coordinates, entry.combination)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<std::vector<std::uint32_t>> ChunkTables::nested(std::uint32_t coordinate) const {
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> open{coordinate};
  while (!open.empty()) {
    const auto given = coordinates_[open.back()].subspan(1);
    open.pop_back();
    for (const std::uint32_t each : given) {
      if (std::ranges::count(all, each) > 0) continue;
      all.push_back(each);
      open.push_back(each);
    }
  }
  std::ranges::sort(all);
  std::uint64_t runs = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Coordinates are numbered after those in their Q.
    if (coordinates_[all[i]].size() != i + 1) return std::nullopt;
    runs *= problem_.factors[digit_of(all[i])].size;
    if (problem_.chunks() % runs != 0) return std::nullopt;
  }
  return all;
}

std::optional<std::uint32_t> ChunkTables::value_at(std::uint32_t coordinate,
                                                   std::uint32_t chunk) const {
  const auto around = nested(coordinate);
  if (!around) return std::nullopt;
  const auto given = coordinates_[coordinate].subspan(1);
  // The rank of the chunk among those that agree on Q: in the runs it has no choice of, none.
  std::uint64_t length = problem_.chunks();
  std::uint64_t rest = chunk;
  std::uint64_t rank = 0;
  std::uint64_t alike = 1;
  for (const std::uint32_t each : *around) {
    const std::uint32_t runs = problem_.factors[digit_of(each)].size;
    length /= runs;
    if (std::ranges::count(given, each) == 0) {
      rank = rank * runs + rest / length;
      alike *= runs;
    }
    rest %= length;
  }
  rank = rank * length + rest;
  alike *= length;
  return static_cast<std::uint32_t>(rank * problem_.factors[digit_of(coordinate)].size / alike);
}

std::optional<std::uint32_t> ChunkTables::contributors_at(const Table& table,
                                                          std::uint32_t chunk) const {
  std::uint64_t combination = 0;
  for (const std::uint32_t each : table.coordinates) {
    const auto value = value_at(each, chunk);
    if (!value || *value >= values_of(each)) return std::nullopt;
    combination = combination * values_of(each) + *value;
  }
  const auto entry = std::ranges::lower_bound(table.entries, combination, {}, &Entry::combination);
  const bool held = entry != table.entries.end() && entry->combination == combination;
  return held ? entry->contributors : PointSets::kEmpty;
}

void ChunkTables::add_ends(const Table& table, std::vector<std::uint32_t>& chunks) const {
  for (const std::uint32_t coordinate : table.coordinates) {
    auto runs = nested(coordinate);
    if (!runs || coordinates_[coordinate].size() != runs->size() + 1) continue;
    runs->push_back(coordinate);
    for (const Entry& entry : table.entries) {
      std::map<std::uint32_t, std::uint32_t> values;
      std::uint64_t rest = entry.combination;
      for (std::size_t i = table.coordinates.size(); i-- > 0;) {
        values[table.coordinates[i]] =
            static_cast<std::uint32_t>(rest % values_of(table.coordinates[i]));
        rest /= values_of(table.coordinates[i]);
      }
      for (const bool last : {false, true}) {
        std::uint64_t begin = 0;
        std::uint64_t length = problem_.chunks();
        for (const std::uint32_t each : *runs) {
          const std::uint32_t count = problem_.factors[digit_of(each)].size;
          const auto value = values.find(each);
          length /= count;
          begin += length * (value != values.end() ? value->second : last ? count - 1 : 0);
        }
        if (length == 0) continue;
        chunks.push_back(static_cast<std::uint32_t>(begin));
        chunks.push_back(static_cast<std::uint32_t>(begin + length - 1));
      }
    }
  }
  std::ranges::sort(chunks);
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
}

bool ChunkTables::occurs(std::span<const std::uint32_t> coordinates,
                         std::uint32_t combination) const {
  if (combination == 0) return true;
  bool chain = true;
  bool last = true;
  std::uint64_t rest = combination;
  for (std::size_t i = coordinates.size(); i-- > 0;) {
    const auto words = coordinates_[coordinates[i]];
    const auto given = words.subspan(1);
    const auto within = std::ranges::count_if(
        given, [&](std::uint32_t each) { return std::ranges::count(coordinates, each) > 0; });
    // Coordinates are numbered after those in their Q, so those before it are all it can have.
    chain = chain && static_cast<std::size_t>(within) == i;
    const std::uint32_t values = values_of(coordinates[i]);
    last = last && grid_.has_all_values(words[0]) && rest % values == values - 1;
    rest /= values;
  }
  return chain || last;
}

const std::vector<std::uint32_t>& ChunkTables::values_by_chunk(std::uint32_t coordinate) {
  const auto [place, is_new] = values_by_chunk_.try_emplace(coordinate);
  if (!is_new) return place->second;
  const std::vector<std::uint32_t> words(coordinates_[coordinate].begin(),
                                         coordinates_[coordinate].end());
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> alike;  // that agree on Q
  for (std::uint32_t chunk = 0; chunk < problem_.chunks(); ++chunk) {
    std::vector<std::uint32_t> given;
    for (std::size_t i = 1; i < words.size(); ++i) {
      given.push_back(values_by_chunk(words[i])[chunk]);
    }
    alike[given].push_back(chunk);
  }
  std::vector<std::uint32_t> values(problem_.chunks());
  const std::uint64_t runs = problem_.factors[words[0]].size;
  for (const auto& [given, chunks] : alike) {
    for (std::size_t rank = 0; rank < chunks.size(); ++rank) {
      values[chunks[rank]] = static_cast<std::uint32_t>(rank * runs / chunks.size());
    }
  }
  return values_by_chunk_[coordinate] = std::move(values);
}

bool ChunkTables::occurs_here(const std::vector<std::uint32_t>& coordinates,
                              std::uint32_t combination) {
  if (occurs(coordinates, combination)) return true;
  if (problem_.chunks() > kMaxChunks) {
    const Table one{coordinates, {{combination, 1}}};
    std::vector<std::uint32_t> chunks;
    add_ends(one, chunks);
    return std::ranges::any_of(
        chunks, [&](std::uint32_t chunk) { return contributors_at(one, chunk) == 1U; });
  }
  const auto [place, is_new] = occurring_.try_emplace(coordinates);
  for (std::uint32_t chunk = 0; is_new && chunk < problem_.chunks(); ++chunk) {
    std::uint64_t values = 0;
    bool inside = true;  // of the grid
    for (const std::uint32_t each : coordinates) {
      const std::uint32_t value = values_by_chunk(each)[chunk];
      inside = inside && value < values_of(each);
      values = values * values_of(each) + value;
    }
    if (inside) place->second.insert(static_cast<std::uint32_t>(values));
  }
  return place->second.contains(combination);
}

}  // namespace p2
