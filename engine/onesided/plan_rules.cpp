#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/onesided/unrolling.h"

namespace p2::onesided {
namespace {

// What the executor has room for.
constexpr std::size_t kMaxOps = 64;
constexpr std::size_t kMaxChannels = 16;
constexpr std::size_t kMaxChannelsPerOp = 8;
constexpr std::size_t kMaxBarriers = 16;
constexpr std::size_t kMaxSemaphoresPerOp = 16;

bool fits(const std::vector<Region>& regions, const std::vector<Region::Kind>& first,
          const std::optional<Region::Kind>& more) {
  if (regions.size() < first.size()) return false;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (i >= first.size() && !more) return false;
    if (regions[i].kind != (i < first.size() ? first[i] : *more)) return false;
  }
  return true;
}

/// The rules that do not depend on sizes; a broken one is thrown as a Violation inside this file
/// only.
class PlanRules {
 public:
  PlanRules(const Plan& plan, const std::string& source) : plan_(plan), source_(source) {}

  void check() const {
    check_shapes();
    check_limits();
    check_references();
    check_collective();
  }

 private:
  [[noreturn]] void fail(Rule rule, const std::string& reason, OpPlace place, const Op& op) const {
    throw broken_by(plan_, source_, rule, reason, place, op);
  }
  [[noreturn]] void fail_block(Rule rule, const std::string& reason, std::uint32_t gpu,
                               std::uint32_t block) const {
    const std::string text = fmt::format("gpu {} tb {}", gpu, block);
    const std::vector<Op>& ops = plan_.gpus[gpu].blocks[block].ops;
    SourcePosition where{source_};
    if (!ops.empty()) where = {source_, ops.front().line, ops.front().column};
    Violation violation;
    violation.rule = rule;
    violation.reason = fmt::format("{} {}.", text, reason);
    violation.happenings.push_back({text, where});
    throw violation;
  }
  [[noreturn]] void fail_plan(Rule rule, const std::string& reason) const {
    Violation violation;
    violation.rule = rule;
    violation.reason = reason;
    violation.happenings.push_back({"the plan", {source_}});
    throw violation;
  }

  void check_collective() const;
  void check_shapes() const;
  void check_limits() const;
  void check_references() const;
  void check_op_references(const Op& op, OpPlace place) const;

