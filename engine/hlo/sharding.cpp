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

std::int64_t product_of(const List& list) {
  std::int64_t all = 1;
  for (const std::int64_t each : list) {
    all *= each;
    if (all < 1 || all > kMaxDevices) return 0;
  }
  return all;
}

/// The coordinates of every device in a grid of tiles that `devices` fills in row-major order. The
/// last dimensions of the grid, beyond `rank`, are copies.
std::optional<Sharding> tiled(const List& grid, const List& devices, std::size_t rank,
                              std::int64_t partitions) {
  Sharding sharding;
  if (grid.size() < rank || static_cast<std::int64_t>(devices.size()) != partitions ||
      product_of(grid) != partitions) {
    return std::nullopt;
  }
  sharding.tiles.assign(grid.begin(), grid.begin() + static_cast<std::ptrdiff_t>(rank));
  if (std::all_of(sharding.tiles.begin(), sharding.tiles.end(),
                  [](std::int64_t tiles) { return tiles == 1; })) {
    return Sharding{};
  }
  sharding.coordinates.resize(static_cast<std::size_t>(partitions));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    List coordinate(grid.size());
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d]) coordinate[d] = rest % grid[d];
    coordinate.resize(rank);
    if (devices[i] >= partitions) return std::nullopt;
    List& place = sharding.coordinates[static_cast<std::size_t>(devices[i])];
    if (!place.empty()) return std::nullopt;
    place = std::move(coordinate);
  }
  return sharding;
}

/// `{devices=[2,4]<=[8] last_tile_dim_replicate}` after the opening brace.
std::optional<Sharding> read_xla(TextReader& reader, std::size_t rank, std::int64_t partitions) {
  if (reader.accept_word("replicated")) return Sharding{};
  if (reader.accept_word("manual")) return Sharding{Sharding::Kind::Manual};
  if (reader.accept_word("maximal")) return Sharding{Sharding::Kind::Maximal};
  if (!reader.accept_word("devices")) return std::nullopt;
  reader.expect("=", "after devices");
  const List grid = read_list(reader, "[", "]");
  List devices;
  if (reader.accept("<=")) {
    const List sizes = read_list(reader, "[", "]");
    List order;
    if (reader.accept("T")) order = read_list(reader, "(", ")");
    devices = iota_groups(1, device_product(sizes, kNowhere), sizes, order, kNowhere)[0];
  } else {
    do {
      devices.push_back(reader.integer("a device", 0, kMaxDevices));
    } while (reader.accept(","));
  }
  std::size_t copies = 0;
  if (reader.accept_word("last_tile_dim_replicate")) {
    copies = 1;
  } else if (reader.accept_word("last_tile_dims")) {
    reader.expect("=", "after last_tile_dims");
    reader.expect("{", "before kinds");
    while (!reader.accept("}")) {
      if (reader.word("a kind") != "replicated") return std::nullopt;
      reader.accept(",");
      ++copies;
    }
  }
  if (grid.size() != rank + copies) return std::nullopt;
  return tiled(grid, devices, rank, partitions);
}

/// `<["d"=2, "m"=4]>` or `<["d"=2], device_ids=[1, 0]>`.
struct TextMesh {
  std::vector<MeshAxis> axes;
  List devices;
};

std::optional<TextMesh> read_mesh(std::string_view text) {
  TextReader reader(text, kNowhere);
  TextMesh mesh;
  reader.expect("<", "before a mesh");
  reader.expect("[", "before axes");
  List sizes;
  while (!reader.accept("]")) {
    MeshAxis axis{std::string(reader.quoted())};
    reader.expect("=", "after an axis");
    axis.size = reader.integer("a size", 1, kMaxDevices);
    sizes.push_back(axis.size);
    mesh.axes.push_back(axis);
    reader.accept(",");
  }
  mesh.devices.resize(static_cast<std::size_t>(device_product(sizes, kNowhere)));
  std::iota(mesh.devices.begin(), mesh.devices.end(), 0);
  if (reader.accept(",")) {
    if (!reader.accept_word("device_ids")) return std::nullopt;
    reader.expect("=", "after device_ids");
    mesh.devices = read_list(reader, "[", "]");
  }
  return mesh;
}

