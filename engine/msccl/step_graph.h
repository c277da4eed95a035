#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/msccl/memory_layout.h"
#include "engine/transfer/happens_before.h"
#include "engine/transfer/races.h"

namespace p2::msccl {

using transfer::EdgeKind;

/// A step, and why it precedes the next one of a cycle.
struct Wait {
  StepPlace step;
  EdgeKind before;
};

/// A violation of the rules for algorithms, in typed form.
struct Fault {
  enum class Kind : std::uint8_t {
    OutOfBounds,
    NoPeer,            ///< a step sends or receives in a thread block without such a peer
    SharedConnection,  ///< two thread blocks use one end of a connection: no order
    UnmatchedSend,     ///< the k-th send of a connection has no k-th receive
    UnmatchedReceive,
    CountMismatch,       ///< a send and its receive differ in chunks
    NeverPublished,      ///< a step waits for a step that never publishes
    OrderDeadlock,       ///< a cycle of program order and messages
    DependencyDeadlock,  ///< a cycle with a dependency in it
    CapacityDeadlock,    ///< a cycle with a full connection in it
    DataRace,            ///< two unordered steps access a cell, and one writes it
    MissingData,         ///< an output cell was never written, or holds unwritten memory
    WrongChunk,          ///< it holds a contribution of another chunk
    DoubleCount,         ///< it holds a contribution more than once
    LostContribution     ///< it lacks a contribution
  };

  Kind kind;
  std::string reason;  ///< one sentence
  /// The step at fault, both steps of a race, or those that contributed to a wrong cell, the last
  /// one last.
  std::vector<StepPlace> steps = {};
  std::optional<Cell> cell = {};
  /// Of a race: a schedule prefix after which both of `steps` are ready to run.
  std::vector<StepPlace> schedule = {};
  std::vector<Wait> cycle = {};  ///< of a deadlock
  bool in_place = false;         ///< whether the algorithm was called in place
};

/// `data-race`, `capacity-deadlock`, …: stable names.
std::string_view to_string(Fault::Kind kind);

/// Whether a fault is one of this algorithm, by replaying it: the schedule of a race is executed,
/// the edges of a deadlock's cycle are looked up, a wrong cell is computed again. For faults from a
/// cache or from elsewhere: they need not even refer to steps that exist.
bool can_replay(const Algorithm& algorithm, const Fault& fault);

/// A FIFO from one GPU to another on one channel.
using Connection = transfer::Connection<StepPlace>;

/// All connections, by source, destination and channel. Steps without a peer are left out.
std::vector<Connection> connections(const Algorithm& algorithm);

/// The first step whose transfer cannot be matched: it has no peer, its end of the connection is
/// used by two thread blocks, it has no counterpart, or one with another number of chunks.
std::optional<Fault> find_mismatch(const Algorithm& algorithm, const std::vector<Connection>& all);

/// The step that ends the wait of a step with a dependency: the first at or after the one named
/// that publishes, since the runtime compares the number of the last published step of a thread
/// block. Empty if there is none.
std::optional<StepPlace> awaited(const Algorithm& algorithm, StepPlace waiting);

/// The first step whose wait never ends, because no step publishes.
std::optional<Fault> find_endless_wait(const Algorithm& algorithm);

/// One transmission of a step; a step of few chunks has one.
struct Transmission {
  StepPlace step;
  std::uint32_t part = 0;
};

/// The happens-before relation of the transmissions of an algorithm. Processes are thread blocks,
/// in the order of Algorithm; edges are program order, dependencies on published steps, messages
/// and, where connections are bounded by the capacity of the protocol, freed slots.
class StepGraph {
 public:
  static constexpr std::uint32_t kWholeStep = UINT32_MAX;

  /// Steps of more than `chunks_per_transmission` chunks are several transmissions. Preconditions:
  /// find_mismatch() and find_endless_wait() find nothing.
  StepGraph(const Algorithm& algorithm, const std::vector<Connection>& connections, bool bounded,
            std::uint32_t chunks_per_transmission = kWholeStep);

  const transfer::HappensBefore& order() const { return graph_; }
  const Transmission& at(transfer::Event event) const { return transmissions_[event]; }
  /// The thread blocks of a GPU.
  transfer::ProcessRange processes(std::uint32_t gpu) const;
  std::uint32_t chunks_per_transmission() const { return chunks_per_transmission_; }

  /// The steps of a shortest cycle through one of them. Precondition: there is a cycle.
  std::vector<Wait> cycle() const;
  /// The steps that have to be over before all of `events` can begin, in an order that can be run.
  /// Precondition: no cycle.
  std::vector<StepPlace> steps_before(std::span<const transfer::Event> events) const;
  std::vector<StepPlace> steps_before(StepPlace place) const;

 private:
  transfer::Event first_event(StepPlace place) const;
  std::uint32_t parts(StepPlace place) const;
  std::vector<transfer::Event> events_of(const std::vector<StepPlace>& steps) const;

  const Algorithm& algorithm_;
  std::uint32_t chunks_per_transmission_;
  std::vector<Transmission> transmissions_;  // by event
  std::vector<std::uint32_t> first_block_;   // by GPU, then the number of all thread blocks
  std::vector<std::vector<transfer::Event>> first_events_;  // by thread block and step
  transfer::HappensBefore graph_;
};

/// A cycle of the graph, named after what it takes to close it: a full connection, a dependency, or
/// program order and messages alone.
std::optional<Fault> find_deadlock(const Algorithm& algorithm, const StepGraph& graph);

}  // namespace p2::msccl
