#pragma once

#include <cstdint>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// An instruction with which a program communicates.
struct Communication {
  std::uint32_t instruction = 0;  ///< of the entry
  bool is_exact = true;           ///< false for a call or a loop with collectives inside
};

/// In what order the devices of several programs communicate, and what they wait for.
struct CommunicationOrder {
  /// A communication, by its number in the program of a device.
  struct Step {
    std::uint32_t device = 0;
    std::uint32_t number = 0;
  };
  struct Wait {
    Step later;
    Step earlier;
  };
  /// The devices of `waiting` wait until all members have come to their steps or, if those are
  /// starts of asynchronous operations, have executed them.
  struct Rendezvous {
    std::vector<Step> waiting;
    std::vector<Step> members;
    bool members_are_starts = false;
  };

  std::vector<const Module*> programs;
  std::vector<std::uint32_t> program_of;                   ///< by device
  std::vector<std::vector<Communication>> communications;  ///< by program, in the order of its text
  std::vector<Wait> waits = {};
  std::vector<Rendezvous> rendezvous = {};
};

/// Throws IllFormed (`deadlock`) if devices wait for each other in a cycle (XLA, "Scheduling of
/// channel instructions"), each communicating in the order of its text. NotUnderstood if only the
/// text of modules without `is_scheduled` makes it one, and what is computed from what does not.
void require_no_deadlock(const CommunicationOrder& order);

}  // namespace p2::hlo
