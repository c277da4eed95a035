#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/ordering.h"

namespace p2::onesided {
namespace {

using Graph = Ordering::Graph;
using transfer::Event;
using transfer::HappensBefore;

constexpr std::uint32_t kMaxInterleavings = 256;

/// Which of some chosen events precede each event, as sets of bits.
class Ancestors {
 public:
  Ancestors(const HappensBefore& graph, const std::vector<Event>& chosen, LimitWatch& watch)
      : words_((chosen.size() + 63) / 64), index_(graph.events(), kNone) {
    watch.require_room(graph.events() * words_ * sizeof(std::uint64_t));
    bits_.resize(graph.events() * words_);
    for (std::uint32_t i = 0; i < chosen.size(); ++i) index_[chosen[i]] = i;
    for (const Event event : graph.order()) {
      watch.step();
      std::uint64_t* const own = bits_.data() + event * words_;
      for (const transfer::Predecessor& before : graph.predecessors(event)) {
        const std::uint64_t* const other = bits_.data() + before.event * words_;
        for (std::size_t w = 0; w < words_; ++w) own[w] |= other[w];
      }
      if (index_[event] != kNone) own[index_[event] / 64] |= std::uint64_t{1} << index_[event] % 64;
    }
  }
  /// Whether a chosen event precedes another event or is the same.
  bool precedes(Event chosen, Event event) const {
    const std::uint32_t i = index_[chosen];
    return ((bits_[event * words_ + i / 64] >> (i % 64)) & 1U) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint64_t> bits_;
};

/// The least number of signals that a wait can need: its own share and that of the waits before it.
std::uint64_t least_number(const Ordering& ordering, std::uint32_t c, const CounterUse& wait,
                           const Ancestors& ancestors) {
  const Operation& operation = *ordering.nodes()[wait.node].operation;
  std::uint64_t number = 0;
  if (operation.threshold) {
    number = *operation.threshold;
  } else {
    for (const CounterUse& each : ordering.counters()[c].waits) {
      if (ancestors.precedes(each.event, wait.event)) {
        number += ordering.nodes()[each.node].operation->amount;
      }
    }
  }
  const std::uint64_t initial = ordering.unrolling().counters[c].initial;
  return number > initial ? number - initial : 0;
}

/// Whether `signal` precedes `wait` in all interleavings: fewer signals than the wait needs can be
/// there without it, i.e. are neither after it nor after the wait.
bool must_precede(const Ordering& ordering, const CounterUses& uses, const CounterUse& signal,
                  const CounterUse& wait, std::uint64_t number, const Ancestors& ancestors) {
  if (number == 0) return false;
  const std::uint32_t last = ordering.unrolling().launches - 1;
  std::uint64_t others = 0;
  for (const CounterUse& each : uses.signals) {
    if (each.event == signal.event || ancestors.precedes(signal.event, each.event) ||
        ancestors.precedes(wait.event, each.event)) {
      continue;
    }
    // Its rank may signal in launches after the last one too, any number of times.
    if (ordering.nodes()[each.node].launch == static_cast<std::int32_t>(last)) return false;
    if (++others >= number) return false;
  }
  return true;
}

/// One interleaving: events occur as soon as they can, in an order that a seed draws, and waits
/// compare counters with what they expect.
class Interleaving {
 public:
  enum class Numbers : std::uint8_t { AsTheyArrive, Largest };
  /// The seed of the interleaving in which what is ready first occurs first.
  static constexpr std::uint64_t kFirstComeFirstServed = ~std::uint64_t{0};

  Interleaving(const Ordering& ordering, const HappensBefore& time);

  /// Whether all events occur. `Largest`: every wait needs as many signals as it can in any
  /// interleaving.
  bool run(std::uint64_t seed, Numbers numbers);
  /// By ambiguous counter: the signals in the order in which they occurred.
  const std::vector<std::vector<const CounterUse*>>& signals() const { return arrived_; }
  /// Signals that a wait needed; by event.
  const std::vector<std::uint64_t>& numbers() const { return needed_; }
  /// An event that can never occur though all before it have; kNoEvent if there is none.
  Event stuck() const { return stuck_; }

