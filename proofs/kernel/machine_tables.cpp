// The claims program-valid-large-sizes and synthesis-complete-large-sizes, by tables of what is
// held in a chunk as a function of coordinates of the chunk (docs/certificates.md has the rules and
// why they are right). A coordinate (Q, f) asks: of the equal consecutive runs, as many as digit f
// has values, into which the chunks are cut that agree on the coordinates Q, which one is the chunk
// in? Premises must hold for all combinations of values of the coordinates, whether or not a chunk
// has them.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/machine.h"
#include "proofs/kernel/machine_ends.h"

namespace p2::kernel {
namespace {

/// What is held, by values of ascending coordinates.
using Rows = std::map<Numbers, Points>;

struct ChunkTable {
  Numbers coordinates;
  Rows rows;
  auto operator<=>(const ChunkTable&) const = default;
};

/// A device holds nothing, or the number of all chunks divided by the sizes of the digits
/// `divided`.
struct GridDevice {
  bool holds = true;
  Digits divided = 0;
  ChunkTable table;
  auto operator<=>(const GridDevice&) const = default;
};

/// Whether a step is legal, whatever the sizes; or refused, whatever they are.
enum class Taken { Legal, Refused, Undecided };

/// Of every digit the first values, at most so many; states are invariant under permutations of
/// the others, so that they stand for all values.
class ChunkTables {
 public:
  ChunkTables(const Sizes& sizes, std::uint32_t values, Budget& budget)
      : sizes_(sizes), budget_(budget), grid_(sizes, values, budget), values_(values) {
    for (std::uint32_t point = 0; point < grid_.points; ++point) {
      Points own = nobody(grid_.points);
      own[point / 64] |= std::uint64_t{1} << (point % 64);
      GridDevice device;
      device.table.rows[{}] = std::move(own);
      devices_.push_back(number(std::move(device)));
    }
    for (std::uint32_t point = 0; point < grid_.points; ++point) goal_.push_back(summed(point));
  }

  /// Sums over groups are right for all sizes beyond if every digit has so many values.
  std::uint32_t needed() const { return needed_; }

  /// The devices' numbers: equal devices have equal ones.
  const Numbers& state() const { return devices_; }
  void set(const Numbers& state) { devices_ = state; }

  /// The state is unspecified unless the step is legal.
  Taken take(const Choice& choice) {
    const Numbers offsets = grid_.with(choice.varied, budget_);
    auto& results = results_[choice];
    bool decided = true;
    for (const std::uint32_t base : grid_.with(~(choice.varied | choice.pinned), budget_)) {
      Numbers members;
      for (const std::uint32_t offset : offsets) members.push_back(devices_[base + offset]);
      budget_.spend(2 * members.size() + 4);
      const auto [known, is_new] = results.try_emplace(members);
      auto& [taken, after] = known->second;
      if (is_new) taken = take(choice, offsets, members, after);
      if (taken == Taken::Refused) return taken;
      decided = decided && taken == Taken::Legal;
      for (std::size_t i = 0; i < after.size(); ++i) devices_[base + offsets[i]] = after[i];
    }
    return decided ? Taken::Legal : Taken::Undecided;
  }

  bool at_goal() const { return devices_ == goal_; }

 private:
  static Points nobody(std::uint64_t points) { return Points((points + 63) / 64, 0); }

  /// On one group; `after` has its devices if the step is legal.
  Taken take(const Choice& choice, const Numbers& offsets, const Numbers& members, Numbers& after) {
    std::vector<GridDevice> group;
    for (const std::uint32_t member : members) {
      spend_on(known_[member]->table);
      group.push_back(*known_[member]);
    }
    refused_ = false;
    if (!run(choice, offsets, group)) return refused_ ? Taken::Refused : Taken::Undecided;
    budget_.spend(8 * members.size() + 64);  // bounds the memory
    for (GridDevice& device : group) after.push_back(number(std::move(device)));
    return Taken::Legal;
  }

  std::uint32_t number(GridDevice device) {
    spend_on(device.table);
    const auto next = static_cast<std::uint32_t>(known_.size());
    const auto [place, is_new] = numbers_.emplace(std::move(device), next);
    if (!is_new) return place->second;
    spend_on(place->first.table, 4);
    known_.push_back(&place->first);
    return next;
  }

