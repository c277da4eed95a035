// Lists of devices, meshes and shardings, and the parts of modules before partitioning that are
// written for one device.

#include <algorithm>
#include <cctype>
#include <numeric>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

/// The devices along all of these axes together.
std::int64_t devices_along(const Index& sizes) {
  constexpr std::int64_t kMaxDevices = 1 << 20;
  std::int64_t all = 1;
  for (const std::int64_t each : sizes) {
    if (each < 1 || each > kMaxDevices / all) malformed("no devices, or more than 2^20");
    all *= each;
  }
  return all;
}

/// A name without its quotes: `'a'`, `"a"`, `\"a\"` or `a`, of letters and the like.
std::string bare_name(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view quote : {"\\\"", "\"", "'"}) {
    if (text.size() < 2 * quote.size() || !text.starts_with(quote) || !text.ends_with(quote))
      continue;
    text = text.substr(quote.size(), text.size() - 2 * quote.size());
    break;
  }
  const bool is_plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./#$@+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (text.empty() || !is_plain) not_covered("the name " + printable(std::string(text)));
  return std::string(text);
}

/// The axes of a mesh, `'a'=2,'b'=4`, and the device at every row-major position.
struct Mesh {
  std::vector<std::string> names;
  Index sizes;
  Index devices;

  /// `ids`: `([4,2]T(1,0))` or `(0,2,1,3)`; nothing where devices are numbered row-major.
  Mesh(std::string_view axes, std::optional<std::string_view> ids) {
    for (const auto axis : split(axes)) {
      if (trimmed(axes).empty()) break;  // `mesh[]`
      const std::size_t equals = axis.find('=');
      if (equals == std::string_view::npos) malformed("the axes of a mesh");
      const std::string name = bare_name(axis.substr(0, equals));
      if (std::find(names.begin(), names.end(), name) != names.end())
        malformed("a mesh with two axes " + name);
      names.push_back(name);
      sizes.push_back(integer(trimmed(axis.substr(equals + 1))));
    }
    const std::int64_t all = devices_along(sizes);
    devices.resize(static_cast<std::size_t>(all));
    std::iota(devices.begin(), devices.end(), 0);
    if (ids) {
      const std::string_view list = trimmed(stripped(*ids, '(', ')'));
      const std::string tiles = "[1," + std::to_string(all) + "]<=" + std::string(list);
      devices = list.starts_with('[') ? id_lists(tiles).at(0) : integers_in(list);
    }
    if (std::ssize(devices) != all) malformed("the devices of a mesh");
  }
};

/// An axis of a mesh or, `'a':(2)2`, the part of this size under parts before it.
struct Axis {
  std::size_t number = 0;
  std::int64_t stride = 1, size = 1;

  Axis(std::string_view text, const Mesh& mesh) {
    const std::size_t colon = text.find(':');
    const std::string name = bare_name(text.substr(0, colon));
    const auto found = std::find(mesh.names.begin(), mesh.names.end(), name);
    if (found == mesh.names.end()) malformed("a mesh has no axis " + printable(name));
    number = static_cast<std::size_t>(found - mesh.names.begin());
    size = mesh.sizes[number];
    if (colon == std::string_view::npos) return;
    const Index parts = integers_in(text.substr(colon));
    if (parts.size() != 2 || parts[0] < 1 || parts[1] < 1 || parts[0] > size || parts[1] > size ||
        size % (parts[0] * parts[1]) != 0)
      malformed("a part of an axis");
    stride = size / (parts[0] * parts[1]);
    size = parts[1];
  }
  std::int64_t coordinate(const Index& index) const { return index.at(number) / stride % size; }
};

std::vector<Axis> axes_of(std::string_view text, const Mesh& mesh) {
  std::vector<Axis> axes;
  for (const auto part : split(text)) {
    if (!trimmed(part).empty() && trimmed(part) != "?") axes.emplace_back(part, mesh);
  }
  return axes;
}

/// The row-major number along some axes.
std::int64_t number_along(const std::vector<Axis>& axes, const Index& index) {
  std::int64_t number = 0;
  for (const Axis& axis : axes) number = number * axis.size + axis.coordinate(index);
  return number;
}

