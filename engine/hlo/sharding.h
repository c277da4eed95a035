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
/// copies.
struct Sharding {
  enum class Kind : std::uint8_t {
    Tiled,   ///< also replicated: a single tile
    Manual,  ///< every partition has its own tensor
    Maximal  ///< on one device alone
  };
  Kind kind = Kind::Tiled;
  std::vector<std::int64_t> tiles = {};  ///< by dimension; empty: replicated
  /// The tile's coordinates, by partition; empty if there is a single tile.
  std::vector<std::vector<std::int64_t>> coordinates = {};

  bool is_replicated() const { return kind == Kind::Tiled && coordinates.empty(); }
  /// The sizes of a tile of a tensor.
  std::vector<std::int64_t> tile_sizes(const std::vector<std::int64_t>& sizes) const;
  /// The first index of a partition's tile.
  std::vector<std::int64_t> tile_start(const std::vector<std::int64_t>& sizes,
                                       std::int64_t partition) const;
};

/// Reads a sharding of XLA, `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`, `{replicated}`,
/// `{manual}`, or of Shardy, `#sdy.sharding<@mesh, [{"x"}, {}]>`, for a tensor of `rank`
/// dimensions. Nothing for a form that is not understood. Shardy's meshes are given by name.
std::optional<Sharding> read_sharding(std::string_view text, std::size_t rank,
                                      std::int64_t partitions,
                                      const std::map<std::string, std::string>& meshes);

/// The axes of the only mesh of `partitions` devices whose ids are row-major; empty where there is
/// none, or several.
std::vector<MeshAxis> mesh_axes(const std::map<std::string, std::string>& meshes,
                                std::int64_t partitions);

/// The parts of a list of shardings: `{{replicated}, {manual}}`,
/// `#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>`. A single sharding is a list of
/// one.
std::vector<std::string> sharding_list(std::string_view text);

}  // namespace p2::hlo
