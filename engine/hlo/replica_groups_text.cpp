#include <fmt/format.h>

#include "engine/hlo/replica_groups.h"

namespace p2::hlo {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes read_sizes(TextReader& reader, std::string_view open, std::string_view close) {
  Sizes sizes;
  reader.expect(open, "before sizes");
  do {
    sizes.push_back(reader.integer("a size", 0, kMostDevices));
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
  const std::string name(reader.word("the name of an axis"));
  reader.expect("'", "after the name of an axis");
  return name;
}

IdGroups read_mesh(TextReader& reader) {
  const SourcePosition where = reader.position();
  reader.expect("[", "before the axes of a mesh");
  std::vector<MeshAxis> mesh;
  do {
    MeshAxis axis{axis_name(reader)};
    reader.expect("=", "before the size of an axis");
    axis.size = reader.integer("the size of an axis", 1, kMostDevices);
    mesh.push_back(axis);
  } while (reader.accept(","));
  reader.expect("]", "after the axes of a mesh");
  if (reader.accept(",")) reader.fail("device ids of a mesh in another order, expected none");
  std::vector<MeshAxis> axes;
  reader.expect("{", "before the axes of the groups");
  while (!reader.accept("}")) {
    MeshAxis axis{axis_name(reader), 0};
    if (reader.accept(":")) {
      reader.expect("(", "before the size above a sub-axis");
      axis.before = reader.integer("the size above a sub-axis", 1, kMostDevices);
      reader.expect(")", "after the size above a sub-axis");
      axis.size = reader.integer("the size of a sub-axis", 1, kMostDevices);
    }
    axes.push_back(axis);
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  return mesh_groups(mesh, axes, where);
}

IdGroups read_lists(TextReader& reader) {
  IdGroups lists;
  reader.expect("{", "before groups");
  while (!reader.accept("}")) {
    std::vector<std::int64_t>& group = lists.emplace_back();
    reader.expect("{", "before a group");
    while (!reader.accept("}")) {
      group.push_back(reader.integer("an id", 0, kMostDevices - 1));
      if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
    }
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("',' or '}'");
  }
  return lists;
}

}  // namespace

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