 private:
  const Ordering& ordering_;
  const HappensBefore& time_;
  std::vector<std::vector<Event>> successors_;
  std::vector<std::uint32_t> wait_of_;    // by event: index of the ambiguous counter, or kNone
  std::vector<std::uint32_t> signal_of_;  // by event
  std::vector<const CounterUse*> use_of_;
  std::vector<std::uint64_t> largest_;  // by event
  std::vector<std::vector<const CounterUse*>> arrived_;
  std::vector<std::uint64_t> needed_;
  Event stuck_ = transfer::kNoEvent;
};

Interleaving::Interleaving(const Ordering& ordering, const HappensBefore& time)
    : ordering_(ordering),
      time_(time),
      successors_(time.events()),
      wait_of_(time.events(), kNone),
      signal_of_(time.events(), kNone),
      use_of_(time.events()),
      largest_(time.events()) {
  for (Event event = 0; event < time.events(); ++event) {
    for (const transfer::Predecessor& before : time.predecessors(event)) {
      successors_[before.event].push_back(event);
    }
  }
  const auto& ambiguous = ordering.ambiguous();
  for (std::uint32_t i = 0; i < ambiguous.size(); ++i) {
    const CounterUses& uses = ordering.counters()[ambiguous[i]];
    const std::uint64_t initial = ordering.unrolling().counters[ambiguous[i]].initial;
    std::uint64_t total = 0;
    for (const CounterUse& wait : uses.waits) {
      const Operation& operation = *ordering.nodes()[wait.node].operation;
      total += operation.amount;
      wait_of_[wait.event] = i;
      use_of_[wait.event] = &wait;
      // With ordered waits the expectation is known; otherwise any of this launch may come first.
      std::uint64_t number = operation.threshold ? *operation.threshold : total;
      if (!operation.threshold && !uses.waits_ordered) {
        number = 0;
        for (const CounterUse& each : uses.waits) {
          if (ordering.nodes()[each.node].launch <= ordering.nodes()[wait.node].launch) {
            number += ordering.nodes()[each.node].operation->amount;
          }
        }
      }
      largest_[wait.event] = number > initial ? number - initial : 0;
    }
    for (const CounterUse& signal : uses.signals) {
      signal_of_[signal.event] = i;
      use_of_[signal.event] = &signal;
    }
  }
}

bool Interleaving::run(std::uint64_t seed, Numbers numbers) {
  const std::size_t count = time_.events();
  const auto& ambiguous = ordering_.ambiguous();
  std::mt19937_64 random(seed);
  // Priorities by process, so that some run far ahead of others (Burckhardt et al., "A randomized
  // scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
  std::vector<std::uint64_t> priority(count);
  std::map<std::uint32_t, std::uint64_t> of_process;
  for (Event event = 0; event < count; ++event) {
    const auto [found, is_new] = of_process.try_emplace(time_.process(event), 0);
    if (is_new || random() % 16 == 0) found->second = random();
    priority[event] = found->second;
  }
  std::vector<std::uint32_t> missing(count);
  std::vector<std::pair<std::uint64_t, Event>> ready;  // a heap
  std::uint64_t turn = ~std::uint64_t{0};
  const auto push = [&](Event event) {
    ready.emplace_back(seed == kFirstComeFirstServed ? turn-- : priority[event], event);
    std::push_heap(ready.begin(), ready.end());
  };
  for (Event event = 0; event < count; ++event) {
    missing[event] = static_cast<std::uint32_t>(time_.predecessors(event).size());
    if (missing[event] == 0) push(event);
  }
  arrived_.assign(ambiguous.size(), {});
  needed_.assign(count, 0);
  std::vector<std::uint64_t> expected(ambiguous.size());
  std::vector<std::vector<Event>> waiting(ambiguous.size());
  std::size_t occurred = 0;
  const auto occur = [&](Event event) {
    ++occurred;
    for (const Event next : successors_[event]) {
      if (--missing[next] == 0) push(next);
    }
  };
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end());
    const Event event = ready.back().second;
    ready.pop_back();
    if (const std::uint32_t i = wait_of_[event]; i != kNone) {
      const Operation& operation = *ordering_.nodes()[use_of_[event]->node].operation;
      const std::uint64_t initial = ordering_.unrolling().counters[ambiguous[i]].initial;
      expected[i] = operation.threshold ? *operation.threshold : expected[i] + operation.amount;
      needed_[event] = expected[i] > initial ? expected[i] - initial : 0;
      if (numbers == Numbers::Largest) needed_[event] = largest_[event];
      if (needed_[event] > arrived_[i].size()) {
        waiting[i].push_back(event);
        continue;
      }
    }
    occur(event);
    const std::uint32_t i = signal_of_[event];
    if (i == kNone) continue;
    arrived_[i].push_back(use_of_[event]);
    std::erase_if(waiting[i], [&](Event wait) {
      if (needed_[wait] > arrived_[i].size()) return false;
      occur(wait);
      return true;
    });
  }
  stuck_ = transfer::kNoEvent;
  for (const std::vector<Event>& all : waiting) {
    if (!all.empty() && stuck_ == transfer::kNoEvent) stuck_ = all.front();
  }
  return occurred == count;
}

OpenQuestion ambiguous_match(const Ordering& ordering) {
  return {"ambiguous-match",
          fmt::format("Which signal ends which wait on {} depends on the interleaving.",
                      ordering.unrolling().counters[ordering.ambiguous().front()].name)};
}

}  // namespace

