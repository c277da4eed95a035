// Lowers a program of collectives to MSCCL: for each step ring algorithms (Patarasuk and Yuan,
// 2009: bandwidth optimal all-reduce) and chains, then thread blocks, channels and dependencies.

#include "engine/export/class_lowering.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/collective/collective.h"
#include "engine/msccl/algorithm.h"

namespace p2::msccl {
namespace {

using lowering::ChunkRun;
using lowering::Held;
using lowering::initial_chunks;
using lowering::parts_of;
using lowering::ranks_in_class;
using lowering::runs_of;

/// A step of one rank on one run of chunks, in place: it reads and writes the same chunks of the
/// one buffer.
struct Transfer {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> send_peer = {};
  std::optional<std::uint32_t> receive_peer = {};
  StepType type = StepType::Send;
  ChunkRun chunks = {};
};

/// The transfers of one collective step. Those of a rank are in program order and have the same
/// peers.
using Transfers = std::vector<Transfer>;

/// Appends the transfers of a collective on one group of at least two ranks, and updates `held`, by
/// rank. AllReduce, ReduceScatter and AllGather are ring algorithms; Reduce and Broadcast are
/// chains that end or start at the first rank. Runs that are not contiguous are transferred one
/// after the other, so that no rank sends twice before it receives; those of a ring have at most
/// `max_run` chunks. Precondition: the step is legal.
void append_transfers(p2::Collective collective, const std::vector<std::uint32_t>& group,
                      std::uint32_t max_run, std::vector<Held>& held, Transfers& transfers);

/// Assigns the transfers of collective steps to thread blocks and channels, and adds dependencies.
/// A thread block has one pair of peers, and a connection one thread block at each end, so steps
/// with conflicting connections get different channels. A transfer depends on transfers of other
/// thread blocks of its GPU that access the same chunks, unless a vector clock shows that they have
/// finished.
class BlockBuilder {
 public:
  BlockBuilder(std::uint32_t ranks, std::uint32_t chunks, Buffer buffer);

  void add(const Transfers& step);
  /// The GPUs, without the sizes of their buffers.
  std::vector<Gpu> take() && { return std::move(gpus_); }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(used_.size()); }

 private:
  /// A step of a thread block, by index.
  struct Place {
    std::uint32_t block = 0;
    std::uint32_t step = 0;
    bool wrote = false;
  };
  /// A vector clock: the number of finished steps of each thread block of the GPU.
  using Clock = std::vector<std::uint32_t>;
  struct Rank {
    std::vector<std::vector<Place>> accesses;  ///< by chunk: the last write, and reads after it
    std::vector<std::vector<Clock>> clocks;    ///< by thread block and step
  };
  /// The connections of a rank in one step.
  struct Role {
    std::uint32_t rank = 0;
    std::int64_t send = -1;  ///< -1: none
    std::int64_t receive = -1;

    auto operator<=>(const Role&) const = default;
  };

  static Role role_of(const Transfer& transfer);
  std::uint32_t channel_for(const std::set<Role>& roles);
  bool fits(const std::set<Role>& channel, const Role& role) const;
  std::uint32_t block_of(const Transfer& transfer, std::uint32_t channel);
  void append(const Transfer& transfer, std::uint32_t block);
  std::vector<Place> dependencies_of(const Transfer& transfer, std::uint32_t block, Clock& clock);
  void record(const Transfer& transfer, std::uint32_t block, const Clock& clock);

  Buffer buffer_;
  std::vector<Gpu> gpus_;
  std::vector<Rank> ranks_;
  std::vector<std::set<Role>> used_;  ///< by channel
};

using enum StepType;

using Ranks = std::vector<std::uint32_t>;
/// The chunks of one round of a ring: for every place a run, or none.
using Units = std::vector<std::optional<ChunkRun>>;

/// The i-th runs of all parts, for each i.
std::vector<Units> passes_of(const std::vector<Held>& parts, std::uint32_t max_run) {
  std::vector<Units> passes;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    const std::vector<ChunkRun> runs = runs_of(parts[place], max_run);
    while (passes.size() < runs.size()) passes.emplace_back(parts.size());
    for (std::size_t i = 0; i < runs.size(); ++i) passes[i][place] = runs[i];
  }
  return passes;
}