  /// What the device of a point has at the goal: the sum over its class.
  std::uint32_t summed(std::uint32_t point) {
    std::uint32_t base = point;
    for (std::size_t f = 0; f < grid_.counts.size(); ++f) {
      if ((sizes_.goal >> f & 1U) != 0) base -= grid_.value(point, f) * grid_.strides[f];
    }
    GridDevice device;
    Points all = nobody(devices_.size());
    for (const std::uint32_t offset : grid_.with(sizes_.goal, budget_)) {
      all[(base + offset) / 64] |= std::uint64_t{1} << ((base + offset) % 64);
    }
    device.table.rows[{}] = std::move(all);
    return number(std::move(device));
  }

  /// Rows are copied, or compared; those that stay count four times, which bounds the memory.
  void spend_on(const ChunkTable& table, std::size_t times = 1) {
    budget_.spend(times * (table.rows.size() + 1) *
                  (table.coordinates.size() + devices_.size() / 64 + 16));
  }

  std::uint32_t count_of(std::uint32_t coordinate) const {
    return grid_.counts[coordinates_[coordinate].second];
  }

  void note(const Numbers& coordinates) {
    std::map<std::size_t, std::uint32_t> of_digit;
    for (const std::uint32_t each : coordinates) {
      needed_ = std::max(needed_, 4 + ++of_digit[coordinates_[each].second]);
    }
  }

  /// The same table over more coordinates.
  void extend(ChunkTable& table, const Numbers& coordinates) {
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      if (i < table.coordinates.size() && table.coordinates[i] == coordinates[i]) continue;
      Rows rows;
      const std::uint32_t count = count_of(coordinates[i]);
      spend_on(table, std::size_t{4} * count);
      for (const auto& [values, points] : table.rows) {
        Numbers key = values;
        key.insert(key.begin() + static_cast<std::ptrdiff_t>(i), 0);
        for (; key[i] < count; ++key[i]) rows.emplace(key, points);
      }
      table.rows = std::move(rows);
      table.coordinates.insert(table.coordinates.begin() + static_cast<std::ptrdiff_t>(i),
                               coordinates[i]);
    }
  }

  /// All tables over the coordinates of any of them.
  void join(std::vector<GridDevice>& group) {
    std::set<std::uint32_t> all;
    for (const GridDevice& each : group) {
      all.insert(each.table.coordinates.begin(), each.table.coordinates.end());
    }
    const Numbers coordinates(all.begin(), all.end());
    note(coordinates);
    for (GridDevice& each : group) extend(each.table, coordinates);
  }

