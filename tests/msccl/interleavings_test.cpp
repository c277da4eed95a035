#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "tests/msccl/schedules.h"

namespace p2::msccl {
namespace {

/// One number for each input chunk of each rank: how often it is in a sum; -1 first: nothing.
using Value = std::vector<int>;
using Address = std::tuple<std::uint32_t, char, std::int64_t>;
using Fifo = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

struct State {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> done;  ///< by gpu and block
  std::map<Address, Value> memory;
  std::map<Fifo, std::deque<std::vector<Value>>> fifos;

  auto operator<=>(const State&) const = default;
};

/// Runs an allreduce step by step. Knows the meaning of steps, connections and dependencies on its
/// own, and nothing of happens-before.
class Machine {
 public:
  Machine(const Algorithm& algorithm, bool in_place, std::size_t capacity)
      : algorithm_(algorithm), in_place_(in_place), capacity_(capacity) {}

  State start() const;
  std::vector<StepPlace> ready(const State& state) const;
  bool finished(const State& state) const;
  /// Precondition: the step is ready.
  State after(State state, StepPlace place) const;
  /// Whether two steps touch the same memory and one writes it.
  bool conflict(StepPlace a, StepPlace b) const;
  /// The outputs as text.
  std::string result(const State& state) const;
  bool correct(const State& state) const;

 private:
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(algorithm_.gpus.size()); }
  bool is_ready(const State& state, StepPlace place) const;
  Fifo outgoing(StepPlace place) const;
  Fifo incoming(StepPlace place) const;
  Address address(std::uint32_t gpu, const Region& region, std::uint32_t k) const;
  Value output(const State& state, std::uint32_t rank, std::uint32_t chunk) const;
  /// What a step reads, and what it writes.
  std::pair<std::set<Address>, std::set<Address>> touched(StepPlace place) const;

  const Algorithm& algorithm_;
  bool in_place_;
  std::size_t capacity_;
};

/// What running an allreduce of a few steps in every possible interleaving shows (Machine).
struct AllInterleavings {
  bool some_get_stuck = false;
  bool some_finish = false;
  /// Steps that were ready at once and touch the same memory, one of them writing.
  std::set<std::pair<StepPlace, StepPlace>> races;
  /// The memory at the end, as text, of every interleaving that finishes.
  std::set<std::string> results;
  bool all_correct = true;  ///< every result is an allreduce
};

/// Connections hold `capacity` transmissions. Preconditions: allreduce, no step out of bounds, no
/// residual add, one thread block at each end of a connection.
AllInterleavings all_interleavings(const Algorithm& algorithm, bool in_place, std::size_t capacity);

/// Whether the steps can run in this order and then leave both `first` and `second` ready.
bool can_run(const Algorithm& algorithm, const std::vector<StepPlace>& schedule, StepPlace first,
             StepPlace second, std::size_t capacity);

std::uint32_t done(const State& state, std::uint32_t gpu, std::uint32_t block) {
  const auto found = state.done.find({gpu, block});
  return found == state.done.end() ? 0 : found->second;
}

Value plus(Value a, const Value& b) {
  if (a == Value{-1} || b == Value{-1}) return {-1};
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Value load(const State& state, const Address& from) {
  const auto found = state.memory.find(from);
  return found == state.memory.end() ? Value{-1} : found->second;
}

State Machine::start() const {
  State state;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < algorithm_.chunks; ++chunk) {
      Value value(ranks() * algorithm_.chunks);
      value[rank * algorithm_.chunks + chunk] = 1;
      state.memory[{rank, 'i', chunk}] = value;
    }
  }
  return state;
}

std::vector<StepPlace> Machine::ready(const State& state) const {
  std::vector<StepPlace> places;
  for (std::uint32_t gpu = 0; gpu < ranks(); ++gpu) {
    for (std::uint32_t block = 0; block < algorithm_.gpus[gpu].blocks.size(); ++block) {
      const StepPlace next{gpu, block, done(state, gpu, block)};
      if (next.step < algorithm_.block(next).steps.size() && is_ready(state, next)) {
        places.push_back(next);
      }
    }
  }
  return places;
}

bool Machine::finished(const State& state) const {
  for (const StepPlace place : algorithm_.steps()) {
    if (done(state, place.gpu, place.block) <= place.step) return false;
  }
  return true;
}

