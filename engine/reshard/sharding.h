#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reshard/unit_task.h"

namespace p2 {

using TensorShape = std::vector<std::int64_t>;

/// A tensor spread over a mesh of `mesh[0]` hosts with `mesh[1]` devices each (section 2.1 of the
/// paper). `axes` has an entry per dimension: the mesh axes over which it is cut, 0 = hosts and 1 =
/// devices of a host, the first one outermost; none where it is replicated.
struct Sharding {
  std::array<std::uint32_t, 2> mesh{};
  std::vector<std::vector<std::size_t>> axes;

  /// Into how many shards a dimension is cut.
  std::uint32_t shards(std::size_t dimension) const;
};

/// A tensor has at most so many elements: as much time as a task may take.
constexpr std::int64_t kMostElements = kLargestTask;
constexpr std::size_t kMostDimensions = 16;
constexpr std::uint32_t kMostDevices = 4096;

/// `1024,1024,512`. `source` names the text in messages. Throws InputError.
TensorShape parse_shape(std::string_view source, const std::string& text);

/// `2x4:S0,R,R`: the mesh, then R, S0, S1, S01 or S10 for every dimension. Throws InputError, also
/// for a mesh axis that is used twice or a number of dimensions other than that of the shape.
Sharding parse_sharding(std::string_view source, const std::string& text, std::size_t dimensions);

/// Every dimension rounded up to a multiple of the least common multiple of its two numbers of
/// shards. Throws InputError, naming `source`, where that is more than kMostElements.
TensorShape padded(const TensorShape& shape, const Sharding& from, const Sharding& to,
                   std::string_view source);

/// What some devices hold: from `low` to before `high` in every dimension; and the hosts that have
/// such a device, ascending.
struct Slice {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<std::uint32_t> hosts;

  /// 0 where some dimension is empty.
  std::int64_t elements() const;
};

/// What one device of the mesh holds, maybe nothing; `hosts` is its host alone.
Slice slice_on(const TensorShape& shape, const Sharding& sharding, std::uint32_t host,
               std::uint32_t device);

/// All different slices that are not empty. Shards of a dimension of n elements are ⌈n/k⌉ long; the
/// last ones are shorter or empty where k does not divide n.
std::vector<Slice> slices_of(const TensorShape& shape, const Sharding& sharding);

}  // namespace p2
