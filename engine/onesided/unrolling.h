#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/onesided/plan.h"

namespace p2::onesided {

/// One unit of memory of one rank; cells of all ranks have different numbers. A packet takes two.
using Cell = std::uint32_t;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// `count` elements from a cell on: element k is cell `first + k`, or, of packets, the two cells
/// from `first + 2k` on.
struct Operand {
  Cell first = 0;
  std::uint32_t count = 0;
  bool packets = false;
  /// Packets are polled, i.e. waited for; otherwise they are read as they are found.
  bool polled = false;

  std::uint32_t cells() const { return packets ? 2 * count : count; }
  Cell cell(std::uint32_t element) const { return first + (packets ? 2 * element : element); }
};

/// Element by element: every target := the sum of all sources. Operands are equally long.
struct Statement {
  std::vector<Operand> targets = {};
  std::vector<Operand> sources = {};
};

/// How an access to a counter, or a fence, orders memory.
enum class Order : std::uint8_t {
  None,  ///< not even relaxed: its scope does not reach the other rank
  Relaxed,
  Acquire,
  Release,
  AcquireRelease
};
inline bool releases(Order order) {
  return order == Order::Release || order == Order::AcquireRelease;
}
inline bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcquireRelease;
}

/// One step of a block, in one launch.
struct Operation {
  enum class Kind : std::uint8_t {
    Compute,     ///< the statements, by all threads
    Meet,        ///< all threads of the block meet
    Barrier,     ///< all blocks that take part in `object` meet
    Signal,      ///< add 1 to counter `object`
    Wait,        ///< until counter `object` reaches the next expectation, or `threshold`
    Push,        ///< hand a transfer, the one statement, to queue `object`
    PushSignal,  ///< hand a signal of counter `counter` to queue `object`
    Flush,       ///< until all that was pushed to queue `object` is complete
    Fence
  };
  Kind kind = Kind::Meet;
  std::uint32_t origin = 0;  ///< in Unrolling::origins
  std::uint32_t launch = 0;
  std::uint32_t lane = 0;  ///< of Signal to Fence: the thread that runs it
  std::uint32_t object = 0;
  std::uint32_t counter = 0;                    ///< of PushSignal
  std::uint32_t amount = 1;                     ///< of Wait: added to the expectation
  std::optional<std::uint64_t> threshold = {};  ///< of Wait: an absolute expectation
  Order order = Order::Relaxed;
  bool packets = false;  ///< Compute: its elements are those of packets
  bool local = false;    ///< of counters and fences: reaches blocks of the own rank only
  std::vector<Statement> statements = {};

  /// How many elements its statements have, each of which polls its own packets.
  std::uint64_t elements() const {
    std::uint64_t count = 0;
    for (const Statement& each : statements) count += each.sources[0].count;
    return count;
  }
  bool polls() const {
    return std::ranges::any_of(statements, [](const Statement& each) {
      return std::ranges::any_of(each.sources, &Operand::polled);
    });
  }
};

/// What the user wrote: the text of an operation and its position.
struct Origin {
  std::string text;  ///< `gpu 0 tb 1 op 5 (put)`
  std::size_t line = 0;
  std::size_t column = 0;
  OpPlace place = {};     ///< in a Plan
  bool transfer = false;  ///< runs asynchronously after it was pushed
};

struct Block {
  std::uint32_t rank = 0;
  bool single_thread = false;              ///< program order orders its operations
  std::vector<Operation> operations = {};  ///< of all launches
};

/// Signals add to it, waits compare with it; it is never reset.
struct Counter {
  std::string name;  ///< `memory channel 2 from gpu 0 to gpu 1`
  std::uint64_t initial = 0;
  bool semaphore = false;
};

/// The end of a port channel at the rank that pushes: what is pushed completes in this order.
struct Queue {
  std::uint32_t rank = 0;
};

/// Named cells of one rank.
struct Space {
  std::uint32_t rank = 0;
  std::string name;
  Cell first = 0;
  std::uint32_t cells = 0;
  bool user = false;        ///< between launches it is the user's
  std::uint32_t width = 1;  ///< cells of one element: 2 of packets
};

/// The cells that hold the input and the output of a rank. In place they overlap.
struct UserCells {
  Cell input = 0;
  std::uint32_t input_cells = 0;
  Cell output = 0;
  std::uint32_t output_cells = 0;
};

