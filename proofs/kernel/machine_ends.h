#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "proofs/kernel/machine.h"

namespace p2::kernel {

/// A set of points of a grid.
using Points = std::vector<std::uint64_t>;

/// The search for programs that may be valid, in dialect printed (docs/certificates.md has the
/// rules and why no valid program is missing). Of a device it keeps how many chunks it has, as the
/// number of all times powers of sizes, and who contributes to the first and the last of all
/// chunks; and a label, equal only for devices in equal states. A step is refused only if a
/// premise fails for these, whatever the sizes.
class EndsSearch {
 public:
  struct Arrow {
    std::uint32_t choice, to;
  };

  /// Finds what is reached in at most `size` steps. A digit's values are the first ones and the
  /// last, four if it has as many.
  EndsSearch(const Sizes& sizes, const std::vector<Choice>& choices, std::size_t size,
             Budget& budget)
      : choices_(choices), budget_(budget), grid_(sizes, 4, budget) {
    Numbers begin;
    goal_.resize(grid_.points);
    for (const std::uint32_t base : grid_.with(~sizes.goal, budget_)) {
      Points all(words(), 0);
      for (const std::uint32_t offset : grid_.with(sizes.goal, budget_)) {
        all[(base + offset) / 64] |= std::uint64_t{1} << ((base + offset) % 64);
      }
      for (const std::uint32_t offset : grid_.with(sizes.goal, budget_)) {
        goal_[base + offset] = number({true, Powers(grid_.counts.size(), 0), all, all});
      }
    }
    for (std::uint32_t point = 0; point < grid_.points; ++point) {
      Points own(words(), 0);
      own[point / 64] |= std::uint64_t{1} << (point % 64);
      begin.push_back(number({true, Powers(grid_.counts.size(), 0), own, own}));
    }
    for (std::uint32_t point = 0; point < grid_.points; ++point) begin.push_back(point + 1);
    explore(begin, size);
  }

  /// From state 0, the beginning.
  const std::vector<Arrow>& arrows(std::uint32_t state) const { return arrows_[state]; }
  /// The least number of steps to what may be the goal; more than all steps if there is none.
  std::size_t left(std::uint32_t state) const { return left_[state]; }

 private:
  using Powers = std::vector<std::int32_t>;  ///< by digit
  struct Holding {
    bool any = false;
    Powers powers;
    Points first, last;
    auto operator<=>(const Holding&) const = default;
  };

  std::size_t words() const { return (goal_.size() + 63) / 64; }

  std::uint32_t number(Holding holding) {
    budget_.spend(2 * words() + grid_.counts.size() + 8);
    const auto next = static_cast<std::uint32_t>(holdings_.size());
    const auto [place, is_new] = numbers_.emplace(std::move(holding), next);
    if (is_new) holdings_.push_back(&place->first);
    return place->second;
  }

  /// Whether a is more than b, whatever the sizes.
  static bool surely_more(const Powers& a, const Powers& b) {
    bool more = false;
    for (std::size_t f = 0; f < a.size(); ++f) {
      if (a[f] < b[f]) return false;
      more = more || a[f] > b[f];
    }
    return more;
  }
  static bool may_equal(const Holding& a, const Holding& b) {
    return !surely_more(a.powers, b.powers) && !surely_more(b.powers, a.powers);
  }