/// A ring algorithm: a rank starts with the part of its own place or of one before it, reduces for
/// `adding` hops and copies for `copying` hops.
struct Round {
  std::size_t behind = 0;   ///< distance from a rank back to the part that it starts with
  std::size_t adding = 0;   ///< hops that reduce
  std::size_t copying = 0;  ///< hops after these that copy
  std::uint32_t max_run = 1;
};

StepType type_of(const Round& round, std::size_t hop) {
  const std::size_t last = round.adding + round.copying;
  if (hop == 0) return Send;
  if (hop < round.adding) return ReceiveReduceSend;
  if (hop == round.adding) return hop == last ? ReceiveReduceCopy : ReceiveReduceCopySend;
  return hop == last ? Receive : ReceiveCopySend;
}

void append_ring(const Ranks& group, const Units& units, const Round& round, Transfers& transfers) {
  const std::size_t places = group.size();
  for (std::size_t place = 0; place < places; ++place) {
    for (std::size_t hop = 0; hop <= round.adding + round.copying; ++hop) {
      const auto& unit = units[(place + 3 * places - round.behind - hop) % places];
      if (!unit) continue;
      transfers.push_back({group[place], group[(place + 1) % places],
                           group[(place + places - 1) % places], type_of(round, hop), *unit});
    }
  }
}

void append_ring(const Ranks& group, const std::vector<Held>& parts, const Round& round,
                 Transfers& transfers) {
  for (const Units& units : passes_of(parts, round.max_run))
    append_ring(group, units, round, transfers);
}

/// A chain from the last rank to the first, with reduction, or from the first to the last.
void append_chain(const Ranks& group, const Held& chunks, bool adding, Transfers& transfers) {
  const std::size_t last = group.size() - 1;
  for (std::size_t place = 0; place <= last; ++place) {
    Transfer transfer{group[place]};
    const std::optional<std::uint32_t> below =
        place == 0 ? std::nullopt : std::optional(group[place - 1]);
    const std::optional<std::uint32_t> above =
        place == last ? std::nullopt : std::optional(group[place + 1]);
    transfer.send_peer = adding ? below : above;
    transfer.receive_peer = adding ? above : below;
    if (!transfer.receive_peer) {
      transfer.type = Send;
    } else if (transfer.send_peer) {
      transfer.type = adding ? ReceiveReduceSend : ReceiveCopySend;
    } else {
      transfer.type = adding ? ReceiveReduceCopy : Receive;
    }
    for (const ChunkRun& run : runs_of(chunks, kMaxChunksPerStep)) {
      transfer.chunks = run;
      transfers.push_back(transfer);
    }
  }
}

std::int64_t number_of(const std::optional<std::uint32_t>& peer) {
  return peer ? static_cast<std::int64_t>(*peer) : -1;
}

Step nop() { return {StepType::Nop, 0, {Buffer::Input, -1}, {Buffer::Output, -1}, 0}; }

std::vector<Transfers> transfers_of(const Program& program, const Group& members,
                                    std::uint32_t max_run, const SourcePosition& where) {
  std::vector<Held> held = initial_chunks(program, static_cast<std::uint32_t>(members.size()));
  std::vector<Transfers> steps;
  std::size_t total = 0;
  for (const p2::Step& step : program.steps) {
    if (static_cast<std::size_t>(step.collective) >= kCollectives.size()) {
      throw InputError(where, fmt::format("uses {}, expected the five collectives",
                                          program.terms.collectives.name_of(step.collective)));
    }
    Transfers& transfers = steps.emplace_back();
    for (const Group& group : step.groups) {
      const std::vector<std::uint32_t> ranks = ranks_in_class(group, members, where);
      if (ranks.size() > 1) append_transfers(step.collective, ranks, max_run, held, transfers);
      if (total + transfers.size() > kMaxTransfers) {
        throw InputError(where, fmt::format("takes more than {} steps of thread blocks, expected "
                                            "a smaller program",
                                            kMaxTransfers));
      }
    }
    total += transfers.size();
  }
  return steps;
}