State Machine::after(State state, StepPlace place) const {
  const Step& step = algorithm_.step(place);
  ++state.done[{place.gpu, place.block}];
  if (step.type == StepType::Nop) return state;
  std::vector<Value> received;
  if (receives(step.type)) {
    auto& fifo = state.fifos[incoming(place)];
    received = fifo.front();
    fifo.pop_front();
  }
  std::vector<Value> moved;
  for (std::uint32_t k = 0; k < step.count; ++k) {
    const Value local = load(state, address(place.gpu, step.source, k));
    switch (step.type) {
      case StepType::Receive:
      case StepType::ReceiveCopySend:
        moved.push_back(received[k]);
        break;
      case StepType::Send:
      case StepType::Copy:
        moved.push_back(local);
        break;
      case StepType::Reduce:
        moved.push_back(plus(load(state, address(place.gpu, step.destination, k)), local));
        break;
      default:
        moved.push_back(plus(local, received[k]));
    }
  }
  for (std::uint32_t k = 0; k < step.count && writes_destination(step.type); ++k) {
    state.memory[address(place.gpu, step.destination, k)] = moved[k];
  }
  if (sends(step.type)) state.fifos[outgoing(place)].push_back(moved);
  return state;
}

bool Machine::conflict(StepPlace a, StepPlace b) const {
  if (a.gpu != b.gpu) return false;
  const auto [reads_a, writes_a] = touched(a);
  const auto [reads_b, writes_b] = touched(b);
  const auto meet = [](const std::set<Address>& one, const std::set<Address>& other) {
    return std::any_of(one.begin(), one.end(),
                       [&](const Address& each) { return other.contains(each); });
  };
  return meet(writes_a, writes_b) || meet(writes_a, reads_b) || meet(reads_a, writes_b);
}

std::string Machine::result(const State& state) const {
  std::string text;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < algorithm_.chunks; ++chunk) {
      for (const int each : output(state, rank, chunk)) text += fmt::format("{} ", each);
    }
  }
  return text;
}

bool Machine::correct(const State& state) const {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    for (std::uint32_t chunk = 0; chunk < algorithm_.chunks; ++chunk) {
      Value sum(ranks() * algorithm_.chunks);
      for (std::uint32_t each = 0; each < ranks(); ++each) {
        sum[each * algorithm_.chunks + chunk] = 1;
      }
      if (output(state, rank, chunk) != sum) return false;
    }
  }
  return true;
}

bool Machine::is_ready(const State& state, StepPlace place) const {
  const Step& step = algorithm_.step(place);
  const auto waiting = [&](const Fifo& fifo) {
    const auto found = state.fifos.find(fifo);
    return found == state.fifos.end() ? 0 : found->second.size();
  };
  if (receives(step.type) && waiting(incoming(place)) == 0) return false;
  if (sends(step.type) && waiting(outgoing(place)) >= capacity_) return false;
  if (!step.waits_for) return true;
  for (std::uint32_t block = 0; block < algorithm_.gpus[place.gpu].blocks.size(); ++block) {
    const ThreadBlock& other = algorithm_.gpus[place.gpu].blocks[block];
    if (other.id != step.waits_for->block) continue;
    for (std::uint32_t i = 0; i < done(state, place.gpu, block); ++i) {
      if (other.steps[i].publishes && other.steps[i].number >= step.waits_for->number) return true;
    }
  }
  return false;
}

Fifo Machine::outgoing(StepPlace place) const {
  const ThreadBlock& block = algorithm_.block(place);
  return {place.gpu, *block.send_peer, block.channel};
}
Fifo Machine::incoming(StepPlace place) const {
  const ThreadBlock& block = algorithm_.block(place);
  return {*block.receive_peer, place.gpu, block.channel};
}

Address Machine::address(std::uint32_t gpu, const Region& region, std::uint32_t k) const {
  const char buffer = letter(region.buffer);
  return {gpu, in_place_ && buffer == 'o' ? 'i' : buffer, region.offset + k};
}

Value Machine::output(const State& state, std::uint32_t rank, std::uint32_t chunk) const {
  return load(state, address(rank, {Buffer::Output, chunk}, 0));
}

std::pair<std::set<Address>, std::set<Address>> Machine::touched(StepPlace place) const {
  const Step& step = algorithm_.step(place);
  std::pair<std::set<Address>, std::set<Address>> both;
  for (std::uint32_t k = 0; k < step.count; ++k) {
    if (reads_source(step.type)) both.first.insert(address(place.gpu, step.source, k));
    if (writes_destination(step.type)) both.second.insert(address(place.gpu, step.destination, k));
  }
  return both;
}

