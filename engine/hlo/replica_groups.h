#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {

/// The largest number of devices: replicas × partitions.
constexpr std::int64_t kMaxDevices = std::int64_t{1} << 22U;

/// A digit of a number in a mixed radix: it counts to `size`, and stands for multiples of `stride`.
struct Digit {
  std::int64_t stride = 1;
  std::int64_t size = 1;

  bool operator==(const Digit&) const = default;
};
/// The numbers that digits count, in order; the digit that changes last stands in front.
using Digits = std::vector<Digit>;

/// The same numbers in the fewest digits.
Digits merged(const Digits& digits);
/// All digits of both, the first ones in front, merged.
Digits joined(Digits front, const Digits& back);
/// The digits in front that count to `parts`, and the others; a digit is cut in two where it has
/// to be, and nothing comes out if it cannot be.
std::optional<std::pair<Digits, Digits>> cut(const Digits& digits, std::int64_t parts);
/// The numbers that digits count.
std::vector<std::int64_t> offsets_of(const Digits& digits);
/// Digits that count the numbers, less the first one; nothing if none do. Precondition: numbers.
std::optional<Digits> digits_of(const std::vector<std::int64_t>& numbers);

/// The ids of the groups of a collective. Groups are ordered: shard i belongs to position i.
using IdGroups = std::vector<std::vector<std::int64_t>>;

/// The attribute `replica_groups`: lists of ids, or one group of all devices.
struct ReplicaGroups {
  bool all_in_one = true;
  IdGroups lists = {};

  /// One more than the largest id; 0 without ids.
  std::int64_t end_of_ids() const;
};

/// How the ids of a collective are interpreted. A collective among replicas runs once for every
/// partition, and vice versa.
enum class IdMode : std::uint8_t {
  Replicas,
  Partitions,
  FlattenedIds,          ///< replica × partitions + partition
  ReplicasAllPartitions  ///< replicas, each with all its partitions
};
std::string_view to_string(IdMode mode);

/// An axis of a device mesh, or a sub-axis: `'b':(2)2` is the factor of size 2 with factors of
/// product 2 before it.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  std::optional<std::int64_t> before = {};  ///< of a sub-axis: the product of the factors before it
};

/// Reads `:(2)2` after the name of an axis, if it is there.
void read_sub_axis(TextReader& reader, MeshAxis& axis);
/// An axis or sub-axis as a digit of the position in the mesh, in row-major order. Throws
/// InputError at `where` for one that the mesh does not have.
Digit digit_of(const std::vector<MeshAxis>& mesh, const MeshAxis& axis,
               const SourcePosition& where);

/// The product of `sizes`. Throws InputError at `where` unless all are positive and it is at most
/// kMaxDevices.
std::int64_t device_product(const std::vector<std::int64_t>& sizes, const SourcePosition& where);

/// The iota form `[groups,members]<=[sizes]T(order)`: the numbers of `sizes` in row-major order,
/// transposed by `order`, cut into rows. Throws InputError at `where` for inconsistent numbers.
IdGroups iota_groups(std::int64_t groups, std::int64_t members,
                     const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& order,
                     const SourcePosition& where);

/// The shortest iota form of groups, `[2,4]<=[4,2]T(1,0)`, which read_replica_groups reads back.
/// Nothing for groups that have none: of unequal size, not of all ids from 0, in another order.
std::optional<std::string> to_iota(const IdGroups& groups);

/// The groups along `axes` of a mesh: devices that agree on all other coordinates. Row-major ids.
IdGroups mesh_groups(const std::vector<MeshAxis>& mesh, const std::vector<MeshAxis>& axes,
                     const SourcePosition& where);

/// Reads `{{0,1},{2,3}}`, `{}`, `[2,2]<=[2,2]T(1,0)` or `mesh['a'=2,'b'=4] {'a','b':(2)2}`.
/// Throws InputError, also for ids of kMaxDevices or more.
ReplicaGroups read_replica_groups(TextReader& reader);

}  // namespace p2::hlo
