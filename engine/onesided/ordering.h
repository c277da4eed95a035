#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "engine/onesided/unrolling.h"
#include "engine/transfer/happens_before.h"

namespace p2::onesided {

/// One operation of an unrolling, or the user's access between two launches.
struct Node {
  const Operation* operation = nullptr;  ///< null: the user's
  std::uint32_t block = 0;
  std::uint32_t rank = 0;
  std::int32_t launch = 0;    ///< the user's: of the launch that ended before; -1 at the start
  std::uint32_t segment = 0;  ///< of its block, between two meets
  /// Events of the graphs: what it accesses is accessed after `after` and before `before`.
  transfer::Event after = 0;
  transfer::Event before = 0;
  transfer::Event own = transfer::kNoEvent;  ///< where it has an event of its own
  /// The same in program order: the events of its block around it, or its own.
  transfer::Event previous = transfer::kNoEvent;
  transfer::Event next = transfer::kNoEvent;

  /// Whether it polls packets for several elements, which do not wait for each other's.
  bool forwards = false;

  bool is_user() const { return operation == nullptr; }
  bool is_transfer() const {
    return operation != nullptr && operation->kind == Operation::Kind::Push;
  }
};

/// One cell that a node accesses.
struct Access {
  Cell cell = 0;
  Cell start = 0;  ///< of the operand
  std::uint32_t node = 0;
  std::uint32_t element = 0;  ///< of its statement
  std::uint16_t statement = 0;
  bool writes = false;
  bool packets = false;
  bool polled = false;
};

/// A signal or a wait of a counter.
struct CounterUse {
  std::uint32_t node = 0;
  transfer::Event event = 0;
  std::uint64_t number = 0;  ///< of a wait: signals that it needs, if matching is deterministic
};

/// The uses of one counter, in the order of launches, blocks and operations.
struct CounterUses {
  std::vector<CounterUse> signals = {};
  std::vector<CounterUse> waits = {};
  std::uint64_t signals_per_launch = 0;
  std::uint64_t waits_per_launch = 0;  ///< what the expectation rises by
  bool signals_ordered = true;
  bool waits_ordered = true;

  bool is_deterministic() const { return signals_ordered && waits_ordered; }
  bool has_surplus() const { return !waits.empty() && signals_per_launch > waits_per_launch; }
  bool has_deficit() const { return signals_per_launch < waits_per_launch; }
};

/// Which order of the operations all interleavings share. Events are numbered alike in all graphs.
///
/// - `memory`: happens-before for memory accesses.
/// - `program`: the same with the program order of every block.
/// - `occurrence`: what occurs before what by the rules of memory, relaxed signals and packets: all
///   of one operation before all of another one.
/// - `signals`: `program` and relaxed signals.
/// - `time`: what occurs before what, also through packets; its cycles are deadlocks. Counters that
/// signals are left over of order nothing in the others.
class Ordering {
 public:
  enum class Graph : std::uint8_t { Memory, MemoryWithSurplus, Occurrence, Program, Signals, Time };

  /// Throws LimitReached.
  Ordering(const Unrolling& unrolling, LimitWatch& watch);

