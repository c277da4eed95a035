#include "proofs/kernel/onesided/plan.h"

#include <algorithm>
#include <random>
#include <set>

namespace p2::kernel {

std::uint32_t Execution::add(Event event) {
  budget_->spend(256);
  events_.push_back(std::move(event));
  predecessors_.emplace_back();
  return static_cast<std::uint32_t>(events_.size() - 1);
}

std::uint32_t Execution::add_user_access(const std::string& name, std::uint32_t rank,
                                         std::uint32_t ended) {
  const std::uint32_t added = add({name, rank, ended});
  events_[added].user = true;
  return added;
}

void Execution::order(std::uint32_t from, std::uint32_t to, Graph graph) {
  budget_->spend(16);
  predecessors_[to].emplace_back(from, graph);
}

std::uint32_t Execution::add_space(std::uint32_t rank, const std::string& name, std::uint64_t cells,
                                   bool user) {
  budget_->spend(32 * cells);
  spaces_.push_back({rank, cells_, static_cast<std::uint32_t>(cells), name, user});
  cells_ += static_cast<std::uint32_t>(cells);
  return spaces_.back().first;
}

UserCells Execution::add_user(const std::string& collective, bool in_place, std::uint64_t in,
                              std::uint64_t out) {
  const auto rank = static_cast<std::uint32_t>(users.size());
  UserCells user{0, static_cast<std::uint32_t>(in), 0, static_cast<std::uint32_t>(out)};
  if (!in_place) {
    user.input = add_space(rank, "i", in, true);
    user.output = add_space(rank, "o", out, true);
  } else if (collective == "allgather") {
    user.output = add_space(rank, "o", out, true);
    user.input = user.output + rank * user.inputs;
  } else if (collective == "reducescatter") {
    user.input = add_space(rank, "i", in, true);
    user.output = user.input + rank * user.outputs;
  } else {
    user.inputs = user.outputs = std::max(user.inputs, user.outputs);
    user.input = user.output = add_space(rank, in >= out ? "i" : "o", user.inputs, true);
  }
  return users.emplace_back(user);
}

void Execution::set_goal(const std::string& collective, std::uint32_t root) {
  is_exchange = collective == "sendrecv";
  launches.resize(users.size());
  goal = [name = collective, root, ranks = static_cast<std::uint32_t>(users.size())](
             const UserCells& user, std::uint32_t launch, std::uint32_t rank,
             std::uint32_t cell) -> std::optional<std::vector<Contribution>> {
    const std::uint32_t part = user.outputs / ranks;
    if (name == "allgather") return {{{launch, cell / user.inputs, cell % user.inputs}}};
    if (name == "alltoall") return {{{launch, cell / part, rank * part + cell % part}}};
    if (name == "broadcast") return {{{launch, root, cell}}};
    const bool scatters = name == "reducescatter";
    if (name != "allreduce" && !scatters && (name != "reduce" || rank != root)) return std::nullopt;
    std::vector<Contribution> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
      all.push_back({launch, r, scatters ? rank * user.outputs + cell : cell});
    return all;
  };
}

std::string Execution::where(std::uint32_t cell) const {
  const auto after =
      std::upper_bound(spaces_.begin(), spaces_.end(), cell,
                       [](std::uint32_t at, const Space& space) { return at < space.first; });
  // Of spaces without cells the last one is found.
  const Space& space = *std::prev(after);
  return space.name + "[" + std::to_string(cell - space.first) + "] of rank " +
         std::to_string(space.rank);
}

void Execution::collect_accesses() {
  accesses_.assign(cells_, {});
  const auto add = [&](std::uint32_t event, std::size_t statement, const Operand& operand,
                       bool writes) {
    budget_->spend(32 * std::uint64_t{operand.count});
    for (std::uint32_t k = 0; k < operand.count; ++k) {
      for (std::uint32_t half = 0; half < (operand.packets ? 2 : 1); ++half) {
        accesses_[operand.cell(k) + half].push_back({event, operand.first, k,
                                                     static_cast<std::uint16_t>(statement), writes,
                                                     operand.packets, operand.polled});
      }
    }
  };
  for (std::uint32_t e = 0; e < events_.size(); ++e) {
    const Event& event = events_[e];
    if (event.user) budget_->spend(spaces_.size());
    for (std::size_t k = 0; event.user && k < spaces_.size(); ++k) {
      const Space& space = spaces_[k];
      if (space.user && space.rank == event.rank) add(e, 0, {space.first, space.cells}, true);
    }
    for (std::size_t s = 0; s < event.statements.size(); ++s) {
      for (const Operand& source : event.statements[s].sources) add(e, s, source, false);
      for (const Operand& target : event.statements[s].targets) add(e, s, target, true);
    }
  }
}

bool Execution::separates_packets(std::uint32_t chunk) const {
  for (const Space& space : spaces_) {
    for (std::uint32_t from = 0; from < space.cells; from += chunk) {
      bool plain = false, packets = false;
      for (std::uint32_t k = from; k < std::min(from + chunk, space.cells); ++k) {
        for (const Access& each : accesses_[space.first + k])
          (each.packets ? packets : plain) = true;
      }
      if (plain && packets) return false;
    }
  }
  return true;
}

/// A packet that is stored back where the same element found it.
bool Execution::writes_back(const Access& access) const {
  const Statement& statement = events_[access.event].statements[access.statement];
  return statement.sources.size() == 1 && statement.targets.size() > 1 &&
         statement.sources[0].polled && statement.sources[0].first == access.start;
}

/// A poll ends with the one packet that is written there in its launch.
void Execution::follow_packets() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> elements;
  std::map<std::uint32_t, std::uint32_t> counts;  // of elements, by event that polls
  for (std::uint32_t cell = 0; cell < cells_; ++cell) {
    std::map<std::uint32_t, const Access*> packets;  // by launch
    for (const Access& each : accesses_[cell]) {
      if (!each.writes || !each.packets || writes_back(each)) continue;
      const auto [found, is_new] = packets.emplace(events_[each.event].launch, &each);
      if (is_new) continue;
      packet_fault_ = Fault{events_[found->second->event].name + " and " +
                            events_[each.event].name + " both write a packet to " + where(cell)};
      return;
    }
    for (const Access& each : accesses_[cell]) {
      if (!each.polled || cell != each.start + 2 * each.element) continue;
      const auto found = packets.find(events_[each.event].launch);
      if (found == packets.end()) {
        packet_fault_ =
            Fault{events_[each.event].name + " polls " + where(cell) + ", which nothing writes"};
        return;
      }
      budget_->spend(8);
      order(found->second->event, each.event, Program);
      packets_.emplace_back(found->second, &each);
      counts[each.event] = events_[each.event].statements[each.statement].sources[0].count;
      const std::uint32_t sender = events_[found->second->event].rank;
      elements[{sender, each.event}].insert(each.element);
    }
  }
  // Its sender has begun the launch. An event whose every element has seen that is after it.
  for (const auto& [ends, seen] : elements) {
    const auto& [sender, poll] = ends;
    const std::uint32_t begin = launches[sender][events_[poll].launch].first;
    order(begin, poll, seen.size() == counts[poll] ? Memory : SomeElement);
    if (events_[poll].meet != 0) order(begin, events_[poll].meet, Memory);
  }
}