  /// Without the coordinates that make no difference.
  void reduce(ChunkTable& table) {
    for (std::size_t i = table.coordinates.size(); i-- > 0;) {
      spend_on(table);
      std::map<Numbers, std::pair<std::uint32_t, const Points*>> without;
      bool alike = true;
      for (const auto& [values, points] : table.rows) {
        Numbers key = values;
        key.erase(key.begin() + static_cast<std::ptrdiff_t>(i));
        auto& [found, first] = without.try_emplace(key, 0, &points).first->second;
        alike = alike && *first == points;
        ++found;
      }
      for (const auto& [key, found] : without) {
        alike = alike && found.first == count_of(table.coordinates[i]);
      }
      if (!alike) continue;
      Rows rows;
      for (const auto& [key, found] : without) rows.emplace(key, *found.second);
      table.rows = std::move(rows);
      table.coordinates.erase(table.coordinates.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::uint32_t coordinate(const Numbers& given, std::uint32_t digit) {
    const std::pair wanted(given, digit);
    const auto found = std::ranges::find(coordinates_, wanted);
    budget_.spend(coordinates_.size() + 1);
    if (found == coordinates_.end()) {
      coordinates_.push_back(wanted);
      return static_cast<std::uint32_t>(coordinates_.size() - 1);
    }
    return static_cast<std::uint32_t>(found - coordinates_.begin());
  }

  /// Whether some chunk has these values, whatever the sizes: all are 0; all are the last of all
  /// that the digits have; or each coordinate rests, of these, on all before it.
  bool exists(const Numbers& coordinates, const Numbers& values) const {
    bool chain = true;
    bool zero = true;
    bool last = true;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const auto& [given, digit] = coordinates_[coordinates[i]];
      const auto before = std::ranges::count_if(
          given, [&](std::uint32_t each) { return std::ranges::count(coordinates, each) > 0; });
      chain = chain && static_cast<std::size_t>(before) == i;
      zero = zero && values[i] == 0;
      last = last && values[i] + 1 == sizes_.instance->digits[digit].size;
    }
    return chain || zero || last;
  }

  /// Whether certainly some chunk has these values: all are 0; all are the last; or the
  /// coordinates, with all that they rest on, are a chain of different digits, so that runs nest.
  bool occurs(const Numbers& coordinates, const Numbers& values) const {
    bool zero = true;
    bool last = true;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const std::uint32_t size = sizes_.instance->digits[coordinates_[coordinates[i]].second].size;
      zero = zero && values[i] == 0;
      last = last && size < values_ && values[i] + 1 == size;
    }
    if (zero || last) return true;
    std::set<std::uint32_t> all(coordinates.begin(), coordinates.end());
    for (Numbers open = coordinates; !open.empty();) {
      const Numbers& given = coordinates_[open.back()].first;
      open.pop_back();
      for (const std::uint32_t each : given) {
        if (all.insert(each).second) open.push_back(each);
      }
    }
    Digits digits = 0;
    std::size_t before = 0;
    for (const std::uint32_t each : all) {
      const auto& [given, digit] = coordinates_[each];
      if (given.size() != before++ || (digits >> digit & 1U) != 0) return false;
      digits |= Digits{1} << digit;
    }
    return true;
  }

  /// A premise fails at these values: no chunk may have them, but if one does, the step is refused.
  void fails_at(const Numbers& coordinates, const Numbers& values) {
    budget_.spend(coordinates.size() + 1);
    refused_ = refused_ || occurs(coordinates, values);
  }

  bool run(const Choice& choice, const Numbers& offsets, std::vector<GridDevice>& group) {
    const bool broadcast = choice.collective == "Broadcast";
    for (const GridDevice& each : group) {
      // A root that holds nothing informs nobody; others hold different chunks, or nothing at all.
      if (!each.holds && (!broadcast || !group[0].holds)) refused_ = true;
      if (!broadcast && (!each.holds || each.divided != group[0].divided)) return false;
    }
    if (refused_) return false;
    join(group);
    if (broadcast) {
      if (!informs(group)) return false;
      reduce(group[0].table);
      spend_on(group[0].table, group.size());
      std::fill(group.begin() + 1, group.end(), group[0]);
      return true;
    }
    if (choice.collective == "AllGather") {
      if (!within(choice.varied, group[0].divided)) return false;
      GridDevice all = std::move(group[0]);
      bool disjoint = true;
      for (std::size_t i = 1; i < group.size(); ++i) {
        for (auto& [values, points] : group[i].table.rows) {
          if (all.table.rows.emplace(values, std::move(points)).second) continue;
          disjoint = false;
          fails_at(all.table.coordinates, values);
        }
      }
      if (!disjoint) return false;
      all.divided &= ~choice.varied;
      reduce(all.table);
      spend_on(all.table, group.size());
      std::ranges::fill(group, all);
      return true;
    }
    if (!sum(group)) return false;
    reduce(group[0].table);
    spend_on(group[0].table, group.size());
    if (choice.collective == "ReduceScatter") return scatter(choice, offsets, group);
    GridDevice nothing;
    nothing.holds = false;
    const GridDevice others = choice.collective == "Reduce" ? nothing : group[0];
    std::fill(group.begin() + 1, group.end(), others);
    return true;
  }

  /// Whether the root has all that the others have, and one of them lacks something.
  bool informs(const std::vector<GridDevice>& group) {
    const ChunkTable& root = group[0].table;
    bool contained = true;
    bool learns = false;
    bool equal = true;
    for (const GridDevice& each : group) {
      spend_on(root);
      spend_on(each.table);
      equal = equal && each.holds && each.table.rows == root.rows;
      for (const auto& [values, points] : each.table.rows) {
        const auto known = root.rows.find(values);
        bool has = known != root.rows.end();
        for (std::size_t i = 0; has && i < points.size(); ++i) {
          has = (points[i] & ~known->second[i]) == 0;
        }
        if (has) continue;
        contained = false;
        fails_at(root.coordinates, values);
      }
      for (const auto& [values, points] : root.rows) {
        const auto has = each.table.rows.find(values);
        const bool lacks = has == each.table.rows.end() || has->second != points;
        learns = learns || (lacks && exists(root.coordinates, values));
      }
    }
    refused_ = refused_ || equal;
    return contained && learns;
  }

  /// Adds all tables to the first: all hold the same, nobody contributes twice.
  bool sum(std::vector<GridDevice>& group) {
    ChunkTable& total = group[0].table;
    bool legal = true;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Rows& rows = group[i].table.rows;
      spend_on(group[i].table, 2);
      for (const auto& row : rows) {
        if (total.rows.contains(row.first)) continue;
        legal = false;
        fails_at(total.coordinates, row.first);
      }
      for (auto& [values, points] : total.rows) {
        const auto added = rows.find(values);
        bool fits = added != rows.end();
        for (std::size_t word = 0; fits && word < points.size(); ++word) {
          fits = (points[word] & added->second[word]) == 0;
          points[word] |= added->second[word];
        }
        if (fits) continue;
        legal = false;
        fails_at(total.coordinates, values);
      }
    }
    return legal;
  }

