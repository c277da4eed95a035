#include "tests/onesided/plans.h"

#include <algorithm>
#include <array>
#include <random>
#include <sstream>

#include <fmt/format.h>

namespace p2::onesided {

std::vector<std::string> small_plans() {
  return {// One-shot all-reduce.
          R"(plan allreduce ranks 2
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  for p in all: put s@p[r] <- i[0]
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  reduce o[0] <- s[0] + s[1]
)",
          // The same by threads that meet.
          R"(plan allreduce ranks 2
threads
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  sync
  for p in all: put s@p[r] <- i[0]
  sync
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  sync
  reduce o[0] <- s[0] + s[1]
)",
          // Fences around relaxed signals.
          R"(plan allreduce ranks 2
buffer s 2
counter c per peer
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  for p in all: put s@p[r] <- i[0]
  fence release
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  fence acquire
  reduce o[0] <- s[0] + s[1]
)",
          // Packets.
          R"(plan allreduce ranks 2
buffer s 2 packets double
rank all:
  for p in all: put_packets s@p[r] <- i[0]
  reduce o[0] <- s[0] + s[1]
)",
          R"(plan allgather ranks 3 inplace
buffer s 3 packets double
rank all block 0:
  for p in all except r: put_packets s@p[r] <- o[r]
rank all block 1..2:
  poll o[(r+b)%n] <- s[(r+b)%n]
)",
          // The proxy.
          R"(plan alltoall ranks 2
buffer s 2 double
counter n per peer
rank all block 0:
  for p in all except r: async put s@p[r] <- i[p]
  for p in all except r: async signal n @p
  copy o[r] <- i[r]
  flush
rank all block 1:
  wait n from (r+1)%n
  copy o[(r+1)%n] <- s[(r+1)%n]
)",
          // A counter that all ranks share.
          R"(plan allgather ranks 2
counter begun
counter part per peer
rank all:
  for p in all: signal begun @p relaxed
  wait begun += n relaxed
  for p in all: put o@p[r] <- i[0]
  for p in all except r: signal part @p
  for p in all except r: wait part from p
)",
          R"(plan allgather ranks 3
counter begun
counter done
rank all:
  for p in all: signal begun @p relaxed
  wait begun += n relaxed
  for p in all: put o@p[r] <- i[0]
  for p in all: signal done @p
  wait done += n
)",
          // Blocks that share a counter.
          R"(plan sendrecv ranks 2
counter c
rank all:
  signal c @(1-r) relaxed
  wait c += 1 relaxed
  put o@(1-r)[0] <- i[0]
  signal c @(1-r)
  wait c += 1
)",
          R"(plan allreduce ranks 1
buffer t 2
counter c
rank 0 block 0:
  copy t[0] <- i[0]
  signal c @0
rank 0 block 1:
  copy t[1] <- i[1]
  signal c @0
rank 0 block 2:
  wait c += 2
  copy o[0] <- t[0]
  copy o[1] <- t[1]
)",
          R"(plan allreduce ranks 1
buffer t 2
counter c
rank 0 block 0:
  copy t[0] <- i[0]
  signal c @0
  signal c @0
rank 0 block 1:
  wait c
  copy o[0] <- t[0]
rank 0 block 2:
  wait c
  copy o[1] <- i[1]
)",
          // Absolute expectations.
          R"(plan broadcast ranks 3
counter c
counter d
rank 0:
  wait c >= 2*launch+2
  for p in all: put o@p[0] <- i[0]
  for p in 1..2: signal d @p
rank 1..2:
  signal c @0 relaxed
  wait d >= launch+1
)",
          // The switch.
          R"(plan allreduce ranks 2 inplace
buffer t 1
counter c per peer
threads
rank all:
  for p in all except r: signal c @p relaxed
  for p in all except r: wait c from p relaxed
  sync
  multimem_ld_reduce t[0] <- all i[r]
  sync
  multimem_st all i[r] <- t[0]
  sync
  for p in all except r: signal c @p
  for p in all except r: wait c from p
)",
          // Blocks of one rank that hand over.
          R"(plan sendrecv ranks 2
buffer s 1
counter c per peer
counter own
rank all block 0:
  copy s[0] <- i[0]
  barrier 0..1
rank all block 1:
  signal c @(r+1)%n relaxed
  wait c from (r+1)%n relaxed
  barrier 0..1
  put o@(r+1)%n[0] <- s[0]
  signal c @(r+1)%n
  wait c from (r+1)%n
)",
          R"(plan sendrecv ranks 2
