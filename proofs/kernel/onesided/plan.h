#pragma once

#include <array>
#include <cctype>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
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

/// A signal or a wait of a counter.
struct Use {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t event, rank, launch, block, position, segment, lane;
  std::uint32_t ordering = kNone;  ///< the event that releases or acquires
  bool seen = true;                ///< shows that the sender has begun
  bool pushed = false;
  std::uint64_t number = 0;  ///< of a wait: what it expects if it comes after those before it
};

/// The uses of a counter, launch by launch.
struct Counter {
  std::uint64_t initial = 0;
  std::vector<Use> signals = {}, waits = {};
  std::uint64_t expected = 0;
  std::optional<std::uint64_t> rise = {};  ///< of what launches expect, if they say it
  bool surplus = false;                    ///< more signals than launches expect
  bool is_known = true;                    ///< whatever the interleaving, waits expect their number

  /// What a wait adds to the expectation.
  std::uint64_t amount(std::size_t wait) const {
    return waits[wait].number - (wait == 0 ? 0 : waits[wait - 1].number);
  }
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
    Occurrence,   ///< occurs before, in every launch alike
    Time,         ///< occurs before
    Program,      ///< occurs before, if a block executes one operation after the other
  };

  explicit Execution(Budget& budget) : budget_(&budget) {}

  std::uint32_t add(Event event);
  /// The user of a rank between launches, of which so many have ended.
  std::uint32_t add_user_access(const std::string& name, std::uint32_t rank, std::uint32_t ended);
  void order(std::uint32_t from, std::uint32_t to, Graph graph);
  /// Appends a buffer; returns its first cell.
  std::uint32_t add_space(std::uint32_t rank, const std::string& name, std::uint64_t cells,
                          bool user);
  /// Appends the buffers of the next rank's user. In place the input of an allgather is the rank's
  /// part of its output, the output of a reduce-scatter its part of the input, and elsewhere both
  /// are the same.
  UserCells add_user(const std::string& collective, bool in_place, std::uint64_t in,
                     std::uint64_t out);
  /// What the collective defines; nothing of one that is not known. Precondition: the users.
  void set_goal(const std::string& collective, std::uint32_t root);
  Event& at(std::uint32_t event) { return events_[event]; }
  /// That a signal ends a wait.
  void match(const Counter& counter, const Use& signal, const Use& wait);

  std::vector<UserCells> users;  ///< by rank
  Goal goal;
  bool is_exchange = false;  ///< every rank ends with one rank's input, no two with the same
  /// Begin and end of every launch, by rank.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> launches;
  /// Which signal ends which of their waits depends on the interleaving.
  std::vector<Counter> shared;

  /// Adds the order of packets and polls, and of shared counters. Then the first fault; nothing for
  /// an execution of which every interleaving has the result of the goal. `surely`: only what is a
  /// fault for every element and every order of a block's threads, in the interleaving that the
  /// seed draws if there are shared counters; incomplete where that is not decided.
  std::optional<Fault> find_fault(bool surely, std::uint64_t seed);
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
  Numbers run(Graph graph, std::optional<std::uint64_t> seed);
  Numbers run_by_element(std::optional<std::uint64_t> seed);
  void match_observed();
  void match_always();
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
  std::vector<std::vector<Access>> accesses_;                     // by cell
  std::vector<std::pair<const Access*, const Access*>> packets_;  // written, polled
  std::optional<Fault> packet_fault_;
  Numbers order_;  // of Program
  // Of the last run: by shared counter the signals as they arrived; by wait what it expected.
  std::vector<std::vector<const Use*>> arrived_;
  std::map<std::uint32_t, std::uint64_t> expected_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> before_;  // by event, a bit for every event that precedes it
};

}  // namespace p2::kernel

/// How the checker reads execution plans of MSCCL++ (docs/certificates.md).
namespace p2::kernel::plan {

// What the executor refuses is a fault of the plan, not of the certificate: these throw a Fault.
[[noreturn]] void fail(const std::string& text);
/// Ends the check as incomplete.
[[noreturn]] void leave_open(const std::string& why);
const Json& member(const Json& object, const char* key);
/// Refuses members that mean nothing; any object may have a name and remarks.
void expect_only(const Json& object, const std::set<std::string>& known);
std::uint64_t number(const Json& value, const char* what, std::uint64_t end);
std::uint32_t number(const Json& object, const char* key);
std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise,
                        std::uint64_t end = 1U << 24U);
const std::string& text(const Json& object, const char* key);
bool flag(const Json& value, const char* key);
const List& list(const Json& object, const char* key);
const List& list_or_none(const Json& object, const char* key);
Numbers numbers(const Json& object, const char* key);
/// memory, port or switch.
bool is_channel(const Json& type);
/// i, o or s.
char buffer(const Json& object, const char* key);

/// The operands of an op: own buffers, those of a remote rank, of a switch; capital letters are
/// packets. What follows + may be there any number of times.
struct Form {
  std::string sources, targets;
  bool pairwise = false;
  bool packets() const {
    return std::ranges::any_of(sources + targets, [](char c) { return std::isupper(c) != 0; });
  }
};

/// Whether a result is known for the collective of a plan.
bool has_goal(const std::string& collective);
/// All ops of a plan, those of pipelines too.
void for_each_op(const Json& plan, const std::function<void(const Json& op)>& visit);
/// The bytes that a round of a pipeline does of a chunk; 0 without pipelines.
std::uint64_t unit_of(const Json& plan);