  /// Cuts the first table. What it holds must be a box, of every coordinate one value or all; Q are
  /// those of which it has one.
  bool scatter(const Choice& choice, const Numbers& offsets, std::vector<GridDevice>& group) {
    GridDevice whole = std::move(group[0]);
    if ((whole.divided & choice.varied) != 0) return false;
    Numbers given;
    std::size_t box = 1;
    for (std::size_t i = 0; i < whole.table.coordinates.size(); ++i) {
      std::set<std::uint32_t> values;
      for (const auto& row : whole.table.rows) values.insert(row.first[i]);
      if (values.size() == 1) given.push_back(whole.table.coordinates[i]);
      if (values.size() != 1 && values.size() != count_of(whole.table.coordinates[i])) return false;
      box *= values.size();
    }
    if (box != whole.table.rows.size()) return false;
    std::map<std::uint32_t, std::uint32_t> cuts;  // by coordinate, the digit
    std::set<std::uint32_t> all(whole.table.coordinates.begin(), whole.table.coordinates.end());
    for (std::uint32_t f = 0; f < grid_.counts.size(); ++f) {
      if ((choice.varied >> f & 1U) == 0) continue;
      std::ranges::sort(given);
      const std::uint32_t cut = coordinate(given, f);
      given.push_back(cut);
      cuts.emplace(cut, f);
      all.insert(cut);
    }
    const Numbers coordinates(all.begin(), all.end());
    note(coordinates);
    extend(whole.table, coordinates);
    whole.divided |= choice.varied;
    for (std::size_t member = 0; member < group.size(); ++member) {
      spend_on(whole.table, 2);
      GridDevice part = whole;
      std::erase_if(part.table.rows, [&](const auto& row) {
        for (std::size_t i = 0; i < coordinates.size(); ++i) {
          const auto cut = cuts.find(coordinates[i]);
          if (cut == cuts.end()) continue;
          const std::uint32_t digit = cut->second;
          if (row.first[i] != grid_.value(offsets[member], digit)) return true;
        }
        return false;
      });
      reduce(part.table);
      group[member] = std::move(part);
    }
    return true;
  }

  const Sizes& sizes_;
  Budget& budget_;
  const Grid grid_;
  std::uint32_t needed_ = 4;
  std::vector<std::pair<Numbers, std::uint32_t>> coordinates_;  ///< Q, digit
  std::uint32_t values_;
  bool refused_ = false;  ///< the step is on this group, whatever the sizes
  std::map<GridDevice, std::uint32_t> numbers_;
  std::vector<const GridDevice*> known_;
  Numbers devices_, goal_;                                                  ///< by point
  std::map<Choice, std::map<Numbers, std::pair<Taken, Numbers>>> results_;  ///< by group
};

std::string large_words(const Sizes& sizes, std::uint32_t values) {
  const std::string bound = std::to_string(values);
  return "for these sizes, and where those from " + bound + " on are any others from " + bound +
         " on, by tables of chunks (" + sizes.instance->words + ", dialect printed";
}

/// Whether so many values stand for all sizes that are not below.
bool are_enough(const Sizes& sizes, const ChunkTables& tables, std::uint32_t values) {
  return tables.needed() <= values ||
         std::ranges::all_of(sizes.instance->digits,
                             [&](const Instance::Digit& digit) { return digit.size < values; });
}

std::string judge_on_tables(const Json& root, Budget& budget) {
  const Sizes sizes(root, {"steps"}, budget);
  if (as_list(root["steps"]).size() > kMaxSteps) malformed("too many steps");
  for (std::uint32_t values = 5;;) {
    ChunkTables tables(sizes, values, budget);
    std::string text;
    std::size_t number = 0;
    for (const Json& step : root["steps"]) {
      const Choice choice = sizes.choice(step, budget, false);
      const std::string name = "step " + std::to_string(++number) + " (" + choice.collective + ")";
      const Taken taken = tables.take(choice);
      if (taken == Taken::Refused) reject(name + " is refused");
      if (taken == Taken::Undecided) reject(name + " is not decided by tables");
      text += (number == 1 ? ": " : "; ") + choice.collective + Sizes::names(step);
    }
    if (!tables.at_goal()) reject("the goal is not reached, or not decided by tables");
    if (are_enough(sizes, tables, values)) {
      return "the program is valid " + large_words(sizes, values) + "; " +
             shortened(counted(number, "step") + text) + ")";
    }
    values = tables.needed();
  }
}

/// Runs on tables the programs that EndsSearch finds: each must be the next one listed, and valid,
/// or certainly be refused.
class ListReplay {
 public:
  ListReplay(const EndsSearch& search, const std::vector<Choice>& choices, const List& listed,
             std::size_t size, Budget& budget)
      : search_(search), choices_(choices), listed_(listed), size_(size), budget_(budget) {}

