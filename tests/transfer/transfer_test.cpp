#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/transfer/happens_before.h"
#include "engine/transfer/races.h"
#include "p2/error.h"

namespace p2::transfer {
namespace {

enum class Kind { Local, Send, Receive };

/// An operation of a process, in a model that knows nothing of graphs: a send needs room in its
/// FIFO, a receive a message in it, and a wait the end of another operation.
struct Operation {
  Kind kind = Kind::Local;
  std::uint32_t channel = 0;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> waits_for = {};  // process, index
  std::vector<std::pair<int, bool>> accesses = {};                        // location, writes
};

struct Channel {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

struct Program {
  std::vector<std::vector<Operation>> processes;
  std::vector<Channel> channels;
  std::size_t capacity = 1;

  const Operation& at(std::uint32_t process, std::uint32_t index) const {
    return processes[process][index];
  }
};

/// How many operations of each process are over.
using State = std::vector<std::uint32_t>;

std::size_t done(const Program& program, const State& state, Kind kind, std::uint32_t channel) {
  std::size_t count = 0;
  for (std::uint32_t process = 0; process < state.size(); ++process) {
    for (std::uint32_t i = 0; i < state[process]; ++i) {
      const Operation& each = program.at(process, i);
      count += each.kind == kind && each.channel == channel ? 1 : 0;
    }
  }
  return count;
}

/// The processes that keep the next operation of `process` from running.
std::set<std::uint32_t> blockers(const Program& program, const State& state,
                                 std::uint32_t process) {
  std::set<std::uint32_t> found;
  const Operation& next = program.at(process, state[process]);
  const std::size_t sent = done(program, state, Kind::Send, next.channel);
  const std::size_t received = done(program, state, Kind::Receive, next.channel);
  if (next.kind == Kind::Send && sent - received >= program.capacity) {
    found.insert(program.channels[next.channel].destination);
  }
  if (next.kind == Kind::Receive && sent == received) {
    found.insert(program.channels[next.channel].source);
  }
  if (next.waits_for && state[next.waits_for->first] <= next.waits_for->second) {
    found.insert(next.waits_for->first);
  }
  return found;
}

bool conflict(const Operation& a, const Operation& b) {
  return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const auto& one) {
    return std::any_of(b.accesses.begin(), b.accesses.end(), [&](const auto& other) {
      return one.first == other.first && (one.second || other.second);
    });
  });
}

/// What running a program in every interleaving shows.
struct AllInterleavings {
  std::set<State> ends;  ///< states in which nothing can run
  /// Operations, as process and index, that are ready at once and conflict.
  std::set<
      std::pair<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>>
      races;
};

AllInterleavings run_all(const Program& program) {
  AllInterleavings all;
  const auto count = static_cast<std::uint32_t>(program.processes.size());
  std::set<State> seen = {State(count, 0)};
  std::vector<State> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    std::vector<std::uint32_t> ready;
    for (std::uint32_t process = 0; process < count; ++process) {
      const bool ended = state[process] == program.processes[process].size();
      if (!ended && blockers(program, state, process).empty()) ready.push_back(process);
    }
    if (ready.empty()) all.ends.insert(state);
    for (const std::uint32_t a : ready) {
      for (const std::uint32_t b : ready) {
        if (a != b && conflict(program.at(a, state[a]), program.at(b, state[b]))) {
          all.races.insert({{a, state[a]}, {b, state[b]}});
        }
      }
      State next = state;
      ++next[a];
      if (seen.insert(next).second) open.push_back(std::move(next));
    }
  }
  return all;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

/// Up to 4 processes with up to 5 operations each; every channel has as many sends as receives, and
/// joins different processes, maybe also in both directions or twice.
Program random_program(Random& random) {
  Program program;
  const std::uint32_t count = 2 + random.below(3);
  program.processes.resize(count);
  program.capacity = random.one_in(4) ? kUnboundedCapacity : 1 + random.below(2);
  const std::uint32_t channels = random.below(4);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const std::uint32_t source = random.below(count);
    const std::uint32_t destination = (source + 1 + random.below(count - 1)) % count;
    program.channels.push_back({source, destination});
    for (std::uint32_t messages = 1 + random.below(3); messages > 0; --messages) {
      for (const bool send : {true, false}) {
        auto& operations = program.processes[send ? source : destination];
        const auto position =
            operations.begin() + random.below(static_cast<std::uint32_t>(operations.size()) + 1);
        operations.insert(position, {send ? Kind::Send : Kind::Receive, channel});
      }
    }
  }
  for (auto& operations : program.processes) {
    for (std::uint32_t local = random.below(3); local > 0; --local) {
      const auto position =
          operations.begin() + random.below(static_cast<std::uint32_t>(operations.size()) + 1);
      operations.insert(position, Operation{});
    }
  }
  for (auto& operations : program.processes) {
    for (Operation& each : operations) {
      const std::uint32_t other = random.below(count);
      const auto size = static_cast<std::uint32_t>(program.processes[other].size());
      if (size > 0 && random.one_in(5)) each.waits_for = {other, random.below(size)};
      for (int location = 0; location < 4; ++location) {
        if (random.one_in(6)) each.accesses.emplace_back(location, random.one_in(2));
      }
    }
  }
  return program;
}

