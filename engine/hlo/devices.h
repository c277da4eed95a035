#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// All devices: device = replica × partitions + partition.
struct Devices {
  std::int64_t replicas = 1;
  std::int64_t partitions = 1;
  /// Nothing said how many there are: they are as few as the groups allow.
  bool assumed = false;

  std::uint32_t count() const { return static_cast<std::uint32_t>(replicas * partitions); }
};

/// What somebody says of the number of devices.
struct GivenDevices {
  std::optional<std::int64_t> replicas = {};
  std::optional<std::int64_t> partitions = {};
};

/// What the ids of an instruction's groups or pairs mean, by the rule of XLA: without a channel
/// replicas; with one and no `use_global_device_ids` all partitions of the replicas for all-reduce,
/// all-gather and reduce-scatter, and partitions for the others. Of a single replica the former two
/// cannot name another one than 0: there such ids are read as partitions.
IdMode id_mode(const Instruction& instruction, std::optional<std::int64_t> replicas);

bool is_collective(std::string_view opcode);
/// `all-reduce` of `all-reduce-start`; the opcode itself for all others.
std::string_view base_opcode(std::string_view opcode);

/// The devices that all of `modules` run on: as given, else as their headers say, else as few as
/// the ids in their groups allow. Throws InputError for more than kMostDevices.
Devices devices_of(const std::vector<const Module*>& modules, const GivenDevices& given);

}  // namespace p2::hlo
