// Shardings of XLA (xla/hlo/ir/hlo_sharding.h) and Shardy (openxla/shardy, sharding
// representation).

#include "engine/hlo/sharding.h"

#include <algorithm>
#include <numeric>

#include "engine/hlo/replica_groups.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo {
namespace {

using List = std::vector<std::int64_t>;
const SourcePosition kNowhere = {};

List read_list(TextReader& reader, std::string_view open, std::string_view close) {
  List list;
  reader.expect(open, "before a list");
  while (!reader.accept(close)) {
    list.push_back(reader.integer("a number", 0, kMaxDevices));
    if (!reader.accept(",") && !reader.next_is(close)) reader.unexpected("','");
  }
  return list;
}

/// `[8]` or `[4,2]T(1,0)`: the ids from 0, transposed.
List read_iota_order(TextReader& reader) {
  const List sizes = read_list(reader, "[", "]");
  List order;
  if (reader.accept("T")) order = read_list(reader, "(", ")");
  return iota_groups(1, device_product(sizes, kNowhere), sizes, order, kNowhere)[0];
}

List read_ids(TextReader& reader) {
  List ids;
  do {
    ids.push_back(reader.integer("a device", 0, kMaxDevices));
  } while (reader.accept(","));
  return ids;
}

std::int64_t product_of(const List& list) {
  std::int64_t all = 1;
  for (const std::int64_t each : list) {
    all *= each;
    if (all < 1 || all > kMaxDevices) return 0;
  }
  return all;
}

/// What the partitions that differ in a dimension of a grid of tiles beyond those of the tensor
/// have: copies, parts of a sum, or tensors of their own.
enum class Subgroup : std::uint8_t { Replicated, Manual, Unreduced };

/// `sharding`, of which partition i has the tile `coordinates[i]` of tensor `group[i]`, in part
/// `part[i]`, in its simplest form.
Sharding simplified(Sharding sharding, std::int64_t groups) {
  if (product_of(sharding.tiles) == 1) {
    sharding.tiles.clear();
    sharding.coordinates.clear();
  }
  if (sharding.parts == 1) sharding.part.clear();
  if (groups == 1) sharding.group.clear();
  return sharding;
}

/// A grid of tiles that `devices` fills in row-major order. The last dimensions of the grid, beyond
/// `rank`, are `subgroups`.
std::optional<Sharding> tiled(const List& grid, const List& devices, std::size_t rank,
                              const std::vector<Subgroup>& subgroups, std::int64_t partitions) {
  const auto count = static_cast<std::size_t>(partitions);
  if (grid.size() != rank + subgroups.size() || devices.size() != count ||
      product_of(grid) != partitions) {
    return std::nullopt;
  }
  Sharding sharding;
  sharding.tiles.assign(grid.begin(), grid.begin() + static_cast<std::ptrdiff_t>(rank));
  sharding.coordinates.resize(count);
  sharding.part.resize(count);
  sharding.group.resize(count);
  std::vector<bool> has_place(count, false);
  std::int64_t groups = 1;
  for (std::size_t k = 0; k < subgroups.size(); ++k) {
    if (subgroups[k] == Subgroup::Manual) groups *= grid[rank + k];
    if (subgroups[k] == Subgroup::Unreduced) sharding.parts *= grid[rank + k];
  }
  for (std::size_t i = 0; i < count; ++i) {
    List coordinate(grid.size());
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d]) coordinate[d] = rest % grid[d];
    if (devices[i] >= partitions) return std::nullopt;
    const auto partition = static_cast<std::size_t>(devices[i]);
    if (has_place[partition]) return std::nullopt;
    has_place[partition] = true;
    for (std::size_t k = 0; k < subgroups.size(); ++k) {
      const std::int64_t at = coordinate[rank + k];
      const std::int64_t size = grid[rank + k];
      if (subgroups[k] == Subgroup::Manual) {
        sharding.group[partition] = sharding.group[partition] * size + at;
      } else if (subgroups[k] == Subgroup::Unreduced) {
        sharding.part[partition] = sharding.part[partition] * size + at;
      }
    }
    coordinate.resize(rank);
    sharding.coordinates[partition] = std::move(coordinate);
  }
  return simplified(std::move(sharding), groups);
}

