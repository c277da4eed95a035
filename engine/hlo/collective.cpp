#include "engine/hlo/collective.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/hlo/module.h"

namespace p2::hlo {
namespace {

constexpr auto kCollectives = std::to_array<std::string_view>(
    {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-broadcast",
     "collective-permute", "ragged-all-to-all"});

/// The smallest counts that contain all ids.
struct RequiredCounts {
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

void add_required(const Module& module, RequiredCounts& required) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!is_collective(base_opcode(instruction.opcode))) continue;
      const std::int64_t end = end_of_ids(instruction);
      const IdMode mode = id_mode(instruction);
      std::int64_t& count = mode == IdMode::FlattenedIds ? required.flattened
                            : mode == IdMode::Partitions ? required.partitions
                                                         : required.replicas;
      count = std::max(count, end);
    }
  }
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[noreturn]] void refuse(const char* rule, const Instruction& instruction, const std::string& why) {
  throw IllFormed({rule, fmt::format("{} {}: {}.", instruction.opcode, instruction.name, why),
                   instruction.position});
}

/// Maps ids to devices.
class Resolver {
 public:
  Resolver(const Devices& devices, Language language) : devices_(devices), language_(language) {}

  /// The number of ids.
  std::int64_t ids(IdMode mode) const {
    switch (mode) {
      case IdMode::Partitions:
        return devices_.partitions;
      case IdMode::FlattenedIds:
        return devices_.replicas * devices_.partitions;
      case IdMode::Replicas:
      case IdMode::ReplicasAllPartitions:
        return devices_.replicas;
    }
    return 0;
  }

  /// The number of concurrent copies of every group: one per partition, or per replica.
  std::int64_t copies(IdMode mode) const {
    return mode == IdMode::Replicas     ? devices_.partitions
           : mode == IdMode::Partitions ? devices_.replicas
                                        : 1;
  }

  std::uint32_t device(IdMode mode, std::int64_t id, std::int64_t copy) const {
    const std::int64_t number = mode == IdMode::Replicas     ? id * devices_.partitions + copy
                                : mode == IdMode::Partitions ? copy * devices_.partitions + id
                                                             : id;
    return static_cast<std::uint32_t>(number);
  }

  std::vector<std::uint32_t> group(IdMode mode, const std::vector<std::int64_t>& ids,
                                   std::int64_t copy) const {
    std::vector<std::uint32_t> members;
    if (mode != IdMode::ReplicasAllPartitions) {
      for (const std::int64_t id : ids) members.push_back(device(mode, id, copy));
      return members;
    }
    // XLA orders by replica first, StableHLO by partition first.
    const bool by_partition = language_ == Language::StableHlo;
    const auto at = [&](std::int64_t id, std::int64_t partition) {
      members.push_back(static_cast<std::uint32_t>(id * devices_.partitions + partition));
    };
    const auto count = static_cast<std::int64_t>(ids.size()) * devices_.partitions;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto size = static_cast<std::int64_t>(ids.size());
      const std::int64_t which = by_partition ? i % size : i / devices_.partitions;
      at(ids[static_cast<std::size_t>(which)], by_partition ? i / size : i % devices_.partitions);
    }
    return members;
  }

 private:
  const Devices& devices_;
  Language language_;
};

IdGroups groups_of(const Instruction& instruction, std::int64_t ids) {
  if (!instruction.attributes.groups.all_in_one) return instruction.attributes.groups.lists;
  IdGroups one(1);
  for (std::int64_t id = 0; id < ids; ++id) one[0].push_back(id);
  return one;
}

void require_partition_of_ids(const Instruction& instruction, const IdGroups& groups,
                              std::int64_t ids, IdMode mode) {
  std::vector<bool> seen(static_cast<std::size_t>(ids));
  for (const auto& group : groups) {
    if (group.empty()) refuse("groups", instruction, "a group is empty");
    for (const std::int64_t id : group) {
      if (id >= ids) {
        refuse("groups", instruction,
               fmt::format("id {} does not exist, there are {} {}", id, ids, to_string(mode)));
      }
      if (seen[static_cast<std::size_t>(id)]) {
        refuse("groups", instruction, fmt::format("id {} is listed twice in its groups", id));
      }
      seen[static_cast<std::size_t>(id)] = true;
    }
  }
  if (instruction.attributes.is_linked) return;
  if (base_opcode(instruction.opcode) == "collective-broadcast") return;
  for (std::int64_t id = 0; id < ids; ++id) {
    if (!seen[static_cast<std::size_t>(id)]) {
      refuse("groups", instruction,
             fmt::format("its groups leave out id {} of {} {}", id, ids, to_string(mode)));
    }
  }
}

Collective permutation(const Instruction& instruction, IdMode mode, const Resolver& resolver,
                       std::uint32_t devices) {
  Collective result{{}, {}, {}, std::vector<std::uint32_t>(devices, kNone)};
  std::vector<bool> sends(devices);
  for (const auto& [from, to] : instruction.attributes.pairs) {
    if (std::max(from, to) >= resolver.ids(mode)) {
      refuse("pairs", instruction,
             fmt::format("id {} does not exist, there are {} {}", std::max(from, to),
                         resolver.ids(mode), to_string(mode)));
    }
    for (std::int64_t copy = 0; copy < resolver.copies(mode); ++copy) {
      const std::uint32_t source = resolver.device(mode, from, copy);
      std::uint32_t& source_of_target = result.source[resolver.device(mode, to, copy)];
      if (source_of_target != kNone)
        refuse("pairs", instruction, fmt::format("target {} twice", to));
      if (sends[source]) refuse("pairs", instruction, fmt::format("source {} twice", from));
      source_of_target = source;
      sends[source] = true;
    }
  }
  return result;
}

}  // namespace

