#include "engine/hlo/collective.h"

#include <fmt/format.h>

#include "engine/hlo/fault.h"

namespace p2::hlo {
namespace {

[[noreturn]] void refuse(const char* rule, const Instruction& instruction, const std::string& why) {
  throw IllFormed({rule, fmt::format("{} {}: {}.", instruction.opcode, instruction.name, why),
                   instruction.position});
}

/// Devices of group after group of ids, for one mode.
class Resolver {
 public:
  Resolver(const Devices& devices, Language language) : devices_(devices), language_(language) {}

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

  /// How often every group runs side by side: once for each partition, or replica.
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

void require_partition(const Instruction& instruction, const IdGroups& groups, std::int64_t ids,
                       IdMode mode) {
  std::vector<bool> seen(static_cast<std::size_t>(ids));
  for (const auto& group : groups) {
    if (group.empty()) refuse("groups", instruction, "a group is empty");
    for (const std::int64_t id : group) {
      if (id >= ids) {
        refuse("groups", instruction,
               fmt::format("id {} does not exist, there are {} {}", id, ids, to_string(mode)));
      }
      if (seen[static_cast<std::size_t>(id)]) {
        refuse("groups", instruction, fmt::format("id {} stands in its groups twice", id));
      }
      seen[static_cast<std::size_t>(id)] = true;
    }
  }
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
      std::uint32_t& receives_from = result.source[resolver.device(mode, to, copy)];
      if (receives_from != kNone) refuse("pairs", instruction, fmt::format("target {} twice", to));
      if (sends[source]) refuse("pairs", instruction, fmt::format("source {} twice", from));
      receives_from = source;
      sends[source] = true;
    }
  }
  return result;
}

}  // namespace

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
  const IdMode mode = id_mode(instruction, devices.replicas);
  if (base_opcode(instruction.opcode) == "collective-permute") {
    return permutation(instruction, mode, resolver, devices.count());
  }
  const IdGroups groups = groups_of(instruction, resolver.ids(mode));
  require_partition(instruction, groups, resolver.ids(mode), mode);
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
