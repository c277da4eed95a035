#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "p2/error.h"

/// One-sided plans: puts, gets, signals and waits between ranks. An execution plan of MSCCL++ (this
/// header) and a plan in the text format (text_plan.h) are unrolled into the same operations
/// (unrolling.h), of which all engines decide.
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

enum class Buffer : std::uint8_t { Input, Output, Scratch };
/// `i`, `o`, `s`.
char letter(Buffer buffer);

enum class ChannelType : std::uint8_t { None, Memory, Port, Switch };
std::string_view to_string(ChannelType type);

/// The operations of MSCCL++ plans, by their names in the file.
enum class OpType : std::uint8_t {
  Nop,
  Barrier,
  Signal,
  RelaxedSignal,
  Wait,
  RelaxedWait,
  SemaphoreRelease,
  SemaphoreAcquire,
  Put,
  PutWithSignal,
  PutWithSignalAndFlush,
  Flush,
  Get,
  Copy,
  Reduce,
  ReduceSend,
  ReadReduce,
  ReadReduceSend,
  CopyPackets,
  PutPackets,
  UnpackPackets,
  ReadPutPackets,
  ReducePackets,
  ReduceSendPackets,
  ReduceCopyPackets,
  ReduceCopySendPackets,
  GroupStore,
  GroupStorePackets,
  GroupLoadReduceStore,
  Pipeline
};
/// `nop`, `rlxsignal`, `rres`, …
std::string_view to_string(OpType type);
std::optional<OpType> op_type(std::string_view name);

/// Consecutive chunks of an own buffer, of a peer's, or of the buffers of a switch channel's ranks.
struct Region {
  enum class Kind : std::uint8_t { Own, Remote, Switch };
  Kind kind = Kind::Own;
  Buffer buffer = Buffer::Input;  ///< of Own
  std::uint32_t id = 0;           ///< `buffer_id` or `switch_channel_id`
  std::uint32_t index = 0;
  std::uint32_t size = 0;
};

struct Op {
  OpType type = OpType::Nop;
  std::vector<Region> sources = {};
  std::vector<Region> targets = {};
  ChannelType channel_type = ChannelType::None;
  std::vector<std::uint32_t> channels = {};  ///< positions in the list of the thread block
  std::uint32_t group_member = 0;            ///< `tbg_info`
  std::uint32_t group_size = 1;
  std::uint32_t barrier = 0;
  std::uint32_t barrier_blocks = 1;
  std::vector<std::uint32_t> semaphores = {};
  std::uint64_t unit_size = 0;   ///< of a pipeline, in bytes
  std::uint32_t num_chunks = 0;  ///< of a pipeline
  std::vector<Op> body = {};     ///< of a pipeline
  std::size_t line = 0;
  std::size_t column = 0;
};

/// Channels, or remote buffers, that a thread block may name, by channel type.
struct References {
  ChannelType type = ChannelType::None;
  std::vector<std::uint32_t> ids = {};
};

struct ThreadBlock {
  std::vector<Op> ops = {};
  std::vector<References> channels = {};
  std::vector<References> remote_buffers = {};
};

struct RemoteBuffer {
  std::uint32_t rank = 0;
  Buffer buffer = Buffer::Input;
  std::vector<ChannelType> access = {};
};

struct SwitchChannel {
  Buffer buffer = Buffer::Input;
  std::vector<std::uint32_t> ranks = {};
};

struct Gpu {
  std::uint32_t input_chunks = 0;
  std::uint32_t output_chunks = 0;
  std::uint32_t scratch_chunks = 0;
  std::vector<ThreadBlock> blocks = {};
  std::vector<std::uint32_t> memory_peers = {};  ///< by memory channel
  std::vector<std::uint32_t> port_peers = {};    ///< by port channel
  std::vector<SwitchChannel> switches = {};
  std::vector<RemoteBuffer> remote_buffers = {};
  std::vector<std::uint32_t> semaphores = {};  ///< initial values
};

/// An execution plan. GPU r is rank r.
struct Plan {
  std::string name = {};
  std::string collective = {};
  std::string protocol = {};
  bool in_place = false;
  bool reuses_resources = false;
  bool double_scratch = false;
  std::uint32_t threads = 1024;
  std::uint32_t alignment = 16;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  std::vector<Gpu> gpus = {};

  bool has_packets() const { return protocol == "LL"; }
};

/// An op by positions in the lists of Plan; `inner` is that in the body of a pipeline.
struct OpPlace {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  std::uint32_t op = 0;
  std::uint32_t inner = kNone;

  auto operator<=>(const OpPlace&) const = default;
};

/// `gpu 0 tb 1 op 5 (put)`.
std::string describe(const Plan& plan, OpPlace place);

/// Every op of a plan with its place; pipelines before their bodies.
template <typename Visit>
void for_each_op(const Plan& plan, Visit visit) {
  for (std::uint32_t g = 0; g < plan.gpus.size(); ++g) {
    for (std::uint32_t b = 0; b < plan.gpus[g].blocks.size(); ++b) {
      const std::vector<Op>& ops = plan.gpus[g].blocks[b].ops;
      for (std::uint32_t i = 0; i < ops.size(); ++i) {
        visit(ops[i], OpPlace{g, b, i});
        for (std::uint32_t k = 0; k < ops[i].body.size(); ++k) {
          visit(ops[i].body[k], OpPlace{g, b, i, k});
        }
      }
    }
  }
}

/// The ids of all entries of a channel type, one after the other.
std::vector<std::uint32_t> flattened(const std::vector<References>& all, ChannelType type);

/// The number, on its GPU, of the channel at a position in the list of the op's thread block.
/// Precondition: there is one.
std::uint32_t channel_at(const Plan& plan, OpPlace place, ChannelType type, std::uint32_t position);
/// The buffer that a Remote region of an op on a channel of `type` names. Precondition: there is
/// one.
const RemoteBuffer& remote_buffer(const Plan& plan, OpPlace place, ChannelType type,
                                  const Region& region);

/// The operands an op has: how many, and of which kind.
struct Shape {
  std::vector<Region::Kind> sources;  ///< the first ones
  std::vector<Region::Kind> targets;
  std::optional<Region::Kind> more_sources = {};  ///< what may follow
  std::optional<Region::Kind> more_targets = {};
  bool pairwise = false;  ///< sources and targets are equally many
  bool packets = false;
};

/// Of an op that touches memory; nothing for the others.
std::optional<Shape> shape_of(OpType type);

/// Whether an op polls its source number k for packets.
bool is_packet_source(OpType type, std::size_t k);

/// Whether a text is JSON whose top-level keys are those of an MSCCL++ execution plan.
bool is_plan_json(std::string_view text);

/// Reads an MSCCL++ execution plan. A plan with a missing field or an operation that the executor
/// refuses is a Violation (`malformed`). Throws InputError for text that is no JSON object.
std::variant<Plan, Violation> read_plan(const std::string& source, const std::string& text);

/// Writes a plan that read_plan() reads back, one op per line.
std::string to_json(const Plan& plan);

}  // namespace p2::onesided