  static bool empty(const Points& points) {
    return std::ranges::all_of(points, [](std::uint64_t word) { return word == 0; });
  }
  static bool within(const Points& some, const Points& all) {
    for (std::size_t i = 0; i < some.size(); ++i) {
      if ((some[i] & ~all[i]) != 0) return false;
    }
    return true;
  }
  /// False if they meet.
  static bool unite(Points& all, const Points& more) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((all[i] & more[i]) != 0) return false;
      all[i] |= more[i];
    }
    return true;
  }

  bool may_be_goal(const Numbers& state) const {
    for (std::size_t point = 0; point < goal_.size(); ++point) {
      const Holding& has = *holdings_[state[point]];
      const Holding& wanted = *holdings_[goal_[point]];
      if (state[point] == goal_[point]) continue;
      if (!has.any || has.first != wanted.first || has.last != wanted.last) return false;
      if (!may_equal(has, wanted)) return false;
    }
    return true;
  }

  /// Two classes in one sum are never parted again.
  bool is_mixed(const Points& points) const {
    for (std::size_t point = 0; point < goal_.size(); ++point) {
      if ((points[point / 64] >> (point % 64) & 1U) == 0) continue;
      return !within(points, holdings_[goal_[point]]->first);
    }
    return false;
  }

  /// The sum of a group, whose members hold the same chunks.
  std::optional<Holding> sum(const std::vector<const Holding*>& group) const {
    Holding all = *group[0];
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Holding& each = *group[i];
      if (!may_equal(each, all) || empty(each.first) != empty(all.first) ||
          empty(each.last) != empty(all.last) || !unite(all.first, each.first) ||
          !unite(all.last, each.last)) {
        return std::nullopt;
      }
    }
    if (is_mixed(all.first) || is_mixed(all.last)) return std::nullopt;
    return all;
  }

  std::optional<Holding> gather(const Choice& choice,
                                const std::vector<const Holding*>& group) const {
    Holding all = *group[0];
    for (std::size_t i = 1; i < group.size(); ++i) {
      const Holding& each = *group[i];
      if (!may_equal(each, all)) return std::nullopt;
      if (!empty(each.first) && !empty(all.first)) return std::nullopt;
      if (!empty(each.last) && !empty(all.last)) return std::nullopt;
      unite(all.first, each.first);
      unite(all.last, each.last);
    }
    const Powers before(grid_.counts.size(), 0);
    scale(all, choice.varied, 1);
    if (surely_more(all.powers, before)) return std::nullopt;  // than there are
    return all;
  }

  static void scale(Holding& holding, Digits digits, std::int32_t by) {
    for (std::size_t f = 0; f < holding.powers.size(); ++f) {
      if ((digits >> f & 1U) != 0) holding.powers[f] += by;
    }
  }

  /// What the members hold afterwards, or nothing if the step is refused.
  Numbers run(const Choice& choice, const Numbers& before) {
    std::vector<const Holding*> group;
    for (const std::uint32_t id : before) group.push_back(holdings_[id]);
    budget_.spend(group.size() * (2 * words() + grid_.counts.size() + 8));
    const Holding& root = *group[0];
    if (choice.collective == "Broadcast") {
      if (!root.any) return {};
      for (const Holding* each : group) {
        if (!each->any) continue;
        if (surely_more(each->powers, root.powers)) return {};
        if (!within(each->first, root.first) || !within(each->last, root.last)) return {};
      }
      return Numbers(before.size(), before[0]);
    }
    if (!std::ranges::all_of(group, &Holding::any)) return {};
    if (choice.collective == "AllGather") {
      const auto all = gather(choice, group);
      return all ? Numbers(before.size(), number(*all)) : Numbers{};
    }
    auto all = sum(group);
    if (!all) return {};
    if (choice.collective == "AllReduce") return Numbers(before.size(), number(*all));
    if (choice.collective == "Reduce") {
      Numbers after(before.size(), number({false, Powers(grid_.counts.size(), 0),
                                           Points(words(), 0), Points(words(), 0)}));
      after[0] = number(*all);
      return after;
    }
    scale(*all, choice.varied, -1);
    const Points nobody(words(), 0);
    Numbers after(before.size(), number({true, all->powers, nobody, nobody}));
    after.front() = number({true, all->powers, all->first, nobody});
    after.back() = number({true, all->powers, nobody, all->last});
    return after;
  }

  /// The groups of a choice: those of one begin at `bases`.
  struct Groups {
    Numbers bases, offsets;
  };

  bool take(std::uint32_t number_of_choice, const Groups& groups, Numbers& state) {
    const Choice& choice = choices_[number_of_choice];
    const std::size_t points = goal_.size();
    const bool broadcast = choice.collective == "Broadcast";
    const bool alike = choice.collective == "AllReduce" || choice.collective == "AllGather";
    std::map<Numbers, std::uint32_t> labels;  // of the members → the first's afterwards
    auto fresh = static_cast<std::uint32_t>(points + 1);
    const std::size_t members = groups.offsets.size();
    Numbers key(members);
    Numbers known(members);
    auto& results = results_[number_of_choice];
    for (const std::uint32_t base : groups.bases) {
      budget_.spend(2 * members + 4);
      for (std::size_t i = 0; i < members; ++i) {
        key[i] = state[base + groups.offsets[i]];
        known[i] = state[points + base + groups.offsets[i]];
      }
      if (broadcast && std::ranges::count(known, known[0]) == static_cast<std::ptrdiff_t>(members))
        return false;
      auto result = results.find(key);
      if (result == results.end()) {
        budget_.spend(4 * members + 64);  // bounds the memory
        result = results.emplace(key, run(choice, key)).first;
      }
      if (result->second.empty()) return false;
      const auto [label, is_new] = labels.emplace(known, fresh);
      if (is_new) fresh += static_cast<std::uint32_t>(members);
      for (std::size_t i = 0; i < members; ++i) {
        const std::size_t device = base + groups.offsets[i];
        state[device] = result->second[i];
        state[points + device] =
            broadcast ? known[0] : label->second + (alike ? 0 : static_cast<std::uint32_t>(i));
      }
    }
    // Labels by first occurrence; all that hold nothing are alike.
    Numbers renumbered(fresh, 0);
    std::uint32_t used = 0;
    budget_.spend(points + fresh);
    for (std::size_t device = 0; device < points; ++device) {
      std::uint32_t& label = state[points + device];
      if (!holdings_[state[device]]->any) {
        label = 0;
        continue;
      }
      if (renumbered[label] == 0) renumbered[label] = ++used;
      label = renumbered[label];
    }
    return true;
  }

  void explore(const Numbers& begin, std::size_t size) {
    std::vector<Groups> groups;
    for (const Choice& choice : choices_) {
      groups.push_back({grid_.with(~(choice.varied | choice.pinned), budget_),
                        grid_.with(choice.varied, budget_)});
    }
    std::map<Numbers, std::uint32_t> states{{begin, 0}};
    results_.resize(choices_.size());
    arrows_.emplace_back();
    left_.push_back(may_be_goal(begin) ? 0 : size + 1);
    std::vector<std::map<Numbers, std::uint32_t>::iterator> last{states.begin()};
    for (std::size_t steps = 1; steps <= size && !last.empty(); ++steps) {
      std::vector<std::map<Numbers, std::uint32_t>::iterator> next;
      for (const auto& from : last) {
        for (std::uint32_t choice = 0; choice < choices_.size(); ++choice) {
          budget_.spend(from->first.size() / 4 + 4);
          Numbers after = from->first;
          if (!take(choice, groups[choice], after)) continue;
          const bool may_end = may_be_goal(after);
          if (steps == size && !may_end) continue;
          const auto id = static_cast<std::uint32_t>(states.size());
          const auto [place, is_new] = states.emplace(std::move(after), id);
          arrows_[from->second].push_back({choice, place->second});
          if (!is_new) continue;
          budget_.spend(2 * begin.size() + 64);  // bounds the memory
          arrows_.emplace_back();
          left_.push_back(may_end ? 0 : size + 1);
          next.push_back(place);
        }
      }
      last = std::move(next);
    }
    for (std::size_t steps = 0; steps < size; ++steps) {
      for (std::size_t state = 0; state < arrows_.size(); ++state) {
        budget_.spend(arrows_[state].size() + 1);
        for (const Arrow& arrow : arrows_[state]) {
          left_[state] = std::min(left_[state], left_[arrow.to] + 1);
        }
      }
    }
  }

  const std::vector<Choice>& choices_;
  Budget& budget_;
  const Grid grid_;
  std::map<Holding, std::uint32_t> numbers_;
  std::vector<const Holding*> holdings_;
  std::vector<std::map<Numbers, Numbers>> results_;  ///< by choice and holdings of a group
  Numbers goal_;
  std::vector<std::vector<Arrow>> arrows_;
  std::vector<std::size_t> left_;
};

}  // namespace p2::kernel
