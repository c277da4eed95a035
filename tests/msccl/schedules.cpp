#include "tests/msccl/schedules.h"

#include <algorithm>

#include "engine/msccl/verdict.h"

namespace p2::msccl {
namespace {

using enum StepType;

Region in(std::uint32_t offset) { return {Buffer::Input, offset}; }
Region out(std::uint32_t offset) { return {Buffer::Output, offset}; }
Region scratch(std::uint32_t offset) { return {Buffer::Scratch, offset}; }

/// `input`, `output` and `scratch` chunks on each of `n` GPUs.
Algorithm empty(const char* collective, std::uint32_t n, std::uint32_t input, std::uint32_t output,
                std::uint32_t scratch_chunks = 0) {
  Algorithm algorithm;
  algorithm.name = collective;
  algorithm.collective = collective;
  algorithm.chunks = std::max(input, output);
  algorithm.in_place = algorithm.out_of_place = true;
  algorithm.gpus.resize(n, {{input, output, scratch_chunks}, {}});
  return algorithm;
}

ThreadBlock& add_block(Gpu& gpu, std::optional<std::uint32_t> send = {},
                       std::optional<std::uint32_t> receive = {}) {
  const auto id = static_cast<std::uint32_t>(gpu.blocks.size());
  gpu.blocks.push_back({id, send, receive});
  return gpu.blocks.back();
}

Step& add(ThreadBlock& block, StepType type, Region source, Region destination,
          std::uint32_t count = 1) {
  const auto number = static_cast<std::uint32_t>(block.steps.size());
  block.steps.push_back({type, number, source, destination, count});
  return block.steps.back();
}

}  // namespace

Algorithm ring_allreduce(std::uint32_t n) {
  Algorithm algorithm = empty("allreduce", n, n, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    ThreadBlock& block = add_block(algorithm.gpus[r], (r + 1) % n, (r + n - 1) % n);
    const auto back = [&](std::uint32_t k) { return (r + 2 * n - k) % n; };
    add(block, Send, in(r), in(r));
    for (std::uint32_t k = 1; k + 1 < n; ++k) {
      add(block, ReceiveReduceSend, in(back(k)), in(back(k)));
    }
    add(block, ReceiveReduceCopySend, in(back(n - 1)), out(back(n - 1)));
    for (std::uint32_t k = 0; k + 2 < n; ++k) add(block, ReceiveCopySend, {}, out(back(k)));
    add(block, Receive, {}, out(back(n - 2)));
  }
  return algorithm;
}

Algorithm ring_allgather(std::uint32_t n) {
  Algorithm algorithm = empty("allgather", n, 1, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    ThreadBlock& block = add_block(algorithm.gpus[r], (r + 1) % n, (r + n - 1) % n);
    add(block, Copy, in(0), out(r));
    add(block, Send, out(r), {});
    for (std::uint32_t k = 1; k + 1 < n; ++k) {
      add(block, ReceiveCopySend, {}, out((r + n - k) % n));
    }
    add(block, Receive, {}, out((r + 1) % n));
  }
  return algorithm;
}

Algorithm pairwise_alltoall(std::uint32_t n) {
  Algorithm algorithm = empty("alltoall", n, n, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      if (peer == r) {
        add(add_block(algorithm.gpus[r]), Copy, in(r), out(r));
      } else {
        ThreadBlock& block = add_block(algorithm.gpus[r], peer, peer);
        add(block, Send, in(peer), {});
        add(block, Receive, {}, out(peer));
      }
    }
  }
  return algorithm;
}

Algorithm direct_reduce_scatter(std::uint32_t n) {
  Algorithm algorithm = empty("reduce_scatter", n, n, 1, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    Gpu& gpu = algorithm.gpus[r];
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      ThreadBlock& block = add_block(gpu);
      if (peer == r) continue;  // the sum, below
      block.send_peer = block.receive_peer = peer;
      add(block, Send, in(peer), {});
      add(block, Receive, {}, scratch(peer)).publishes = true;
    }
    add(gpu.blocks[r], Copy, in(r), out(0));
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      if (peer == r) continue;
      add(gpu.blocks[r], Nop, {}, {}, 0).waits_for = {peer, 1};
      add(gpu.blocks[r], Reduce, scratch(peer), out(0));
    }
  }
  return algorithm;
}

