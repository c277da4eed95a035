#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/onesided/unrolling.h"
#include "p2/error.h"

namespace p2::onesided {
namespace {

/// Unrolls; a broken rule is thrown as a Violation inside this file only.
class Unroller {
 public:
  Unroller(const Plan& plan, const std::string& source, Sizes sizes, std::uint32_t launches)
      : plan_(plan), source_(source), sizes_(sizes), unit_(smallest_unit(plan)) {
    out_.launches = out_.judged = launches;
  }

  Unrolling run();

 private:
  /// The bytes of a region that one execution of an op handles, in cells.
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  /// Where an op is executed.
  struct At {
    OpPlace place;
    const Op& op;
    std::uint32_t launch;
    std::uint64_t round = 0;
    std::uint64_t unit = 0;  ///< of the pipeline; 0 outside
  };

  [[noreturn]] void fail(Rule rule, const std::string& reason, OpPlace place, const Op& op) const {
    throw broken_by(plan_, source_, rule, reason, place, op);
  }
  void check_sizes(const Op& op, OpPlace place, const Shape& shape) const;
  void check_barriers() const;
  void lay_out_memory();
  void pair_channels();
  void run_block(std::uint32_t gpu, std::uint32_t block, std::uint32_t launch);
  void run_op(const At& at, Block& block);
  void run_data(const At& at, const Shape& shape, Block& block);
  void run_port(const At& at, Block& block);

  std::uint32_t origin(const At& at, bool transfer);
  Operation& add(const At& at, Block& block, Operation::Kind kind, bool transfer = false);
  void add_operand(const At& at, const Region& region, bool packets, bool polled, bool port,
                   std::vector<Operand>& out) const;
  Operand operand(const At& at, std::uint32_t rank, Buffer buffer, const Region& region,
                  bool packets, bool upper, bool remote) const;
  Part part_of(const At& at, const Region& region, bool packets) const;
  std::uint32_t rounds(const Op& pipeline) const;

