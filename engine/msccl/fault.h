#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/msccl/memory_layout.h"
#include "engine/transfer/happens_before.h"

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

}  // namespace p2::msccl
