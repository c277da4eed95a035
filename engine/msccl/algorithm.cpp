#include "engine/msccl/algorithm.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::msccl {
namespace {

constexpr std::array<std::string_view, 10> kTypes = {"s",   "r",   "rcs", "rrc", "rrcs",
                                                     "rrs", "cpy", "re",  "nop", "ra"};

}  // namespace

std::uint32_t fifo_capacity(Protocol protocol) { return protocol == Protocol::Simple ? 2 : 8; }

std::uint64_t transmission_bytes(Protocol protocol) {
  // NCCL cuts a buffer into 8 slots. LL: 8 lines of 16 bytes, half of them data, for each of 512
  // threads. LL128: 120 words of 8 bytes, 15 of 16 data, for 640. Simple: 4 MiB; MSCCL takes 4
  // slots.
  switch (protocol) {
    case Protocol::LL:
      return 512 * 8 * 16 / 2;
    case Protocol::LL128:
      return 640 * 120 * 8 / 16 * 15;
    case Protocol::Simple:
      return (std::uint64_t{4} << 20) / 8 * 4;
  }
  return 0;
}

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::LL:
      return "LL";
    case Protocol::LL128:
      return "LL128";
    case Protocol::Simple:
      return "Simple";
  }
  return {};
}

bool sends(StepType type) {
  return type == StepType::Send || type == StepType::ReceiveCopySend ||
         type == StepType::ReceiveReduceCopySend || type == StepType::ReceiveReduceSend;
}

bool receives(StepType type) {
  return type == StepType::Receive || type == StepType::ReceiveReduceCopy ||
         (sends(type) && type != StepType::Send);
}

bool reads_source(StepType type) {
  return type != StepType::Receive && type != StepType::ReceiveCopySend && type != StepType::Nop;
}

bool writes_destination(StepType type) {
  return type != StepType::Send && type != StepType::ReceiveReduceSend && type != StepType::Nop;
}

bool reads_destination(StepType type) {
  return type == StepType::Reduce || type == StepType::ResidualAdd;
}

std::string_view to_string(StepType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::optional<StepType> step_type(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == name) return static_cast<StepType>(i);
  }
  return std::nullopt;
}

char letter(Buffer buffer) { return "ios"[static_cast<std::size_t>(buffer)]; }

std::vector<StepPlace> Algorithm::steps() const {
  std::vector<StepPlace> places;
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (std::uint32_t block = 0; block < gpus[gpu].blocks.size(); ++block) {
      const auto count = static_cast<std::uint32_t>(gpus[gpu].blocks[block].steps.size());
      for (std::uint32_t step = 0; step < count; ++step) places.push_back({gpu, block, step});
    }
  }
  return places;
}

std::string describe(const Algorithm& algorithm, StepPlace place) {
  const Step& step = algorithm.step(place);
  return fmt::format("gpu {} tb {} step {} ({}, line {})", place.gpu, algorithm.block(place).id,
                     step.number, to_string(step.type), step.line);
}

std::vector<LoaderLimit> loader_limits(const Algorithm& algorithm) {
  LoaderLimit steps{"steps_per_thread_block", 256};
  LoaderLimit count{"count", kMaxChunksPerStep};
  LoaderLimit channels{"channels", 32, algorithm.channels};
  for (const Gpu& gpu : algorithm.gpus) {
    for (const ThreadBlock& block : gpu.blocks) {
      // Numbers may have gaps, and the loader's tables are indexed by them.
      if (!block.steps.empty()) {
        steps.found = std::max<std::uint64_t>(steps.found, block.steps.back().number + 1);
      }
      channels.found = std::max<std::uint64_t>(channels.found, block.channel + 1);
      for (const Step& step : block.steps)
        count.found = std::max<std::uint64_t>(count.found, step.count);
    }
  }
  return {steps, count, channels};
}

std::vector<StepPlace> find_unnoticed_overruns(const Algorithm& algorithm) {
  const auto passes = [&](const Gpu& gpu, const Region& region, std::uint32_t count) {
    const std::int64_t chunks = gpu.chunks[static_cast<std::size_t>(region.buffer)];
    return region.offset >= 0 && region.offset < chunks && region.offset + count > chunks;
  };
  std::vector<StepPlace> found;
  for (const StepPlace place : algorithm.steps()) {
    const Step& step = algorithm.step(place);
    const Gpu& gpu = algorithm.gpus[place.gpu];
    if ((reads_source(step.type) && passes(gpu, step.source, step.count)) ||
        (writes_destination(step.type) && passes(gpu, step.destination, step.count))) {
      found.push_back(place);
    }
  }
  return found;
}

}  // namespace p2::msccl
