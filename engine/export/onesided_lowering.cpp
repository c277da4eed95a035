#include <algorithm>

#include <fmt/format.h>

#include "engine/collective/collective.h"
#include "engine/export/class_lowering.h"

namespace p2::onesided {
namespace {

using lowering::ChunkRun;
using lowering::Held;

constexpr std::size_t kMaxChannelsPerOp = 8;

class PlanLowering {
 public:
  PlanLowering(std::uint32_t ranks, Buffer buffer) : buffer_(buffer) {
    plan_.gpus.resize(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      Gpu& gpu = plan_.gpus[r];
      ThreadBlock& block = gpu.blocks.emplace_back();
      block.channels.push_back({ChannelType::Memory, {}});
      block.remote_buffers.push_back({ChannelType::Memory, {}});
    }
  }

  void add(p2::Collective collective, const std::vector<std::uint32_t>& group,
           std::vector<Held>& held);
  Plan take() && { return std::move(plan_); }

 private:
  std::vector<Op>& ops(std::uint32_t rank) { return plan_.gpus[rank].blocks.front().ops; }
  /// The number of the channel, and of the remote buffer, of a peer in the rank's thread block.
  std::uint32_t peer_number(std::uint32_t rank, std::uint32_t peer);
  void meet(const std::vector<std::uint32_t>& group, bool relaxed);
  Region own(const ChunkRun& run) const {
    return {Region::Kind::Own, buffer_, 0, run.first, run.count};
  }
  Region of_peer(std::uint32_t rank, std::uint32_t peer, const ChunkRun& run) {
    return {Region::Kind::Remote, buffer_, peer_number(rank, peer), run.first, run.count};
  }
  void reduce(std::uint32_t rank, const std::vector<std::uint32_t>& group, const Held& chunks,
              bool send);
  void put(std::uint32_t rank, const std::vector<std::uint32_t>& group, const Held& chunks);