/// Skips what has no meaning and requires the end.
bool ends_sharding(TextReader& reader) {
  if (reader.accept_word("metadata")) {
    reader.expect("=", "after metadata");
    reader.raw("}", false);
  }
  return reader.accept("}") && reader.at_end();
}

/// `{devices=[2,4]<=[8] last_tile_dim_replicate}` after `devices`.
std::optional<Sharding> read_tiles(TextReader& reader, std::size_t rank, std::int64_t partitions) {
  reader.expect("=", "after devices");
  const List grid = read_list(reader, "[", "]");
  const List devices = reader.accept("<=") ? read_iota_order(reader) : read_ids(reader);
  std::vector<Subgroup> subgroups;
  if (reader.accept_word("last_tile_dim_replicate")) {
    subgroups = {Subgroup::Replicated};
  } else if (reader.accept_word("last_tile_dims")) {
    reader.expect("=", "after last_tile_dims");
    reader.expect("{", "before kinds");
    while (!reader.accept("}")) {
      const std::string_view kind = reader.word("a kind");
      if (kind != "replicated" && kind != "manual" && kind != "unreduced") return std::nullopt;
      subgroups.push_back(kind == "manual"      ? Subgroup::Manual
                          : kind == "unreduced" ? Subgroup::Unreduced
                                                : Subgroup::Replicated);
      if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("','");
    }
  }
  if (!ends_sharding(reader)) return std::nullopt;
  return tiled(grid, devices, rank, subgroups, partitions);
}

/// Axes and, in row-major order of their coordinates, devices.
struct DeviceMesh {
  std::vector<MeshAxis> axes;
  List devices;
  bool names_devices = false;

  /// The device ids are 0, 1, … in row-major order until they are given.
  void number() {
    List sizes;
    for (const MeshAxis& axis : axes) sizes.push_back(axis.size);
    devices.resize(static_cast<std::size_t>(device_product(sizes, kNowhere)));
    std::iota(devices.begin(), devices.end(), 0);
  }
};

/// `<["d"=2, "m"=4]>` or `<["d"=2], device_ids=[1, 0]>`.
std::optional<DeviceMesh> read_mesh(std::string_view text) {
  TextReader reader(text, kNowhere);
  DeviceMesh mesh;
  reader.expect("<", "before a mesh");
  reader.expect("[", "before axes");
  while (!reader.accept("]")) {
    MeshAxis axis{std::string(reader.quoted())};
    reader.expect("=", "after an axis");
    axis.size = reader.integer("a size", 1, kMaxDevices);
    mesh.axes.push_back(axis);
    reader.accept(",");
  }
  mesh.number();
  if (reader.accept(",")) {
    if (!reader.accept_word("device_ids")) return std::nullopt;
    reader.expect("=", "after device_ids");
    mesh.devices = read_list(reader, "[", "]");
    mesh.names_devices = true;
  }
  return mesh;
}

/// A sharding by the axes of a mesh: those of every dimension, and of every kind of subgroup.
struct MeshSharding {
  DeviceMesh mesh;
  std::vector<std::vector<MeshAxis>> dimensions = {};
  std::map<std::string, std::vector<MeshAxis>> others = {};

  /// Nothing unless the axes are disjoint parts of the mesh's.
  std::optional<Sharding> sharding(std::size_t rank, std::int64_t partitions) const;
};

/// The number of a position of the mesh along some axes.
std::int64_t number_along(const DeviceMesh& mesh, const std::vector<MeshAxis>& axes,
                          std::int64_t position) {
  std::int64_t number = 0;
  for (const MeshAxis& axis : axes) {
    const Digit digit = digit_of(mesh.axes, axis, kNowhere);
    number = number * digit.size + position / digit.stride % digit.size;
  }
  return number;
}

std::int64_t size_of(const std::vector<MeshAxis>& axes) {
  std::int64_t size = 1;
  for (const MeshAxis& axis : axes) size *= axis.size;
  return size;
}

