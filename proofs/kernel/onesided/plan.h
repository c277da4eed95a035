#pragma once

#include <cctype>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proofs/kernel/onesided/execution.h"

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

/// All ops of a plan, those of pipelines too.
void for_each_op(const Json& plan, const std::function<void(const Json& op)>& visit);
/// The bytes that a round of a pipeline does of a chunk; 0 without pipelines.
std::uint64_t unit_of(const Json& plan);

/// The launches of a plan as events, whatever it is written in.
class Launches {
 public:
  virtual ~Launches() = default;
  Execution take();
  /// Why more rounds of pipelines may differ from these; nothing where they do not.
  const std::string& rounds_differ() const { return rounds_differ_; }

 protected:
  using Graph = Execution::Graph;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    std::uint32_t rank, block, launch;
    std::string name;
    std::uint32_t position = 0;  ///< 1 + round in a pipeline, 0 before it, more than all after it
  };
  struct Use {
    std::uint32_t event, rank, launch, block, position, segment, lane;
    std::uint32_t ordering = kNone;  ///< the event that releases or acquires
    bool seen = true;                ///< shows that the sender has begun
    bool pushed = false;
    std::uint64_t number = 0;  ///< of a wait: what it expects
  };
  struct Counter {
    std::uint64_t initial = 0;
    std::vector<Use> signals = {}, waits = {};
    std::uint64_t expected = 0;
    std::optional<std::uint64_t> rise = {};  ///< of what launches expect, if they say it
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
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  virtual std::vector<std::uint32_t> blocks_of(std::uint32_t rank) const = 0;
  virtual void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) = 0;

  /// Appends the buffers of the next rank's user.
  UserCells lay_out_user(std::uint64_t in, std::uint64_t out);
  /// `collective_` defines the outputs.
  void set_goal(std::uint32_t ranks);
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
  Use use(const Place& at, std::uint32_t event, std::uint32_t lane) const;

  std::uint64_t chunk_;
  Budget& budget_;
  std::uint32_t launches_ = 3;
  bool in_place_ = false;
  bool single_threads_ = false;  ///< blocks are threads, which need not meet
  std::string collective_, rounds_differ_;
  Execution out_;
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
  std::vector<std::uint32_t> blocks_of(std::uint32_t rank) const override;
  void run_block(std::uint32_t rank, std::uint32_t block, std::uint32_t launch) override;
  void check_block(const Json& block, std::uint32_t rank) const;
  void run_op(const Json& op, const Place& at);
  void run_pipeline(const Json& op, const Place& at, const std::string& place);
  void run_data(const Json& op, const Form& form, const Place& at);
  void add_operands(const Json& op, const char* key, const std::string& forms, std::size_t k,
                    const Place& at, const std::string& type, std::vector<Operand>& out);
  Operand operand(std::uint32_t rank, char held, const Json& region, char form, const Place& at,
                  bool port, bool remote) const;
  void signal(const Place& at, std::uint32_t lane, const Channel& channel, bool port, bool strong);
  void wait(const Place& at, std::uint32_t lane, std::uint32_t counter, bool strong);
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

/// Of a plan in the text format. A text that is no plan is no certificate's.
struct TextJudgement {
  std::string collective;
  std::uint32_t ranks = 0;
  bool in_place = false;
  std::optional<Fault> fault = {};  ///< the first one
};
TextJudgement judge_text(const std::string& text, bool surely, Budget& budget);

}  // namespace p2::kernel::plan