/// What occurs if elements that poll go on one by one, each as an event before the end of all.
Numbers Execution::run_by_element(std::optional<std::uint64_t> seed) {
  const auto all = static_cast<std::uint32_t>(events_.size());
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> alone;
  std::set<std::uint32_t> polling;
  for (const auto& [packet, poll] : packets_) polling.insert(poll->event);
  const auto element = [&](const Access& access) {
    if (!polling.contains(access.event)) return access.event;
    const auto [found, is_new] = alone.try_emplace({access.event, access.statement, access.element},
                                                   static_cast<std::uint32_t>(all + alone.size()));
    if (!is_new) return found->second;
    add({events_[access.event].name, events_[access.event].rank, events_[access.event].launch});
    for (const auto& [before, level] : predecessors_[access.event])
      if (before < all) order(before, found->second, level);
    order(found->second, access.event, Time);
    return found->second;
  };
  for (const auto& [packet, poll] : packets_) order(element(*packet), element(*poll), Time);
  Numbers occurs = run(Time, seed);
  std::erase_if(occurs, [&](std::uint32_t event) { return event >= all; });
  events_.resize(all);
  predecessors_.resize(all);
  for (auto& each : predecessors_)
    std::erase_if(each, [&](const auto& before) { return before.first >= all; });
  return occurs;
}