buffer s 1
counter c per peer
counter own init 1
counter full
rank all block 0:
  wait own gpu
  copy s[0] <- i[0]
  signal full @r gpu
rank all block 1:
  signal c @(r+1)%n relaxed
  wait c from (r+1)%n
  wait full
  put o@(r+1)%n[0] <- s[0]
  signal own @r gpu
  signal c @(r+1)%n
  wait c from (r+1)%n
)",
          // Gets.
          R"(plan reducescatter ranks 2
buffer t 1
counter c per peer
rank all:
  for p in all except r: signal c @p
  for p in all except r: wait c from p
  get t[0] <- i@(r+1)%n[r]
  for p in all except r: signal c @p
  reduce o[0] <- i[r] + t[0]
  for p in all except r: wait c from p
)",
          // A ring.
          R"(plan broadcast ranks 3
buffer s 1 double
counter c per peer
rank 0:
  put s@1[0] <- i[0]
  signal c @1
  copy o[0] <- i[0]
  wait c from 2
rank 1..2:
  wait c from r-1
  copy o[0] <- s[0]
  for p in (r+1)%n except 0: put s@p[0] <- s[0]
  signal c @(r+1)%n
)",
          // Threads that fence, each what it signals and has seen.
          R"(plan allreduce ranks 2
threads
buffer s 2
counter c per peer
counter d per peer
counter e
rank all block 0:
  for p in all except r: signal d @p relaxed
  for p in all except r: wait d from p relaxed
  sync
  for p in all: put s@p[r] <- i[0]
  sync
  fence release
  for p in all: signal c @p relaxed
  wait e
  sync
  reduce o[0] <- s[0] + s[1]
rank all block 1:
  for p in all: wait c from p relaxed
  fence acquire
  sync
  signal e @r
)",
          // A poll whose elements see packets of different ranks.
          R"(plan allgather ranks 2
buffer s 2 packets double
counter c per peer
counter d per peer
rank all block 0:
  put_packets s@0[r] <- i[0]
  put_packets s@1[r] <- i[0]
rank 0 block 1:
  signal d @1 relaxed
  wait d from 1 relaxed
  put o@1[0..1] <- s[0..1]
  signal c @1
  wait c from 1
rank 1 block 1:
  signal d @0 relaxed
  wait d from 0 relaxed
  put o@0[0..1] <- s[0..1]
  signal c @0
  wait c from 0
)",
          // Expectations that rise with the launch, of threads.
          R"(plan sendrecv ranks 2
threads
counter c per peer
rank all:
  signal c @1-r relaxed
  wait c from 1-r >= 2*launch+1 relaxed
  sync
  put o@(1-r)[0] <- i[0]
  sync
  signal c @1-r
  wait c from 1-r >= 2*launch+2
)"};
}