  void run(ChunkTables& tables) {
    extend(tables, 0, states_.emplace(tables.state(), 0).first->first);
    if (met_ != listed_.size()) reject("programs has one that is not valid");
  }

 private:
  void extend(ChunkTables& tables, std::uint32_t ends, const Numbers& state) {
    budget_.spend(state.size());
    tables.set(state);
    if (tables.at_goal()) {  // a program that goes on would have reached the goal before its end
      if (met_ == listed_.size() || as_numbers(listed_[met_], choices_.size()) != program_) {
        reject("program " + std::to_string(met_) + " is another, or is missing");
      }
      ++met_;
      return;
    }
    if (search_.left(ends) == 0) undecided();
    const std::uint32_t from = states_.at(state);
    for (const EndsSearch::Arrow& arrow : search_.arrows(ends)) {
      budget_.spend(8);
      if (program_.size() + 1 + search_.left(arrow.to) > size_) continue;
      program_.push_back(arrow.choice);
      const auto [known, is_new] = taken_.try_emplace({from, arrow.choice});
      if (is_new) {
        tables.set(state);
        known->second.first = tables.take(choices_[arrow.choice]);
        if (known->second.first == Taken::Legal) {
          budget_.spend(4 * state.size() + 64);  // bounds the memory
          const auto next = static_cast<std::uint32_t>(states_.size());
          known->second.second = &states_.emplace(tables.state(), next).first->first;
        }
      }
      if (known->second.first == Taken::Undecided) undecided();
      if (known->second.first == Taken::Legal) extend(tables, arrow.to, *known->second.second);
      program_.pop_back();
    }
  }

  [[noreturn]] void undecided() const {
    std::string text;
    for (const std::uint32_t choice : program_) text += " " + std::to_string(choice);
    reject("tables do not decide whether a program begins with the choices" + text);
  }

  const EndsSearch& search_;
  const std::vector<Choice>& choices_;
  const List& listed_;
  std::size_t size_, met_ = 0;
  Budget& budget_;
  Numbers program_;
  std::map<Numbers, std::uint32_t> states_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Taken, const Numbers*>> taken_;
};

std::string judge_list_on_tables(const Json& root, Budget& budget) {
  const Sizes sizes(root, {"size", "choices", "programs"}, budget);
  const std::size_t size = as_number(root["size"], 65);
  const std::vector<Choice> choices = sizes.choices(root["choices"], budget, false);
  const List& listed = as_list(root["programs"]);
  const EndsSearch search(sizes, choices, size, budget);
  for (std::uint32_t values = 5;;) {
    ChunkTables tables(sizes, values, budget);
    ListReplay(search, choices, listed, size, budget).run(tables);
    if (are_enough(sizes, tables, values)) {
      return "there are " + counted(listed.size(), "valid program") + " of at most " +
             counted(size, "step") + " " + large_words(sizes, values) + ")";
    }
    values = tables.needed();
  }
}

}  // namespace

std::string judge_large_sizes(const std::string& claim, const Json& statement,
                              const Files& /*files*/) {
  Budget budget;
  const Json& root = statement["problem.json"];
  return claim == "program-valid-large-sizes" ? judge_on_tables(root, budget)
                                              : judge_list_on_tables(root, budget);
}

}  // namespace p2::kernel