struct Built {
  HappensBefore graph;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> operations;  // by event
};

Built build(const Program& program) {
  GraphBuilder builder;
  Built built;
  std::vector<std::vector<Event>> events(program.processes.size());
  ConnectionTable<Event> table;
  for (std::uint32_t process = 0; process < events.size(); ++process) {
    for (std::uint32_t i = 0; i < program.processes[process].size(); ++i) {
      const Event event = builder.add_event(process);
      events[process].push_back(event);
      built.operations.emplace_back(process, i);
      const Operation& each = program.at(process, i);
      if (each.kind == Kind::Local) continue;
      const auto [source, destination] = program.channels[each.channel];
      if (each.kind == Kind::Send) {
        table.add_send(source, destination, each.channel, event);
      } else {
        table.add_receive(source, destination, each.channel, event);
      }
    }
  }
  for (std::uint32_t process = 0; process < events.size(); ++process) {
    for (std::uint32_t i = 0; i < events[process].size(); ++i) {
      const auto& waits_for = program.at(process, i).waits_for;
      if (!waits_for) continue;
      builder.add_edge(events[waits_for->first][waits_for->second], events[process][i],
                       EdgeKind::Dependency);
    }
  }
  for (const Connection<Event>& connection : std::move(table).take()) {
    builder.connect(connection.sends, connection.receives, program.capacity);
  }
  built.graph = std::move(builder).build();
  return built;
}

/// All shortest distances (Floyd and Warshall); `distance[i][i]` is the length of a shortest cycle.
using Distances = std::vector<std::vector<std::size_t>>;
constexpr std::size_t kFar = 1000;

void close(Distances& distance) {
  for (std::size_t k = 0; k < distance.size(); ++k) {
    for (auto& row : distance) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = std::min(row[j], row[k] + distance[k][j]);
      }
    }
  }
}

Distances distances_of(const HappensBefore& graph) {
  Distances distance(graph.events(), std::vector<std::size_t>(graph.events(), kFar));
  for (Event event = 0; event < graph.events(); ++event) {
    for (const Predecessor& before : graph.predecessors(event)) distance[before.event][event] = 1;
  }
  close(distance);
  return distance;
}

bool has_edge(const HappensBefore& graph, const Edge& edge) {
  const auto all = graph.predecessors(edge.to);
  return std::any_of(all.begin(), all.end(), [&](const Predecessor& before) {
    return before.event == edge.from && before.kind == edge.kind;
  });
}

void check_event_cycle(const HappensBefore& graph) {
  const std::vector<Edge> cycle = graph.cycle();
  REQUIRE(!cycle.empty());
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    CHECK(has_edge(graph, cycle[i]));
    CHECK(cycle[i].to == cycle[(i + 1) % cycle.size()].from);
  }
  CHECK(cycle.size() == distances_of(graph)[cycle.front().from][cycle.front().from]);
}

