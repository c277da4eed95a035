#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/msccl/memory_layout.h"

namespace p2::msccl {

/// Why one step comes before another.
enum class Before : std::uint8_t {
  Order,       ///< it stands before it in its thread block
  Dependency,  ///< the other waits for its thread block
  Message,     ///< the other receives what it sends
  Capacity     ///< it takes out of the full connection what the other needs the place of
};
std::string_view to_string(Before before);

/// A step, and why it comes before the next one of a cycle.
struct Wait {
  StepPlace step;
  Before before;
};

/// What is wrong with an algorithm.
struct Fault {
  enum class Kind : std::uint8_t {
    OutOfBounds,
    NoPeer,            ///< a step sends or receives in a thread block without a peer that way
    SharedConnection,  ///< two thread blocks send, or receive, on one connection: no order
    UnmatchedSend,     ///< the k-th send of a connection has no k-th receive
    UnmatchedReceive,
    CountMismatch,       ///< a send and its receive differ in chunks
    NeverPublished,      ///< a step waits for what no step of the thread block announces
    OrderDeadlock,       ///< a cycle of orders and messages
    DependencyDeadlock,  ///< a cycle with a dependency in it
    CapacityDeadlock,    ///< a cycle with a full connection in it
    DataRace,            ///< two steps touch a cell in either order, and one writes it
    MissingData,         ///< an output cell has nothing, or what was never written
    WrongChunk,          ///< it has what does not belong there
    DoubleCount,         ///< it has a contribution more than once
    LostContribution     ///< it lacks a contribution
  };

  Kind kind;
  std::string reason;  ///< one sentence for people
  /// What it is about: the step at fault, both steps of a race, or those that led to a wrong
  /// cell, the last one last.
  std::vector<StepPlace> steps = {};
  std::optional<Cell> cell = {};
  /// Of a race: steps that, run in this order, leave both of `steps` ready to run.
  std::vector<StepPlace> schedule = {};
  std::vector<Wait> cycle = {};  ///< of a deadlock
  bool in_place = false;         ///< how the algorithm was called
};

/// `data-race`, `capacity-deadlock`, …: stable names.
std::string_view to_string(Fault::Kind kind);

}  // namespace p2::msccl
