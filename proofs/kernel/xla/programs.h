#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "proofs/kernel/xla/interned.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

// Several programs, each on devices of its own: what they say to each other (docs/certificates.md).

/// A program, and the devices that run it.
struct Program {
  Program(Module module_run, std::vector<std::size_t> devices_running, std::size_t all);

  Module module;
  std::vector<std::size_t> devices;  ///< of the whole, ascending
  Devices counts;                    ///< that the module is made for
  bool is_alone = true;              ///< it is made for the devices that run it, not for all

  std::size_t device_of(std::size_t id) const { return is_alone ? devices.at(id) : id; }
};

/// An instruction of the entry of a program.
struct Site {
  std::size_t program = 0, instruction = 0;
  auto operator<=>(const Site&) const = default;
};

/// In the order of the text of a program, an instruction that communicates; one for collectives of
/// the program alone that follow each other in the same groups.
struct Step {
  enum class Kind : std::uint8_t {
    Receive,      ///< allows the sends of messages
    Send,         ///< waits until all of its messages are allowed, and makes them
    ReceiveDone,  ///< waits until all of its messages are made
    Collective,   ///< waits until all members have come to it
    Start,        ///< goes on
    Done,         ///< waits until all members have executed the start
  };
  Kind kind = Kind::Collective;
  /// By device of the program: the message or the meeting; kNoNumber for a device that has none.
  std::vector<std::uint32_t> numbers;
};

/// The communication of programs that all wait for each other as they should. Ends the check where
/// devices would wait forever, and where what programs do is not understood.
class Programs {
 public:
  Programs(std::vector<Program> programs, std::size_t devices, Budget& budget);

  std::size_t count() const { return programs_.size(); }
  const Program& at(std::size_t program) const { return programs_.at(program); }
  std::size_t device_count() const { return program_of_.size(); }
  std::size_t program_of(std::size_t device) const { return program_of_.at(device); }
  /// The number of a device among those of its program.
  std::size_t own_number(std::size_t device) const { return own_number_.at(device); }
  const Instruction& at(const Site& site) const {
    return programs_.at(site.program).module.main().instructions.at(site.instruction);
  }

  /// Of a recv-done by device of its program: who computes what it gets, and on which of his
  /// devices.
  using Sources = std::vector<std::optional<std::pair<Site, std::size_t>>>;
  const std::map<Site, Sources>& receives() const { return receives_; }
  /// Of collectives that span programs, all instructions that are one with each, itself among them.
  const std::map<Site, std::vector<Site>>& spanning() const { return spanning_; }
  /// The groups of a spanning collective that devices of its program are in, as devices of the
  /// whole.
  const std::vector<std::vector<std::size_t>>& groups(const Site& site) const {
    return groups_.at(site);
  }
  /// Of a spanning collective-permute, by target.
  const std::map<std::size_t, std::size_t>& sources(const Site& site) const {
    return permutes_.at(site);
  }

 private:
  using Groups = std::vector<std::vector<std::size_t>>;
  /// From one device to another.
  struct Message {
    std::int64_t channel = 0;
    std::size_t source = 0, target = 0;
    auto operator<=>(const Message&) const = default;
    void add_to(Hasher& hash) const { hash.add(channel).add(source).add(target); }
  };
  struct Ends {
    std::optional<Site> send, receive;
  };
  /// Of a send or receive, on a device of its program.
  struct Ending {
    std::uint32_t message = 0;
    std::size_t source = 0, target = 0;
  };

  /// Of a collective of a program, the groups that devices of it are in, as devices of the whole.
  struct Members {
    Groups groups;
    std::map<std::size_t, std::size_t> sources;  ///< of a collective-permute, by target
    bool spans = false;                          ///< other programs are in one of the groups
  };
  /// A program that is being read.
  struct Reading {
    Interpreter& interpreter;
    std::map<const Groups*, Members> members = {};  ///< by the interpreter's groups
    /// Those of the collective that the last of `steps` steps is, if nobody else waits in it.
    const Members* last = nullptr;
    std::size_t steps = 0;
  };

  void read(std::size_t program, Budget& budget);
  /// Of source and target, as the attributes of a send or recv say.
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  const Pairs& pairs_of(const Instruction& message);
  void read_message(const Site& site);
  void read_done(const Site& site, std::map<std::size_t, std::size_t>& steps);
  static Members members_of_permute(const Program& program, const Instruction& instruction,
                                    Interpreter& interpreter);
  /// Leaves the groups that devices of the program are in.
  void keep_own(std::size_t program, Members& members) const;
  void read_collective(const Site& site, Reading& reading);
  void match_messages();
  /// Whether what is sent is received, in its shape.
  bool has_counterpart(const Ends& ends) const;
  void match_collectives(Budget& budget);
  void require_same_operation(const Site& a, const Site& b) const;
  void require_progress(Budget& budget) const;  // program_order.cpp

  std::vector<Program> programs_;
  std::vector<std::size_t> program_of_, own_number_;
  std::vector<std::vector<Step>> steps_;  ///< by program
  std::map<std::string, Pairs> pairs_;    ///< by attribute, which many messages have
  Interned<Message> messages_;
  std::vector<Ends> ends_;                       ///< of messages
  std::map<Site, std::vector<Ending>> endings_;  ///< of sends and recvs
  std::map<Site, Site> dones_;                   ///< of recv-dones, the recv
  std::set<Site> ended_;                         ///< recvs
  std::vector<std::size_t> meetings_;            ///< how many devices take part
  std::map<std::pair<std::int64_t, std::vector<std::size_t>>, std::uint32_t> spanning_meetings_;
  std::map<Site, Groups> groups_;
  std::map<Site, std::map<std::size_t, std::size_t>> permutes_;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Site>> by_channel_;
  std::map<Site, Sources> receives_;
  std::map<Site, std::vector<Site>> spanning_;
};

/// Of a device that does not take part in a step.
constexpr std::uint32_t kNoNumber = UINT32_MAX;

}  // namespace p2::kernel::xla