void check_process_cycle(const Program& program, const State& stuck, const HappensBefore& graph) {
  const std::size_t count = program.processes.size();
  Distances distance(count, std::vector<std::size_t>(count, kFar));
  for (std::uint32_t process = 0; process < count; ++process) {
    if (stuck[process] == program.processes[process].size()) continue;
    for (const std::uint32_t other : blockers(program, stuck, process)) {
      distance[process][other] = 1;
    }
  }
  const Distances waits = distance;
  close(distance);
  std::size_t shortest = kFar;
  for (std::size_t i = 0; i < count; ++i) shortest = std::min(shortest, distance[i][i]);
  const std::vector<Edge> cycle = graph.process_cycle();
  CHECK(cycle.size() == shortest);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    CHECK(has_edge(graph, cycle[i]));
    CHECK(waits[graph.process(cycle[i].to)][graph.process(cycle[i].from)] == 1);
    CHECK(graph.process(cycle[i].from) == graph.process(cycle[(i + 1) % cycle.size()].to));
  }
}

std::optional<Race<int>> race_among(const Program& program, const Built& built,
                                    ProcessRange processes) {
  const Limits none;
  LimitWatch watch(none, "a test");
  const auto for_each_access = [&](Event event, auto visit) {
    const auto [process, index] = built.operations[event];
    CHECK(processes.contains(process));
    for (const auto& [location, writes] : program.at(process, index).accesses) {
      visit(location, writes);
    }
  };
  return find_race<int>(built.graph, processes, for_each_access, watch);
}

/// Runs the events before both of a race in the model; then both are ready.
bool leaves_both_ready(const Program& program, const Built& built, const Race<int>& race) {
  State state(program.processes.size(), 0);
  const Event both[] = {race.first, race.second};
  for (const Event event : built.graph.before(both)) {
    const auto [process, index] = built.operations[event];
    if (state[process] != index || !blockers(program, state, process).empty()) return false;
    ++state[process];
  }
  return std::all_of(std::begin(both), std::end(both), [&](Event event) {
    const auto [process, index] = built.operations[event];
    return state[process] == index && blockers(program, state, process).empty();
  });
}

void check_races(const Program& program, const Built& built, const AllInterleavings& all,
                 ProcessRange processes) {
  const auto inside = [&](const auto& pair) {
    return processes.contains(pair.first.first) && processes.contains(pair.second.first);
  };
  const bool expected = std::any_of(all.races.begin(), all.races.end(), inside);
  const auto race = race_among(program, built, processes);
  CHECK(race.has_value() == expected);
  if (!race) return;
  CHECK(all.races.contains({built.operations[race->first], built.operations[race->second]}));
  CHECK(leaves_both_ready(program, built, *race));
}

}  // namespace

TEST_CASE("deadlocks and races are those of all interleavings, on random programs") {
  std::map<std::string, int> seen;
  for (std::uint32_t seed = 0; seed < 20000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Program program = random_program(random);
    const AllInterleavings all = run_all(program);
    const Built built = build(program);
    // Confluence: every interleaving ends in the same state.
    REQUIRE(all.ends.size() == 1);
    const State& end = *all.ends.begin();
    State occurring(end.size(), 0);
    for (const Event event : built.graph.order()) ++occurring[built.operations[event].first];
    CHECK(occurring == end);
    if (built.graph.has_cycle()) {
      check_event_cycle(built.graph);
      check_process_cycle(program, end, built.graph);
      ++seen["deadlock"];
      continue;
    }
    CHECK(built.graph.process_cycle().empty());
    const auto count = static_cast<std::uint32_t>(program.processes.size());
    check_races(program, built, all, {0, count});
    check_races(program, built, all, {1, count - 1});
    ++seen[all.races.empty() ? "ordered" : "race"];
  }
  for (const char* kind : {"deadlock", "ordered", "race"}) CHECK(seen[kind] > 1000);
}

