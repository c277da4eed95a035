#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel {

/// A fault of the claim's subject, in words.
struct Fault {
  std::string text;
};

/// Consecutive elements from the cell `first` on, one cell each, or, of packets, two.
struct Operand {
  std::uint32_t first = 0, count = 0;
  bool packets = false;
  bool polled = false;  ///< packets that are waited for

  std::uint32_t cell(std::uint32_t element) const { return first + (packets ? 2 : 1) * element; }
};

/// Element by element: every target becomes the sum of the sources.
struct Statement {
  std::vector<Operand> sources = {}, targets = {};
};

/// What happens at one moment of the partial order.
struct Event {
  std::string name;
  std::uint32_t rank = 0, launch = 0;
  std::uint32_t segment = 0;  ///< of a block, between two meets; 0: of no block
  std::uint32_t meet = 0;     ///< where all threads of its block meet afterwards; 0: of no block
  bool user = false;  ///< `launch` launches have ended: reads their output, writes the next input
  bool packets = false;  ///< its threads have the elements of packets
  std::vector<Statement> statements = {};
};

/// Consecutive cells of one buffer of one rank.
struct Space {
  std::uint32_t rank = 0, first = 0, cells = 0;
  std::string name = {};
  bool user = false;
};

/// Where the input and the output of a rank are.
struct UserCells {
  std::uint32_t input = 0, inputs = 0, output = 0, outputs = 0;
};

/// One contribution: launch, rank, cell of its input.
using Contribution = std::array<std::uint32_t, 3>;
/// What an output cell of a user's has to be the sum of, each once; nothing where it may hold
/// anything.
using Goal = std::function<std::optional<std::vector<Contribution>>(
    const UserCells& user, std::uint32_t launch, std::uint32_t rank, std::uint32_t cell)>;

/// Launches of a plan: events in a partial order, and the memory that they access.
class Execution {
 public:
  /// Which graph an edge belongs to; every graph has the edges of those before it, too.
  enum Graph : std::uint8_t {
    Memory,       ///< orders all memory
    SomeElement,  ///< orders it for some elements of an event
    Time,         ///< occurs before
    Program,      ///< occurs before, if a block executes one operation after the other
  };

  explicit Execution(Budget& budget) : budget_(&budget) {}

  std::uint32_t add(Event event);
  void order(std::uint32_t from, std::uint32_t to, Graph graph);
  /// Appends a buffer; returns its first cell.
  std::uint32_t add_space(std::uint32_t rank, const std::string& name, std::uint64_t cells,
                          bool user);
  Event& at(std::uint32_t event) { return events_[event]; }
  std::size_t size() const { return events_.size(); }

  std::vector<UserCells> users;  ///< by rank
  Goal goal;
  bool is_exchange = false;  ///< every rank ends with one rank's input, no two with the same
  /// Begin and end of every launch, by rank.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> launches;

  /// Adds the order of packets and polls. Then the first fault; nothing for an execution of which
  /// every interleaving has the result of the goal. `surely`: only what is a fault for every
  /// element and every order of a block's threads; incomplete where that is not decided.
  std::optional<Fault> find_fault(bool surely);
  /// Whether no chunk, of so many cells, is used both for packets and for what is none.
  bool separates_packets(std::uint32_t chunk) const;

 private:
  struct Access {
    std::uint32_t event, start, element;
    std::uint16_t statement;
    bool writes, packets, polled;
  };
  std::string where(std::uint32_t cell) const;
  void collect_accesses();
  void follow_packets();
  bool writes_back(const Access& access) const;
  /// Events in an order of the graph; not all if it has a cycle.
  Numbers sorted(Graph graph);
  void close(Graph graph);
  bool precedes(std::uint32_t a, std::uint32_t b) const {
    return (before_[b * words_ + a / 64] >> (a % 64) & 1U) != 0;
  }
  bool is_ordered(const Access& a, const Access& b, bool surely);
  bool is_read_over(const Access& read, const Access& write);
  std::optional<Fault> find_race(Graph graph);
  std::optional<Fault> find_wrong_output();

  Budget* budget_;
  std::vector<Event> events_;
  std::vector<std::vector<std::pair<std::uint32_t, Graph>>> predecessors_;
  std::vector<Space> spaces_;
  std::uint32_t cells_ = 0;
  std::vector<std::vector<Access>> accesses_;  // by cell
  std::optional<Fault> packet_fault_;
  Numbers order_;  // of Program
  std::size_t words_ = 0;
  std::vector<std::uint64_t> before_;  // by event, a bit for every event that precedes it
};

}  // namespace p2::kernel