  const Plan& plan_;
  const std::string& source_;
  Sizes sizes_;
  std::uint64_t unit_;
  Unrolling out_;
  struct Memory {
    std::array<Cell, 3> first = {};
    std::array<std::uint64_t, 3> cells = {};  ///< of scratch: of one half
  };
  std::vector<Memory> memory_;
  std::uint64_t operations_ = 0;
  /// By channel type (memory, port), GPU and channel: the counter of its signals and of its waits.
  struct Ends {
    std::uint32_t out = kNone;
    std::uint32_t in = kNone;
    std::uint32_t queue = kNone;
  };
  std::array<std::vector<std::vector<Ends>>, 2> channels_;
  std::vector<std::vector<std::uint32_t>> semaphores_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> barriers_;
  std::map<std::tuple<OpPlace, std::uint64_t, bool>, std::uint32_t> origins_;
};

/// After the bounds of its regions.
void Unroller::check_sizes(const Op& op, OpPlace place, const Shape& shape) const {
  for (std::size_t k = 0; k < std::max(op.sources.size(), op.targets.size()); ++k) {
    const auto differs = [&](const std::vector<Region>& regions) {
      const Region& first = shape.pairwise ? op.sources[k] : op.sources.front();
      return k < regions.size() && regions[k].size != first.size;
    };
    if (differs(op.sources) || differs(op.targets)) {
      fail(Rule::SizeMismatch, "has regions of different sizes", place, op);
    }
  }
}

void Unroller::check_barriers() const {
  for (std::uint32_t g = 0; g < plan_.gpus.size(); ++g) {
    struct Use {
      std::uint32_t block;
      std::uint64_t times;
    };
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> times;  // by barrier and block
    std::map<std::uint32_t, std::pair<OpPlace, const Op*>> first;
    const std::vector<ThreadBlock>& blocks = plan_.gpus[g].blocks;
    const auto count = [&](const Op& op, OpPlace place, std::uint64_t by) {
      if (op.type != OpType::Barrier || op.barrier_blocks == 1) return;
      times[op.barrier][place.block] += by;
      first.try_emplace(op.barrier, place, &op);
    };
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      for (std::uint32_t i = 0; i < blocks[b].ops.size(); ++i) {
        const Op& op = blocks[b].ops[i];
        count(op, {g, b, i}, 1);
        for (std::uint32_t k = 0; k < op.body.size(); ++k) {
          count(op.body[k], {g, b, i, k}, rounds(op));
        }
      }
    }
    for_each_op(plan_, [&](const Op& op, OpPlace place) {
      if (place.gpu != g || op.type != OpType::Barrier || op.barrier_blocks == 1) return;
      if (times[op.barrier].size() != op.barrier_blocks) {
        fail(Rule::BarrierMismatch,
             fmt::format("expects {} thread blocks at barrier {}, which {} use", op.barrier_blocks,
                         op.barrier, times[op.barrier].size()),
             place, op);
      }
    });
    for (const auto& [barrier, uses] : times) {
      for (const auto& [block, passes] : uses) {
        if (passes == uses.begin()->second) continue;
        const auto& [place, op] = first.at(barrier);
        fail(Rule::BarrierMismatch,
             fmt::format("is passed {} times by thread block {} and {} times by thread block {}",
                         uses.begin()->second, uses.begin()->first, passes, block),
             place, *op);
      }
    }
  }
}

/// The rounds of a pipeline: one, or as many as its share of chunks has units.
std::uint32_t Unroller::rounds(const Op& pipeline) const {
  if (sizes_.unit == 0) return pipeline.num_chunks == 0 ? 0 : 1;
  const std::uint64_t unit = sizes_.unit * (pipeline.unit_size / unit_);
  const std::uint64_t cells = std::uint64_t{pipeline.num_chunks} * sizes_.chunk;
  const std::uint64_t count = (cells + unit - 1) / unit;
  if (count > kMaxOperations) throw LimitReached(LimitReached::Kind::Size, "more than 2^20 rounds");
  return static_cast<std::uint32_t>(count);
}

void Unroller::lay_out_memory() {
  for (std::uint32_t r = 0; r < plan_.gpus.size(); ++r) {
    const Gpu& gpu = plan_.gpus[r];
    const std::uint64_t chunk = sizes_.chunk;
    const UserCells& user =
        add_user_cells(out_, gpu.input_chunks * chunk, gpu.output_chunks * chunk);
    const std::uint64_t scratch = gpu.scratch_chunks * chunk * (plan_.has_packets() ? 2 : 1);
    const Cell first = add_space(out_, r, "s", scratch * (plan_.double_scratch ? 2 : 1), false, 1);
    memory_.push_back(
        {{user.input, user.output, first}, {user.input_cells, user.output_cells, scratch}});
  }
}

/// The k-th channel of a type from a to b is the other end of the k-th of that type from b to a.
/// The counter of a channel's waits is that of the other end's signals.
void Unroller::pair_channels() {
  const auto ranks = static_cast<std::uint32_t>(plan_.gpus.size());
  for (const int type : {0, 1}) {
    const auto peers = [&](std::uint32_t rank) -> const std::vector<std::uint32_t>& {
      return type == 0 ? plan_.gpus[rank].memory_peers : plan_.gpus[rank].port_peers;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> numbers;
    auto& all = channels_[static_cast<std::size_t>(type)];
    all.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      all[r].resize(peers(r).size());
      for (std::uint32_t c = 0; c < peers(r).size(); ++c) {
        numbers[{r, peers(r)[c]}].push_back(c);
        all[r][c].out = static_cast<std::uint32_t>(out_.counters.size());
        out_.counters.push_back({fmt::format("{} channel {} from gpu {} to gpu {}",
                                             type == 0 ? "memory" : "port", c, r, peers(r)[c])});
        if (type == 1) {
          all[r][c].queue = static_cast<std::uint32_t>(out_.queues.size());
          out_.queues.push_back({r});
        }
      }
    }
    for (const auto& [ends, own] : numbers) {
      const auto other = numbers.find({ends.second, ends.first});
      for (std::size_t k = 0; k < own.size(); ++k) {
        Ends& end = all[ends.first][own[k]];
        if (other != numbers.end() && k < other->second.size()) {
          end.in = all[ends.second][other->second[k]].out;
        } else {  // no other end: signals vanish, waits never end
          end.in = static_cast<std::uint32_t>(out_.counters.size());
          out_.counters.push_back(
              {fmt::format("{} channel {} of gpu {}, whose other end gpu {} "
                           "lacks",
                           type == 0 ? "memory" : "port", own[k], ends.first, ends.second)});
        }
      }
    }
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto& own = semaphores_.emplace_back();
    for (std::uint32_t s = 0; s < plan_.gpus[r].semaphores.size(); ++s) {
      own.push_back(static_cast<std::uint32_t>(out_.counters.size()));
      out_.counters.push_back(
          {fmt::format("semaphore {} of gpu {}", s, r), plan_.gpus[r].semaphores[s], true});
    }
  }
}

std::uint32_t Unroller::origin(const At& at, bool transfer) {
  const auto [found, is_new] = origins_.try_emplace(
      {at.place, at.round, transfer}, static_cast<std::uint32_t>(out_.origins.size()));
  if (is_new) {
    std::string text = describe(plan_, at.place);
    if (at.unit > 0) {
      text = fmt::format("gpu {} tb {} op {}.{}#{} ({})", at.place.gpu, at.place.block, at.place.op,
                         at.place.inner, at.round, to_string(at.op.type));
    }
    if (transfer) text.insert(text.size() - 1, " transfer");
    out_.origins.push_back({std::move(text), at.op.line, at.op.column, at.place, transfer});
  }
  return found->second;
}

Operation& Unroller::add(const At& at, Block& block, Operation::Kind kind, bool transfer) {
  if (++operations_ > kMaxOperations) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^20 operations");
  }
  Operation& operation = block.operations.emplace_back();
  operation.kind = kind;
  operation.origin = origin(at, transfer);
  operation.launch = at.launch;
  return operation;
}