TEST_CASE("two ranks that send before they receive need connections for all their messages") {
  for (std::size_t messages = 1; messages <= 4; ++messages) {
    for (std::size_t capacity = 1; capacity <= 4; ++capacity) {
      GraphBuilder builder;
      std::vector<std::vector<Event>> sends(2), receives(2);
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        for (std::size_t i = 0; i < messages; ++i) sends[rank].push_back(builder.add_event(rank));
        for (std::size_t i = 0; i < messages; ++i) {
          receives[rank].push_back(builder.add_event(rank));
        }
      }
      builder.connect(sends[0], receives[1], capacity);
      builder.connect(sends[1], receives[0], capacity);
      const HappensBefore graph = std::move(builder).build();
      CHECK(graph.has_cycle() == (messages > capacity));
      if (!graph.has_cycle()) continue;
      CHECK(graph.process_cycle().size() == 2);
      const std::vector<Edge> cycle = graph.cycle();
      CHECK(std::any_of(cycle.begin(), cycle.end(),
                        [](const Edge& edge) { return edge.kind == EdgeKind::Capacity; }));
    }
  }
}

TEST_CASE("a rendezvous orders both ends of a transfer") {
  // Each of n ranks sends to the next one and receives from the one before, by two events per
  // operation: all send first, or rank 0 receives first.
  for (std::uint32_t n = 2; n <= 5; ++n) {
    for (const bool one_receives_first : {false, true}) {
      GraphBuilder builder;
      std::vector<Event> send(n), receive(n), sent(n), received(n);
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        const bool receives_first = one_receives_first && rank == 0;
        for (const bool sends : {!receives_first, receives_first}) {
          (sends ? send : receive)[rank] = builder.add_event(rank);
          (sends ? sent : received)[rank] = builder.add_event(rank);
        }
      }
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        const std::uint32_t next = (rank + 1) % n;
        builder.add_edge(send[rank], received[next], EdgeKind::Message);
        builder.add_edge(receive[next], sent[rank], EdgeKind::Rendezvous);
      }
      const HappensBefore graph = std::move(builder).build();
      CHECK(graph.has_cycle() == !one_receives_first);
      CHECK(graph.process_cycle().size() == (one_receives_first ? 0 : n));
      for (const Edge& edge : graph.process_cycle()) CHECK(edge.kind == EdgeKind::Rendezvous);
    }
  }
}

TEST_CASE("a process can wait for itself") {
  GraphBuilder builder;
  const Event first = builder.add_event(0);
  const Event second = builder.add_event(0);
  builder.add_event(1);
  builder.add_edge(second, first, EdgeKind::Dependency);
  const HappensBefore graph = std::move(builder).build();
  CHECK(graph.order() == std::vector<Event>{2});
  CHECK(graph.process_cycle() == std::vector<Edge>{{second, first, EdgeKind::Dependency}});
  CHECK(graph.cycle().size() == 2);
}

TEST_CASE("a wait for a later event of another process is explained by processes alone") {
  // Process 0 waits for the last of 100 events of process 1, whose first waits for process 0.
  GraphBuilder builder;
  const Event waiting = builder.add_event(0);
  const Event first = builder.add_event(1);
  Event last = first;
  for (int i = 1; i < 100; ++i) last = builder.add_event(1);
  builder.add_edge(last, waiting, EdgeKind::Message);
  builder.add_edge(waiting, first, EdgeKind::Message);
  const HappensBefore graph = std::move(builder).build();
  CHECK(graph.cycle().size() == 101);
  CHECK(graph.process_cycle() ==
        std::vector<Edge>{{last, waiting, EdgeKind::Message}, {waiting, first, EdgeKind::Message}});
}

