#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// The devices that run a module: device = replica × partitions + partition.
struct Devices {
  std::int64_t replicas = 1;
  std::int64_t partitions = 1;
  /// Neither the request nor a module header gives the counts: they are the smallest that contain
  /// all ids.
  bool assumed = false;

  std::uint32_t count() const { return static_cast<std::uint32_t>(replicas * partitions); }
};

/// The device counts of a request; each goes before the header of a module.
struct DeviceCounts {
  std::optional<std::int64_t> replicas = {};
  std::optional<std::int64_t> partitions = {};
};

bool is_collective(std::string_view opcode);
/// `all-reduce` of `all-reduce-start`; any other opcode itself.
std::string_view base_opcode(std::string_view opcode);
/// The shape of the result; of the start of an asynchronous collective, the part of its tuple that
/// is.
const Shape& computed_shape(const Instruction& instruction);

/// Whether a computation of a module, or one that it calls, has collectives.
bool has_collective(const Module& module, std::uint32_t computation);

/// How the ids in an instruction's groups or pairs are interpreted (XLA, CollectiveOpGroupMode):
/// without a channel, replicas; with a channel and without `use_global_device_ids`, all partitions
/// of the replicas for all-reduce, all-gather and reduce-scatter, partitions for the others.
IdMode id_mode(const Instruction& instruction);

/// The devices that run all of `modules`: as requested, else as the headers give them, else the
/// smallest counts that contain all ids. Throws InputError for more than kMaxDevices.
Devices devices_of(const std::vector<const Module*>& modules, const DeviceCounts& requested);

/// No group, collective, source or computation.
constexpr std::uint32_t kNone = UINT32_MAX;

/// The groups or pairs of one collective, as devices.
struct Collective {
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::uint32_t> group;     ///< by device; kNone for a device in no group
  std::vector<std::uint32_t> position;  ///< by device: its position in its group
  std::vector<std::uint32_t> source;    ///< of a permutation, by target device; kNone: no source

  const std::vector<std::uint32_t>& group_of(std::uint32_t device) const {
    return groups[group[device]];
  }
  /// The size of the groups; 0 if the sizes differ.
  std::size_t group_size() const;
};

/// The number of a device as the program that it runs sees it.
struct LogicalDevice {
  std::int64_t replica = 0;
  std::int64_t partition = 0;
};
LogicalDevice logical_device(const Module& module, const Devices& devices, std::uint32_t device);

/// Resolves the groups or pairs of an instruction. Throws IllFormed for an id that does not exist,
/// is listed twice, or is missing (only a broadcast may leave devices out).
Collective resolve(const Instruction& instruction, Language language, const Devices& devices);

}  // namespace p2::hlo
