#include "engine/hlo/replica_groups.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes read_sizes(TextReader& reader, std::string_view open, std::string_view close) {
  Sizes sizes;
  reader.expect(open, "before sizes");
  do {
    sizes.push_back(reader.integer("a size", 0, kMaxDevices));
  } while (reader.accept(","));
  reader.expect(close, "after sizes");
  return sizes;
}

IdGroups read_iota(TextReader& reader) {
  const SourcePosition where = reader.position();
  const Sizes shape = read_sizes(reader, "[", "]");
  if (shape.size() != 2) {
    throw InputError(where, fmt::format("a tile of {} sizes, expected two", shape.size()));
  }
  Sizes sizes = {device_product(shape, where)};
  Sizes order;
  if (reader.accept("<=")) sizes = read_sizes(reader, "[", "]");
  if (reader.accept("T")) order = read_sizes(reader, "(", ")");
  return iota_groups(shape[0], shape[1], sizes, order, where);
}

std::string axis_name(TextReader& reader) {
  if (!reader.accept("'")) return std::string(reader.word("the name of an axis"));
  std::string name(reader.word("the name of an axis"));
  reader.expect("'", "after the name of an axis");
  return name;
}

/// The devices of a mesh in row-major order: `[2,4]T(1,0)`, `[8]<=[2,4]T(1,0)` or `0,2,1,3`.
std::vector<std::int64_t> read_device_ids(TextReader& reader, const std::vector<MeshAxis>& mesh) {
  const SourcePosition where = reader.position();
  Sizes axes;
  for (const MeshAxis& axis : mesh) axes.push_back(axis.size);
  const std::int64_t count = device_product(axes, where);
  std::vector<std::int64_t> ids;
  if (reader.next_is("[")) {
    Sizes sizes = read_sizes(reader, "[", "]");
    Sizes order;
    if (reader.accept("<=")) sizes = read_sizes(reader, "[", "]");
    if (reader.accept("T")) order = read_sizes(reader, "(", ")");
    ids = iota_groups(1, count, sizes, order, where)[0];
  } else {
    do {
      ids.push_back(reader.integer("a device", 0, kMaxDevices - 1));
    } while (reader.accept(","));
  }
  std::vector<bool> seen(static_cast<std::size_t>(count));
  const bool all = static_cast<std::int64_t>(ids.size()) == count &&
                   std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) {
                     if (id >= count || seen[static_cast<std::size_t>(id)]) return false;
                     seen[static_cast<std::size_t>(id)] = true;
                     return true;
                   });
  if (!all) throw InputError(where, fmt::format("expected each of the {} devices once", count));
  return ids;
}

IdGroups read_mesh(TextReader& reader) {
  const SourcePosition where = reader.position();
  reader.expect("[", "before the axes of a mesh");
  std::vector<MeshAxis> mesh;
  do {
    MeshAxis axis{axis_name(reader)};
    reader.expect("=", "before the size of an axis");
    axis.size = reader.integer("the size of an axis", 1, kMaxDevices);
    mesh.push_back(axis);
  } while (reader.accept(","));
  reader.expect("]", "after the axes of a mesh");
  IdGroups ids;
  if (reader.accept(",")) {
    if (!reader.accept_word("device_ids")) reader.unexpected("'device_ids'");
    reader.expect("=", "after 'device_ids'");
    reader.expect("(", "before the devices of a mesh");
    ids = {read_device_ids(reader, mesh)};
    reader.expect(")", "after the devices of a mesh");
  }
  std::vector<MeshAxis> axes;
  reader.expect("{", "before the axes of the groups");
  while (!reader.accept("}")) {
    MeshAxis axis{axis_name(reader), 0};
    read_sub_axis(reader, axis);
    axes.push_back(axis);
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  IdGroups groups = mesh_groups(mesh, axes, where);
  if (ids.empty()) return groups;
  for (std::vector<std::int64_t>& group : groups) {
    for (std::int64_t& id : group) id = ids[0][static_cast<std::size_t>(id)];
  }
  return groups;
}

IdGroups read_lists(TextReader& reader) {
  IdGroups lists;
  reader.expect("{", "before groups");
  while (!reader.accept("}")) {
    std::vector<std::int64_t>& group = lists.emplace_back();
    reader.expect("{", "before a group");
    while (!reader.accept("}")) {
      group.push_back(reader.integer("an id", 0, kMaxDevices - 1));
      if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
    }
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  return lists;
}

}  // namespace

void read_sub_axis(TextReader& reader, MeshAxis& axis) {
  if (!reader.accept(":")) return;
  reader.expect("(", "before the size above a sub-axis");
  axis.before = reader.integer("the size above a sub-axis", 1, kMaxDevices);
  reader.expect(")", "after the size above a sub-axis");
  axis.size = reader.integer("the size of a sub-axis", 1, kMaxDevices);
}

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

Digits merged(const Digits& digits) {
  Digits all;
  for (const Digit& digit : digits) {
    if (digit.size == 1) continue;
    if (!all.empty() && all.back().stride == digit.stride * digit.size) {
      all.back() = {digit.stride, all.back().size * digit.size};
    } else {
      all.push_back(digit);
    }
  }
  return all;
}

Digits joined(Digits front, const Digits& back) {
  front.insert(front.end(), back.begin(), back.end());
  return merged(front);
}

std::optional<std::pair<Digits, Digits>> cut(const Digits& digits, std::int64_t parts) {
  std::pair<Digits, Digits> halves;
  for (const Digit& digit : digits) {
    const std::int64_t front = std::gcd(parts, digit.size);
    if (parts > 1 && front != parts && front != digit.size) return std::nullopt;
    parts /= front;
    if (front > 1) halves.first.push_back({digit.stride * (digit.size / front), front});
    if (front < digit.size) halves.second.push_back({digit.stride, digit.size / front});
  }
  if (parts != 1) return std::nullopt;
  return halves;
}

std::vector<std::int64_t> offsets_of(const Digits& digits) {
  std::vector<std::int64_t> offsets = {0};
  for (const Digit& digit : digits) {
    std::vector<std::int64_t> all;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < digit.size; ++i) all.push_back(offset + i * digit.stride);
    }
    offsets = std::move(all);
  }
  return offsets;
}