TEST_CASE("edges are indexed and sorted in the order of addition") {
  GraphBuilder builder;
  for (std::uint32_t process = 0; process < 4; ++process) builder.add_event(process);
  builder.add_edge(2, 3, EdgeKind::Message);
  builder.add_edge(0, 3, EdgeKind::Dependency);
  builder.add_edge(2, 0, EdgeKind::Message);
  const HappensBefore graph = std::move(builder).build();
  CHECK(graph.order() == std::vector<Event>{1, 2, 0, 3});
  const auto before = graph.predecessors(3);
  REQUIRE(before.size() == 2);
  CHECK(before[0].event == 2);
  CHECK(before[1].kind == EdgeKind::Dependency);
  const Event last[] = {3};
  CHECK(graph.before(last) == std::vector<Event>{2, 0});
  CHECK(graph.process(3) == 3);
}

TEST_CASE("reachability over chains is that of a search") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    constexpr std::uint32_t kProcesses = 4;
    const auto length = static_cast<std::uint32_t>(1 + random() % 6);
    const std::uint32_t count = kProcesses * length + 3;  // three events on no chain
    GraphBuilder builder;
    Chains chains;
    chains.chain.assign(count, kNoChain);
    chains.position.assign(count, 0);
    chains.count = kProcesses;
    std::vector<std::uint32_t> lengths(kProcesses);
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
    const auto join = [&](Event from, Event to) {
      builder.add_edge(from, to, EdgeKind::Dependency);
      reaches[from][to] = true;
    };
    for (Event event = 0; event < count; ++event) {
      builder.add_event(event);
      reaches[event][event] = true;
      if (event >= kProcesses * length) continue;
      // Event k · kProcesses + c is number k of chain c.
      chains.append(event, event % kProcesses, lengths);
      if (event >= kProcesses) join(event - kProcesses, event);
    }
    for (int i = 0; i < 12; ++i) {
      const auto a = static_cast<Event>(random() % count);
      const auto b = static_cast<Event>(random() % count);
      if (a < b) join(a, b);
    }
    for (Event via = 0; via < count; ++via) {
      for (Event a = 0; a < count; ++a) {
        for (Event b = 0; reaches[a][via] && b < count; ++b) {
          if (reaches[via][b]) reaches[a][b] = true;
        }
      }
    }
    const HappensBefore graph = std::move(builder).build();
    const Limits limits;
    LimitWatch watch(limits, "a test");
    const Reachability order(graph, chains, watch);
    for (Event a = 0; a < kProcesses * length; ++a) {
      for (Event b = 0; b < count; ++b) CHECK(order.reaches(a, b) == reaches[a][b]);
    }
  }
}

TEST_CASE("empty graphs, and names") {
  const HappensBefore graph = GraphBuilder().build();
  CHECK(graph.events() == 0);
  CHECK(!graph.has_cycle());
  CHECK(graph.process_cycle().empty());
  CHECK(to_string(EdgeKind::Program) == "order");
  CHECK(to_string(EdgeKind::Dependency) == "dependency");
  CHECK(to_string(EdgeKind::Message) == "message");
  CHECK(to_string(EdgeKind::Capacity) == "capacity");
  CHECK(to_string(EdgeKind::Rendezvous) == "rendezvous");
}

TEST_CASE("a search for races ends at its limits") {
  GraphBuilder builder;
  for (std::uint32_t process = 0; process < 2; ++process) {
    for (int i = 0; i < 5000; ++i) builder.add_event(process);
  }
  const HappensBefore graph = std::move(builder).build();
  const auto none = [](Event, auto) {};
  Limits limits;
  limits.memory_bytes = 1000;
  LimitWatch memory(limits, "a test");
  CHECK_THROWS_AS(find_race<int>(graph, ProcessRange{0, 2}, none, memory), LimitReached);
  limits = {};
  const std::atomic<bool> cancelled = true;
  limits.cancelled = &cancelled;
  LimitWatch work(limits, "a test");
  CHECK_THROWS_AS(find_race<int>(graph, ProcessRange{0, 2}, none, work), LimitReached);
}

}  // namespace p2::transfer