/// Whether no part of an axis is named twice.
bool are_disjoint(const std::vector<const MeshAxis*>& all) {
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> used;
  for (const MeshAxis* axis : all) {
    const std::int64_t first = axis->before.value_or(1);
    const std::int64_t end = first * axis->size;
    for (const auto& [other_first, other_end] : used[axis->name]) {
      if (first < other_end && other_first < end) return false;
    }
    used[axis->name].emplace_back(first, end);
  }
  return true;
}

std::optional<Sharding> MeshSharding::sharding(std::size_t rank, std::int64_t partitions) const {
  if (size_of(mesh.axes) != static_cast<std::int64_t>(mesh.devices.size())) return std::nullopt;
  if (mesh.axes.empty()) {
    const bool none = std::all_of(dimensions.begin(), dimensions.end(),
                                  [](const auto& axes) { return axes.empty(); });
    if (!none || !(dimensions.empty() || dimensions.size() == rank) || mesh.devices.size() != 1) {
      return std::nullopt;
    }
    if (!mesh.names_devices) return Sharding{};
    if (mesh.devices[0] >= partitions) return std::nullopt;
    Sharding maximal{Sharding::Kind::Maximal};
    maximal.only_partition = mesh.devices[0];
    return maximal;
  }
  std::vector<const MeshAxis*> all;
  std::vector<std::vector<MeshAxis>> grid = dimensions;
  std::vector<Subgroup> subgroups;
  for (const auto& [name, axes] : others) {
    if (name == "replicated") {
      for (const MeshAxis& axis : axes) all.push_back(&axis);
      continue;
    }
    grid.push_back(axes);
    subgroups.push_back(name == "manual" ? Subgroup::Manual : Subgroup::Unreduced);
  }
  for (const auto& axes : grid) {
    for (const MeshAxis& axis : axes) all.push_back(&axis);
  }
  const auto count = static_cast<std::size_t>(partitions);
  if (dimensions.size() != rank || mesh.devices.size() != count || !are_disjoint(all)) {
    return std::nullopt;
  }
  // The position in the grid of all of these axes, with what is left over as copies.
  List sizes;
  for (const auto& axes : grid) sizes.push_back(size_of(axes));
  const std::int64_t named = product_of(sizes);
  if (named == 0 || partitions % named != 0) return std::nullopt;
  sizes.push_back(partitions / named);
  subgroups.push_back(Subgroup::Replicated);
  std::vector<std::int64_t> copies(static_cast<std::size_t>(named), 0);
  List order(count, kMaxDevices);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (const auto& axes : grid) {
      place = place * size_of(axes) + number_along(mesh, axes, static_cast<std::int64_t>(i));
    }
    std::int64_t& copy = copies[static_cast<std::size_t>(place)];
    if (copy >= sizes.back()) return std::nullopt;
    order[static_cast<std::size_t>(place * sizes.back() + copy++)] = mesh.devices[i];
  }
  auto sharding = tiled(sizes, order, rank, subgroups, partitions);
  if (!sharding) return sharding;
  for (const auto& axes : dimensions) sharding->axes.push_back(axes_text(axes));
  if (std::is_sorted(mesh.devices.begin(), mesh.devices.end())) sharding->mesh = mesh.axes;
  return sharding;
}

/// The name of an axis in single quotes, as XLA writes it.
std::string read_axis_name(TextReader& reader) {
  reader.expect("'", "before an axis");
  std::string name(reader.raw("'", true));
  reader.expect("'", "after an axis");
  return name;
}

/// Axes up to `}`: `"x", "y":(1)2, ?}`, of Shardy or, in single quotes, of XLA. Nothing for one
/// that the mesh does not have.
std::optional<std::vector<MeshAxis>> read_axes(TextReader& reader, const DeviceMesh& mesh) {
  std::vector<MeshAxis> axes;
  reader.expect("{", "before axes");
  while (!reader.accept("}")) {
    if (reader.accept("?")) {
      reader.accept(",");
      continue;
    }
    MeshAxis axis;
    axis.name = reader.next_is("'") ? read_axis_name(reader) : std::string(reader.quoted());
    const auto whole = std::find_if(mesh.axes.begin(), mesh.axes.end(),
                                    [&](const MeshAxis& each) { return each.name == axis.name; });
    if (whole == mesh.axes.end()) return std::nullopt;
    axis.size = whole->size;
    read_sub_axis(reader, axis);
    if (axis.before && whole->size % (*axis.before * axis.size) != 0) return std::nullopt;
    axes.push_back(axis);
    if (!reader.accept(",") && !reader.next_is("}")) reader.unexpected("','");
  }
  return axes;
}