  const Unrolling& unrolling() const { return unrolling_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<CounterUses>& counters() const { return counters_; }
  /// By cell: accesses()[starts()[c]] … are those of cell c.
  const std::vector<Access>& accesses() const { return accesses_; }
  std::pair<const Access*, const Access*> accesses_of(Cell cell) const {
    return {accesses_.data() + starts_[cell], accesses_.data() + starts_[cell + 1]};
  }
  /// The node whose event it is; kNone for begins, ends and meets of several blocks.
  std::uint32_t node_of(transfer::Event event) const { return node_of_event_[event]; }
  std::string describe(std::uint32_t node) const;
  Happening happening(std::uint32_t node) const;
  std::string describe_event(transfer::Event event) const;

  transfer::HappensBefore graph(Graph kind) const;
  /// Meets of blocks, launches of ranks, and what is pushed: for Memory.
  const transfer::Chains& chains() const { return chains_; }
  /// All events of blocks, launches of ranks, and what is pushed: for Program and Time.
  const transfer::Chains& program_chains() const { return program_chains_; }

  /// Counters whose matching depends on the interleaving.
  const std::vector<std::uint32_t>& ambiguous() const { return ambiguous_; }
  /// Adds the order of a signal and a wait of a counter that are matched in all interleavings, or
  /// in the one that is examined.
  void match(std::uint32_t counter, const CounterUse& signal, const CounterUse& wait);
  /// Forgets what match() added.
  void forget_matches();

  /// Polls of packets that nothing writes in their launch.
  const std::vector<Access>& unfed_polls() const { return unfed_; }
  /// The nodes that write one packet slot with the flag of one launch, if two do.
  struct Overwrite {
    std::uint32_t first;
    std::uint32_t second;
    Cell cell;
  };
  const std::optional<Overwrite>& overwritten_packet() const { return overwritten_; }
  /// A node that writes no packet where the second one polls.
  const std::optional<Overwrite>& doubtful_packet() const { return doubtful_; }
  /// A packet that is written or polled by an operation that forwards several elements.
  struct Feed {
    const Access* packet;
    const Access* poll;
  };
  std::vector<Feed> forwarded_packets(LimitWatch& watch) const;
  bool has_forwarded_packets() const { return !edges_.forwarded.empty(); }
  /// Waits that no signal of the launches can end.
  const std::vector<std::uint32_t>& unmatched_waits() const { return unmatched_; }

 private:
  struct Edges {
    std::vector<transfer::Edge> memory = {};
    std::vector<transfer::Edge> surplus = {};  ///< of memory, through counters with a surplus
    std::vector<transfer::Edge> program = {};
    std::vector<transfer::Edge> signals = {};
    std::vector<transfer::Edge> surplus_signals = {};  ///< through counters with a surplus
    std::vector<transfer::Edge> packets = {};
    std::vector<transfer::Edge> forwarded = {};  ///< packets of operations that poll several
  };
  struct BlockState;

  transfer::Event add_event(std::uint32_t process, std::uint32_t node);
  void add_ranks();
  void add_block(std::uint32_t number);
  void add_operation(std::uint32_t number, const Operation& operation, BlockState& state);
  void add_queue_item(BlockState& state, const Operation& operation, transfer::Event push,
                      transfer::Event item);
  void join_barriers();
  void chain_programs();
  void order_queues();
  void match_counters();
  void collect_accesses(LimitWatch& watch);
  void follow_packets();
  /// Whether a poll, of the first half of a packet, sees what a write to its cell leaves there.
  bool sees(const Access& poll, const Access& write) const;
  bool is_packet(const Access& access) const;
  bool writes_back(const Access& write) const;
  transfer::Event event_after(const Node& node) const;
  void add_memory(transfer::Event from, transfer::Event to, transfer::EdgeKind kind) {
    edges_.memory.push_back({from, to, kind});
  }

  const Unrolling& unrolling_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> process_;        // by event
  std::vector<std::uint32_t> node_of_event_;  // by event
  Edges edges_;
  Edges matched_;
  transfer::Chains chains_;
  transfer::Chains program_chains_;
  std::vector<std::uint32_t> chain_lengths_;
  std::vector<CounterUses> counters_;
  std::vector<std::uint32_t> ambiguous_;
  std::vector<std::uint32_t> unmatched_;
  std::vector<Access> accesses_;
  std::vector<std::size_t> starts_;
  std::vector<Access> unfed_;
  std::optional<Overwrite> overwritten_;
  std::optional<Overwrite> doubtful_;
  // By rank and launch.
  std::vector<std::vector<transfer::Event>> begins_;
  std::vector<std::vector<transfer::Event>> ends_;
  struct QueueItem {
    transfer::Event push;
    transfer::Event item;
    std::uint32_t block;
    std::uint32_t segment;
    std::uint32_t lane;
    bool flush;
  };
  std::vector<std::vector<QueueItem>> queue_items_;
  bool shared_queues_ = false;
  // Per counter use, what publishes and what receives: fences move these.
  std::vector<transfer::Event> release_of_;  // by node
  std::vector<transfer::Event> acquire_of_;  // by node
  // By barrier and time of passing: the meets of its blocks.
  std::vector<std::vector<std::vector<transfer::Event>>> barrier_meets_;
};

}  // namespace p2::onesided