Sharding each_its_own(const Devices& devices) {
  Sharding sharding;
  sharding.groups.resize(static_cast<std::size_t>(devices.partitions));
  std::iota(sharding.groups.begin(), sharding.groups.end(), 0);
  return sharding;
}

/// Tiles along some axes for every dimension, in groups along the manual ones; every tile of a
/// group has to be the same number of partitions'.
Sharding tiles_along(const Mesh& mesh, std::vector<std::vector<Axis>> dimensions,
                     const std::vector<Axis>& manual, const Devices& devices) {
  dimensions.push_back(manual);
  Index sorted = mesh.devices;
  std::sort(sorted.begin(), sorted.end());
  Index every(static_cast<std::size_t>(devices.partitions));
  std::iota(every.begin(), every.end(), 0);
  if (sorted != every) not_covered("a mesh of other devices");
  Sharding sharding{{}, std::vector<Index>(static_cast<std::size_t>(devices.partitions)), {}};
  for (const auto& axes : dimensions) {
    std::int64_t parts = 1;
    for (const Axis& axis : axes) parts *= axis.size;
    sharding.parts.push_back(parts);
    std::size_t next = 0;
    for_each_index(mesh.sizes, [&](const Index& index) {
      sharding.tiles.at(static_cast<std::size_t>(mesh.devices[next++]))
          .push_back(number_along(axes, index));
    });
  }
  std::map<Index, std::int64_t> copies;
  for (const Index& tile : sharding.tiles) ++copies[tile];
  std::int64_t all = 1;
  for (const std::int64_t parts : sharding.parts) all *= parts;
  const auto is_even = [&](const auto& each) { return each.second * all == devices.partitions; };
  if (!std::all_of(copies.begin(), copies.end(), is_even)) malformed("an axis that is cut twice");
  if (!manual.empty()) sharding.groups.resize(sharding.tiles.size());
  for (std::size_t k = 0; k < sharding.tiles.size(); ++k) {
    if (!manual.empty()) sharding.groups[k] = sharding.tiles[k].back();
    sharding.tiles[k].pop_back();
  }
  sharding.parts.pop_back();
  return sharding;
}

/// `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{'x'}, {'y':(2)2}], replicated={…}, manual={…}`,
/// or `mesh['x'=2], replicated`. Axes that are not named are those of copies.
struct MeshSharding {
  enum class Kind { Tiled, Replicated, Manual };
  Kind kind = Kind::Tiled;
  Mesh mesh{"", {}};
  std::vector<std::vector<Axis>> dimensions;  ///< where it is tiled, as `manual`
  std::vector<Axis> manual;

  explicit MeshSharding(std::string_view text) {
    std::vector<std::string_view> parts;
    for (const std::string_view part : split(text)) parts.push_back(trimmed(part));
    const auto not_this = [&] { not_covered("the sharding " + printable(std::string(text))); };
    if (!parts.at(0).ends_with(']')) not_this();
    std::size_t next = 1;
    std::optional<std::string_view> ids;
    constexpr std::string_view kIds = "device_ids=";
    if (next < parts.size() && parts[next].starts_with(kIds))
      ids = parts[next++].substr(kIds.size());
    mesh = Mesh(parts[0].substr(5, parts[0].size() - 6), ids);
    if (next == parts.size() || (mesh.names.empty() && ids)) not_this();
    const std::string_view placement = parts[next++];
    if (placement == "replicated") kind = Kind::Replicated;
    if (placement == "manual") kind = Kind::Manual;
    const bool is_tiled = kind == Kind::Tiled;
    for (const auto axes : split(is_tiled ? stripped(placement, '[', ']') : "")) {
      if (trimmed(axes).empty()) continue;
      if (!trimmed(axes).ends_with('}')) not_this();
      dimensions.push_back(axes_of(stripped(axes, '{', '}'), mesh));
    }
    for (; next < parts.size(); ++next) {
      const std::size_t equals = parts[next].find('=');
      const std::string_view name = parts[next].substr(0, equals);
      if (!is_tiled || (name != "manual" && name != "replicated")) not_this();
      const auto axes = axes_of(stripped(parts[next].substr(equals + 1), '{', '}'), mesh);
      if (name == "manual") manual.insert(manual.end(), axes.begin(), axes.end());
    }
  }
};