AllInterleavings all_interleavings(const Algorithm& algorithm, bool in_place,
                                   std::size_t capacity) {
  const Machine machine(algorithm, in_place, capacity);
  AllInterleavings all;
  std::set<State> seen = {machine.start()};
  std::vector<State> open = {machine.start()};
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    const std::vector<StepPlace> ready = machine.ready(state);
    for (const StepPlace a : ready) {
      for (const StepPlace b : ready) {
        if (a != b && machine.conflict(a, b)) all.races.insert({a, b});
      }
      State next = machine.after(state, a);
      if (seen.insert(next).second) open.push_back(std::move(next));
    }
    if (!ready.empty()) continue;
    if (!machine.finished(state)) {
      all.some_get_stuck = true;
      continue;
    }
    all.some_finish = true;
    all.results.insert(machine.result(state));
    all.all_correct = all.all_correct && machine.correct(state);
  }
  return all;
}

bool can_run(const Algorithm& algorithm, const std::vector<StepPlace>& schedule, StepPlace first,
             StepPlace second, std::size_t capacity) {
  const Machine machine(algorithm, false, capacity);
  State state = machine.start();
  const auto is_ready = [&](StepPlace place) {
    const std::vector<StepPlace> ready = machine.ready(state);
    return std::find(ready.begin(), ready.end(), place) != ready.end();
  };
  for (const StepPlace place : schedule) {
    if (!is_ready(place)) return false;
    state = machine.after(state, place);
  }
  return is_ready(first) && is_ready(second);
}

constexpr std::size_t kUnbounded = 1000;

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

Region random_region(Random& random, std::uint32_t count) {
  return {static_cast<Buffer>(random.below(3)), random.below(3 - count)};
}

Step random_step(Random& random, std::uint32_t number) {
  Step step;
  step.type = static_cast<StepType>(random.below(9));
  step.number = number;
  step.count = random.one_in(4) ? 2 : 1;
  step.source = random_region(random, step.count);
  step.destination = random_region(random, step.count);
  if (random.one_in(3)) step.waits_for = {random.below(2), random.below(3)};
  step.publishes = step.type != StepType::Nop && !random.one_in(4);
  return step;
}

/// Two GPUs with two thread blocks each and up to 3 steps in each: mostly wrong.
Algorithm random_algorithm(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = random.one_in(2);
  algorithm.out_of_place = !algorithm.in_place;
  algorithm.protocol = random.one_in(2) ? Protocol::Simple : Protocol::LL;
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    algorithm.gpus[gpu].chunks[2] = 2;
    algorithm.gpus[gpu].blocks.clear();
    for (std::uint32_t block = 0; block < 2; ++block) {
      ThreadBlock made{block, 1 - gpu, 1 - gpu, block};
      const std::uint32_t steps = random.below(4);
      for (std::uint32_t i = 0; i < steps; ++i) made.steps.push_back(random_step(random, i));
      algorithm.gpus[gpu].blocks.push_back(made);
    }
  }
  return algorithm;
}

/// An allreduce of two GPUs that is right: they exchange their inputs through scratch, and a second
/// thread block adds. Then up to two of its steps are changed.
Algorithm nearly_right(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = random.one_in(2);
  algorithm.out_of_place = !algorithm.in_place;
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    const Region in{Buffer::Input, 0}, out{Buffer::Output, 0}, scratch{Buffer::Scratch, 0};
    algorithm.gpus[gpu].chunks[2] = 2;
    algorithm.gpus[gpu].blocks = {
        {0,
         1 - gpu,
         1 - gpu,
         0,
         {{StepType::Send, 0, in, in, 2, {}, true},
          {StepType::Receive, 1, in, scratch, 2, {}, true}}},
        {1,
         {},
         {},
         0,
         {{StepType::Copy, 0, in, out, 2, Dependency{0, 0}, true},
          {StepType::Reduce, 1, scratch, out, 2, Dependency{0, 1}, true}}}};
  }
  const std::uint32_t changes = random.below(3);
  for (std::uint32_t i = 0; i < changes; ++i) {
    ThreadBlock& block = algorithm.gpus[random.below(2)].blocks[random.below(2)];
    Step& step = block.steps[random.below(2)];
    const Step other = random_step(random, step.number);
    switch (random.below(5)) {
      case 0:
        step.waits_for = other.waits_for;
        break;
      case 1:
        step.source = {other.source.buffer, 0};
        break;
      case 2:
        step.destination = {other.destination.buffer, 0};
        break;
      case 3:
        std::swap(block.steps[0].type, block.steps[1].type);
        break;
      default:
        step.publishes = other.publishes;
    }
  }
  return algorithm;
}