std::string mutated(const std::string& plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> lines;
  std::istringstream in(plan);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto replace = [](std::string& line, const std::string& what, const std::string& by) {
    const std::size_t at = line.find(what);
    if (at != std::string::npos) line.replace(at, what.size(), by);
  };
  const std::uint64_t changes = 1 + random() % 3;
  for (std::uint64_t change = 0; change < changes; ++change) {
    std::vector<std::size_t> statements;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      if (lines[i].starts_with("  ")) statements.push_back(i);
    }
    if (statements.size() < 2) break;
    const std::size_t at = statements[random() % statements.size()];
    switch (random() % 13) {
      case 8: {  // threads or none
        const auto found = std::find(lines.begin(), lines.end(), "threads");
        if (found == lines.end()) {
          lines.insert(lines.begin() + 1, "threads");
        } else {
          lines.erase(found);
        }
        break;
      }
      case 9:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at),
                     random() % 2 == 0 ? "  fence acquire" : "  fence release");
        break;
      case 10: {  // what is expected
        constexpr std::array<const char*, 5> kExpected = {"launch+1", "2*launch+2", "launch+2",
                                                          "3*launch+1", "2"};
        if (const std::size_t old = lines[at].find(">= "); old != std::string::npos) {
          lines[at] = lines[at].substr(0, old + 3) + kExpected[random() % kExpected.size()];
        } else if (lines[at].starts_with("  wait") && lines[at].find('=') == std::string::npos) {
          replace(lines[at], " relaxed", "");
          lines[at] += std::string(" >= ") + kExpected[random() % kExpected.size()];
        }
        break;
      }
      case 11:
        replace(lines[at], " sys", "");
        if (lines[at].find("signal") != std::string::npos ||
            lines[at].find("wait") != std::string::npos) {
          lines[at] += " gpu";
        }
        break;
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[at]);
        break;
      case 2:
        if (at + 1 < lines.size() && lines[at + 1].starts_with("  ")) {
          std::swap(lines[at], lines[at + 1]);
        }
        break;
      case 3:
        replace(lines[at], " relaxed", "");
        break;
      case 4:
        if (lines[at].find("signal") != std::string::npos ||
            lines[at].find("wait") != std::string::npos) {
          if (lines[at].find("relaxed") == std::string::npos) lines[at] += " relaxed";
        }
        break;
      case 5:
        for (std::string& line : lines) {
          if (line.starts_with("buffer")) replace(line, " double", "");
        }
        break;
      case 6:
        replace(lines[at], "[0]", "[1]");
        break;
      case 7:
        replace(lines[at], "[r]", "[0]");
        break;
      default:
        replace(lines[0], random() % 2 == 0 ? " inplace" : "ranks 2",
                random() % 2 == 0 ? "" : "ranks 3");
        break;
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Plan mutated(Plan plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint64_t change = 1 + random() % 2; change > 0; --change) {
    Gpu& gpu = plan.gpus[random() % plan.gpus.size()];
    if (gpu.blocks.empty()) continue;
    std::vector<Op>* ops = &gpu.blocks[random() % gpu.blocks.size()].ops;
    if (ops->empty()) continue;
    std::size_t at = random() % ops->size();
    if (!(*ops)[at].body.empty()) {
      ops = &(*ops)[at].body;
      at = random() % ops->size();
    }
    const auto place = ops->begin() + static_cast<std::ptrdiff_t>(at);
    Op& op = *place;
    const auto exchange_type = [&](OpType a, OpType b) {
      op.type = op.type == a ? b : op.type == b ? a : op.type;
    };
    switch (random() % 10) {
      case 0:
        ops->erase(place);
        break;
      case 1:
        ops->insert(place, Op(op));
        break;
      case 2:
        if (at + 1 < ops->size()) std::swap(op, (*ops)[at + 1]);
        break;
      case 3:
        exchange_type(OpType::Signal, OpType::RelaxedSignal);
        exchange_type(OpType::Wait, OpType::RelaxedWait);
        exchange_type(OpType::PutWithSignal, OpType::PutWithSignalAndFlush);
        break;
      case 4:
        if (!op.sources.empty()) op.sources[random() % op.sources.size()].index ^= 1U;
        break;
      case 5:
        if (!op.targets.empty()) op.targets[random() % op.targets.size()].index ^= 1U;
        break;
      case 6:
        plan.double_scratch = !plan.double_scratch;
        break;
      case 7:
        plan.in_place = !plan.in_place;
        break;
      case 8:
        ops->insert(place, Op{});
        break;
      default:
        if (!op.channels.empty()) op.channels[random() % op.channels.size()] = random() % 4;
        break;
    }
  }
  return plan;
}

namespace {

Region own(Buffer buffer, std::uint32_t index) { return {Region::Kind::Own, buffer, 0, index, 1}; }
Region remote(std::uint32_t id, std::uint32_t index) {
  return {Region::Kind::Remote, {}, id, index, 1};
}

/// Two ranks with a memory and a port channel to each other, and buffer k of the other: i, o, s.
Plan pair_of_ranks(const std::string& collective, std::uint32_t input, std::uint32_t output,
                   std::uint32_t scratch) {
  using enum ChannelType;
  Plan plan;
  plan.name = collective;
  plan.collective = collective;
  plan.protocol = "Simple";
  for (std::uint32_t r = 0; r < 2; ++r) {
    Gpu gpu;
    gpu.input_chunks = input;
    gpu.output_chunks = output;
    gpu.scratch_chunks = scratch;
    gpu.memory_peers = gpu.port_peers = {1 - r};
    for (const Buffer each : {Buffer::Input, Buffer::Output, Buffer::Scratch})
      gpu.remote_buffers.push_back({1 - r, each, {Memory, Port}});
    gpu.switches = {{Buffer::Input, {0, 1}}};
    gpu.semaphores = {0};
    ThreadBlock block;
    block.channels = {{Memory, {0}}, {Port, {0}}, {Switch, {0}}};
    block.remote_buffers = {{Memory, {0, 1, 2}}, {Port, {0, 1, 2}}};
    gpu.blocks = {block, block};
    plan.gpus.push_back(std::move(gpu));
  }
  return plan;
}

Op on_channel(OpType type, ChannelType channel = ChannelType::Memory) {
  Op op;
  op.type = type;
  op.channel_type = channel;
  op.channels = {0};
  return op;
}
Op data(OpType type, std::vector<Region> sources, std::vector<Region> targets,
        ChannelType channel = ChannelType::Memory) {
  Op op;
  op.type = type;
  op.sources = std::move(sources);
  op.targets = std::move(targets);
  op.channel_type = channel;
  if (channel == ChannelType::Port) op.channels = {0};
  return op;
}

/// Both ranks have begun.
void begin_together(std::vector<Op>& ops) {
  ops.push_back(on_channel(OpType::RelaxedSignal));
  ops.push_back(on_channel(OpType::RelaxedWait));
  ops.emplace_back();
}
/// Both ranks have done what they did before.
void end_together(std::vector<Op>& ops) {
  ops.emplace_back();
  ops.push_back(on_channel(OpType::Signal));
  ops.push_back(on_channel(OpType::Wait));
  ops.emplace_back();
}

}  // namespace

