#include "machine.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::msccl {
namespace {

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

}  // namespace

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

}  // namespace p2::msccl
