#include "engine/hlo/replica_groups.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

using Sizes = std::vector<std::int64_t>;

/// How far ids are apart along an axis of a mesh, and how many there are: its digit.
struct Digit {
  std::int64_t stride = 1;
  std::int64_t size = 1;
};

Digit digit_of(const std::vector<MeshAxis>& mesh, const MeshAxis& axis,
               const SourcePosition& where) {
  std::int64_t stride = 1;
  for (auto each = mesh.rbegin(); each != mesh.rend(); stride *= each->size, ++each) {
    if (each->name != axis.name) continue;
    if (!axis.before) return {stride, each->size};
    const std::int64_t above = *axis.before * axis.size;
    if (each->size % above == 0) return {stride * (each->size / above), axis.size};
    throw InputError(where, fmt::format("sub-axis ({}){} of an axis of size {}, expected a divisor",
                                        *axis.before, axis.size, each->size));
  }
  throw InputError(where,
                   fmt::format("axis '{}' is not in the mesh, expected one that is", axis.name));
}

}  // namespace

std::int64_t device_product(const std::vector<std::int64_t>& sizes, const SourcePosition& where) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    all *= size;
    if (size < 1 || all > kMostDevices) {
      throw InputError(where,
                       fmt::format("groups of more than {} devices, expected fewer", kMostDevices));
    }
  }
  return all;
}

std::int64_t ReplicaGroups::end_of_ids() const {
  std::int64_t end = 0;
  for (const auto& group : lists) {
    for (const std::int64_t id : group) end = std::max(end, id + 1);
  }
  return end;
}

std::string_view to_string(IdMode mode) {
  switch (mode) {
    case IdMode::Replicas:
      return "replicas";
    case IdMode::Partitions:
      return "partitions";
    case IdMode::FlattenedIds:
      return "flattened ids";
    case IdMode::ReplicasAllPartitions:
      return "replicas with all their partitions";
  }
  return {};
}

IdGroups iota_groups(std::int64_t groups, std::int64_t members, const Sizes& sizes,
                     const Sizes& order, const SourcePosition& where) {
  const std::int64_t all = device_product(sizes, where);
  if (device_product({groups, members}, where) != all) {
    throw InputError(where, fmt::format("{} groups of {} out of {} ids, expected all of them",
                                        groups, members, all));
  }
  Sizes turned(sizes.size());
  std::iota(turned.begin(), turned.end(), 0);
  if (!order.empty()) {
    if (!std::is_permutation(order.begin(), order.end(), turned.begin(), turned.end())) {
      throw InputError(where, "the transposition names not every dimension once, expected that");
    }
    turned = order;
  }
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  IdGroups lists(static_cast<std::size_t>(groups));
  for (std::int64_t number = 0; number < all; ++number) {
    std::int64_t rest = number;
    std::int64_t id = 0;
    for (std::size_t i = turned.size(); i-- > 0;) {
      const auto dimension = static_cast<std::size_t>(turned[i]);
      id += rest % sizes[dimension] * strides[dimension];
      rest /= sizes[dimension];
    }
    lists[static_cast<std::size_t>(number / members)].push_back(id);
  }
  return lists;
}

IdGroups mesh_groups(const std::vector<MeshAxis>& mesh, const std::vector<MeshAxis>& axes,
                     const SourcePosition& where) {
  Sizes sizes;
  for (const MeshAxis& axis : mesh) sizes.push_back(axis.size);
  const std::int64_t all = device_product(sizes, where);
  std::vector<std::int64_t> offsets = {0};
  std::vector<Digit> digits;
  for (const MeshAxis& axis : axes) {
    const Digit digit = digits.emplace_back(digit_of(mesh, axis, where));
    device_product({static_cast<std::int64_t>(offsets.size()), digit.size}, where);
    std::vector<std::int64_t> longer;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < digit.size; ++i) longer.push_back(offset + i * digit.stride);
    }
    offsets = std::move(longer);
  }
  IdGroups lists;
  for (std::int64_t id = 0; id < all; ++id) {
    const bool first = std::all_of(digits.begin(), digits.end(), [&](const Digit& digit) {
      return id / digit.stride % digit.size == 0;
    });
    if (!first) continue;
    std::vector<std::int64_t>& group = lists.emplace_back();
    for (const std::int64_t offset : offsets) group.push_back(id + offset);
  }
  return lists;
}

}  // namespace p2::hlo
