// The claim program-valid-large-sizes, by tables of what is held in a chunk as a function of
// coordinates of the chunk (docs/certificates.md has the rules and why they are right). A
// coordinate (Q, f) asks: of the equal consecutive runs, as many as digit f has values, into which
// the chunks are cut that agree on the coordinates Q, which one is the chunk in? Premises must hold
// for all combinations of values of the coordinates, whether or not a chunk has them.
#include <algorithm>
#include <map>
#include <utility>

#include "proofs/kernel/claims.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/machine.h"

namespace p2::kernel {
namespace {

/// Points of the grid; the contributors in a chunk.
using Points = std::vector<std::uint64_t>;
/// What is held, by values of ascending coordinates.
using Rows = std::map<Numbers, Points>;

struct ChunkTable {
  Numbers coordinates;
  Rows rows;
  bool operator==(const ChunkTable&) const = default;
};

/// A device holds nothing, or the number of all chunks divided by the sizes of the digits
/// `divided`.
struct GridDevice {
  bool holds = true;
  Digits divided = 0;
  ChunkTable table;
  bool operator==(const GridDevice&) const = default;
};

/// Of every digit the first values, at most so many; states are invariant under permutations of
/// the others, so that they stand for all values.
class ChunkTables {
 public:
  ChunkTables(const Sizes& sizes, std::uint32_t values, Budget& budget)
      : sizes_(sizes), budget_(budget) {
    std::uint64_t points = 1;
    for (const Instance::Digit& digit : sizes.instance->digits) {
      counts_.push_back(std::min(digit.size, values));
      points *= counts_.back();
      budget.spend(points * points);
    }
    strides_.resize(counts_.size());
    std::uint32_t stride = 1;
    for (std::size_t f = counts_.size(); f-- > 0; stride *= counts_[f]) strides_[f] = stride;
    for (std::uint32_t point = 0; point < points; ++point) {
      Points own = nobody(points);
      own[point / 64] |= std::uint64_t{1} << (point % 64);
      GridDevice device;
      device.table.rows[{}] = std::move(own);
      devices_.push_back(std::move(device));
    }
  }

  /// Sums over groups are right for all sizes beyond if every digit has so many values.
  std::uint32_t needed() const { return needed_; }

  /// False if the step is refused, or not decided; the state is unspecified then.
  bool take(const Choice& choice) {
    const Numbers offsets = sums(choice.varied);
    for (const std::uint32_t base : sums(~(choice.varied | choice.pinned))) {
      std::vector<GridDevice> group;
      for (const std::uint32_t offset : offsets) {
        spend_on(devices_[base + offset].table);
        group.push_back(devices_[base + offset]);
      }
      if (!run(choice, offsets, group)) return false;
      for (std::size_t i = 0; i < group.size(); ++i) {
        devices_[base + offsets[i]] = std::move(group[i]);
      }
    }
    return true;
  }

  bool at_goal() {
    for (const std::uint32_t base : sums(~sizes_.goal)) {
      GridDevice summed;
      Points all = nobody(devices_.size());
      for (const std::uint32_t offset : sums(sizes_.goal)) {
        all[(base + offset) / 64] |= std::uint64_t{1} << ((base + offset) % 64);
      }
      summed.table.rows[{}] = std::move(all);
      for (const std::uint32_t offset : sums(sizes_.goal)) {
        if (devices_[base + offset] != summed) return false;
      }
    }
    return true;
  }

 private:
  static Points nobody(std::uint64_t points) { return Points((points + 63) / 64, 0); }

  /// Points whose other digits are 0, ascending.
  Numbers sums(Digits digits) {
    Numbers all{0};
    for (std::size_t f = 0; f < counts_.size(); ++f) {
      if ((digits >> f & 1U) == 0) continue;
      Numbers more;
      for (const std::uint32_t point : all) {
        for (std::uint32_t v = 0; v < counts_[f]; ++v) more.push_back(point + v * strides_[f]);
      }
      all = std::move(more);
    }
    budget_.spend(all.size());
    return all;
  }