void Execution::match(const Counter& counter, const Use& signal, const Use& wait) {
  order(signal.event, wait.event, counter.surplus ? Time : Occurrence);
  // Where signals are left over, in the long run waits end without those of late launches.
  if (counter.surplus) return;
  if (signal.ordering != Use::kNone && wait.ordering != Use::kNone)
    order(signal.ordering, wait.ordering, Memory);
  // Relaxed ones show that the sender has begun.
  if (signal.seen && wait.seen)
    order(launches[signal.rank][signal.launch].first, wait.event, Memory);
}

/// Events in an order of the graph, and of shared counters, in which they can occur; not all if
/// some never do. The seed draws what occurs next. Without one it is what is of the first launch,
/// and waits expect as much as they do in any interleaving.
Numbers Execution::run(Graph graph, std::optional<std::uint64_t> seed) {
  std::vector<Numbers> next(events_.size());
  Numbers missing(events_.size()), order;
  std::vector<std::uint64_t> turn(events_.size());
  std::set<std::pair<std::uint64_t, std::uint32_t>> ready;
  std::mt19937_64 random(seed.value_or(0));
  std::map<std::uint32_t, std::uint64_t> turns;  // by rank, of some of its events
  for (std::uint32_t e = 0; e < events_.size(); ++e) {
    const auto [found, is_new] = turns.try_emplace(events_[e].rank, 0);
    if (seed && (is_new || random() % 16 == 0)) found->second = random();
    turn[e] = seed ? found->second : events_[e].launch;
    for (const auto& [before, level] : predecessors_[e]) {
      budget_->spend(2);
      if (level > graph) continue;
      next[before].push_back(e);
      ++missing[e];
    }
    if (missing[e] == 0) ready.emplace(turn[e], e);
  }
  std::map<std::uint32_t, std::pair<std::size_t, const Use*>> signals;
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> waits;
  for (std::size_t c = 0; c < shared.size(); ++c) {
    for (const Use& each : shared[c].signals) signals[each.event] = {c, &each};
    for (std::size_t k = 0; k < shared[c].waits.size(); ++k)
      waits[shared[c].waits[k].event] = {c, k};
  }
  arrived_.assign(shared.size(), {});
  expected_.clear();
  std::vector<std::uint64_t> expectation(shared.size());
  std::vector<Numbers> blocked(shared.size());
  while (!ready.empty()) {
    const std::uint32_t e = ready.begin()->second;
    ready.erase(ready.begin());
    if (const auto wait = waits.find(e); wait != waits.end()) {
      const auto& [c, k] = wait->second;
      const Counter& counter = shared[c];
      const std::size_t waits_of_launch = counter.waits.size() / launches[0].size();
      if (expected_.try_emplace(e, counter.waits[k].number).second && !counter.is_known)
        expected_[e] = seed ? expectation[c] += counter.amount(k)
                            : counter.waits[(k / waits_of_launch + 1) * waits_of_launch - 1].number;
      if (expected_[e] > counter.initial + arrived_[c].size()) {
        blocked[c].push_back(e);
        continue;
      }
    }
    order.push_back(e);
    for (const std::uint32_t each : next[e])
      if (--missing[each] == 0) ready.emplace(turn[each], each);
    const auto signal = signals.find(e);
    if (signal == signals.end()) continue;
    const auto& [c, use] = signal->second;
    arrived_[c].push_back(use);
    for (const std::uint32_t each : std::exchange(blocked[c], {})) ready.emplace(turn[each], each);
  }
  return order;
}

/// What ended the waits in the last run.
void Execution::match_observed() {
  for (std::size_t c = 0; c < shared.size(); ++c) {
    for (const Use& wait : shared[c].waits)
      for (std::uint64_t k = shared[c].initial; k < expected_[wait.event]; ++k)
        match(shared[c], *arrived_[c][k - shared[c].initial], wait);
  }
}