void append_transfers(p2::Collective collective, const Ranks& group, std::uint32_t max_run,
                      std::vector<Held>& held, Transfers& transfers) {
  const std::size_t places = group.size();
  const Held first = held[group[0]];
  switch (collective) {
    case p2::Collective::AllReduce:
      append_ring(group, parts_of(first, places), {0, places - 1, places - 1, max_run}, transfers);
      return;
    case p2::Collective::ReduceScatter: {
      const std::vector<Held> parts = parts_of(first, places);
      append_ring(group, parts, {1, places - 1, 0, max_run}, transfers);
      for (std::size_t i = 0; i < places; ++i) held[group[i]] = parts[i];
      return;
    }
    case p2::Collective::AllGather: {
      std::vector<Held> parts;
      Held all;
      for (const std::uint32_t rank : group) {
        parts.push_back(held[rank]);
        all.insert(all.end(), held[rank].begin(), held[rank].end());
      }
      std::sort(all.begin(), all.end());
      append_ring(group, parts, {0, 0, places - 1, max_run}, transfers);
      for (const std::uint32_t rank : group) held[rank] = all;
      return;
    }
    case p2::Collective::Reduce:
      append_chain(group, first, true, transfers);
      for (std::size_t i = 1; i < places; ++i) held[group[i]].clear();
      return;
    case p2::Collective::Broadcast:
      append_chain(group, first, false, transfers);
      for (const std::uint32_t rank : group) held[rank] = first;
      return;
  }
}

BlockBuilder::BlockBuilder(std::uint32_t ranks, std::uint32_t chunks, Buffer buffer)
    : buffer_(buffer), gpus_(ranks), ranks_(ranks) {
  for (Rank& rank : ranks_) rank.accesses.resize(chunks);
}

BlockBuilder::Role BlockBuilder::role_of(const Transfer& transfer) {
  return {transfer.rank, number_of(transfer.send_peer), number_of(transfer.receive_peer)};
}

bool BlockBuilder::fits(const std::set<Role>& channel, const Role& role) const {
  if (channel.contains(role)) return true;
  const auto first = channel.lower_bound({role.rank, -1, -1});
  for (auto other = first; other != channel.end() && other->rank == role.rank; ++other) {
    const bool same_send = role.send >= 0 && other->send == role.send;
    const bool same_receive = role.receive >= 0 && other->receive == role.receive;
    if (same_send || same_receive) return false;
  }
  return true;
}

std::uint32_t BlockBuilder::channel_for(const std::set<Role>& roles) {
  std::uint32_t channel = 0;
  while (channel < used_.size() && !std::all_of(roles.begin(), roles.end(), [&](const Role& role) {
           return fits(used_[channel], role);
         })) {
    ++channel;
  }
  if (channel == used_.size()) used_.emplace_back();
  used_[channel].insert(roles.begin(), roles.end());
  return channel;
}

std::uint32_t BlockBuilder::block_of(const Transfer& transfer, std::uint32_t channel) {
  std::vector<ThreadBlock>& blocks = gpus_[transfer.rank].blocks;
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const ThreadBlock& block) {
    return block.channel == channel && block.send_peer == transfer.send_peer &&
           block.receive_peer == transfer.receive_peer;
  });
  const auto index = static_cast<std::uint32_t>(found - blocks.begin());
  if (found == blocks.end()) {
    blocks.push_back({index, transfer.send_peer, transfer.receive_peer, channel, {}});
    ranks_[transfer.rank].clocks.emplace_back();
  }
  return index;
}

void BlockBuilder::add(const Transfers& step) {
  std::set<Role> roles;
  for (const Transfer& transfer : step) roles.insert(role_of(transfer));
  const std::uint32_t channel = channel_for(roles);
  for (const Transfer& transfer : step) append(transfer, block_of(transfer, channel));
}

