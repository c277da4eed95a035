#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/msccl/algorithm.h"

namespace p2::msccl {

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

}  // namespace p2::msccl
