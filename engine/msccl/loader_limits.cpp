#include "engine/msccl/loader_limits.h"

#include <algorithm>

namespace p2::msccl {

std::vector<LoaderLimit> loader_limits(const Algorithm& algorithm) {
  LoaderLimit steps{"steps_per_thread_block", 256};
  LoaderLimit count{"count", kMostChunksOfStep};
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

std::vector<StepPlace> pass_loaders(const Algorithm& algorithm) {
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