/// The interleaving in which a fault is looked for, and whether the plan has shared counters.
struct Interleaving {
  std::uint64_t seed = 0;
  bool matters = false;
};

/// The launches of a plan as events, whatever it is written in.
class Launches {
 public:
  virtual ~Launches() = default;
  Execution take();
  /// Why more rounds of pipelines may differ from these; nothing where they do not.
  const std::string& rounds_differ() const { return rounds_differ_; }

 protected:
  using Graph = Execution::Graph;
  static constexpr std::uint32_t kNone = Use::kNone;
  struct Place {
    std::uint32_t rank, block, launch;
    std::string name;
    std::uint32_t position = 0;  ///< 1 + round in a pipeline, 0 before it, more than all after it
  };
  struct Block {
    std::uint32_t meet = 0, last = 0, segment = 0;
    Numbers open = {};                                  ///< events since the last meet
    std::map<std::uint32_t, std::uint32_t> lanes = {};  ///< the last event of each
  };
  struct Barrier {
    std::uint64_t blocks = 0;
    std::map<std::uint32_t, std::vector<Use>> passes = {};  ///< arrivals and departures, by block
  };

  Launches(std::uint64_t chunk, Budget& budget) : chunk_(chunk), budget_(budget), out_(budget) {}

  virtual void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) = 0;

  bool in_round(std::uint32_t position) const { return position != 0 && position <= chunk_; }
  std::uint32_t add(const Place& at, bool lane_op, std::uint32_t lane,
                    std::vector<Statement> statements = {}, bool packets = false);
  void meet(const Place& at);
  std::uint32_t push(const Place& at, std::uint32_t lane, std::uint32_t queue,
                     std::vector<Statement> statements);
  void flush(const Place& at, std::uint32_t lane, std::uint32_t queue);
  void pass(const Place& at, Barrier& barrier);
  static bool follows(const Use& last, const Use& now) {
    return last.rank == now.rank && last.block == now.block && last.pushed == now.pushed &&
           (last.segment != now.segment || last.lane == now.lane);
  }
  static bool is_in_order(const std::vector<Use>& uses);
  static bool is_shared(const Counter& counter);
  Use use(const Place& at, std::uint32_t event, std::uint32_t lane) const;

  std::uint64_t chunk_;
  Budget& budget_;
  std::uint32_t launches_ = 3;
  bool in_place_ = false;
  bool single_threads_ = false;  ///< blocks are threads, which need not meet
  std::string collective_, rounds_differ_;
  Execution out_;
  std::vector<std::set<std::uint32_t>> numbers_;  // of blocks, by rank
  std::vector<Counter> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> blocks_;
  std::uint32_t segments_ = 0;
  std::vector<std::deque<Use>> queues_;                                  // what was pushed
  std::map<std::pair<std::uint32_t, std::uint32_t>, Barrier> barriers_;  // by rank and number

 private:
  void run_launch(std::uint32_t launch);
  void meet_at(Block& block, std::uint32_t event);
  void match_counters();
  void join_barriers();
};

/// Reads a plan of MSCCL++. Of one with pipelines `chunk` is the number of their rounds: a cell
/// stands for what a round does of a chunk.
class Unroller : public Launches {
 public:
  Unroller(const Json& plan, std::uint32_t chunk, Budget& budget);

 private:
  struct Channel {
    std::uint32_t peer = 0, out = 0, in = 0, queue = 0;  ///< counters of its signals and waits
  };
  struct Group {
    std::uint32_t member = 0, size = 1;
  };
  struct Gpu {
    std::map<std::string, std::vector<Channel>> channels;  // by type
    std::vector<std::pair<char, Numbers>> switches;
    std::map<char, std::uint32_t> first;
    std::map<char, std::uint64_t> cells;
    Numbers semaphores;
  };

  void read_gpu(std::uint32_t rank);
  void pair_channels();
  void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) override;
  void check_block(const Json& block, std::uint32_t rank) const;
  void run_op(const Json& op, const Place& at);
  void run_pipeline(const Json& op, const Place& at, const std::string& place);
  void run_data(const Json& op, const Form& form, const Place& at);
  void add_operands(const Json& op, const char* key, const std::string& forms, std::size_t k,
                    const Place& at, const std::string& type, std::vector<Operand>& out);
  Operand operand(std::uint32_t rank, char held, const Json& region, char form, const Place& at,
                  bool port, bool remote) const;
  void count(const Place& at, std::uint32_t lane, std::uint32_t event, std::uint32_t counter,
             bool waits, bool strong);
  void signal(const Place& at, std::uint32_t lane, const Channel& channel, bool port, bool strong);
  void pass_barrier(const Json& op, const Place& at);
  const Json& remote_buffer(const Json& region, const Place& at, const std::string& type) const;
  /// What the thread block's list of this type has at a position.
  std::uint32_t listed(const Place& at, const char* lists, const char* type_key, const char* ids,
                       const std::string& type, std::uint64_t position) const;

  const Json& plan_;
  bool packets_ = false, doubled_ = false, has_pipelines_ = false;
  std::vector<Gpu> gpus_;
  Group group_;
};

/// The first fault of a plan in the text format, which is appended to `words`. A text that is no
/// plan is no certificate's; a valid plan's collective is known.
std::optional<Fault> find_text_fault(const std::string& text, bool surely, Interleaving& drawn,
                                     Budget& budget, std::string& words);

}  // namespace p2::kernel::plan