  /// Rows are copied, or compared.
  void spend_on(const ChunkTable& table, std::size_t times = 1) {
    budget_.spend(4 * times * (table.rows.size() + 1) *
                  (table.coordinates.size() + devices_.size() / 64 + 16));
  }

  std::uint32_t count_of(std::uint32_t coordinate) const {
    return counts_[coordinates_[coordinate].second];
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
      spend_on(table, count);
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

  bool run(const Choice& choice, const Numbers& offsets, std::vector<GridDevice>& group) {
    const bool broadcast = choice.collective == "Broadcast";
    for (const GridDevice& each : group) {
      // A root that holds nothing informs nobody.
      if (!broadcast && (!each.holds || each.divided != group[0].divided)) return false;
    }
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
      for (std::size_t i = 1; i < group.size(); ++i) {
        for (auto& [values, points] : group[i].table.rows) {
          if (!all.table.rows.emplace(values, std::move(points)).second) return false;
        }
      }
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
    bool learns = false;
    for (const GridDevice& each : group) {
      spend_on(root);
      spend_on(each.table);
      for (const auto& [values, points] : each.table.rows) {
        const auto known = root.rows.find(values);
        if (known == root.rows.end()) return false;
        for (std::size_t i = 0; i < points.size(); ++i) {
          if ((points[i] & ~known->second[i]) != 0) return false;
        }
      }
      for (const auto& [values, points] : root.rows) {
        const auto has = each.table.rows.find(values);
        const bool lacks = has == each.table.rows.end() || has->second != points;
        learns = learns || (lacks && exists(root.coordinates, values));
      }
    }
    return learns;
  }

  /// Adds all tables to the first: all hold the same, nobody contributes twice.
  bool sum(std::vector<GridDevice>& group) {
    Rows& total = group[0].table.rows;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Rows& rows = group[i].table.rows;
      spend_on(group[i].table);
      if (rows.size() != total.size()) return false;
      for (auto& [values, points] : total) {
        const auto added = rows.find(values);
        if (added == rows.end()) return false;
        for (std::size_t word = 0; word < points.size(); ++word) {
          if ((points[word] & added->second[word]) != 0) return false;
          points[word] |= added->second[word];
        }
      }
    }
    return true;
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
    for (std::uint32_t f = 0; f < counts_.size(); ++f) {
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
          if (row.first[i] != offsets[member] / strides_[digit] % counts_[digit]) return true;
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
  Numbers counts_;   ///< by digit, values in the grid
  Numbers strides_;  ///< and what one more adds to a point
  std::uint32_t needed_ = 4;
  std::vector<std::pair<Numbers, std::uint32_t>> coordinates_;  ///< Q, digit
  std::vector<GridDevice> devices_;
};

}  // namespace

std::string judge_large_sizes(const std::string& /*claim*/, const Files& files) {
  Budget budget;
  const Json root = parse_json(files, "problem.json");
  const Sizes sizes(root, {"steps"}, budget);
  if (as_list(root["steps"]).size() > kMaxSteps) malformed("too many steps");
  std::uint32_t largest = 0;
  for (const Instance::Digit& digit : sizes.instance->digits) {
    largest = std::max(largest, digit.size);
  }
  for (std::uint32_t values = 5;;) {
    ChunkTables tables(sizes, values, budget);
    std::string text;
    std::size_t number = 0;
    for (const Json& step : root["steps"]) {
      const Choice choice = sizes.choice(step, budget, false);
      const std::string name = "step " + std::to_string(++number) + " (" + choice.collective + ")";
      if (!tables.take(choice)) reject(name + " is refused, or not decided by tables");
      text += (number == 1 ? ": " : "; ") + choice.collective + Sizes::names(step);
    }
    if (!tables.at_goal()) reject("the goal is not reached, or not decided by tables");
    if (tables.needed() <= values || largest < values) {
      const std::string bound = std::to_string(values);
      return "the program is valid for these sizes, and where those from " + bound +
             " on are any others from " + bound + " on, by tables of chunks (" +
             sizes.instance->words + ", dialect printed; " +
             shortened(counted(number, "step") + text) + ")";
    }
    values = tables.needed();
  }
}

}  // namespace p2::kernel