/// The part of a region that an op handles: its slice of a thread block group, then the round of a
/// pipeline. The executor subtracts without a sign, so a round past the region is a whole unit.
Unroller::Part Unroller::part_of(const At& at, const Region& region, bool packets) const {
  const std::uint64_t cells = std::uint64_t{region.size} * sizes_.chunk;
  const std::uint64_t base = cells / at.op.group_size;
  const std::uint64_t rest = cells % at.op.group_size;
  const auto start = [&](std::uint64_t member) { return member * base + std::min(member, rest); };
  Part part{start(at.op.group_member),
            start(std::uint64_t{at.op.group_member} + 1) - start(at.op.group_member)};
  if (at.unit == 0 || packets || sizes_.unit == 0) return part;
  const std::uint64_t done = at.round * at.unit;
  part.length = done > part.length ? at.unit : std::min(part.length - done, at.unit);
  part.offset += done;
  return part;
}

Operand Unroller::operand(const At& at, std::uint32_t rank, Buffer buffer, const Region& region,
                          bool packets, bool upper, bool remote) const {
  const Part part = part_of(at, region, packets);
  const Memory& memory = memory_[rank];
  const auto b = static_cast<std::size_t>(buffer);
  const std::uint64_t width = packets ? 2 : 1;
  const std::uint64_t begin = (std::uint64_t{region.index} * sizes_.chunk + part.offset) * width;
  const std::uint64_t end = begin + part.length * width;
  if (end > memory.cells[b]) {
    fail(Rule::OutOfBounds,
         fmt::format("touches cells {} to {} of {} of gpu {}, which holds {}", begin, end,
                     letter(buffer), rank, memory.cells[b]),
         at.place, at.op);
  }
  std::uint64_t first = memory.first[b] + begin;
  if (upper) first += memory.cells[b];
  // A rank adds its own offset to a peer's part.
  if (remote && plan_.in_place) {
    const auto own = std::int64_t{at.place.gpu} - std::int64_t{rank};
    if (plan_.collective == "allgather" && buffer == Buffer::Input) {
      first = static_cast<std::uint64_t>(static_cast<std::int64_t>(first) +
                                         own * static_cast<std::int64_t>(memory.cells[0]));
    } else if (plan_.collective == "reducescatter" && buffer == Buffer::Output) {
      first = static_cast<std::uint64_t>(static_cast<std::int64_t>(first) +
                                         own * static_cast<std::int64_t>(memory.cells[1]));
    }
  }
  return {static_cast<Cell>(first), static_cast<std::uint32_t>(part.length), packets, false};
}

/// The half of a doubled scratch buffer is honoured by packets, and by plain operations on their
/// own scratch through memory.
void Unroller::add_operand(const At& at, const Region& region, bool packets, bool polled, bool port,
                           std::vector<Operand>& out) const {
  const bool odd = plan_.double_scratch && at.launch % 2 == 1;
  switch (region.kind) {
    case Region::Kind::Own: {
      const bool upper = odd && region.buffer == Buffer::Scratch && (packets || !port);
      out.push_back(operand(at, at.place.gpu, region.buffer, region, packets, upper, false));
      break;
    }
    case Region::Kind::Remote: {
      const RemoteBuffer& held = remote_buffer(plan_, at.place, at.op.channel_type, region);
      const bool upper = odd && held.buffer == Buffer::Scratch && packets;
      out.push_back(operand(at, held.rank, held.buffer, region, packets, upper, true));
      break;
    }
    case Region::Kind::Switch: {
      const SwitchChannel& group =
          plan_.gpus[at.place.gpu]
              .switches[channel_at(plan_, at.place, ChannelType::Switch, region.id)];
      const bool upper = odd && group.buffer == Buffer::Scratch && packets;
      for (const std::uint32_t rank : group.ranks) {
        out.push_back(operand(at, rank, group.buffer, region, packets, upper, true));
      }
      break;
    }
  }
  if (polled) out.back().polled = true;
}