/// What stands under a name in `{name="…", other={…}}`, without its quotes; escapes stay.
std::string_view entry_of(std::string_view text, std::string_view name, const char* missing) {
  std::optional<std::string_view> found;
  for (const std::string_view each : split(stripped(text, '{', '}'))) {
    const std::size_t equals = each.find('=');
    if (equals == std::string_view::npos || bare_name(each.substr(0, equals)) != name) continue;
    if (found) malformed("twice in a list: " + printable(name));
    found = trimmed(each.substr(equals + 1));
    if (found->starts_with('"')) found = stripped(*found, '"', '"');
  }
  if (!found) not_covered(missing);
  return *found;
}

}  // namespace

std::vector<Index> id_lists(std::string_view text) {
  text = trimmed(text);
  std::vector<Index> lists;
  const std::size_t arrow = text.find("<=");
  if (arrow == std::string_view::npos) {
    for (const auto part : split(stripped(text, '{', '}'))) {
      if (!trimmed(part).empty()) lists.push_back(integers_in(part));
    }
    return lists;
  }
  const Index tiles = integers_in(text.substr(0, arrow));
  const std::string_view source = text.substr(arrow + 2);
  const std::size_t turn = source.find('T');
  const Index sizes = integers_in(source.substr(0, turn));
  Index in_order(sizes.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  const Index order = turn == std::string_view::npos ? in_order : integers_in(source.substr(turn));
  if (tiles.size() != 2 ||
      !std::is_permutation(order.begin(), order.end(), in_order.begin(), in_order.end()))
    not_covered("groups of this form");
  const std::int64_t all = devices_along(sizes);
  const Index strides = strides_of(sizes);
  Index turned;
  for (const std::int64_t each : order) turned.push_back(sizes.at(static_cast<std::size_t>(each)));
  Index flat;
  for_each_index(turned, [&](const Index& index) {
    std::int64_t id = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      id += index[i] * strides[static_cast<std::size_t>(order[i])];
    flat.push_back(id);
  });
  if (devices_along(tiles) != all) malformed("tiles of ids");
  for (std::int64_t i = 0; i < tiles[0]; ++i)
    lists.emplace_back(flat.begin() + i * tiles[1], flat.begin() + (i + 1) * tiles[1]);
  return lists;
}

std::vector<Index> mesh_groups(std::string_view text, std::string_view devices) {
  // `mesh['a'=2,'b'=4] {'a'}`, or the last part behind `device_ids=([4,2]T(1,0))`.
  const std::size_t close = text.find(']');
  if (!text.starts_with("mesh[") || close == std::string_view::npos) malformed("groups by a mesh");
  std::string_view axes_text = trimmed(text.substr(close + 1));
  std::optional<std::string_view> ids;
  if (!devices.empty()) {
    const std::size_t brace = devices.find('{');
    if (brace == std::string_view::npos) malformed("groups by a mesh");
    ids = devices.substr(0, brace);
    axes_text = trimmed(devices.substr(brace));
  }
  const Mesh mesh(text.substr(5, close - 5), ids);
  const auto axes = axes_of(stripped(axes_text, '{', '}'), mesh);
  std::map<Index, std::map<std::int64_t, std::int64_t>> groups;
  std::size_t next = 0;
  for_each_index(mesh.sizes, [&](const Index& index) {
    Index rest = index;
    for (const Axis& axis : axes) rest[axis.number] -= axis.coordinate(index) * axis.stride;
    groups[rest].emplace(number_along(axes, index), mesh.devices[next++]);
  });
  std::vector<Index> lists;
  for (const auto& [rest, members] : groups) {
    Index& list = lists.emplace_back();
    for (const auto& [position, device] : members) list.push_back(device);
  }
  return lists;
}

Sharding Sharding::read(const std::string& text, std::size_t dimensions, const Devices& devices) {
  const std::string_view inside = trimmed(stripped(text, '{', '}'));
  const auto not_this = [&] { not_covered("the sharding " + printable(text)); };
  if (inside == "replicated" || inside.starts_with("replicated ")) return {};
  if (inside == "manual" || inside.starts_with("manual ")) return each_its_own(devices);
  if (inside.starts_with("mesh[")) {
    const MeshSharding by_mesh(inside);
    if (by_mesh.kind == MeshSharding::Kind::Replicated) return {};
    if (by_mesh.kind == MeshSharding::Kind::Manual) return each_its_own(devices);
    if (by_mesh.dimensions.size() != dimensions) not_this();
    return tiles_along(by_mesh.mesh, by_mesh.dimensions, by_mesh.manual, devices);
  }
  if (!inside.starts_with("devices=[")) not_this();
  const std::size_t close = inside.find(']');
  if (close == std::string_view::npos) malformed("a sharding");
  const Index tiles = integers_in(inside.substr(0, close));
  const std::string_view rest = inside.substr(close + 1);
  // ` last_tile_dims={manual, replicated}`, of what is behind the dimensions, follows the devices.
  const std::size_t space = rest.find(' ');
  const std::string_view list = rest.substr(0, space);
  const std::string_view kinds = space == std::string_view::npos ? "" : rest.substr(space + 1);
  std::vector<bool> is_manual(tiles.size(), false);
  constexpr std::string_view kKinds = "last_tile_dims=";
  if (kinds.starts_with(kKinds)) {
    const std::string_view names = kinds.substr(kKinds.size(), kinds.find('}') - kKinds.size() + 1);
    std::size_t next = dimensions;
    for (const std::string_view name : split(stripped(names, '{', '}'))) {
      if (next >= tiles.size() || (trimmed(name) != "manual" && trimmed(name) != "replicated"))
        not_this();
      is_manual[next++] = trimmed(name) == "manual";
    }
    if (next != tiles.size()) not_this();
  } else if (kinds.find("manual") != std::string_view::npos ||
             kinds.find("unreduced") != std::string_view::npos) {
    not_this();
  }
  const std::int64_t all = devices_along(tiles);
  const std::string text_of_tiles = "[1," + std::to_string(all) + "]" + std::string(list);
  const Index order = list.starts_with("<=") ? id_lists(text_of_tiles).at(0) : integers_in(list);
  if (tiles.size() < dimensions || std::ssize(order) != all || all != devices.partitions)
    not_this();
  Sharding sharding{Index(tiles.begin(), tiles.begin() + static_cast<std::ptrdiff_t>(dimensions)),
                    std::vector<Index>(order.size()),
                    {}};
  if (std::find(is_manual.begin(), is_manual.end(), true) != is_manual.end())
    sharding.groups.resize(order.size());
  std::size_t next = 0;
  for_each_index(tiles, [&](const Index& index) {
    const auto partition = static_cast<std::size_t>(order[next++]);
    if (partition >= sharding.tiles.size()) malformed("a sharding");
    sharding.tiles[partition].assign(index.begin(),
                                     index.begin() + static_cast<std::ptrdiff_t>(dimensions));
    std::int64_t group = 0;
    for (std::size_t k = dimensions; k < index.size(); ++k) {
      if (is_manual[k]) group = group * tiles[k] + index[k];
    }
    if (!sharding.groups.empty()) sharding.groups[partition] = group;
  });
  return sharding;
}

Sharding Sharding::of_mesh(const std::string& meshes, const std::string& attributes,
                           const std::string& key, std::size_t number, std::size_t dimensions,
                           const Devices& devices) {
  // `xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {}]>, <@mesh, [{}]>]>"`
  const auto between = [](std::string_view text, std::string_view open, char close) {
    const std::size_t begin = text.find(open);
    if (begin == std::string_view::npos) not_covered("shardings of this form");
    const std::size_t end = text.find(close, begin + open.size());
    if (end == std::string_view::npos) malformed("a sharding");
    return text.substr(begin + open.size(), end - begin - open.size());
  };
  std::string_view value = entry_of(attributes, key, "a manual part of this form");
  if (!value.starts_with("#sdy.sharding_per_value<[")) malformed("a sharding");
  for (std::size_t i = 0; i <= number; ++i) {
    const std::size_t next = value.find("<@");
    if (next == std::string_view::npos) malformed("a manual part with too few shardings");
    value = value.substr(next + 1);
  }
  value = value.substr(0, value.find('>'));
  const std::string name(trimmed(between(value, "@", ',')));
  const std::size_t list = value.find('[');
  const std::size_t end = value.rfind(']');
  if (list == std::string_view::npos || end == std::string_view::npos) malformed("a sharding");
  const std::string_view per_dimension = value.substr(list + 1, end - list - 1);
  if (value.find("unreduced") != std::string_view::npos) not_covered("unreduced axes");
  const std::string_view all_meshes = entry_of(meshes, "xla.sdy.meshes", "a module without meshes");
  const std::string_view mesh_text = entry_of(all_meshes, name, "a mesh that is not in the header");
  if (!mesh_text.starts_with("#sdy.mesh<[")) malformed("a mesh");
  if (between(mesh_text, "#sdy.mesh<", '>').find("device_ids") != std::string_view::npos)
    not_covered("the devices of a mesh");
  const Mesh mesh(between(mesh_text, "#sdy.mesh<[", ']'), {});
  const auto manual =
      axes_of(between(entry_of(attributes, "xla.sdy.manual_axes", "a manual part without axes"),
                      "manual_axes{", '}'),
              mesh);
  const auto is_manual = [&](const Axis& axis) {
    return std::any_of(manual.begin(), manual.end(), [&](const Axis& each) {
      return each.number == axis.number && each.size == mesh.sizes[axis.number];
    });
  };
  const auto parts_text = split(per_dimension);
  if (parts_text.size() != dimensions && dimensions != 0)
    malformed("a sharding of other dimensions");
  // Devices along other axes have one tensor, which these cut further.
  std::vector<std::vector<Axis>> by_dimension(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    bool is_cut_further = false;
    for (const Axis& axis : axes_of(stripped(parts_text[i], '{', '}'), mesh)) {
      is_cut_further = is_cut_further || !is_manual(axis);
      if (!is_cut_further) by_dimension[i].push_back(axis);
      if (is_cut_further && is_manual(axis)) not_covered("a manual axis behind one that is not");
    }
  }
  return tiles_along(mesh, std::move(by_dimension), {}, devices);
}

namespace {

/// A partition's tile of a tensor.
struct Tile {
  Index whole;
  Index first;
  Index sizes;

  Tile(const Sharding& sharding, std::size_t partition, const Index& tensor)
      : whole(tensor), first(tensor.size(), 0), sizes(tensor) {
    for (std::size_t i = 0; i < sharding.parts.size(); ++i) {
      sizes[i] = (tensor[i] + sharding.parts[i] - 1) / sharding.parts[i];
      first[i] = sharding.tiles.at(partition).at(i) * sizes[i];
    }
  }
  /// The place in the whole tensor; nothing for what pads the tile.
  std::optional<std::size_t> place(Index index) const {
    for (std::size_t i = 0; i < index.size(); ++i) {
      index[i] += first[i];
      if (index[i] >= whole[i]) return std::nullopt;
    }
    return place_of(whole, index);
  }
};

/// How a group's tensor is cut from a whole one, of which `whole` and, in each group, `own` are the
/// tiles that the same devices hold: every tile of the group's has as many of `own`, in their
/// order.
Sharding cut_of(const Sharding& whole, const Sharding& own, const Index& sizes) {
  const auto not_this = [] { not_covered("tiles of a manual group of this form"); };
  if (!whole.groups.empty() || own.groups.empty()) not_this();
  Sharding cut{{}, std::vector<Index>(own.groups.size()), {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t outer = whole.is_replicated() ? 1 : whole.parts.at(i);
    const std::int64_t inner = own.is_replicated() ? 1 : own.parts.at(i);
    if (outer % inner != 0 || (inner != 1 && sizes[i] % outer != 0)) not_this();
    cut.parts.push_back(outer / inner);
    for (std::size_t k = 0; k < cut.tiles.size(); ++k) {
      const std::int64_t tile = whole.is_replicated() ? 0 : whole.tiles.at(k).at(i);
      if (tile % inner != (own.is_replicated() ? 0 : own.tiles.at(k).at(i))) not_this();
      cut.tiles[k].push_back(tile / inner);
    }
  }
  std::map<std::int64_t, Index> tiles;
  for (std::size_t k = 0; k < cut.tiles.size(); ++k) {
    if (tiles.emplace(own.groups[k], cut.tiles[k]).first->second != cut.tiles[k]) not_this();
  }
  return cut;
}

bool is_annotated_part(const Instruction& instruction) {
  return instruction.attribute("custom_call_target").find("SPMD") != std::string::npos;
}

}  // namespace

Sharding manual_sharding(const Module& module, const Computation& computation,
                         const Instruction& instruction, std::size_t number, bool is_cut,
                         const Devices& devices) {
  const std::vector<Shape> shapes = arrays_of(instruction.shape);
  if (shapes.size() != instruction.operands.size() ||
      (is_annotated_part(instruction) && instruction.shape.is_tuple))
    not_covered("this manual part");
  const Instruction& from = computation.instructions[instruction.operands.at(number)];
  const std::size_t dimensions = shapes[number].sizes.size();
  if (!is_annotated_part(instruction)) {
    return Sharding::of_mesh(module.meshes, instruction.attribute("frontend_attributes"),
                             is_cut ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings", number,
                             dimensions, devices);
  }
  const auto sharding = [&](const Instruction& of) {
    return Sharding::read(of.attribute("sharding"), dimensions, devices);
  };
  const Index& sizes = is_cut ? from.shape.sizes : shapes[number].sizes;
  return cut_of(sharding(is_cut ? from : instruction), sharding(is_cut ? instruction : from),
                sizes);
}

Value Interpreter::manual(const Computation& computation, const Instruction& instruction,
                          const Operands& operands, bool is_cut) {
  const bool is_tuple = instruction.shape.is_tuple;
  const std::vector<Shape> shapes = arrays_of(instruction.shape);
  Value all;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Sharding sharding =
        manual_sharding(module_, computation, instruction, i, is_cut, devices_);
    if (operands[i]->devices.empty()) not_covered("a manual part of a tuple");
    all.parts.push_back(is_cut ? shard(shapes.at(i), *operands[i], sharding)
                               : whole(shapes.at(i), *operands[i], sharding));
  }
  return is_tuple ? all : std::move(all.parts.at(0));
}

/// The tile of every device; what lies beyond the tensor is arbitrary.
Value Interpreter::shard(const Shape& shape, const Value& operand, const Sharding& sharding) {
  if (sharding.is_replicated()) return operand;
  return everywhere(
      {&operand},
      [&](std::size_t device, const Tensors& tensors) {
        const Tensor& x = *tensors[0];
        const Tile tile(sharding, device % static_cast<std::size_t>(devices_.partitions), x.sizes);
        if (tile.sizes != shape.sizes) not_covered("a shard of another size");
        return filled(shape, [&](const Index& index) {
          const auto place = tile.place(index);
          return place ? x.cells.at(*place) : arithmetic_.arbitrary(x.type);
        });
      },
      true);
}

/// The tensor of which devices have the tiles. Devices with the same tile must agree.
Value Interpreter::whole(const Shape& shape, const Value& operand, const Sharding& sharding) {
  std::vector<std::optional<Cell>> cells(static_cast<std::size_t>(shape.elements()));
  for (std::size_t device = 0; device < devices_.count(); ++device) {
    const Tensor& x = *operand.devices[device];
    const Tile tile(sharding, device % static_cast<std::size_t>(devices_.partitions), shape.sizes);
    if (tile.sizes != x.sizes) not_covered("a shard of another size");
    budget_.spend(x.cells.size());
    for_each_index(x.sizes, [&](const Index& index) {
      const auto place = tile.place(index);
      if (!place) return;
      const Cell& cell = element(x, index);
      auto& known = cells.at(*place);
      if (known && !arithmetic_.same(*known, cell, shape.type))
        not_covered("a tensor that is not the same on all devices that hold it");
      known = cell;
    });
  }
  Tensor tensor{shape.type, shape.sizes, {}};
  for (const auto& cell : cells) {
    if (!cell) not_covered("a tensor that no device holds");
    tensor.cells.push_back(*cell);
  }
  Value result;
  result.devices.assign(devices_.count(), std::make_shared<const Tensor>(std::move(tensor)));
  return result;
}

}  // namespace p2::kernel::xla