/// Starts with the matches of one interleaving, the same in every launch, and drops those that do
/// not follow from the others until all do. Then they hold in every interleaving, by induction on
/// the order in which waits end: if a wait ended without one of its signals, one of the signals
/// that were there instead came after it by matches of waits that had ended before.
///
/// Matches of the first launches alone are examined. That of a later launch has, for every launch
/// more before it, as many more signals before it as it needs more, and whatever the signal or the
/// wait precedes in the first, its image does there.
void match_in_all_interleavings(Ordering& ordering, LimitWatch& watch) {
  if (ordering.ambiguous().empty()) return;
  const auto last = static_cast<std::int32_t>(ordering.unrolling().launches) - 1;
  std::vector<Event> chosen;
  /// A signal or wait of a counter by its block and its number in the launch.
  using Pattern = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Event, Pattern> pattern_of;
  std::map<std::tuple<std::uint32_t, Pattern, std::int32_t>, const CounterUse*> signals;
  std::map<std::tuple<std::uint32_t, Pattern, std::int32_t>, const CounterUse*> waits;
  for (const std::uint32_t c : ordering.ambiguous()) {
    const auto add = [&](const std::vector<CounterUse>& uses, auto& by_pattern) {
      std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> count;
      for (const CounterUse& each : uses) {
        const Node& node = ordering.nodes()[each.node];
        const Pattern pattern{node.block, count[{node.block, node.launch}]++};
        pattern_of[each.event] = pattern;
        by_pattern[{c, pattern, node.launch}] = &each;
        chosen.push_back(each.event);
      }
    };
    add(ordering.counters()[c].signals, signals);
    add(ordering.counters()[c].waits, waits);
  }
  const auto launch_of = [&](const CounterUse& use) { return ordering.nodes()[use.node].launch; };
  /// Counter, signal, wait, and how many launches before the wait's the signal's is.
  using Key = std::tuple<std::uint32_t, Pattern, Pattern, std::int32_t>;
  std::set<Key> matches;
  std::map<Event, std::uint64_t> numbers;  // that waits need at least
  {
    const HappensBefore time = ordering.graph(Graph::Time);
    Interleaving first(ordering, time);
    first.run(Interleaving::kFirstComeFirstServed, Interleaving::Numbers::AsTheyArrive);
    const HappensBefore graph = ordering.graph(Graph::Occurrence);
    const Ancestors ancestors(graph, chosen, watch);
    for (std::size_t i = 0; i < ordering.ambiguous().size(); ++i) {
      const std::uint32_t c = ordering.ambiguous()[i];
      const CounterUses& uses = ordering.counters()[c];
      // Signals that are left over pass to later launches: in the limit they order nothing.
      if (uses.has_surplus()) continue;
      for (const CounterUse& wait : uses.waits) {
        numbers[wait.event] = least_number(ordering, c, wait, ancestors);
        const std::uint64_t arrived =
            std::min<std::uint64_t>(first.numbers()[wait.event], first.signals()[i].size());
        for (std::uint64_t k = 0; k < arrived; ++k) {
          const CounterUse& signal = *first.signals()[i][k];
          const std::int32_t before = launch_of(wait) - launch_of(signal);
          if (before < 0 || before > 1) continue;
          matches.insert({c, pattern_of[signal.event], pattern_of[wait.event], before});
        }
      }
    }
  }
  const auto for_each_match = [&](const auto& visit) {
    for (const Key& key : matches) {
      const auto& [c, of_signal, of_wait, before] = key;
      for (std::int32_t launch = before; launch <= last; ++launch) {
        const auto signal = signals.find({c, of_signal, launch - before});
        const auto wait = waits.find({c, of_wait, launch});
        if (signal != signals.end() && wait != waits.end()) {
          visit(key, *signal->second, *wait->second);
        }
      }
    }
  };
  while (true) {
    watch.check();
    ordering.forget_matches();
    for_each_match([&](const Key& key, const CounterUse& signal, const CounterUse& wait) {
      ordering.match(std::get<0>(key), signal, wait);
    });
    const HappensBefore graph = ordering.graph(Graph::Occurrence);
    const Ancestors ancestors(graph, chosen, watch);
    std::set<Key> dropped;
    for_each_match([&](const Key& key, const CounterUse& signal, const CounterUse& wait) {
      watch.step();
      if (launch_of(signal) != 0 || dropped.contains(key)) return;
      if (!must_precede(ordering, ordering.counters()[std::get<0>(key)], signal, wait,
                        numbers[wait.event], ancestors)) {
        dropped.insert(key);
      }
    });
    if (dropped.empty()) return;
    for (const Key& key : dropped) matches.erase(key);
  }
}