/// `[{"x"}p0, {}], replicated={"z"}, unreduced={"u"}` up to `end`, which must be last.
std::optional<MeshSharding> read_placement(TextReader& reader, DeviceMesh mesh,
                                           std::string_view end) {
  MeshSharding result{std::move(mesh)};
  reader.expect("[", "before dimensions");
  while (!reader.accept("]")) {
    auto axes = read_axes(reader, result.mesh);
    if (!axes) return std::nullopt;
    result.dimensions.push_back(std::move(*axes));
    if (const std::string_view word = reader.peek_word(); !word.empty()) {
      const bool is_priority = word.size() > 1 && word[0] == 'p' &&
                               word.find_first_not_of("0123456789", 1) == std::string_view::npos;
      if (!is_priority) return std::nullopt;
      reader.word("a priority");
    }
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("','");
  }
  while (reader.accept(",")) {
    const std::string name(reader.word("a kind of axes"));
    reader.expect("=", "after a kind of axes");
    if (name == "metadata") {
      reader.raw(",}", false);
      continue;
    }
    if (name != "replicated" && name != "unreduced" && name != "manual") return std::nullopt;
    auto axes = read_axes(reader, result.mesh);
    if (!axes || !result.others.emplace(name, std::move(*axes)).second) return std::nullopt;
  }
  reader.expect(end, "after a sharding");
  if (!reader.at_end()) return std::nullopt;
  return result;
}

/// `replicated}`, `manual}` or `unreduced}`, of all partitions.
std::optional<Sharding> read_whole(TextReader& reader, std::int64_t partitions) {
  Sharding sharding;
  const std::string_view kind = reader.word("a sharding");
  if (kind == "manual") {
    sharding.kind = Sharding::Kind::Manual;
  } else if (kind == "unreduced") {
    sharding.parts = partitions;
    sharding.part.resize(static_cast<std::size_t>(partitions));
    std::iota(sharding.part.begin(), sharding.part.end(), 0);
    sharding = simplified(std::move(sharding), 1);
  } else if (kind != "replicated") {
    return std::nullopt;
  }
  reader.accept(",");  // before metadata, in some forms
  return ends_sharding(reader) ? std::optional(std::move(sharding)) : std::nullopt;
}

/// The only device of a tensor.
std::optional<Sharding> read_maximal(TextReader& reader, std::int64_t partitions) {
  Sharding sharding{Sharding::Kind::Maximal};
  reader.expect("=", "before a device");
  sharding.only_partition = reader.integer("a device", 0, partitions - 1);
  return sharding;
}

/// `{mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{'x'}, {'y':(2)2}]}` after `mesh`, or
/// `{mesh['x'=2], replicated}`; `[]` cuts no dimension.
std::optional<Sharding> read_named(TextReader& reader, std::size_t rank, std::int64_t partitions) {
  DeviceMesh mesh;
  reader.expect("[", "before a mesh");
  while (!reader.accept("]")) {
    MeshAxis axis{read_axis_name(reader)};
    reader.expect("=", "after an axis");
    axis.size = reader.integer("a size", 1, kMaxDevices);
    mesh.axes.push_back(axis);
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("','");
  }
  mesh.number();
  reader.accept(",");
  if (reader.accept_word("device_ids")) {
    reader.expect("=", "after device_ids");
    reader.expect("(", "before device ids");
    mesh.names_devices = true;
    mesh.devices = reader.next_is("[") ? read_iota_order(reader) : read_ids(reader);
    reader.expect(")", "after device ids");
    reader.accept(",");
  }
  if (!reader.next_is("[")) {
    // All partitions are those of the mesh, if it has any.
    const bool fits = mesh.axes.empty() || std::ssize(mesh.devices) == partitions;
    return fits ? read_whole(reader, partitions) : std::nullopt;
  }
  auto placement = read_placement(reader, std::move(mesh), "}");
  if (!placement) return std::nullopt;
  if (placement->dimensions.empty()) placement->dimensions.resize(rank);
  return placement->sharding(rank, partitions);
}