/// The signals that precede waits in every interleaving: those of the last run, the same in every
/// launch, without those that do not follow from the others (docs/certificates.md).
void Execution::match_always() {
  struct Match {
    const Counter* counter;
    std::vector<std::pair<const Use*, const Use*>> pairs;  ///< signal and wait, by launch
  };
  const std::size_t launched = launches[0].size();
  Numbers position(events_.size());
  for (std::uint32_t k = 0; k < order_.size(); ++k) position[order_[k]] = k;
  close(Occurrence);
  std::map<std::uint32_t, std::uint64_t> least;  // signals that a wait needs in any case
  std::vector<Match> matches;
  for (const Counter& counter : shared) {
    for (std::size_t k = 0; k < counter.waits.size(); ++k) {
      budget_->spend(counter.waits.size());
      std::uint64_t number = counter.is_known ? counter.waits[k].number : counter.amount(k);
      for (std::size_t j = 0; !counter.is_known && j < counter.waits.size(); ++j)
        if (precedes(counter.waits[j].event, counter.waits[k].event)) number += counter.amount(j);
      least[counter.waits[k].event] = number - std::min(number, counter.initial);
    }
    const std::size_t signals = counter.signals.size() / launched;
    const std::size_t waits = counter.waits.size() / launched;
    for (std::size_t k = 0; !counter.surplus && k < 2 * signals * waits; ++k) {
      Match match{&counter, {}};
      const std::size_t before = k % 2;  // launches between the two
      for (std::size_t launch = before; launch < launched; ++launch)
        match.pairs.emplace_back(&counter.signals[(launch - before) * signals + k / 2 % signals],
                                 &counter.waits[launch * waits + k / 2 / signals]);
      budget_->spend(32 * launched);
      if (std::ranges::all_of(match.pairs, [&](const auto& pair) {
            return position[pair.first->event] < position[pair.second->event];
          }))
        matches.push_back(std::move(match));
    }
  }
  for (const auto known = predecessors_;; predecessors_ = known) {
    for (const auto& [counter, pairs] : matches)
      for (const auto& [signal, wait] : pairs) match(*counter, *signal, *wait);
    close(Occurrence);
    // Fewer signals than the wait needs are neither after this one nor after the wait.
    const auto must_precede = [&](const Counter& counter, const Use& signal, const Use& wait) {
      std::uint64_t others = 0;
      for (const Use& each : counter.signals) {
        budget_->spend(4);
        if (each.event == signal.event || precedes(signal.event, each.event) ||
            precedes(wait.event, each.event))
          continue;
        if (each.launch + 1 == launched) return false;  // there may be later launches
        ++others;
      }
      return others < least[wait.event];
    };
    const auto erased = std::erase_if(matches, [&](const Match& each) {
      const auto& [signal, wait] = each.pairs[0];  // it follows in later launches, too
      return !must_precede(*each.counter, *signal, *wait);
    });
    if (erased == 0) return;
  }
}

void Execution::close(Graph graph) {
  words_ = events_.size() / 64 + 1;
  budget_->spend(events_.size() * words_ * 8);  // bytes
  before_.assign(events_.size() * words_, 0);
  for (const std::uint32_t e : order_) {
    for (const auto& [from, level] : predecessors_[e]) {
      if (level > graph || precedes(from, e)) continue;
      budget_->spend(words_);
      for (std::size_t w = 0; w < words_; ++w)
        before_[e * words_ + w] |= before_[from * words_ + w];
      before_[e * words_ + from / 64] |= std::uint64_t{1} << (from % 64);
    }
  }
}

/// Whether a write follows the poll of a packet whose value is made of the element that was read,
/// or is of the very element that polled it.
bool Execution::is_read_over(const Access& read, const Access& write) {
  if (events_[read.event].user) return false;
  std::set<std::array<std::uint32_t, 3>> seen;
  std::vector<std::array<std::uint32_t, 3>> open = {{read.event, read.statement, read.element}};
  while (!open.empty()) {
    const auto [event, statement, element] = open.back();
    open.pop_back();
    if (!seen.insert({event, statement, element}).second) continue;
    for (const Operand& target : events_[event].statements[statement].targets) {
      for (const Access& each : accesses_[target.cell(element)]) {
        budget_->spend(1);
        if (each.writes || each.event == event) continue;
        if (target.packets) {
          if (!each.polled || events_[each.event].launch != events_[event].launch) continue;
          if (precedes(each.event, write.event)) return true;
          if (each.event == write.event && each.element == write.element) return true;
        } else if (!precedes(event, each.event)) {
          continue;
        }
        open.push_back({each.event, each.statement, each.element});
      }
    }
  }
  return false;
}

