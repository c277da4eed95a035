#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/text_reader.h"

namespace p2::hlo {

/// The largest number of devices: replicas × partitions.
constexpr std::int64_t kMostDevices = 65536;

/// The ids of the groups of a collective. Groups are ordered: shard i belongs to position i.
using IdGroups = std::vector<std::vector<std::int64_t>>;

/// `replica_groups` as they were written: lists, where none means one group of all.
struct ReplicaGroups {
  bool all_in_one = true;
  IdGroups lists = {};

  /// One more than the largest id; 0 where no id is named.
  std::int64_t end_of_ids() const;
};

/// What the ids of a collective's groups are. A collective of replicas runs once for every
/// partition, and the other way round.
enum class IdMode : std::uint8_t {
  Replicas,
  Partitions,
  FlattenedIds,          ///< replica × partitions + partition
  ReplicasAllPartitions  ///< replicas, each with all its partitions
};
std::string_view to_string(IdMode mode);

/// An axis of a mesh, or a part of one: `'b':(2)2` is the digit of size 2 above which 2 remain.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  std::optional<std::int64_t> before = {};  ///< of a sub-axis: the product of what is above it
};

/// The product of sizes, which are devices. Throws InputError at `where` unless all are positive
/// and it is at most kMostDevices.
std::int64_t device_product(const std::vector<std::int64_t>& sizes, const SourcePosition& where);

/// Lists of `groups` × `members` ids: the numbers of `sizes` in row-major order, transposed by
/// `order`, cut into rows. Throws InputError at `where` for numbers that do not fit.
IdGroups iota_groups(std::int64_t groups, std::int64_t members,
                     const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& order,
                     const SourcePosition& where);

/// The groups along `axes` of a mesh: devices that agree on everything else. Row-major ids.
IdGroups mesh_groups(const std::vector<MeshAxis>& mesh, const std::vector<MeshAxis>& axes,
                     const SourcePosition& where);

/// Reads `{{0,1},{2,3}}`, `{}`, `[2,2]<=[2,2]T(1,0)` or `mesh['a'=2,'b'=4] {'a','b':(2)2}`.
/// Throws InputError, also for ids past kMostDevices.
ReplicaGroups read_replica_groups(TextReader& reader);

}  // namespace p2::hlo