/// The transfers of other thread blocks that must finish first, the last one of each thread block.
/// Sets `clock` to the vector clock after them.
std::vector<BlockBuilder::Place> BlockBuilder::dependencies_of(const Transfer& transfer,
                                                               std::uint32_t block, Clock& clock) {
  const Rank& rank = ranks_[transfer.rank];
  clock.resize(gpus_[transfer.rank].blocks.size());
  if (!rank.clocks[block].empty()) {
    const Clock& before = rank.clocks[block].back();
    std::copy(before.begin(), before.end(), clock.begin());
  }
  Clock needed(clock.size());
  const ChunkRun& run = transfer.chunks;
  for (std::uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
    for (const Place& place : rank.accesses[chunk]) {
      if (!place.wrote && !writes_destination(transfer.type)) continue;
      needed[place.block] = std::max(needed[place.block], place.step + 1);
    }
  }
  std::vector<Place> found;
  for (std::uint32_t other = 0; other < needed.size(); ++other) {
    if (other == block || needed[other] <= clock[other]) continue;
    found.push_back({other, needed[other] - 1, false});
    const Clock& finished = rank.clocks[other][needed[other] - 1];
    for (std::size_t i = 0; i < finished.size(); ++i) clock[i] = std::max(clock[i], finished[i]);
  }
  return found;
}

void BlockBuilder::append(const Transfer& transfer, std::uint32_t block) {
  Clock clock;
  const std::vector<Place> open = dependencies_of(transfer, block, clock);
  std::vector<ThreadBlock>& blocks = gpus_[transfer.rank].blocks;
  std::vector<Step>& steps = blocks[block].steps;
  const auto push = [&](Step step, const Place* dependency) {
    step.number = static_cast<std::uint32_t>(steps.size());
    if (dependency != nullptr) {
      step.waits_for = {dependency->block, dependency->step};
      blocks[dependency->block].steps[dependency->step].publishes = true;
    }
    steps.push_back(step);
    clock[block] = static_cast<std::uint32_t>(steps.size());
    ranks_[transfer.rank].clocks[block].push_back(clock);
  };
  for (std::size_t i = 0; i + 1 < open.size(); ++i) push(nop(), &open[i]);
  const Region region{buffer_, transfer.chunks.first};
  push({transfer.type, 0, region, region, transfer.chunks.count},
       open.empty() ? nullptr : &open.back());
  record(transfer, block, clock);
}

void BlockBuilder::record(const Transfer& transfer, std::uint32_t block, const Clock& clock) {
  const ChunkRun& run = transfer.chunks;
  for (std::uint32_t chunk = run.first; chunk < run.first + run.count; ++chunk) {
    std::vector<Place>& accesses = ranks_[transfer.rank].accesses[chunk];
    const Place here{block, clock[block] - 1, writes_destination(transfer.type)};
    if (here.wrote) {
      accesses = {here};
    } else {
      accesses.push_back(here);
    }
  }
}

}  // namespace

std::string msccl_collective(const Goal& goal) {
  if (goal.name == "reducescatter") return "reduce_scatter";
  for (const char* name : {"allreduce", "allgather", "reduce", "broadcast"}) {
    if (goal.name == name) return name;
  }
  return {};
}

Algorithm lower_class(const Program& program, std::size_t class_index,
                      const TransferOptions& options, const SourcePosition& where) {
  const Group& members = program.classes[class_index];
  Algorithm algorithm;
  algorithm.collective = msccl_collective(program.terms.goal);
  if (algorithm.collective.empty()) {
    throw InputError(where, fmt::format("has the goal {}, expected allreduce, reducescatter, "
                                        "allgather, reduce or broadcast: MSCCL knows these",
                                        program.terms.goal.name));
  }
  algorithm.name = algorithm.collective;
  algorithm.protocol = options.protocol;
  algorithm.chunks = program.chunks();
  algorithm.in_place = true;
  const auto ranks = static_cast<std::uint32_t>(members.size());
  const bool in_output = algorithm.collective == "allgather";
  BlockBuilder builder(ranks, algorithm.chunks, in_output ? Buffer::Output : Buffer::Input);
  for (const Transfers& step : transfers_of(program, members, options.max_run, where))
    builder.add(step);
  algorithm.channels = std::max(1U, builder.channels());
  algorithm.gpus = std::move(builder).take();
  const bool parts = in_output || algorithm.collective == "reduce_scatter";
  const std::uint32_t part = parts ? algorithm.chunks / ranks : algorithm.chunks;
  for (Gpu& gpu : algorithm.gpus) {
    gpu.chunks = {in_output ? part : algorithm.chunks, in_output ? algorithm.chunks : part, 0};
  }
  return algorithm;
}

}  // namespace p2::msccl