std::vector<Plan> small_execution_plans() {
  using enum Buffer;
  using enum OpType;
  std::vector<Plan> all;
  const auto add = [&](Plan plan, const auto& fill) {
    for (std::uint32_t r = 0; r < 2; ++r) {
      std::vector<ThreadBlock>& blocks = plan.gpus[r].blocks;
      fill(blocks[0].ops, blocks[1].ops, r);
      if (blocks[1].ops.empty()) blocks.pop_back();
    }
    all.push_back(std::move(plan));
  };
  add(pair_of_ranks("allreduce", 1, 1, 2), [](auto& ops, auto&, std::uint32_t r) {
    begin_together(ops);
    ops.push_back(data(Put, {own(Input, 0)}, {remote(2, r)}));
    ops.push_back(data(Copy, {own(Input, 0)}, {own(Scratch, r)}));
    end_together(ops);
    ops.push_back(data(OpType::Reduce, {own(Scratch, 0), own(Scratch, 1)}, {own(Output, 0)}));
  });
  add(pair_of_ranks("allreduce", 1, 1, 2), [](auto& ops, auto&, std::uint32_t) {
    begin_together(ops);
    ops.push_back(data(ReadReduce, {own(Input, 0), remote(0, 0)}, {own(Output, 0)}));
    end_together(ops);
  });
  Plan packets = pair_of_ranks("allreduce", 1, 1, 1);
  packets.protocol = "LL";
  packets.double_scratch = true;
  add(packets, [](auto& ops, auto&, std::uint32_t) {
    ops.push_back(data(PutPackets, {own(Input, 0)}, {remote(2, 0)}));
    ops.push_back(data(ReducePackets, {own(Input, 0), own(Scratch, 0)}, {own(Output, 0)}));
  });
  add(pair_of_ranks("sendrecv", 1, 1, 1), [](auto& ops, auto&, std::uint32_t) {
    begin_together(ops);
    ops.push_back(data(PutWithSignalAndFlush, {own(Input, 0)}, {remote(2, 0)}, ChannelType::Port));
    ops.push_back(on_channel(Wait, ChannelType::Port));
    ops.emplace_back();
    ops.push_back(data(Copy, {own(Scratch, 0)}, {own(Output, 0)}));
    end_together(ops);
  });
  Plan in_place = pair_of_ranks("allreduce", 2, 2, 0);
  in_place.in_place = true;
  add(in_place, [](auto& ops, auto&, std::uint32_t r) {
    begin_together(ops);
    const Region half{Region::Kind::Switch, {}, 0, r, 1};
    ops.push_back(data(GroupLoadReduceStore, {half}, {half}, ChannelType::Switch));
    end_together(ops);
  });
  // One block copies, the other one puts what was copied.
  const auto two_blocks = [](const Op& after, const Op& before) {
    return [=](auto& ops, auto& others, std::uint32_t r) {
      ops.push_back(data(Copy, {own(Input, 0)}, {own(Output, r)}));
      if (after.type != Barrier) ops.emplace_back();
      ops.push_back(after);
      begin_together(others);
      others.push_back(before);
      others.emplace_back();
      others.push_back(data(Put, {own(Output, r)}, {remote(1, r)}));
      end_together(others);
    };
  };
  Op release;
  release.type = SemaphoreRelease;
  release.semaphores = {0};
  Op acquire = release;
  acquire.type = SemaphoreAcquire;
  add(pair_of_ranks("allgather", 1, 2, 0), two_blocks(release, acquire));
  Op barrier;
  barrier.type = Barrier;
  barrier.barrier_blocks = 2;
  add(pair_of_ranks("allgather", 1, 2, 0), two_blocks(barrier, barrier));
  // Both blocks do their slice.
  Plan slices = pair_of_ranks("allgather", 1, 2, 0);
  for (std::uint32_t r = 0; r < 2; ++r) {
    slices.gpus[r].memory_peers = {1 - r, 1 - r};
    slices.gpus[r].blocks[1].channels[0].ids = {1};
  }
  add(slices, [](auto& ops, auto& others, std::uint32_t r) {
    for (auto* const each : {&ops, &others}) {
      begin_together(*each);
      each->push_back(data(Put, {own(Input, 0)}, {remote(1, r)}));
      each->back().group_size = 2;
      each->back().group_member = each == &ops ? 0 : 1;
      each->push_back(data(Copy, {own(Input, 0)}, {own(Output, r)}));
      each->back().group_size = 2;
      each->back().group_member = each == &ops ? 0 : 1;
      end_together(*each);
    }
  });
  return all;
}