bool Execution::is_ordered(const Access& a, const Access& b, bool surely) {
  const Event& x = events_[a.event];
  const Event& y = events_[b.event];
  // One thread has an element of the op, or of ops between two meets with elements of one kind.
  const bool same_element = a.start == b.start && (surely || a.element == b.element);
  if (a.event == b.event) return x.user || same_element;
  if (x.user && y.user) return true;
  if (x.segment != 0 && x.segment == y.segment && same_element && x.packets == y.packets)
    return true;
  // A poll waits for the packet of its launch, and ignores those of earlier ones.
  const auto ignores = [&](const Access& poll, const Access& packet) {
    return poll.polled && packet.writes && packet.packets &&
           events_[packet.event].launch <= events_[poll.event].launch;
  };
  if (ignores(a, b) || ignores(b, a)) return true;
  if (precedes(a.event, b.event) || precedes(b.event, a.event)) return true;
  return (!a.writes && is_read_over(a, b)) || (!b.writes && is_read_over(b, a));
}

std::optional<Fault> Execution::find_race(Graph graph) {
  close(graph);
  for (std::uint32_t cell = 0; cell < cells_; ++cell) {
    const std::vector<Access>& all = accesses_[cell];
    for (const Access& b : all) {
      for (const Access* a = all.data(); a != &b; ++a) {
        budget_->spend(1);
        if ((!a->writes && !b.writes) || is_ordered(*a, b, graph == SomeElement)) continue;
        return Fault{events_[a->event].name + " and " + events_[b.event].name + " both touch " +
                     where(cell) + ", one writes it, and nothing orders them"};
      }
    }
  }
  return std::nullopt;
}