Algorithm chain_broadcast(std::uint32_t n) {
  Algorithm algorithm = empty("broadcast", n, 2, 2);
  for (std::uint32_t r = 0; r < n; ++r) {
    ThreadBlock& block = add_block(algorithm.gpus[r]);
    if (r + 1 < n) block.send_peer = r + 1;
    if (r > 0) block.receive_peer = r - 1;
    if (r == 0) {
      add(block, Send, in(0), {}, 2);
      add(block, Copy, in(0), out(0), 2);
    } else {
      add(block, r + 1 < n ? ReceiveCopySend : Receive, {}, out(0), 2);
    }
  }
  return algorithm;
}

Algorithm chain_reduce(std::uint32_t n) {
  Algorithm algorithm = empty("reduce", n, 2, 2);
  for (std::uint32_t r = 0; r < n; ++r) {
    ThreadBlock& block = add_block(algorithm.gpus[r]);
    if (r > 0) block.send_peer = r - 1;
    if (r + 1 < n) block.receive_peer = r + 1;
    const StepType type = r == 0 ? ReceiveReduceCopy : r + 1 < n ? ReceiveReduceSend : Send;
    add(block, type, in(0), out(0), 2);
  }
  return algorithm;
}

Algorithm exchange(std::uint32_t messages, std::uint32_t count, Protocol protocol) {
  const std::uint32_t part = messages * count;
  Algorithm algorithm = empty("alltoall", 2, 2 * part, 2 * part);
  algorithm.in_place = false;
  algorithm.protocol = protocol;
  for (std::uint32_t r = 0; r < 2; ++r) {
    add(add_block(algorithm.gpus[r]), Copy, in(r * part), out(r * part), part);
    ThreadBlock& block = add_block(algorithm.gpus[r], 1 - r, 1 - r);
    const std::uint32_t start = (1 - r) * part;
    for (std::uint32_t k = 0; k < messages; ++k) add(block, Send, in(start + k * count), {}, count);
    for (std::uint32_t k = 0; k < messages; ++k) {
      add(block, Receive, {}, out(start + k * count), count);
    }
  }
  return algorithm;
}

Algorithm cut(const Algorithm& algorithm, std::uint32_t chunks) {
  constexpr std::uint32_t kSpace = 100;  // between the numbers of old steps
  Algorithm finer = algorithm;
  for (Gpu& gpu : finer.gpus) {
    for (ThreadBlock& block : gpu.blocks) {
      std::vector<Step> steps;
      for (const Step& step : block.steps) {
        const std::uint32_t parts = step.count == 0 ? 1 : (step.count - 1) / chunks + 1;
        for (std::uint32_t part = 0; part < parts; ++part) {
          Step piece = step;
          piece.number = step.number * kSpace + part;
          piece.source.offset += part * chunks;
          piece.destination.offset += part * chunks;
          piece.count = std::min(chunks, step.count - part * chunks);
          piece.publishes = step.publishes && part + 1 == parts;
          if (part > 0) piece.waits_for.reset();
          if (piece.waits_for) piece.waits_for->number *= kSpace;
          steps.push_back(piece);
        }
      }
      block.steps = steps;
    }
  }
  return finer;
}

std::vector<Step>& steps(Algorithm& algorithm, std::uint32_t gpu, std::uint32_t block) {
  return algorithm.gpus[gpu].blocks[block].steps;
}

std::string verdict_of(const Algorithm& algorithm) {
  const AlgorithmDecision verdict = judge(read_algorithm("test.xml", to_xml(algorithm)), {});
  return std::string(verdict.violation ? to_string(verdict.violation->kind)
                                       : to_string(verdict.outcome));
}

}  // namespace p2::msccl