/// Two GPUs that send each other up to 4 messages, in any order with what they receive.
Algorithm random_exchange(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = false;
  const std::uint32_t messages = 1 + random.below(4);
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    std::vector<Step>& steps = algorithm.gpus[gpu].blocks[0].steps;
    steps.clear();
    std::uint32_t sends_left = messages;
    for (std::uint32_t i = 0; i < 2 * messages; ++i) {
      const std::uint32_t left = 2 * messages - i;
      const bool send = random.below(left) < sends_left;
      sends_left -= send ? 1 : 0;
      steps.push_back({send ? StepType::Send : StepType::Receive,
                       i,
                       {Buffer::Input, random.below(2)},
                       {Buffer::Output, random.below(2)},
                       1});
    }
  }
  return algorithm;
}

bool is_deadlock(Fault::Kind kind) {
  return kind == Fault::Kind::NeverPublished || kind == Fault::Kind::OrderDeadlock ||
         kind == Fault::Kind::DependencyDeadlock || kind == Fault::Kind::CapacityDeadlock;
}

void compare(const Algorithm& algorithm, const AlgorithmDecision& verdict) {
  const std::size_t capacity = fifo_capacity(algorithm.protocol);
  const AllInterleavings all = all_interleavings(algorithm, algorithm.in_place, capacity);
  const bool refuted = verdict.outcome == Outcome::Refuted;
  REQUIRE(verdict.outcome != Outcome::Undecided);
  CHECK(all.some_get_stuck == (refuted && is_deadlock(verdict.violation->kind)));
  if (all.some_get_stuck) {
    CHECK(!all.some_finish);
    const bool full = verdict.violation->kind == Fault::Kind::CapacityDeadlock;
    CHECK(all_interleavings(algorithm, algorithm.in_place, kUnbounded).some_get_stuck != full);
    return;
  }
  if (refuted && verdict.violation->kind == Fault::Kind::DataRace) {
    const StepPlace a = verdict.violation->steps[0];
    const StepPlace b = verdict.violation->steps[1];
    CHECK((a == b || all.races.contains({a, b})));
    CHECK(can_run(algorithm, verdict.violation->schedule, a, b, capacity));
    return;
  }
  CHECK(all.races.empty());
  CHECK(all.results.size() == 1);
  CHECK(all.all_correct == !refuted);
}

/// Larger messages cut steps: the sizes that are safe are those at which the cut algorithm is.
void compare_sizes(const Algorithm& algorithm, const AlgorithmDecision& verdict) {
  const Algorithm finer = cut(algorithm, 1);
  const bool safe = judge(finer, {}).outcome == Outcome::Established;
  CHECK(safe == !verdict.safe_sizes->max_bytes.has_value());
}

}  // namespace

TEST_CASE("happens-before says what all interleavings show") {
  std::map<std::string, int> seen;
  for (std::uint32_t seed = 0; seed < 60000; ++seed) {
    Random random(seed);
    const Algorithm algorithm = seed % 10 == 0   ? nearly_right(random)
                                : seed % 50 == 1 ? random_exchange(random)
                                                 : random_algorithm(random);
    const std::vector<Connection> all = connections(algorithm);
    if (find_mismatch(algorithm, all)) continue;
    CAPTURE(seed);
    const AlgorithmDecision verdict = judge(algorithm, {});
    ++seen[std::string(verdict.violation ? to_string(verdict.violation->kind)
                                         : to_string(verdict.outcome))];
    compare(algorithm, verdict);
    if (verdict.outcome == Outcome::Established) compare_sizes(algorithm, verdict);
  }
  for (const char* kind :
       {"valid", "never-published", "order-deadlock", "dependency-deadlock", "data-race",
        "missing-data", "wrong-chunk", "double-count", "lost-contribution"}) {
    CAPTURE(kind);
    CHECK(seen[kind] >= 10);
  }
}

}  // namespace p2::msccl
