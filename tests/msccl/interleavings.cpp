#include "interleavings.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>

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

class Machine {
 public:
  Machine(const Algorithm& algorithm, bool in_place, std::size_t capacity)
      : algorithm_(algorithm), in_place_(in_place), capacity_(capacity) {}

  State start() const {
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

  std::vector<StepPlace> ready(const State& state) const {
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

  bool finished(const State& state) const {
    for (const StepPlace place : algorithm_.steps()) {
      if (done(state, place.gpu, place.block) <= place.step) return false;
    }
    return true;
  }

  State after(State state, StepPlace place) const {
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

  bool conflict(StepPlace a, StepPlace b) const {
    if (a.gpu != b.gpu) return false;
    const auto [reads_a, writes_a] = touched(a);
    const auto [reads_b, writes_b] = touched(b);
    const auto meet = [](const std::set<Address>& one, const std::set<Address>& other) {
      return std::any_of(one.begin(), one.end(),
                         [&](const Address& each) { return other.contains(each); });
    };
    return meet(writes_a, writes_b) || meet(writes_a, reads_b) || meet(reads_a, writes_b);
  }

  std::string result(const State& state) const {
    std::string text;
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
      for (std::uint32_t chunk = 0; chunk < algorithm_.chunks; ++chunk) {
        for (const int each : output(state, rank, chunk)) text += fmt::format("{} ", each);
      }
    }
    return text;
  }

  bool correct(const State& state) const {
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

 private:
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(algorithm_.gpus.size()); }

  static std::uint32_t done(const State& state, std::uint32_t gpu, std::uint32_t block) {
    const auto found = state.done.find({gpu, block});
    return found == state.done.end() ? 0 : found->second;
  }

  bool is_ready(const State& state, StepPlace place) const {
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
        if (other.steps[i].publishes && other.steps[i].number >= step.waits_for->number)
          return true;
      }
    }
    return false;
  }

  Fifo outgoing(StepPlace place) const {
    const ThreadBlock& block = algorithm_.block(place);
    return {place.gpu, *block.send_peer, block.channel};
  }
  Fifo incoming(StepPlace place) const {
    const ThreadBlock& block = algorithm_.block(place);
    return {*block.receive_peer, place.gpu, block.channel};
  }

  Address address(std::uint32_t gpu, const Region& region, std::uint32_t k) const {
    const char buffer = letter(region.buffer);
    return {gpu, in_place_ && buffer == 'o' ? 'i' : buffer, region.offset + k};
  }

  Value load(const State& state, const Address& from) const {
    const auto found = state.memory.find(from);
    return found == state.memory.end() ? Value{-1} : found->second;
  }
  Value output(const State& state, std::uint32_t rank, std::uint32_t chunk) const {
    return load(state, address(rank, {Buffer::Output, chunk}, 0));
  }

  static Value plus(Value a, const Value& b) {
    if (a == Value{-1} || b == Value{-1}) return {-1};
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  std::pair<std::set<Address>, std::set<Address>> touched(StepPlace place) const {
    const Step& step = algorithm_.step(place);
    std::pair<std::set<Address>, std::set<Address>> both;
    for (std::uint32_t k = 0; k < step.count; ++k) {
      if (reads_source(step.type)) both.first.insert(address(place.gpu, step.source, k));
      if (writes_destination(step.type))
        both.second.insert(address(place.gpu, step.destination, k));
    }
    return both;
  }

  const Algorithm& algorithm_;
  bool in_place_;
  std::size_t capacity_;
};

}  // namespace

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

}  // namespace p2::msccl