  const Plan& plan_;
  const std::string& source_;
};

void PlanRules::check_collective() const {
  if (!has_messages(plan_)) {
    fail_plan(
        Rule::Malformed,
        fmt::format("No message of {} to {} bytes can be cut into chunks of whole units of {} "
                    "bytes.",
                    plan_.min_bytes, plan_.max_bytes, plan_.alignment));
  }
  const auto ranks = static_cast<std::uint64_t>(plan_.gpus.size());
  for (std::size_t r = 0; r < plan_.gpus.size(); ++r) {
    const std::uint64_t in = plan_.gpus[r].input_chunks;
    const std::uint64_t out = plan_.gpus[r].output_chunks;
    bool right = true;
    // Chunks of all ranks are equally long, so that equal messages have equally many.
    const Gpu& first = plan_.gpus.front();
    const bool alike = std::max(in, out) == std::max(first.input_chunks, first.output_chunks);
    const bool same = in == out || (plan_.in_place && (in == 0 || out == 0));
    if (plan_.collective == "allreduce" || plan_.collective == "broadcast" ||
        plan_.collective == "sendrecv") {
      right = same && alike;
    } else if (plan_.collective == "alltoall") {
      right = same && alike && std::max(in, out) % ranks == 0;
    } else if (plan_.collective == "allgather") {
      right = alike && out == in * ranks;
    } else if (plan_.collective == "reducescatter") {
      right = alike && in == out * ranks;
    }
    if (!right) {
      fail_plan(
          Rule::SizeMismatch,
          fmt::format("gpu {} has {} chunks of input and {} of output{}, which is not a {} of {} "
                      "ranks.",
                      r, in, out, alike ? "" : ", gpu 0 others", plan_.collective, ranks));
    }
  }
}

void PlanRules::check_shapes() const {
  for_each_op(plan_, [&](const Op& op, OpPlace place) {
    const auto shape = shape_of(op.type);
    if (!shape) return;
    if (!fits(op.sources, shape->sources, shape->more_sources) ||
        !fits(op.targets, shape->targets, shape->more_targets)) {
      fail(Rule::Malformed, "has operands that it cannot have", place, op);
    }
    const bool port = op.channel_type == ChannelType::Port;
    const bool may_use_port = op.type == OpType::Put || op.type == OpType::PutPackets ||
                              op.type == OpType::ReadPutPackets ||
                              op.type == OpType::PutWithSignal ||
                              op.type == OpType::PutWithSignalAndFlush;
    const bool must_use_port =
        op.type == OpType::PutWithSignal || op.type == OpType::PutWithSignalAndFlush;
    const auto is_remote = [](const Region& region) { return region.kind == Region::Kind::Remote; };
    const bool remote =
        std::ranges::any_of(op.sources, is_remote) || std::ranges::any_of(op.targets, is_remote);
    for (std::size_t k = 0; k < op.sources.size(); ++k) {
      if (is_packet_source(op.type, k) && op.type != OpType::GroupStorePackets &&
          op.sources[k].buffer != Buffer::Scratch) {
        fail(Rule::Malformed,
             fmt::format("reads packets from {}, the executor looks for them in scratch",
                         letter(op.sources[k].buffer)),
             place, op);
      }
    }
    if ((port && !may_use_port) || (must_use_port && !port) ||
        (remote && !port && op.channel_type != ChannelType::Memory)) {
      fail(Rule::Malformed,
           fmt::format("does not work on a {} channel", to_string(op.channel_type)), place, op);
    }
  });
  for_each_op(plan_, [&](const Op& op, OpPlace place) {
    const bool signals = op.type == OpType::Signal || op.type == OpType::RelaxedSignal ||
                         op.type == OpType::Wait || op.type == OpType::RelaxedWait;
    if ((signals && op.channel_type != ChannelType::Memory &&
         op.channel_type != ChannelType::Port) ||
        (op.type == OpType::Flush && op.channel_type != ChannelType::Port)) {
      fail(Rule::Malformed,
           fmt::format("does not work on a {} channel", to_string(op.channel_type)), place, op);
    }
  });
}

void PlanRules::check_limits() const {
  const auto limit = [&](std::size_t found, std::size_t allowed, const char* what, OpPlace place) {
    if (found <= allowed) return;
    fail_block(Rule::ExecutorLimit,
               fmt::format("has {} {}, the executor has room for {}", found, what, allowed),
               place.gpu, place.block);
  };
  for (std::uint32_t g = 0; g < plan_.gpus.size(); ++g) {
    for (std::uint32_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) {
      const ThreadBlock& block = plan_.gpus[g].blocks[b];
      std::size_t ops = block.ops.size();
      for (const Op& op : block.ops) ops += op.body.size();
      limit(ops, kMaxOps, "ops", {g, b});
      for (const ChannelType type : {ChannelType::Memory, ChannelType::Port, ChannelType::Switch}) {
        limit(flattened(block.channels, type).size(), kMaxChannels, "channels of a type", {g, b});
        limit(flattened(block.remote_buffers, type).size(), kMaxChannels, "remote buffers", {g, b});
      }
    }
  }
  for_each_op(plan_, [&](const Op& op, OpPlace place) {
    limit(op.channels.size(), kMaxChannelsPerOp, "channels in one op", place);
    limit(op.semaphores.size(), kMaxSemaphoresPerOp, "semaphores in one op", place);
    // Thread j serves the j-th: what is beyond the last thread would never happen.
    const std::size_t lanes = std::max(op.channels.size(), op.semaphores.size());
    if (lanes > plan_.threads) {
      fail(Rule::ExecutorLimit,
           fmt::format("has {} channels or semaphores, each served by a thread of its own, and its "
                       "thread block {} threads",
                       lanes, plan_.threads),
           place, op);
    }
    if (op.type == OpType::Barrier) {
      limit(std::size_t{op.barrier} + 1, kMaxBarriers, "barriers", place);
    }
  });
}

void PlanRules::check_op_references(const Op& op, OpPlace place) const {
  const Gpu& gpu = plan_.gpus[place.gpu];
  const ThreadBlock& block = gpu.blocks[place.block];
  const ChannelType type = op.channel_type;
  const std::vector<std::uint32_t> own = flattened(block.channels, type);
  for (const std::uint32_t id : op.channels) {
    if (id >= own.size()) {
      fail(Rule::NoChannel,
           fmt::format("names {} channel {} of its thread block, which has {}", to_string(type), id,
                       own.size()),
           place, op);
    }
  }
  for (const std::uint32_t id : op.semaphores) {
    if (id >= gpu.semaphores.size()) {
      fail(Rule::NoChannel,
           fmt::format("names semaphore {}, its GPU has {}", id, gpu.semaphores.size()), place, op);
    }
  }
  const std::vector<std::uint32_t> buffers = flattened(block.remote_buffers, type);
  const std::vector<std::uint32_t> switches = flattened(block.channels, ChannelType::Switch);
  for (const std::vector<Region>* const regions : {&op.sources, &op.targets}) {
    for (const Region& region : *regions) {
      if (region.kind == Region::Kind::Remote) {
        if (region.id >= buffers.size()) {
          fail(Rule::NoBuffer,
               fmt::format("names remote buffer {} for {}, its thread block has {}", region.id,
                           to_string(type), buffers.size()),
               place, op);
        }
        const RemoteBuffer& found = gpu.remote_buffers[buffers[region.id]];
        if (std::find(found.access.begin(), found.access.end(), type) == found.access.end()) {
          fail(Rule::NoBuffer,
               fmt::format("names remote buffer {}, which is not registered for {} channels",
                           buffers[region.id], to_string(type)),
               place, op);
        }
      } else if (region.kind == Region::Kind::Switch && region.id >= switches.size()) {
        fail(Rule::NoChannel,
             fmt::format("names switch channel {} of its thread block, which has {}", region.id,
                         switches.size()),
             place, op);
      }
    }
  }
}

void PlanRules::check_references() const {
  for (std::uint32_t g = 0; g < plan_.gpus.size(); ++g) {
    const Gpu& gpu = plan_.gpus[g];
    for (std::uint32_t b = 0; b < gpu.blocks.size(); ++b) {
      for (const auto& [type, count] : {std::pair{ChannelType::Memory, gpu.memory_peers.size()},
                                        std::pair{ChannelType::Port, gpu.port_peers.size()},
                                        std::pair{ChannelType::Switch, gpu.switches.size()}}) {
        for (const std::uint32_t id : flattened(gpu.blocks[b].channels, type)) {
          if (id >= count) {
            fail_block(
                Rule::NoChannel,
                fmt::format("uses {} channel {}, its GPU has {}", to_string(type), id, count), g,
                b);
          }
        }
        for (const std::uint32_t id : flattened(gpu.blocks[b].remote_buffers, type)) {
          if (id >= gpu.remote_buffers.size()) {
            fail_block(
                Rule::NoBuffer,
                fmt::format("uses remote buffer {}, its GPU has {}", id, gpu.remote_buffers.size()),
                g, b);
          }
        }
      }
    }
  }
  for_each_op(plan_, [&](const Op& op, OpPlace place) { check_op_references(op, place); });
  const auto ranks = plan_.gpus.size();
  const auto check_peer = [&](std::uint32_t g, std::uint32_t peer, const char* what) {
    if (peer < ranks) return;
    fail_plan(Rule::NoPeer,
              fmt::format("gpu {} has {} gpu {}, the plan has {} GPUs.", g, what, peer, ranks));
  };
  for (std::uint32_t g = 0; g < ranks; ++g) {
    const Gpu& gpu = plan_.gpus[g];
    for (const std::uint32_t peer : gpu.memory_peers) check_peer(g, peer, "a memory channel to");
    for (const std::uint32_t peer : gpu.port_peers) check_peer(g, peer, "a port channel to");
    for (const RemoteBuffer& each : gpu.remote_buffers) {
      check_peer(g, each.rank, "a remote buffer of");
    }
    for (const SwitchChannel& each : gpu.switches) {
      if (each.ranks.empty()) {
        fail_plan(Rule::NoPeer, fmt::format("gpu {} has a switch channel without ranks.", g));
      }
      for (const std::uint32_t peer : each.ranks) check_peer(g, peer, "a switch channel with");
    }
  }
  for_each_op(plan_, [&](const Op& op, OpPlace place) {
    if (op.channel_type != ChannelType::Port || op.targets.empty()) return;
    if (op.channels.size() != op.targets.size()) {
      fail(Rule::SizeMismatch,
           fmt::format("has {} channels for {} transfers", op.channels.size(), op.targets.size()),
           place, op);
    }
    for (std::size_t j = 0; j < op.channels.size(); ++j) {
      const std::uint32_t peer =
          plan_.gpus[place.gpu]
              .port_peers[channel_at(plan_, place, ChannelType::Port, op.channels[j])];
      const std::uint32_t owner =
          remote_buffer(plan_, place, ChannelType::Port, op.targets[j]).rank;
      if (peer != owner) {
        fail(Rule::WrongPeer,
             fmt::format("writes a buffer of gpu {} through a channel to gpu {}", owner, peer),
             place, op);
      }
    }
  });
}

}  // namespace

Violation broken_by(const Plan& plan, const std::string& source, Rule rule,
                    const std::string& reason, OpPlace place, const Op& op) {
  const std::string text = describe(plan, place);
  Violation violation;
  violation.rule = rule;
  violation.reason = fmt::format("{} {}.", text, reason);
  violation.happenings.push_back({text, {source, op.line, op.column}});
  return violation;
}

std::optional<Violation> find_malformed(const Plan& plan, const std::string& source) {
  try {
    PlanRules(plan, source).check();
  } catch (const Violation& violation) {
    return violation;
  }
  return std::nullopt;
}

}  // namespace p2::onesided