/// After the opening brace.
std::optional<Sharding> read_xla(TextReader& reader, std::size_t rank, std::int64_t partitions) {
  if (reader.accept_word("devices")) return read_tiles(reader, rank, partitions);
  if (reader.accept_word("mesh")) return read_named(reader, rank, partitions);
  std::optional<Sharding> maximal;
  if (reader.accept_word("maximal")) {
    if (!reader.accept_word("device")) return std::nullopt;
    maximal = read_maximal(reader, partitions);
  } else if (reader.accept_word("maximal_mesh")) {
    reader.expect("[", "before a mesh");
    if (!reader.accept_word("device_id")) return std::nullopt;
    maximal = read_maximal(reader, partitions);
    reader.expect("]", "after a mesh");
    reader.accept(",");
  } else {
    return read_whole(reader, partitions);
  }
  return ends_sharding(reader) ? maximal : std::nullopt;
}

/// `<@mesh, [{"x", "y":(1)2}, {}], replicated={"z"}>`, or with `mesh<["x"=2]>` for the name.
std::optional<Sharding> read_shardy(TextReader& reader, std::size_t rank, std::int64_t partitions,
                                    const std::map<std::string, std::string>& meshes,
                                    std::string_view manual_axes) {
  reader.expect("<", "before a sharding");
  std::optional<DeviceMesh> mesh;
  if (reader.accept_word("mesh")) {
    mesh = read_mesh(reader.raw(",", false, true));
  } else {
    reader.expect("@", "before a mesh");
    const auto found = meshes.find(std::string(reader.word("a mesh")));
    if (found == meshes.end()) return std::nullopt;
    mesh = read_mesh(found->second);
  }
  if (!mesh) return std::nullopt;
  reader.expect(",", "after a mesh");
  auto placement = read_placement(reader, *mesh, ">");
  if (!placement || placement->others.contains("manual")) return std::nullopt;
  if (!manual_axes.empty()) {
    const std::size_t list = manual_axes.find('{');
    if (list == std::string_view::npos) return std::nullopt;
    TextReader axes(manual_axes.substr(list), kNowhere);
    const auto manual = read_axes(axes, *mesh);
    if (!manual) return std::nullopt;
    for (std::vector<MeshAxis>& dimension : placement->dimensions) {
      // Those of a dimension that are manual cut it before the others do.
      bool free = false;
      std::vector<MeshAxis> kept;
      for (const MeshAxis& axis : dimension) {
        const bool is_manual =
            std::any_of(manual->begin(), manual->end(),
                        [&](const MeshAxis& each) { return each.name == axis.name; });
        if (is_manual && free) return std::nullopt;
        free = free || !is_manual;
        if (is_manual) kept.push_back(axis);
      }
      dimension = std::move(kept);
    }
  }
  return placement->sharding(rank, partitions);
}

}  // namespace

std::vector<std::int64_t> Sharding::tile_sizes(const std::vector<std::int64_t>& sizes) const {
  std::vector<std::int64_t> result = sizes;
  if (coordinates.empty()) return result;
  for (std::size_t i = 0; i < sizes.size(); ++i) result[i] = (sizes[i] + tiles[i] - 1) / tiles[i];
  return result;
}

std::vector<std::int64_t> Sharding::tile_start(const std::vector<std::int64_t>& sizes,
                                               std::int64_t partition) const {
  std::vector<std::int64_t> start(sizes.size(), 0);
  if (coordinates.empty()) return start;
  const std::vector<std::int64_t> tile = tile_sizes(sizes);
  const std::vector<std::int64_t>& at = coordinates[static_cast<std::size_t>(partition)];
  for (std::size_t i = 0; i < sizes.size(); ++i) start[i] = at[i] * tile[i];
  return start;
}