/// Executes all in an order of time, of which every interleaving has the result.
std::optional<Fault> Execution::find_wrong_output() {
  constexpr std::uint32_t kUnwritten = 0, kNoPacket = ~std::uint32_t{0};
  std::vector<std::map<Contribution, std::uint32_t>> sums(1);
  Numbers value(cells_, kUnwritten), flag(cells_, kNoPacket);
  std::vector<std::set<std::uint32_t>> senders;  // of an exchange, by launch
  const auto put = [&](std::uint32_t cell, std::uint32_t what, std::uint32_t launch) {
    value[cell] = what;
    flag[cell] = launch;
  };
  const auto wrong = [&](std::uint32_t cell, std::uint32_t launch, const std::string& what) {
    return Fault{where(cell) + " after launch " + std::to_string(launch) + " " + what};
  };
  const auto wrong_output = [&](std::uint32_t rank, std::uint32_t launch) -> std::optional<Fault> {
    const UserCells& user = users[rank];
    for (std::uint32_t k = 0; k < user.outputs; ++k) {
      const auto& sum = sums[value[user.output + k]];
      budget_->spend(sum.size() + users.size() + 1);
      auto expected = is_exchange ? std::nullopt : goal(user, launch, rank, k);
      if (is_exchange) {
        const std::uint32_t sender =
            sums[value[user.output]].empty() ? 0 : sums[value[user.output]].begin()->first[1];
        expected = {{launch, sender, k}};
        senders.resize(std::max<std::size_t>(senders.size(), launch + 1));
        if (k == 0 && !senders[launch].insert(sender).second)
          return wrong(user.output, launch, "is the input of a rank that another one has, too");
      } else if (!expected) {
        continue;
      }
      const bool once = std::ranges::all_of(sum, [](const auto& each) { return each.second == 1; });
      if (once && sum.size() == expected->size() &&
          std::ranges::all_of(*expected, [&](const auto& each) { return sum.contains(each); }))
        continue;
      return wrong(user.output + k, launch, "is wrong");
    }
    return std::nullopt;
  };
  for (const std::uint32_t e : order_) {
    const Event& event = events_[e];
    if (event.user) {
      if (event.launch > 0) {
        if (auto found = wrong_output(event.rank, event.launch - 1)) return found;
      }
      const UserCells& user = users[event.rank];
      budget_->spend(8 * (std::uint64_t{user.inputs} + user.outputs));
      for (std::uint32_t k = 0; k < user.outputs; ++k) put(user.output + k, kUnwritten, kNoPacket);
      for (std::uint32_t k = 0; k < user.inputs; ++k) {
        put(user.input + k, static_cast<std::uint32_t>(sums.size()), kNoPacket);
        sums.push_back({{{event.launch, event.rank, k}, 1}});
      }
    }
    for (const Statement& statement : event.statements) {
      if (statement.sources.empty()) continue;
      Numbers results, flags;
      for (std::uint32_t k = 0; k < statement.sources[0].count; ++k) {
        std::map<Contribution, std::uint32_t> sum;
        bool unwritten = false;
        std::uint32_t found = event.launch;
        for (const Operand& source : statement.sources) {
          const std::uint32_t cell = source.cell(k);
          if (source.packets) {
            const bool whole = flag[cell] == flag[cell + 1] && value[cell] == value[cell + 1];
            if (!source.polled) found = whole ? flag[cell] : kNoPacket;
            if (source.polled && (!whole || flag[cell] != event.launch))
              return Fault{event.name + " polls " + where(cell) + ", whose packet is overwritten"};
          }
          unwritten = unwritten || value[cell] == kUnwritten;
          budget_->spend(64 * sums[value[cell]].size() + 16);
          for (const auto& [each, count] : sums[value[cell]]) sum[each] += count;
        }
        const bool copies = statement.sources.size() == 1;
        results.push_back(copies      ? value[statement.sources[0].cell(k)]
                          : unwritten ? kUnwritten
                                      : static_cast<std::uint32_t>(sums.size()));
        if (!copies && !unwritten) sums.push_back(std::move(sum));
        flags.push_back(found);
      }
      for (const Operand& target : statement.targets) {
        for (std::uint32_t k = 0; k < target.count; ++k) {
          put(target.cell(k), results[k], target.packets ? flags[k] : kNoPacket);
          if (target.packets) put(target.cell(k) + 1, results[k], flags[k]);
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Fault> Execution::find_fault(bool surely, std::uint64_t seed) {
  collect_accesses();
  follow_packets();
  if (packet_fault_) return packet_fault_;
  const bool always = !surely && !shared.empty();  // in all interleavings
  const auto require = [](bool is_so, const std::string& what) {
    if (!is_so) throw CheckFailure(Verdict::Incomplete, what);
  };
  const auto stops = [&](std::uint32_t event, const std::string& where) {
    require(!always, events_[event].name + " may never end" + where);
    return Fault{events_[event].name + " never ends" + where};
  };
  constexpr const char* kAlone = "a lane or an element waits for another one";
  // A launch that needs what comes in the next one stops if it is the last.
  const auto first_late = [&](const Numbers& order) {
    const auto found = std::ranges::is_sorted_until(
        order, {}, [&](std::uint32_t event) { return events_[event].launch; });
    return found == order.end() ? std::nullopt : std::optional(*found);
  };
  if (always || (!shared.empty() && std::ranges::all_of(shared, &Counter::is_known))) {
    const auto late = first_late(run(Program, std::nullopt));
    require(!late || !surely || first_late(run_by_element(std::nullopt)), kAlone);
    if (late) return stops(*late, " if its launch is the last");
  }
  const auto drawn = surely && !shared.empty() ? std::optional(seed) : std::nullopt;
  order_ = run(Program, drawn);
  if (order_.size() < events_.size()) {
    std::vector<bool> known(events_.size());
    for (const std::uint32_t e : surely ? run_by_element(drawn) : order_) known[e] = true;
    require(!std::ranges::all_of(known, std::identity{}), kAlone);
    return stops(static_cast<std::uint32_t>(std::ranges::find(known, false) - known.begin()), "");
  }
  always ? match_always() : match_observed();
  auto race = find_race(surely ? SomeElement : Memory);
  require(!race || !always, "not ordered in all interleavings: " + (race ? race->text : ""));
  if (race) return race;
  require(!surely || !find_race(Memory), "elements of an operation differ in their order");
  return find_wrong_output();
}

}  // namespace p2::kernel
