#include "engine/export/msccl/lowering.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/export/msccl/block_builder.h"
#include "engine/export/msccl/group_transfers.h"
#include "engine/program/notation.h"

namespace p2::msccl {
namespace {

constexpr std::size_t kDevicesShown = 8;

/// The ranks of a group's devices; nothing for a group of another class.
std::vector<std::uint32_t> ranks_of(const Group& group, const Group& members,
                                    const SourcePosition& where) {
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t device : group) {
    const auto at = std::lower_bound(members.begin(), members.end(), device);
    if (at == members.end() || *at != device) continue;
    ranks.push_back(static_cast<std::uint32_t>(at - members.begin()));
  }
  if (!ranks.empty() && ranks.size() < group.size()) {
    throw InputError(where, fmt::format("group {} has devices of several reduction classes, "
                                        "expected groups inside a class: MSCCL has no groups, so "
                                        "every class is an algorithm of its own",
                                        p2::to_string(group, kDevicesShown)));
  }
  return ranks;
}

/// Who holds which chunks before the first step.
std::vector<Held> beginning_of(const Program& program, std::uint32_t ranks) {
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

std::vector<Transfers> transfers_of(const Program& program, const Group& members,
                                    std::uint32_t longest_run, const SourcePosition& where) {
  std::vector<Held> held = beginning_of(program, static_cast<std::uint32_t>(members.size()));
  std::vector<Transfers> steps;
  std::size_t total = 0;
  for (const p2::Step& step : program.steps) {
    if (static_cast<std::size_t>(step.collective) >= kCollectives.size()) {
      throw InputError(where, fmt::format("uses {}, expected the five collectives",
                                          program.terms.collectives.name_of(step.collective)));
    }
    Transfers& transfers = steps.emplace_back();
    for (const Group& group : step.groups) {
      const std::vector<std::uint32_t> ranks = ranks_of(group, members, where);
      if (ranks.size() > 1) append_transfers(step.collective, ranks, longest_run, held, transfers);
      if (total + transfers.size() > kMostTransfers) {
        throw InputError(where, fmt::format("takes more than {} steps of thread blocks, expected "
                                            "a smaller program",
                                            kMostTransfers));
      }
    }
    total += transfers.size();
  }
  return steps;
}

}  // namespace

std::string collective_for(const Goal& goal) {
  if (goal.name == "reducescatter") return "reduce_scatter";
  for (const char* name : {"allreduce", "allgather", "reduce", "broadcast"}) {
    if (goal.name == name) return name;
  }
  return {};
}

Algorithm lower_class(const Program& program, std::size_t class_index, const Travel& travel,
                      const SourcePosition& where) {
  const Group& members = program.classes[class_index];
  Algorithm algorithm;
  algorithm.collective = collective_for(program.terms.goal);
  if (algorithm.collective.empty()) {
    throw InputError(where, fmt::format("has the goal {}, expected allreduce, reducescatter, "
                                        "allgather, reduce or broadcast: MSCCL knows these",
                                        program.terms.goal.name));
  }
  algorithm.name = algorithm.collective;
  algorithm.protocol = travel.protocol;
  algorithm.chunks = program.chunks();
  algorithm.in_place = true;
  const auto ranks = static_cast<std::uint32_t>(members.size());
  const bool in_output = algorithm.collective == "allgather";
  BlockBuilder builder(ranks, algorithm.chunks, in_output ? Buffer::Output : Buffer::Input);
  for (const Transfers& step : transfers_of(program, members, travel.longest_run, where))
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