/// Element-wise ops by all threads of a block.
void Unroller::run_data(const At& at, const Shape& shape, Block& block) {
  const Op& op = at.op;
  Operation& operation = add(at, block, Operation::Kind::Compute);
  operation.packets = shape.packets;
  const auto source = [&](std::size_t k, Statement& statement) {
    const bool packets = is_packet_source(op.type, k);
    add_operand(at, op.sources[k], packets, packets, false, statement.sources);
  };
  const auto target = [&](std::size_t k, Statement& statement) {
    const bool packets =
        shape.packets &&
        !(k == 0 && (op.type == OpType::UnpackPackets || op.type == OpType::ReducePackets ||
                     op.type == OpType::ReduceSendPackets || op.type == OpType::ReduceCopyPackets ||
                     op.type == OpType::ReduceCopySendPackets));
    add_operand(at, op.targets[k], packets, false, false, statement.targets);
  };
  if (shape.pairwise) {
    for (std::size_t k = 0; k < op.sources.size(); ++k) {
      Statement& statement = operation.statements.emplace_back();
      source(k, statement);
      target(k, statement);
    }
    return;
  }
  Statement& statement = operation.statements.emplace_back();
  for (std::size_t k = 0; k < op.sources.size(); ++k) source(k, statement);
  for (std::size_t k = 0; k < op.targets.size(); ++k) target(k, statement);
}

/// Ops on port channels: lane j pushes transfer j, then its signal.
void Unroller::run_port(const At& at, Block& block) {
  const Op& op = at.op;
  const bool packets = op.type == OpType::PutPackets || op.type == OpType::ReadPutPackets;
  if (op.type == OpType::ReadPutPackets) {
    Operation& poll = add(at, block, Operation::Kind::Compute);
    poll.packets = true;
    add_operand(at, op.sources.front(), true, true, false, poll.statements.emplace_back().sources);
    add(at, block, Operation::Kind::Meet);
  }
  for (std::uint32_t j = 0; j < op.channels.size(); ++j) {
    const Ends& ends =
        channels_[1][at.place.gpu][channel_at(plan_, at.place, ChannelType::Port, op.channels[j])];
    Operation& push = add(at, block, Operation::Kind::Push, true);
    push.lane = j;
    push.object = ends.queue;
    push.packets = packets;
    Statement& statement = push.statements.emplace_back();
    const Region& source = op.type == OpType::ReadPutPackets ? op.sources.front() : op.sources[j];
    // What was polled before is sent as it was seen.
    add_operand(at, source, packets, op.type == OpType::ReadPutPackets, true, statement.sources);
    add_operand(at, op.targets[j], packets, false, true, statement.targets);
    if (op.type != OpType::PutWithSignal && op.type != OpType::PutWithSignalAndFlush) continue;
    Operation& signal = add(at, block, Operation::Kind::PushSignal);
    signal.lane = j;
    signal.object = ends.queue;
    signal.counter = ends.out;
    signal.order = Order::Release;
    if (op.type != OpType::PutWithSignalAndFlush) continue;
    Operation& flush = add(at, block, Operation::Kind::Flush);
    flush.lane = j;
    flush.object = ends.queue;
  }
}

