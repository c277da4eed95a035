#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module.h"

namespace p2::hlo {

/// A program, and the devices that run it.
struct PlacedProgram {
  std::vector<std::uint32_t> devices;  ///< ascending
  std::shared_ptr<const Module> module;
};

/// An instruction of the entry of a program.
struct ProgramInstruction {
  std::uint32_t program = 0;
  std::uint32_t number = 0;
  auto operator<=>(const ProgramInstruction&) const = default;
};

/// Source and target, devices of the whole.
using DevicePair = std::pair<std::uint32_t, std::uint32_t>;

/// The groups, or the pairs, of a collective as devices of the whole: those that devices of its
/// program take part in.
struct Members {
  std::vector<std::vector<std::uint32_t>> groups = {};
  std::vector<DevicePair> pairs = {};

  /// Both: every set of devices that communicate with each other.
  std::vector<std::vector<std::uint32_t>> sets() const;
};

/// Programs and their devices.
class ProgramPlacement {
 public:
  /// Throws InputError for a program that is made for another number of devices.
  ProgramPlacement(const std::vector<PlacedProgram>& programs, std::uint32_t devices);

  std::uint32_t count() const { return static_cast<std::uint32_t>(programs_.size()); }
  const Module& module(std::uint32_t program) const { return *programs_[program].module; }
  const Computation& entry(std::uint32_t program) const {
    return module(program).entry_computation();
  }
  const Instruction& at(const ProgramInstruction& place) const {
    return entry(place.program).instructions[place.number];
  }
  const std::vector<std::uint32_t>& devices(std::uint32_t program) const {
    return programs_[program].devices;
  }
  std::uint32_t program_of(std::uint32_t device) const { return program_of_[device]; }
  const std::vector<std::uint32_t>& program_of() const { return program_of_; }
  /// As Module::programs, without inputs and outputs.
  std::vector<LinkedProgram> placed() const;

  Members members(std::uint32_t program, const Instruction& collective) const;
  /// Whether devices of other programs are among them.
  bool spans(std::uint32_t program, const Members& members) const;
  /// The pairs of a send whose source runs its program, of a receive whose target does.
  std::vector<DevicePair> pairs_of(const ProgramInstruction& place) const;

 private:
  const std::vector<PlacedProgram>& programs_;
  std::vector<std::uint32_t> program_of_;  ///< by device
  std::vector<Devices> counts_;            ///< that a program is made for
  std::vector<bool> is_alone_;             ///< it is made for the devices that run it alone
};

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

/// What programs say to each other: matched messages, and collectives that span programs.
class ProgramCommunications {
 public:
  /// `placement` must outlive this. Throws as link_programs().
  explicit ProgramCommunications(const ProgramPlacement& placement);

  struct Source {
    ProgramInstruction send;
    DevicePair pair;
  };
  /// Where a recv-done takes its values from.
  const std::vector<Source>& sources(const ProgramInstruction& done) const {
    return sources_.at(done);
  }
  const Members& members(const ProgramInstruction& collective) const {
    return members_.at(collective);
  }
  /// The instructions of all programs that are one collective with this one, by program; empty for
  /// any other than a collective that spans programs.
  const std::vector<ProgramInstruction>& parts(const ProgramInstruction& place) const;

 private:
  /// Where a message is sent and received, if it is: in the source's and the target's entry.
  struct Message {
    std::optional<std::uint32_t> send = {};
    std::optional<std::uint32_t> receive = {};
  };

  void collect(std::uint32_t program);
  void add_message(const ProgramInstruction& place);
  std::vector<DevicePair> implied_pairs(const ProgramInstruction& place) const;
  void match_messages();
  void require_same_shape(const ProgramInstruction& send, const ProgramInstruction& receive) const;
  void require_used_by_done(const ProgramInstruction& place);
  void unite_collectives();
  void join(const ProgramInstruction& place, std::uint32_t device,
            const std::vector<std::uint32_t>& set);
  void require_same_operation(const ProgramInstruction& place,
                              const ProgramInstruction& other) const;
  ProgramInstruction root_of(ProgramInstruction place) const;
  Reducer reducer(const ProgramInstruction& place) const;

  CommunicationOrder order() const;
  bool has_collectives_inside(const ProgramInstruction& place) const;
  std::optional<ProgramInstruction> start_of(const ProgramInstruction& place) const;
  std::vector<std::vector<std::uint32_t>> waiting_sets(const ProgramInstruction& collective) const;
  ProgramInstruction counterpart(const ProgramInstruction& place, std::uint32_t program) const;

  const ProgramPlacement& placement_;
  std::map<ProgramInstruction, Members> members_;  ///< of collectives
  /// Collectives, by program and channel.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::uint32_t>> by_channel_;
  /// Of collectives that span programs: disjoint sets of those that are one.
  std::map<ProgramInstruction, ProgramInstruction> united_;
  std::map<ProgramInstruction, std::vector<ProgramInstruction>> parts_;  ///< by the root of a set
  /// By channel, source, target.
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, Message> messages_;
  std::map<ProgramInstruction, std::vector<DevicePair>> pairs_;  ///< of sends and receives
  std::map<ProgramInstruction, ProgramInstruction> dones_;       ///< with what they complete
  std::map<ProgramInstruction, std::vector<Source>> sources_;
};

/// Links programs that run together, each on devices of its own (MPMD), to one module: what a
/// device receives is what its peer sends, and a collective that spans programs is one instruction.
///
/// The ids of groups, permutations and partition-id are those of the program's own devices if its
/// header counts as many as run it, and devices of the whole if it counts all of them. The pairs of
/// sends and receives are devices of the whole; a message is matched by its channel and its pair.
///
/// Precondition: each of `devices` is in one program. Throws InputError for a program that is made
/// for another number of devices, IllFormed (`unmatched`, `deadlock`, `shapes`, `pairs`, `groups`,
/// `operands`), and NotUnderstood with an instruction of one of the programs.
std::shared_ptr<const Module> link_programs(const std::vector<PlacedProgram>& programs,
                                            std::uint32_t devices);

}  // namespace p2::hlo