/// What a plan is to compute, in place of its collective. Inputs and outputs are cut into equal
/// parts; a part of an output is a sum of parts of inputs.
struct UserGoal {
  std::string name;
  std::vector<std::uint32_t> inputs = {};                              ///< parts, by rank
  using Parts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  ///< rank, part of its input
  std::vector<std::vector<Parts>> outputs = {};                        ///< by rank and part
};

/// The operations of several launches of a plan, for one choice of sizes.
struct Unrolling {
  std::string collective;
  std::uint32_t ranks = 0;
  std::uint32_t launches = 0;
  std::uint32_t judged = 0;  ///< races are looked for in so many launches; the rest follows
  std::uint32_t chunk = 1;   ///< cells
  bool in_place = false;
  std::string rank_word = "gpu";  ///< as the format calls a rank
  std::string sizes;              ///< the choice, in words
  std::vector<Origin> origins = {};
  std::vector<Block> blocks = {};  ///< by rank
  std::vector<Counter> counters = {};
  std::vector<Queue> queues = {};
  std::uint32_t barriers = 0;
  std::vector<std::string> barrier_names = {};
  std::vector<Space> spaces = {};     ///< by first cell
  std::vector<UserCells> users = {};  ///< by rank
  std::uint32_t cells = 0;
  std::shared_ptr<const UserGoal> goal = {};

  const Space& space_of(Cell cell) const;
  /// Of a goal: the input cells, by rank, whose sum is to be in cell `k` of a rank's output;
  /// nothing where that may hold anything.
  UserGoal::Parts wanted(std::uint32_t rank, std::uint32_t k) const;
};

/// Makes `goal` that of the unrolling. Throws InputError at `where` if buffers cannot be cut into
/// its parts.
void set_goal(Unrolling& unrolling, std::shared_ptr<const UserGoal> goal, const std::string& where);

constexpr std::uint64_t kMaxOperations = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 24;

/// Appends `cells` cells of a rank, and returns the first. Throws LimitReached beyond kMaxCells.
Cell add_space(Unrolling& unrolling, std::uint32_t rank, std::string name, std::uint64_t cells,
               bool user, std::uint32_t width);
/// Appends the cells of the user of the next rank. In place the input of allgather is the rank's
/// part of the output, the output of reducescatter its part of the input, and elsewhere both are
/// the same.
const UserCells& add_user_cells(Unrolling& unrolling, std::uint64_t input, std::uint64_t output);

/// `o[3] of gpu 1`, in chunks where a chunk is a single cell.
std::string describe(const Unrolling& unrolling, Cell cell);
/// `gpu 0 tb 1 op 5 (put) launch 0`.
std::string describe(const Unrolling& unrolling, const Operation& operation);
/// The same with its position in the file.
Happening happening(const Unrolling& unrolling, const Operation& operation);

/// A choice of sizes in cells: those of a chunk and of the units of pipelines.
struct Sizes {
  std::uint32_t chunk = 1;
  std::uint32_t unit = 0;  ///< cells for the smallest unit size; 0: one round
};

/// The greatest common divisor of the unit sizes of all pipelines, in bytes; 0 if there is none.
std::uint64_t smallest_unit(const Plan& plan);

/// Whether the plan is for any message at all: of the sizes in its range some can be cut into
/// chunks of whole units of its alignment.
bool has_messages(const Plan& plan);

/// The choices that stand for all message sizes that the plan is for.
std::vector<Sizes> sizes_to_check(const Plan& plan);

/// What is said beside the verdict, in sentences: sizes that sizes_to_check() leaves open, and
/// where the executor is known not to do what the plan means.
std::vector<std::string> notes_on(const Plan& plan);

/// A rule that an op of a plan breaks: `gpu 0 tb 1 op 5 (put) REASON.`
Violation broken_by(const Plan& plan, const std::string& source, Rule rule,
                    const std::string& reason, OpPlace place, const Op& op);

/// The first rule that a plan breaks whatever the sizes: Malformed to SizeMismatch.
std::optional<Violation> find_malformed(const Plan& plan, const std::string& source);

/// All launches of a plan, or the first rule of Malformed … OutOfBounds that it breaks.
std::variant<Unrolling, Violation> unroll(const Plan& plan, const std::string& source, Sizes sizes,
                                          std::uint32_t launches);

/// More launches than are judged, where the matching of signals and waits depends on the
/// interleaving: what comes in later launches may end a wait as well.
constexpr std::uint32_t kLaunchesBeyond = 2;

/// Launches that show all faults: plans are the same in every launch, so faults between launches
/// that differ by more show between these.
std::uint32_t launches_to_check(const Plan& plan);

}  // namespace p2::onesided