std::string_view base_opcode(std::string_view opcode) {
  constexpr std::string_view kStart = "-start";
  if (opcode.size() > kStart.size() && opcode.substr(opcode.size() - kStart.size()) == kStart) {
    return opcode.substr(0, opcode.size() - kStart.size());
  }
  return opcode;
}

const Shape& computed_shape(const Instruction& instruction) {
  const std::string_view base = base_opcode(instruction.opcode);
  const bool has_operands = base != instruction.opcode && base != "all-reduce" &&
                            instruction.shape.is_tuple && instruction.shape.parts.size() > 1;
  return has_operands ? instruction.shape.parts[1] : instruction.shape;
}

bool is_collective(std::string_view opcode) {
  return std::find(kCollectives.begin(), kCollectives.end(), opcode) != kCollectives.end();
}

bool has_collective(const Module& module, std::uint32_t computation) {
  return std::ranges::any_of(module.computations[computation].instructions,
                             [&](const Instruction& each) {
                               return is_collective(base_opcode(each.opcode)) ||
                                      std::ranges::any_of(each.called, [&](std::uint32_t called) {
                                        return has_collective(module, called);
                                      });
                             });
}

IdMode id_mode(const Instruction& instruction) {
  const Attributes& attributes = instruction.attributes;
  if (!attributes.has_channel) return IdMode::Replicas;
  if (attributes.global_ids.value_or(false)) return IdMode::FlattenedIds;
  const std::string_view opcode = base_opcode(instruction.opcode);
  const bool reducing =
      opcode == "all-reduce" || opcode == "reduce-scatter" || opcode == "all-gather";
  return reducing ? IdMode::ReplicasAllPartitions : IdMode::Partitions;
}

Devices devices_of(const std::vector<const Module*>& modules, const DeviceCounts& requested) {
  DeviceCounts known = requested;
  for (const Module* module : modules) {
    if (!known.replicas) known.replicas = module->replicas;
    if (!known.partitions) known.partitions = module->partitions;
  }
  // If a header gives one of the two counts, XLA's default for the other is 1.
  if (!requested.replicas && !requested.partitions) {
    if (known.replicas && !known.partitions && *known.replicas > 1) known.partitions = 1;
    if (known.partitions && !known.replicas && *known.partitions > 1) known.replicas = 1;
  }
  RequiredCounts required;
  for (const Module* module : modules) add_required(*module, required);
  Devices devices{known.replicas.value_or(1), known.partitions.value_or(1),
                  !known.replicas && !known.partitions};
  if (!known.replicas) {
    devices.replicas = std::max(
        {devices.replicas, required.replicas,
         known.partitions ? divide_up(required.flattened, *known.partitions) : std::int64_t{1}});
  }
  if (!known.partitions) {
    devices.partitions = std::max(
        {devices.partitions, required.partitions, divide_up(required.flattened, devices.replicas)});
  }
  if (devices.replicas > kMaxDevices || devices.replicas * devices.partitions > kMaxDevices) {
    throw InputError({modules.front()->file, 1, 1},
                     fmt::format("{} replicas of {} partitions, expected at most {} devices",
                                 devices.replicas, devices.partitions, kMaxDevices));
  }
  return devices;
}

LogicalDevice logical_device(const Module& module, const Devices& devices, std::uint32_t device) {
  if (module.programs.empty()) return {device / devices.partitions, device % devices.partitions};
  const LinkedProgram& program = module.programs[module.program_of[device]];
  const auto found = std::lower_bound(program.devices.begin(), program.devices.end(), device);
  const std::uint32_t id = program.ids[static_cast<std::size_t>(found - program.devices.begin())];
  return {id / program.partitions, id % program.partitions};
}

std::size_t Collective::group_size() const {
  for (const auto& each : groups) {
    if (each.size() != groups[0].size()) return 0;
  }
  return groups.empty() ? 0 : groups[0].size();
}

Collective resolve(const Instruction& instruction, Language language, const Devices& devices) {
  if (instruction.attributes.global_ids.value_or(false) && !instruction.attributes.has_channel) {
    refuse("groups", instruction, "use_global_device_ids=true needs a channel_id");
  }
  const Resolver resolver(devices, language);
  const IdMode mode = id_mode(instruction);
  if (base_opcode(instruction.opcode) == "collective-permute" ||
      instruction.opcode == kMatchedReceive) {
    return permutation(instruction, mode, resolver, devices.count());
  }
  const IdGroups groups = groups_of(instruction, resolver.ids(mode));
  require_partition_of_ids(instruction, groups, resolver.ids(mode), mode);
  Collective result{{},
                    std::vector<std::uint32_t>(devices.count(), kNone),
                    std::vector<std::uint32_t>(devices.count(), 0),
                    {}};
  for (const auto& ids : groups) {
    for (std::int64_t copy = 0; copy < resolver.copies(mode); ++copy) {
      const auto number = static_cast<std::uint32_t>(result.groups.size());
      const auto& members = result.groups.emplace_back(resolver.group(mode, ids, copy));
      for (std::uint32_t i = 0; i < members.size(); ++i) {
        result.group[members[i]] = number;
        result.position[members[i]] = i;
      }
    }
  }
  return result;
}

}  // namespace p2::hlo