std::optional<Sharding> read_sharding(std::string_view text, std::size_t rank,
                                      std::int64_t partitions,
                                      const std::map<std::string, std::string>& meshes,
                                      std::string_view manual_axes) {
  try {
    constexpr std::string_view kShardy = "#sdy.sharding";
    if (text.starts_with(kShardy)) text.remove_prefix(kShardy.size());
    TextReader reader(text, kNowhere);
    if (reader.next_is("<")) return read_shardy(reader, rank, partitions, meshes, manual_axes);
    if (!reader.accept("{")) return std::nullopt;
    return read_xla(reader, rank, partitions);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::vector<std::string> sharding_list(std::string_view text) {
  constexpr std::string_view kPerValue = "#sdy.sharding_per_value<[";
  std::vector<std::string> all;
  std::string_view rest = text;
  if (text.starts_with(kPerValue)) {
    rest = text.substr(kPerValue.size(), text.size() - kPerValue.size() - 2);
  } else {
    const std::size_t inner = text.find_first_not_of(' ', 1);
    if (!text.starts_with("{") || inner == std::string_view::npos || text[inner] != '{') {
      return {std::string(text)};
    }
    rest = text.substr(1, text.size() - 2);
  }
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    const char c = i < rest.size() ? rest[i] : ',';
    if (c == '{' || c == '[' || c == '<' || c == '(') {
      if (!(c == '<' && i + 1 < rest.size() && rest[i + 1] == '=')) ++depth;
    }
    if (c == '}' || c == ']' || c == '>' || c == ')') --depth;
    if (c != ',' || depth != 0) continue;
    std::string_view part = rest.substr(start, i - start);
    while (!part.empty() && (part.front() == ' ' || part.front() == '\n')) part.remove_prefix(1);
    if (const std::size_t end = part.find("*/");
        part.starts_with("/*") && end != std::string_view::npos) {
      part.remove_prefix(end + 2);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    }
    if (!part.empty()) all.emplace_back(part);
    start = i + 1;
  }
  return all;
}

std::string axes_text(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (const MeshAxis& axis : axes) {
    text += (text.empty() ? "" : " × ") + axis.name;
    if (axis.before) text += fmt::format(":({}){}", *axis.before, axis.size);
  }
  return text;
}

void name_axes(Sharding& sharding, const std::vector<MeshAxis>& mesh) {
  if (sharding.coordinates.empty() || !sharding.axes.empty()) return;
  // Whether the digits of the coordinates along a dimension are those of partitions along an axis.
  const auto follows = [&](std::size_t dimension, std::int64_t below, const MeshAxis& axis) {
    const Digit digit = digit_of(mesh, axis, kNowhere);
    for (std::size_t k = 0; k < sharding.coordinates.size(); ++k) {
      const auto partition = static_cast<std::int64_t>(k);
      if (sharding.coordinates[k][dimension] / below % axis.size !=
          partition / digit.stride % digit.size) {
        return false;
      }
    }
    return true;
  };
  for (std::size_t i = 0; i < sharding.tiles.size(); ++i) {
    std::vector<MeshAxis> axes;
    for (std::int64_t left = sharding.tiles[i]; left > 1;) {
      const auto axis = std::ranges::find_if(mesh, [&](const MeshAxis& each) {
        return each.size > 1 && left % each.size == 0 && follows(i, left / each.size, each);
      });
      if (axis == mesh.end()) {
        axes.clear();
        break;
      }
      axes.push_back(*axis);
      left /= axis->size;
    }
    sharding.axes.push_back(axes_text(axes));
  }
}

std::vector<MeshAxis> mesh_axes(const std::map<std::string, std::string>& meshes,
                                std::int64_t partitions) {
  std::vector<MeshAxis> found;
  for (const auto& [name, text] : meshes) {
    const auto mesh = read_mesh(text);
    if (!mesh || static_cast<std::int64_t>(mesh->devices.size()) != partitions) continue;
    if (!std::is_sorted(mesh->devices.begin(), mesh->devices.end()) || !found.empty()) return {};
    found = mesh->axes;
  }
  return found;
}

}  // namespace p2::hlo
