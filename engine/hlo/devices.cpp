#include "engine/hlo/devices.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

constexpr auto kCollectives = std::to_array<std::string_view>(
    {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-broadcast",
     "collective-permute", "ragged-all-to-all"});

/// The least numbers that hold all ids.
struct Needed {
  std::int64_t replicas = 0;
  std::int64_t partitions = 0;
  std::int64_t flattened = 0;
};

std::int64_t end_of_ids(const Instruction& instruction) {
  std::int64_t end = instruction.attributes.groups.end_of_ids();
  for (const auto& [source, target] : instruction.attributes.pairs) {
    end = std::max({end, source + 1, target + 1});
  }
  return end;
}

void add_needs(const Module& module, std::optional<std::int64_t> replicas, Needed& needed) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!is_collective(base_opcode(instruction.opcode))) continue;
      const std::int64_t end = end_of_ids(instruction);
      const IdMode mode = id_mode(instruction, replicas.value_or(1));
      std::int64_t& most = mode == IdMode::FlattenedIds ? needed.flattened
                           : mode == IdMode::Partitions ? needed.partitions
                                                        : needed.replicas;
      most = std::max(most, end);
    }
  }
}

std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string_view base_opcode(std::string_view opcode) {
  constexpr std::string_view kStart = "-start";
  if (opcode.size() > kStart.size() && opcode.substr(opcode.size() - kStart.size()) == kStart) {
    return opcode.substr(0, opcode.size() - kStart.size());
  }
  return opcode;
}

bool is_collective(std::string_view opcode) {
  return std::find(kCollectives.begin(), kCollectives.end(), opcode) != kCollectives.end();
}

IdMode id_mode(const Instruction& instruction, std::optional<std::int64_t> replicas) {
  const Attributes& attributes = instruction.attributes;
  if (!attributes.has_channel) return IdMode::Replicas;
  if (attributes.global_ids.value_or(false)) return IdMode::FlattenedIds;
  const std::string_view opcode = base_opcode(instruction.opcode);
  const bool reducing =
      opcode == "all-reduce" || opcode == "reduce-scatter" || opcode == "all-gather";
  if (!reducing || (replicas == 1 && end_of_ids(instruction) > 1)) return IdMode::Partitions;
  return IdMode::ReplicasAllPartitions;
}

Devices devices_of(const std::vector<const Module*>& modules, const GivenDevices& given) {
  GivenDevices known = given;
  for (const Module* module : modules) {
    if (!known.replicas) known.replicas = module->replicas;
    if (!known.partitions) known.partitions = module->partitions;
  }
  // A header that names one of the two leaves the other at XLA's default.
  if (!given.replicas && !given.partitions) {
    if (known.replicas && !known.partitions && *known.replicas > 1) known.partitions = 1;
    if (known.partitions && !known.replicas && *known.partitions > 1) known.replicas = 1;
  }
  Needed needed;
  for (const Module* module : modules) add_needs(*module, known.replicas, needed);
  Devices devices{known.replicas.value_or(1), known.partitions.value_or(1),
                  !known.replicas && !known.partitions};
  if (!known.replicas) {
    devices.replicas = std::max(
        {devices.replicas, needed.replicas,
         known.partitions ? rounded_up(needed.flattened, *known.partitions) : std::int64_t{1}});
  }
  if (!known.partitions) {
    devices.partitions = std::max(
        {devices.partitions, needed.partitions, rounded_up(needed.flattened, devices.replicas)});
  }
  if (devices.replicas > kMostDevices || devices.replicas * devices.partitions > kMostDevices) {
    throw InputError({modules.front()->file, 1, 1},
                     fmt::format("{} replicas of {} partitions, expected at most {} devices",
                                 devices.replicas, devices.partitions, kMostDevices));
  }
  return devices;
}

}  // namespace p2::hlo
