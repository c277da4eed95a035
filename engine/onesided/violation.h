#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"

namespace p2::onesided {

/// The rules of one-sided plans, in the order in which they are decided.
enum class Rule : std::uint8_t {
  Malformed,
  ExecutorLimit,
  NoChannel,
  NoBuffer,
  NoPeer,
  WrongPeer,
  SizeMismatch,
  OutOfBounds,
  BarrierMismatch,
  PacketOverwritten,
  PacketNeverWritten,
  UnmatchedWait,
  Deadlock,
  SignalSurplus,
  DataRace,
  MissingSync,
  RelaxedOrder,
  MissingFlush,
  EarlyAccess,
  LateAccess,
  ScratchReuse,
  MissingData,
  StaleData,
  DoubleCount,
  WrongChunk,
  LostContribution,
  WrongResult
};
/// `malformed`, `data-race`, …: stable names.
std::string_view to_string(Rule rule);
/// Whether a rule is about two accesses without an order: several of these may coexist.
bool is_race(Rule rule);

/// Something that happens in a launch: an operation, or the user's access between launches.
struct Happening {
  std::string text;  ///< `gpu 0 tb 1 op 5 (put) launch 0`
  SourcePosition where = {};
};

/// One broken rule, in typed form.
struct Violation {
  Rule rule = Rule::Malformed;
  std::string reason = {};                 ///< one sentence
  std::vector<Happening> happenings = {};  ///< the operations at fault
  std::string cell = {};                   ///< `o[0] of gpu 1`
  std::string missing = {};                ///< the order that is missing, one sentence
  std::vector<std::string> schedule = {};  ///< what happens, in an order that shows the fault
  std::string sizes = {};                  ///< of chunks, units and slices, that show it
};

}  // namespace p2::onesided