std::optional<Digits> digits_of(const std::vector<std::int64_t>& numbers) {
  Digits digits;
  for (std::size_t length = 1; length < numbers.size();) {
    Digit digit{numbers[length] - numbers[0], 1};
    while (length * static_cast<std::size_t>(digit.size) < numbers.size() &&
           numbers[length * static_cast<std::size_t>(digit.size)] - numbers[0] ==
               digit.size * digit.stride) {
      ++digit.size;
    }
    length *= static_cast<std::size_t>(digit.size);
    digits.insert(digits.begin(), digit);
  }
  const auto is_at = [&](std::int64_t number, std::int64_t offset) {
    return number == numbers[0] + offset;
  };
  if (!std::ranges::equal(numbers, offsets_of(digits), is_at)) return std::nullopt;
  return digits;
}

std::int64_t device_product(const std::vector<std::int64_t>& sizes, const SourcePosition& where) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    all *= size;
    if (size < 1 || all > kMaxDevices) {
      throw InputError(where,
                       fmt::format("groups of more than {} devices, expected fewer", kMaxDevices));
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
  Sizes permutation(sizes.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (!order.empty()) {
    if (!std::is_permutation(order.begin(), order.end(), permutation.begin(), permutation.end())) {
      throw InputError(where,
                       "the transposition is not a permutation of the dimensions, expected one");
    }
    permutation = order;
  }
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  IdGroups lists(static_cast<std::size_t>(groups));
  for (std::int64_t number = 0; number < all; ++number) {
    std::int64_t rest = number;
    std::int64_t id = 0;
    for (std::size_t i = permutation.size(); i-- > 0;) {
      const auto dimension = static_cast<std::size_t>(permutation[i]);
      id += rest % sizes[dimension] * strides[dimension];
      rest /= sizes[dimension];
    }
    lists[static_cast<std::size_t>(number / members)].push_back(id);
  }
  return lists;
}

std::optional<std::string> to_iota(const IdGroups& groups) {
  if (groups.empty() || groups[0].empty()) return std::nullopt;
  const std::size_t members = groups[0].size();
  const std::size_t all = groups.size() * members;
  if (std::ranges::any_of(groups, [&](const auto& group) { return group.size() != members; })) {
    return std::nullopt;
  }
  const auto id = [&](std::size_t at) { return groups[at / members][at % members]; };
  // The digits of the ids, the one that changes first in front: as long as a step is repeated.
  std::vector<Digit> digits;
  for (std::size_t length = 1; length < all;) {
    Digit digit{id(length) - id(0), 1};
    while (length * static_cast<std::size_t>(digit.size) < all &&
           id(length * static_cast<std::size_t>(digit.size)) - id(0) == digit.size * digit.stride) {
      ++digit.size;
    }
    length *= static_cast<std::size_t>(digit.size);
    digits.push_back(digit);
  }
  std::vector<std::size_t> by_stride(digits.size());
  std::iota(by_stride.begin(), by_stride.end(), std::size_t{0});
  std::ranges::sort(
      by_stride, [&](std::size_t a, std::size_t b) { return digits[a].stride > digits[b].stride; });
  Sizes sizes;
  Sizes order(digits.size());
  for (std::size_t place = 0; place < by_stride.size(); ++place) {
    sizes.push_back(digits[by_stride[place]].size);
    order[digits.size() - 1 - by_stride[place]] = static_cast<std::int64_t>(place);
  }
  if (sizes.empty()) sizes = {1};
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (product > kMaxDevices / size) return std::nullopt;
    product *= size;
  }
  const bool transposed = !std::ranges::is_sorted(order);
  const SourcePosition where{"groups"};
  if (product != static_cast<std::int64_t>(all) ||
      iota_groups(static_cast<std::int64_t>(groups.size()), static_cast<std::int64_t>(members),
                  sizes, transposed ? order : Sizes{}, where) != groups) {
    return std::nullopt;
  }
  return fmt::format("[{},{}]<=[{}]{}", groups.size(), members, fmt::join(sizes, ","),
                     transposed ? fmt::format("T({})", fmt::join(order, ",")) : "");
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

ReplicaGroups read_replica_groups(TextReader& reader) {
  ReplicaGroups groups{false, {}};
  if (reader.accept("mesh")) {
    groups.lists = read_mesh(reader);
  } else if (reader.next_is("[")) {
    groups.lists = read_iota(reader);
  } else {
    groups.lists = read_lists(reader);
    groups.all_in_one = groups.lists.empty();
  }
  return groups;
}

}  // namespace p2::hlo
