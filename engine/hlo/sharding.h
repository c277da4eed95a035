#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hlo/replica_groups.h"
#include "engine/hlo/shape.h"

namespace p2::hlo {

/// How a tensor is cut over partitions: into tiles of equal size, ceil(size / tiles) along every
/// dimension, of which the last ones may be short or empty. Partitions with the same tile hold
/// copies, unless they are of different groups or parts.
struct Sharding {
  enum class Kind : std::uint8_t {
    Tiled,   ///< also replicated: a single tile
    Manual,  ///< every partition has its own tensor
    Maximal  ///< on one partition alone
  };
  Kind kind = Kind::Tiled;
  std::vector<std::int64_t> tiles = {};  ///< by dimension; empty: replicated
  /// By dimension, the axes of a mesh that cut it: `data × model`; empty where they have no names.
  std::vector<std::string> axes = {};
  /// The mesh that it names, if the ids of its devices are row-major.
  std::vector<MeshAxis> mesh = {};
  /// The tile's coordinates, by partition; empty if there is a single tile.
  std::vector<std::vector<std::int64_t>> coordinates = {};
  std::int64_t only_partition = 0;  ///< of Maximal
  /// Unreduced: the whole is the sum of so many tensors, of which each is cut into these tiles; by
  /// partition, whose tile it has. Empty with one.
  std::int64_t parts = 1;
  std::vector<std::int64_t> part = {};
  /// Subgroups that are manual: every one has its own tensor, cut into these tiles; by partition.
  /// Empty with one.
  std::vector<std::int64_t> group = {};

  bool is_replicated() const { return is_plain() && coordinates.empty(); }
  /// Tiles and copies of one tensor.
  bool is_plain() const { return kind == Kind::Tiled && parts == 1 && group.empty(); }
  /// The sizes of a tile of a tensor.
  std::vector<std::int64_t> tile_sizes(const std::vector<std::int64_t>& sizes) const;
  /// The first index of a partition's tile.
  std::vector<std::int64_t> tile_start(const std::vector<std::int64_t>& sizes,
                                       std::int64_t partition) const;
};

/// Reads a sharding for a tensor of `rank` dimensions. Nothing for a form that is not understood.
/// - XLA: `{replicated}`, `{manual}`, `{unreduced}`, `{maximal device=3}`, `{devices=[2,1,4]<=[8]
///   last_tile_dim_replicate}`, `{devices=[2,2]0,1,2,3 last_tile_dims={manual}}`; with a mesh,
///   `{mesh['x'=2,'y'=4], [{'x'}, {}], unreduced={'y'}}`, `{mesh[], replicated}`,
///   `{mesh['x'=2], manual}`, `{maximal_mesh[device_id=3]}`.
/// - Shardy: `#sdy.sharding<@mesh, [{"x"}p1, {}], unreduced={"y"}>`; `meshes` are by name. A mesh
///   of no axes and one device is maximal. Priorities and open dimensions only steer propagation.
///   With `manual_axes`, as in `#sdy<manual_axes{"x"}>`, other axes do not cut.
std::optional<Sharding> read_sharding(std::string_view text, std::size_t rank,
                                      std::int64_t partitions,
                                      const std::map<std::string, std::string>& meshes,
                                      std::string_view manual_axes = {});

/// `data × model`; of a sub-axis `data:(1)2`.
std::string axes_text(const std::vector<MeshAxis>& axes);

/// Fills in `axes` of a sharding by tiles, as far as the axes of a row-major mesh cut it so.
void name_axes(Sharding& sharding, const std::vector<MeshAxis>& mesh);

/// The axes of the only mesh of `partitions` devices whose ids are row-major; empty where there is
/// none, or several.
std::vector<MeshAxis> mesh_axes(const std::map<std::string, std::string>& meshes,
                                std::int64_t partitions);

/// The parts of a list of shardings: `{{replicated}, {manual}}`,
/// `#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>`. A single sharding is a list of
/// one.
std::vector<std::string> sharding_list(std::string_view text);

}  // namespace p2::hlo
