#include "engine/export/class_lowering.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace p2::lowering {
namespace {

constexpr std::size_t kMaxDevicesShown = 8;

}  // namespace

std::vector<ChunkRun> runs_of(const Held& chunks, std::uint32_t max_length) {
  std::vector<ChunkRun> runs;
  for (const std::uint32_t chunk : chunks) {
    const bool contiguous = !runs.empty() && runs.back().first + runs.back().count == chunk &&
                            runs.back().count < max_length;
    if (contiguous) {
      ++runs.back().count;
    } else {
      runs.push_back({chunk, 1});
    }
  }
  return runs;
}

std::vector<Held> parts_of(const Held& chunks, std::size_t places) {
  std::vector<Held> parts;
  for (std::size_t i = 0; i < places; ++i) {
    const auto at = [&](std::size_t place) {
      return chunks.begin() + static_cast<std::ptrdiff_t>(place * chunks.size() / places);
    };
    parts.emplace_back(at(i), at(i + 1));
  }
  return parts;
}

std::vector<std::uint32_t> ranks_in_class(const Group& group, const Group& members,
                                          const SourcePosition& where) {
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t device : group) {
    const auto at = std::lower_bound(members.begin(), members.end(), device);
    if (at == members.end() || *at != device) continue;
    ranks.push_back(static_cast<std::uint32_t>(at - members.begin()));
  }
  if (!ranks.empty() && ranks.size() < group.size()) {
    throw InputError(where,
                     fmt::format("group {} has devices of several reduction classes, "
                                 "expected groups inside a class: these formats have no groups, "
                                 "so every class is an algorithm of its own",
                                 p2::to_string(group, kMaxDevicesShown)));
  }
  return ranks;
}

std::vector<Held> initial_chunks(const Program& program, std::uint32_t ranks) {
  Held all(program.chunks());
  std::iota(all.begin(), all.end(), 0U);
  std::vector<Held> held(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::size_t part = all.size() / ranks;
    const auto at = [&](std::size_t place) {
      return all.begin() + static_cast<std::ptrdiff_t>(place);
    };
    switch (program.beginning.start) {
      case Start::Contributions:
        held[rank] = all;
        break;
      case Start::Shards:
        held[rank].assign(at(rank * part), at((rank + 1) * part));
        break;
      case Start::RootSum:
        if (rank == 0) held[rank] = all;
        break;
    }
  }
  return held;
}

}  // namespace p2::lowering