std::string random_shared_plan(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const std::uint64_t ranks = below(2) == 0 ? 1 : 1 + below(3),
                      blocks = 1 + below(3) + (ranks == 1 ? 1 : 0);
  std::vector<std::vector<std::string>> codes(ranks * blocks);
  const auto insert = [&](std::vector<std::string>& code, const std::string& line) {
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(below(code.size() + 1)), line);
  };
  const std::uint64_t counters = 1 + below(2);
  std::string text =
      fmt::format("plan sendrecv ranks {}\n{}buffer t 2{}\nbuffer v {}\n", ranks,
                  below(8) == 0 ? "threads\n" : "", below(4) == 0 ? " double" : "", blocks);
  for (std::uint64_t b = 0; b < ranks * blocks; ++b) {
    for (std::uint64_t k = below(3); k > 0; --k) {
      const std::uint64_t cell = below(2), rank = below(ranks);
      insert(codes[b], below(2) == 0
                           ? fmt::format("put t@{}[{}] <- i[0]", rank, cell)
                           : fmt::format("get v[{}] <- t@{}[{}]", b % blocks, rank, cell));
    }
  }
  for (std::uint64_t c = 0; c < counters; ++c) {
    const bool has_init = below(5) == 0;
    text +=
        fmt::format("counter c{}{}\n", c, has_init ? fmt::format(" init {}", 1 + below(2)) : "");
    for (std::uint64_t owner = 0; owner < ranks; ++owner) {
      std::uint64_t left = below(5);
      for (std::uint64_t k = 0; k < left; ++k) {
        insert(codes[below(codes.size())],
               fmt::format("{}signal c{} @{}{}", below(8) == 0 ? "async " : "", c, owner,
                           below(4) == 0 ? " relaxed" : ""));
      }
      if (below(16) == 0) ++left;  // or less, or more than there is
      if (below(16) == 0 && left > 0) --left;
      const bool one_waiter = below(2) == 0;
      const std::uint64_t waiter = below(blocks);
      while (left > 0) {
        const std::uint64_t amount = 1 + below(left);
        left -= amount;
        insert(codes[owner * blocks + (one_waiter ? waiter : below(blocks))],
               fmt::format("wait c{} += {}{}", c, amount, below(4) == 0 ? " relaxed" : ""));
      }
    }
  }
  const std::uint64_t closing = below(3);  // ranks meet at the end of a launch, and at its begin
  text += "counter z per peer\n";
  for (std::uint64_t b = 0; b < codes.size(); ++b) {
    const std::uint64_t own = b % blocks;
    const std::string all = blocks == 1 ? "" : fmt::format("  barrier 0..{}\n", blocks - 1);
    const std::string meet =
        all +
        (own == 0 ? "  for p in all except r: signal z @p\n  for p in all except r: wait z from p\n"
                  : "") +
        all;
    text += fmt::format("rank {} block {}:\n{}", b / blocks, own,
                        own == 0 ? "  copy o[0] <- i[0]\n" : "");
    if (closing == 2) text += meet;
    for (const std::string& line : codes[b]) text += "  " + line + "\n";
    if (closing != 0) text += meet;
    if (closing == 0) text += "  sync\n";
  }
  return text;
}

}  // namespace p2::onesided