namespace {

bool has_one_waiter(const Ordering& ordering) {
  return std::ranges::all_of(ordering.ambiguous(),
                             [&](std::uint32_t c) { return ordering.counters()[c].waits_ordered; });
}

/// Of an interleaving in which `stuck` never ends. Its operations are whole ones: where packets are
/// forwarded that is no stop.
UnrollingDecision stop_of(const Ordering& ordering, Event stuck, const char* why) {
  UnrollingDecision decision;
  if (ordering.has_forwarded_packets()) {
    decision.open = open_forwarding(ordering, stuck);
    return decision;
  }
  Violation& violation = decision.violation.emplace();
  violation.rule = Rule::Deadlock;
  violation.reason = fmt::format("{} never ends {}", ordering.describe_event(stuck), why);
  if (ordering.node_of(stuck) != kNone) {
    violation.happenings = {ordering.happening(ordering.node_of(stuck))};
  }
  return decision;
}

}  // namespace

UnrollingDecision find_stop(const Ordering& ordering, const HappensBefore& time,
                            LimitWatch& watch) {
  UnrollingDecision decision;
  if (ordering.ambiguous().empty()) return decision;
  Interleaving interleaving(ordering, time);
  if (interleaving.run(0, Interleaving::Numbers::Largest)) return decision;
  for (std::uint64_t seed = 0; seed < kMaxInterleavings; ++seed) {
    watch.check();
    if (interleaving.run(seed, Interleaving::Numbers::AsTheyArrive)) {
      if (has_one_waiter(ordering)) break;
      continue;
    }
    return stop_of(ordering, interleaving.stuck(),
                   "in the last launch: what it waits for comes in the next one.");
  }
  decision.open = ambiguous_match(ordering);
  return decision;
}

UnrollingDecision search_interleavings(Ordering& ordering, const HappensBefore& time,
                                       LimitWatch& watch) {
  UnrollingDecision decision;
  Interleaving interleaving(ordering, time);
  const bool one_waiter = has_one_waiter(ordering);
  const bool never_stops = interleaving.run(0, Interleaving::Numbers::Largest);
  const bool has_race = find_race(ordering, time, watch).has_value();
  if (never_stops && !has_race) return decision;
  for (std::uint64_t seed = 0; seed < kMaxInterleavings; ++seed) {
    watch.check();
    const bool ends = interleaving.run(seed, Interleaving::Numbers::AsTheyArrive);
    if (!ends) {
      return stop_of(
          ordering, interleaving.stuck(),
          "in an interleaving that was run: other waits take the signals that it needs.");
    }
    if (one_waiter && !has_race) break;
    if (!has_race) continue;
    Ordering observed = ordering;
    observed.forget_matches();
    for (std::uint32_t i = 0; i < ordering.ambiguous().size(); ++i) {
      const std::uint32_t c = ordering.ambiguous()[i];
      for (const CounterUse& wait : ordering.counters()[c].waits) {
        const std::uint64_t number = interleaving.numbers()[wait.event];
        for (std::uint64_t k = 0; k < number; ++k) {
          observed.match(c, *interleaving.signals()[i][k], wait);
        }
      }
    }
    const HappensBefore observed_time = observed.graph(Graph::Time);
    decision.violation = find_race(observed, observed_time, watch);
    if (decision.violation) return decision;
  }
  decision.open = ambiguous_match(ordering);
  return decision;
}

}  // namespace p2::onesided