  Buffer buffer_;
  Plan plan_;
};

std::uint32_t PlanLowering::peer_number(std::uint32_t rank, std::uint32_t peer) {
  Gpu& gpu = plan_.gpus[rank];
  const auto found = std::find(gpu.memory_peers.begin(), gpu.memory_peers.end(), peer);
  const auto number = static_cast<std::uint32_t>(found - gpu.memory_peers.begin());
  if (found == gpu.memory_peers.end()) {
    gpu.memory_peers.push_back(peer);
    gpu.remote_buffers.push_back({peer, buffer_, {ChannelType::Memory}});
    gpu.blocks.front().channels.front().ids.push_back(number);
    gpu.blocks.front().remote_buffers.front().ids.push_back(number);
  }
  return number;
}

/// Every member signals all others and waits for them.
void PlanLowering::meet(const std::vector<std::uint32_t>& group, bool relaxed) {
  for (const std::uint32_t rank : group) {
    std::vector<std::uint32_t> channels;
    for (const std::uint32_t peer : group) {
      if (peer != rank) channels.push_back(peer_number(rank, peer));
    }
    ops(rank).push_back({});
    for (const OpType type : {relaxed ? OpType::RelaxedSignal : OpType::Signal,
                              relaxed ? OpType::RelaxedWait : OpType::Wait}) {
      for (std::size_t from = 0; from < channels.size(); from += kMaxChannelsPerOp) {
        const std::size_t to = std::min(channels.size(), from + kMaxChannelsPerOp);
        Op& op = ops(rank).emplace_back();
        op.type = type;
        op.channel_type = ChannelType::Memory;
        op.channels.assign(channels.begin() + static_cast<std::ptrdiff_t>(from),
                           channels.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
    ops(rank).push_back({});
  }
}

void PlanLowering::reduce(std::uint32_t rank, const std::vector<std::uint32_t>& group,
                          const Held& chunks, bool send) {
  for (const ChunkRun& run : lowering::runs_of(chunks)) {
    Op op;
    op.type = send ? OpType::ReadReduceSend : OpType::ReadReduce;
    op.channel_type = ChannelType::Memory;
    op.sources.push_back(own(run));
    op.targets.push_back(own(run));
    for (const std::uint32_t peer : group) {
      if (peer == rank) continue;
      op.sources.push_back(of_peer(rank, peer, run));
      if (send) op.targets.push_back(of_peer(rank, peer, run));
    }
    ops(rank).push_back(std::move(op));
  }
}

void PlanLowering::put(std::uint32_t rank, const std::vector<std::uint32_t>& group,
                       const Held& chunks) {
  for (const ChunkRun& run : lowering::runs_of(chunks)) {
    Op op;
    op.type = OpType::Put;
    op.channel_type = ChannelType::Memory;
    for (const std::uint32_t peer : group) {
      if (peer == rank) continue;
      op.sources.push_back(own(run));
      op.targets.push_back(of_peer(rank, peer, run));
    }
    ops(rank).push_back(std::move(op));
  }
}

void PlanLowering::add(p2::Collective collective, const std::vector<std::uint32_t>& group,
                       std::vector<Held>& held) {
  // Before the first step of all its members a group only has to know that they have begun.
  const bool first =
      std::ranges::all_of(group, [&](std::uint32_t rank) { return ops(rank).empty(); });
  meet(group, first);
  const std::vector<Held> parts = lowering::parts_of(held[group.front()], group.size());
  Held all;
  for (const std::uint32_t rank : group) {
    all.insert(all.end(), held[rank].begin(), held[rank].end());
  }
  std::sort(all.begin(), all.end());
  switch (collective) {
    case p2::Collective::AllReduce:
      for (std::size_t i = 0; i < group.size(); ++i) reduce(group[i], group, parts[i], true);
      break;
    case p2::Collective::ReduceScatter:
      for (std::size_t i = 0; i < group.size(); ++i) {
        reduce(group[i], group, parts[i], false);
        held[group[i]] = parts[i];
      }
      break;
    case p2::Collective::AllGather:
      for (const std::uint32_t rank : group) put(rank, group, held[rank]);
      for (const std::uint32_t rank : group) held[rank] = all;
      break;
    case p2::Collective::Reduce:
      reduce(group.front(), group, held[group.front()], false);
      for (std::size_t i = 1; i < group.size(); ++i) held[group[i]].clear();
      break;
    case p2::Collective::Broadcast: {
      const Held root = held[group.front()];
      put(group.front(), group, root);
      for (const std::uint32_t rank : group) held[rank] = root;
      break;
    }
  }
  meet(group, false);
}

std::string order_text(OpType type) {
  return type == OpType::RelaxedSignal || type == OpType::RelaxedWait ? " relaxed" : "";
}

}  // namespace

Plan lower_class(const Program& program, std::size_t class_index, const SourcePosition& where) {
  const Group& members = program.classes[class_index];
  const std::string& goal = program.terms.goal.name;
  if (goal != "allreduce" && goal != "reducescatter" && goal != "allgather" &&
      goal != "broadcast") {
    throw InputError(where, fmt::format("has the goal {}, expected allreduce, reducescatter, "
                                        "allgather or broadcast: one-sided plans know these",
                                        goal));
  }
  const auto ranks = static_cast<std::uint32_t>(members.size());
  const bool in_output = goal == "allgather";
  PlanLowering lowering(ranks, in_output ? Buffer::Output : Buffer::Input);
  std::vector<Held> held = lowering::initial_chunks(program, ranks);
  for (const p2::Step& step : program.steps) {
    if (static_cast<std::size_t>(step.collective) >= kCollectives.size()) {
      throw InputError(where, fmt::format("uses {}, expected the five collectives",
                                          program.terms.collectives.name_of(step.collective)));
    }
    for (const Group& group : step.groups) {
      const std::vector<std::uint32_t> inside = lowering::ranks_in_class(group, members, where);
      if (inside.size() > 1) lowering.add(step.collective, inside, held);
    }
  }
  Plan plan = std::move(lowering).take();
  plan.name = plan.collective = goal;
  plan.protocol = "Simple";
  plan.in_place = true;
  const std::uint32_t chunks = program.chunks();
  const std::uint32_t part = in_output || goal == "reducescatter" ? chunks / ranks : chunks;
  for (Gpu& gpu : plan.gpus) {
    gpu.input_chunks = in_output ? part : chunks;
    gpu.output_chunks = in_output ? chunks : part;
  }
  return plan;
}

std::string to_text(const Plan& plan) {
  std::string text = fmt::format("plan {} ranks {}{}\n", plan.collective, plan.gpus.size(),
                                 plan.in_place ? " inplace" : "");
  if (!plan.gpus.empty()) {
    text += fmt::format("buffer i {}\nbuffer o {}\n", plan.gpus.front().input_chunks,
                        plan.gpus.front().output_chunks);
  }
  text += "counter c per peer\nthreads\n";
  for (std::size_t r = 0; r < plan.gpus.size(); ++r) {
    const Gpu& gpu = plan.gpus[r];
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      const std::vector<Op>& ops = gpu.blocks[b].ops;
      if (ops.empty()) continue;
      text += fmt::format("rank {} block {}:\n", r, b);
      const auto ref = [&](const Region& region) {
        const bool remote = region.kind == Region::Kind::Remote;
        const Buffer buffer = remote ? gpu.remote_buffers[region.id].buffer : region.buffer;
        const std::string rank =
            remote ? fmt::format("@{}", gpu.remote_buffers[region.id].rank) : "";
        return fmt::format("{}{}[{}..{}]", letter(buffer), rank, region.index,
                           region.index + region.size - 1);
      };
      for (const Op& op : ops) {
        const bool signals = op.type == OpType::Signal || op.type == OpType::RelaxedSignal;
        if (op.type == OpType::Nop) {
          text += "  sync\n";
        } else if (op.type == OpType::Put) {
          for (std::size_t k = 0; k < op.sources.size(); ++k) {
            text += fmt::format("  put {} <- {}\n", ref(op.targets[k]), ref(op.sources[k]));
          }
        } else if (!op.sources.empty()) {
          text += fmt::format("  reduce {} <- ", ref(op.targets.front()));
          for (std::size_t k = 0; k < op.sources.size(); ++k) {
            text += (k == 0 ? "" : " + ") + ref(op.sources[k]);
          }
          text += "\n";
          if (op.targets.size() > 1) text += "  sync\n";
          for (std::size_t k = 1; k < op.targets.size(); ++k) {
            text += fmt::format("  put {} <- {}\n", ref(op.targets[k]), ref(op.targets.front()));
          }
        } else {
          for (const std::uint32_t channel : op.channels) {
            text += fmt::format("  {} {}{}\n", signals ? "signal c @" : "wait c from",
                                gpu.memory_peers[channel], order_text(op.type));
          }
        }
      }
    }
  }
  return text;
}

}  // namespace p2::onesided
