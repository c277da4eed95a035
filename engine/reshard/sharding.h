#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/reshard.h"

namespace p2 {

/// Limits under which no sum of times overflows.
constexpr std::int64_t kMaxTaskSize = 1'000'000'000'000;
constexpr std::size_t kMaxTasks = 4096;
constexpr std::uint32_t kMaxMeshHosts = 1024;

/// Reads `{"tasks":[{"size":1,"sender_hosts":[1,2],"receiver_hosts":[0]}]}`; hosts in any order.
/// Throws InputError at the position of anything else and of values beyond the limits above.
UnitTasks read_tasks(const std::string& source, const std::string& text);

/// Two tasks that share a receiver cannot run at the same time.
bool share_receiver(const UnitTask& a, const UnitTask& b);

/// The semi-active schedule of an order of tasks: each starts as soon as its sender and its
/// receivers are free. `senders` is indexed by task.
TaskSchedule schedule_in_order(const UnitTasks& tasks, const std::vector<std::size_t>& order,
                               const std::vector<std::uint32_t>& senders);

/// The first violation of Eq. 1–3 of the paper: a task that does not run exactly once, a sender
/// that does not hold the slice, two tasks that overlap on a host, or a makespan that is not the
/// last end. Empty if the schedule is feasible.
std::optional<std::string> find_violation(const TaskSchedule& schedule, const UnitTasks& tasks);

using TensorShape = std::vector<std::int64_t>;

/// A tensor distributed over a mesh of `mesh[0]` hosts with `mesh[1]` devices each (Zhuang et al.,
/// section 2.1). `axes` has an entry per dimension: the mesh axes that shard it, 0 = hosts and 1 =
/// devices of a host, outermost first; empty where it is replicated.
struct Sharding {
  std::array<std::uint32_t, 2> mesh{};
  std::vector<std::vector<std::size_t>> axes;

  /// The number of shards of a dimension.
  std::uint32_t shards(std::size_t dimension) const;
};

/// The largest number of elements of a tensor: the largest size of a task.
constexpr std::int64_t kMaxTensorElements = kMaxTaskSize;
constexpr std::size_t kMaxTensorDimensions = 16;
constexpr std::uint32_t kMaxMeshDevices = 4096;

/// `1024,1024,512`. `source` names the text in messages. Throws InputError.
TensorShape parse_shape(std::string_view source, const std::string& text);

/// `2x4:S0,R,R`: the mesh, then R, S0, S1, S01 or S10 for every dimension. Throws InputError, also
/// for a mesh axis that shards two dimensions and for a number of dimensions other than the
/// shape's.
Sharding parse_sharding(std::string_view source, const std::string& text, std::size_t dimensions);

/// Every dimension rounded up to a multiple of the least common multiple of its two shard counts.
/// Throws InputError, naming `source`, where the result has more than kMaxTensorElements elements.
TensorShape padded(const TensorShape& shape, const Sharding& from, const Sharding& to,
                   std::string_view source);

/// A box of elements, [low, high) in every dimension, and the hosts whose devices hold it,
/// ascending.
struct Slice {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<std::uint32_t> hosts;

  /// 0 where some dimension is empty.
  std::int64_t elements() const;
};

/// The slice of one device, possibly empty; `hosts` is its host alone.
Slice slice_on(const TensorShape& shape, const Sharding& sharding, std::uint32_t host,
               std::uint32_t device);

/// All distinct non-empty slices. Shards of a dimension of n elements are ⌈n/k⌉ long; the last ones
/// are shorter or empty where k does not divide n.
std::vector<Slice> slices_of(const TensorShape& shape, const Sharding& sharding);

/// The unit tasks that bring a tensor from one sharding to another on another mesh, in the order of
/// source slices; sizes in elements. Throws InputError, naming `source`, beyond kMaxTasks.
UnitTasks decompose(const TensorShape& shape, const Sharding& from, const Sharding& to,
                    Decomposition decomposition, std::string_view source);

}  // namespace p2