/// `<@mesh, [{"x", "y":(1)2}, {}], replicated={"z"}>`.
std::optional<Sharding> read_shardy(TextReader& reader, std::size_t rank, std::int64_t partitions,
                                    const std::map<std::string, std::string>& meshes) {
  reader.expect("<", "before a sharding");
  reader.expect("@", "before a mesh");
  const auto found = meshes.find(std::string(reader.word("a mesh")));
  if (found == meshes.end()) return std::nullopt;
  const auto mesh = read_mesh(found->second);
  if (!mesh || static_cast<std::int64_t>(mesh->devices.size()) != partitions) return std::nullopt;
  reader.expect(",", "after a mesh");
  reader.expect("[", "before dimensions");
  Sharding sharding;
  sharding.coordinates.assign(static_cast<std::size_t>(partitions), {});
  while (!reader.accept("]")) {
    reader.expect("{", "before axes");
    std::vector<MeshAxis> axes;
    while (!reader.accept("}")) {
      if (reader.accept("?")) continue;
      MeshAxis axis{std::string(reader.quoted())};
      const auto whole = std::find_if(mesh->axes.begin(), mesh->axes.end(),
                                      [&](const MeshAxis& each) { return each.name == axis.name; });
      if (whole == mesh->axes.end()) return std::nullopt;
      axis.size = whole->size;
      if (reader.accept(":")) {
        reader.expect("(", "before a sub-axis");
        axis.before = reader.integer("the size before a sub-axis", 1, kMaxDevices);
        reader.expect(")", "in a sub-axis");
        axis.size = reader.integer("the size of a sub-axis", 1, kMaxDevices);
        if (whole->size % (*axis.before * axis.size) != 0) return std::nullopt;
      }
      axes.push_back(axis);
      reader.accept(",");
    }
    if (reader.peek_word().starts_with("p")) reader.word("a priority");
    std::int64_t tiles = 1;
    for (const MeshAxis& axis : axes) tiles *= axis.size;
    sharding.tiles.push_back(tiles);
    for (std::size_t i = 0; i < mesh->devices.size(); ++i) {
      std::int64_t at = 0;
      for (const MeshAxis& axis : axes) {
        std::int64_t stride = 1;
        for (auto each = mesh->axes.rbegin(); each->name != axis.name; ++each) stride *= each->size;
        const auto whole =
            std::find_if(mesh->axes.begin(), mesh->axes.end(),
                         [&](const MeshAxis& each) { return each.name == axis.name; });
        std::int64_t coordinate = static_cast<std::int64_t>(i) / stride % whole->size;
        if (axis.before)
          coordinate = coordinate / (whole->size / *axis.before / axis.size) % axis.size;
        at = at * axis.size + coordinate;
      }
      sharding.coordinates[static_cast<std::size_t>(mesh->devices[i])].push_back(at);
    }
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("','");
  }
  while (reader.accept(",")) {
    // Axes that replicate change nothing; unreduced ones would.
    if (!reader.accept_word("replicated")) return std::nullopt;
    reader.expect("=", "after replicated");
    reader.raw(",>", false);
  }
  if (sharding.tiles.size() != rank) return std::nullopt;
  if (product_of(sharding.tiles) == 1) return Sharding{};
  return sharding;
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
                                      const std::map<std::string, std::string>& meshes) {
  try {
    constexpr std::string_view kShardy = "#sdy.sharding";
    if (text.starts_with(kShardy)) text.remove_prefix(kShardy.size());
    TextReader reader(text, kNowhere);
    if (reader.next_is("<")) return read_shardy(reader, rank, partitions, meshes);
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
