#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/hash.h"
#include "engine/onesided/judge.h"

/// The explicit-state explorer: its state and its steps.
namespace p2::onesided::exploration {

using OpKind = Operation::Kind;

/// Operations that an operation knows to be over, by number.
class View {
 public:
  void add(std::uint32_t step) {
    if (bits_.size() <= step / 64) bits_.resize(step / 64 + 1);
    bits_[step / 64] |= std::uint64_t{1} << (step % 64);
  }
  void join(const View& other) {
    if (bits_.size() < other.bits_.size()) bits_.resize(other.bits_.size());
    for (std::size_t i = 0; i < other.bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  bool has(std::uint32_t step) const {
    return step / 64 < bits_.size() && ((bits_[step / 64] >> (step % 64)) & 1U) != 0;
  }
  std::uint64_t hash() const {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i] != 0) hash = mix(mix(hash, i), bits_[i]);
    }
    return hash;
  }

 private:
  std::vector<std::uint64_t> bits_;
};

/// A read or a write that has been executed. A user's access is of no block.
struct PastAccess {
  std::uint32_t step = 0;
  std::uint32_t block = kNone;
  std::uint32_t segment = 0;
  std::int32_t launch = 0;
  Cell start = 0;
  std::uint32_t element = 0;
  bool writes = false;
  bool packets = false;  ///< of the operand
  bool packet_op = false;
  bool polled = false;
  bool transfer = false;
  std::uint32_t read = kNone;  ///< its number among reads
};

/// What a cell holds.
struct Content {
  /// (launch, rank, input cell) → how often; nothing: made of memory that was never written.
  std::optional<std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, std::uint32_t>>
      sum = {};
  std::int64_t packet = -1;            ///< the launch of the packet that begins here
  std::set<std::uint32_t> reads = {};  ///< that the value is made of
};

struct Pushed {
  const Operation* operation = nullptr;
  std::uint32_t block = 0;
  std::uint32_t segment = 0;
  std::uint32_t lane = 0;
  View view = {};
};

struct CounterState {
  std::uint64_t value = 0;
  std::uint64_t expected = 0;
  std::vector<View> begins = {};    ///< what the senders of each signal, in order, began with
  std::vector<View> releases = {};  ///< what each releases
};

struct BlockState {
  std::size_t next = 0;
  std::uint32_t launch = 0;
  bool runs = false;
  bool is_at_barrier = false;
  std::uint32_t segment = 0;
  std::optional<std::uint64_t> needs = {};  ///< of the wait that it is at
  View meet = {};
  View open = {};  ///< what the operations of the segment know and are
  std::map<std::uint32_t, View> lanes = {};
  struct Fences {  ///< of one thread
    View release = {};
    View local_release = {};
    View relaxed_waits = {};  ///< what an acquiring fence will make known
    View local_relaxed_waits = {};
  };
  std::map<std::uint32_t, Fences> fences = {};  ///< by lane
};

struct RankState {
  std::uint32_t launch = 0;
  bool runs = false;
  View view = {};
};

struct State {
  std::vector<BlockState> blocks;
  std::vector<RankState> ranks;
  std::vector<std::vector<View>> begins;  ///< by rank and launch
  std::vector<CounterState> counters;
  std::vector<std::vector<Pushed>> pushed;    ///< by queue, not complete yet
  std::vector<std::vector<Pushed>> complete;  ///< by queue
  std::vector<Content> cells;
  std::vector<std::vector<PastAccess>> accesses;                             ///< by cell
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> proofs;  ///< by read: polls
  std::vector<std::vector<std::vector<Content>>> outputs;                    ///< by launch and rank
};

class Explorer {
 public:
  Explorer(const Unrolling& unrolling, const ExplorerOptions& options, LimitWatch& watch)
      : plan_(unrolling), options_(options), watch_(watch) {}

  UnrollingDecision run();

 private:
  /// A process that may take a step: a rank, a block or a queue.
  struct Process {
    enum class Of : std::uint8_t { Rank, Block, Queue };
    Of of;
    std::uint32_t number;
  };

  State initial();
  void number_steps();
  bool find_surplus();
  bool is_enabled(const State& state, Process process) const;
  bool commutes(const State& state, Process process) const;
  bool some_element_goes_on(State state) const;
  void take(State& state, Process process);
  void take_rank(State& state, std::uint32_t rank);
  void take_block(State& state, std::uint32_t block);
  void take_queue(State& state, std::uint32_t queue);
  void meet(BlockState& block, std::uint32_t step);
  void user_access(State& state, std::uint32_t rank, std::int32_t launch);
  void execute(State& state, const Operation& operation, std::uint32_t block, std::uint32_t segment,
               std::uint32_t step, View& view);
  void access(State& state, Cell cell, const PastAccess& now, const View& view,
              const std::set<std::uint32_t>& proved);
  void signal(State& state, const Operation& operation, std::uint32_t counter, const View& released,
              std::uint32_t rank);
  std::uint64_t hash(const State& state) const;
  void finish(const State& state);
  void refute(Rule rule, std::string reason);

  std::uint32_t user_step(std::uint32_t rank, std::int32_t launch) const {
    return rank * (plan_.launches + 1) + static_cast<std::uint32_t>(launch + 1);
  }
  std::uint32_t step_of(std::uint32_t block, std::size_t operation) const {
    return first_step_[block] + static_cast<std::uint32_t>(operation);
  }

  const Unrolling& plan_;
  const ExplorerOptions& options_;
  LimitWatch& watch_;
  std::vector<std::uint32_t> first_step_;  // by block
  std::uint32_t steps_ = 0;
  std::vector<bool> shared_;  // by counter
  std::optional<Violation> violation_;
  std::optional<OpenQuestion> open_;
};

}  // namespace p2::onesided::exploration