void Unroller::run_op(const At& at, Block& block) {
  const Op& op = at.op;
  if (const auto shape = shape_of(op.type)) {
    if (shape->pairwise && op.sources.size() != op.targets.size()) {
      fail(Rule::SizeMismatch,
           fmt::format("has {} sources and {} targets", op.sources.size(), op.targets.size()),
           at.place, op);
    }
    if (op.channel_type == ChannelType::Port) {
      run_port(at, block);
    } else {
      run_data(at, *shape, block);
    }
    return check_sizes(op, at.place, *shape);
  }
  if (op.type == OpType::Nop || (op.type == OpType::Barrier && op.barrier_blocks == 1)) {
    add(at, block, Operation::Kind::Meet);
    return;
  }
  if (op.type == OpType::Barrier) {
    const auto [found, is_new] = barriers_.try_emplace({at.place.gpu, op.barrier}, out_.barriers);
    if (is_new) {
      ++out_.barriers;
      out_.barrier_names.push_back(fmt::format("barrier {} of gpu {}", op.barrier, at.place.gpu));
    }
    add(at, block, Operation::Kind::Barrier).object = found->second;
    return;
  }
  const bool semaphore = op.type == OpType::SemaphoreRelease || op.type == OpType::SemaphoreAcquire;
  const bool waits = op.type == OpType::Wait || op.type == OpType::RelaxedWait ||
                     op.type == OpType::SemaphoreAcquire;
  const bool relaxed = op.type == OpType::RelaxedSignal || op.type == OpType::RelaxedWait;
  const auto& ids = semaphore ? op.semaphores : op.channels;
  for (std::uint32_t j = 0; j < ids.size(); ++j) {
    Operation::Kind kind = waits ? Operation::Kind::Wait : Operation::Kind::Signal;
    Order order = relaxed ? Order::Relaxed : waits ? Order::Acquire : Order::Release;
    std::uint32_t counter = kNone;
    std::uint32_t queue = kNone;
    if (semaphore) {
      counter = semaphores_[at.place.gpu][ids[j]];
    } else {
      const bool port = op.channel_type == ChannelType::Port;
      const Ends& ends = channels_[port ? 1 : 0][at.place.gpu]
                                  [channel_at(plan_, at.place, op.channel_type, ids[j])];
      counter = waits ? ends.in : ends.out;
      queue = ends.queue;
      if (port && !waits) {  // the proxy's signals follow its transfers
        kind = Operation::Kind::PushSignal;
        order = Order::Release;
      }
      if (op.type == OpType::Flush) kind = Operation::Kind::Flush;
    }
    Operation& operation = add(at, block, kind);
    operation.lane = j;
    operation.order = order;
    operation.object =
        kind == Operation::Kind::PushSignal || kind == Operation::Kind::Flush ? queue : counter;
    operation.counter = counter;
  }
}

void Unroller::run_block(std::uint32_t gpu, std::uint32_t block, std::uint32_t launch) {
  const std::vector<Op>& ops = plan_.gpus[gpu].blocks[block].ops;
  // Blocks are numbered by GPU, then by position.
  std::size_t number = block;
  for (std::uint32_t g = 0; g < gpu; ++g) number += plan_.gpus[g].blocks.size();
  Block& out = out_.blocks[number];
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].type != OpType::Pipeline) {
      run_op({{gpu, block, i}, ops[i], launch}, out);
      continue;
    }
    const std::uint64_t unit = sizes_.unit == 0 ? 1 : sizes_.unit * (ops[i].unit_size / unit_);
    for (std::uint32_t round = 0; round < rounds(ops[i]); ++round) {
      for (std::uint32_t k = 0; k < ops[i].body.size(); ++k) {
        run_op({{gpu, block, i, k}, ops[i].body[k], launch, round, unit}, out);
      }
    }
  }
}

Unrolling Unroller::run() {
  if (auto violation = find_malformed(plan_, source_)) throw std::move(*violation);
  out_.collective = plan_.collective;
  out_.ranks = static_cast<std::uint32_t>(plan_.gpus.size());
  out_.chunk = sizes_.chunk;
  out_.in_place = plan_.in_place;
  out_.sizes = fmt::format("chunks of {} cell{}", sizes_.chunk, sizes_.chunk == 1 ? "" : "s");
  if (unit_ > 0) {
    out_.sizes += sizes_.unit == 0 ? ", one round per pipeline"
                                   : fmt::format(", pipelines with units of {} cells", sizes_.unit);
  }
  lay_out_memory();
  pair_channels();
  for (std::uint32_t g = 0; g < out_.ranks; ++g) {
    for (std::size_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) {
      out_.blocks.push_back({g, false, {}});
    }
  }
  for (std::uint32_t launch = 0; launch < out_.launches; ++launch) {
    for (std::uint32_t g = 0; g < out_.ranks; ++g) {
      for (std::uint32_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) run_block(g, b, launch);
    }
  }
  check_barriers();
  return std::move(out_);
}

}  // namespace

std::variant<Unrolling, Violation> unroll(const Plan& plan, const std::string& source, Sizes sizes,
                                          std::uint32_t launches) {
  try {
    return Unroller(plan, source, sizes, launches).run();
  } catch (const Violation& violation) {
    return violation;
  }
}

}  // namespace p2::onesided
