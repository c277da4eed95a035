#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/program/symbolic/proxy_grid.h"
#include "engine/program/synthesis.h"

namespace p2 {

/// An under-approximation of the valid programs, for all sizes: the contributors in a chunk as a
/// function of coordinates of the chunk.
///
/// A coordinate (Q, f), with Q a set of older coordinates, asks of chunk r: of the n_f equal
/// consecutive runs into which the chunks are cut that agree with r on Q, which one is r in? Equal
/// runs nest: cutting into n₁·n₂ runs is cutting into n₁ and each of these into n₂, so that
/// coordinates mean the same whether or not sizes divide each other. Nothing is assumed of how
/// coordinates of different Q relate: premises are examined for all combinations of values,
/// whether or not a chunk has them.
///
/// A state has of every device of a ProxyGrid
///
/// - a table from values of some coordinates to sets of contributors, empty where the chunk is not
///   held. Coordinates without influence are dropped, so that equal tables have equal ids;
/// - the digits E: the device holds the number of all chunks divided by their sizes. Each digit is
///   in E at most once, so these numbers are whole.
///
///     AllReduce, Reduce   equal E; for every combination all hold or none does, contributors are
///                         disjoint; the union
///     ReduceScatter       the same, and no varied digit in E; what is held is a box: every
///                         coordinate has one value, or all. Q = those with one; cut by new
///                         coordinates (Q, f1), (Q + (Q, f1), f2), … for the varied digits
///     AllGather           equal E with all varied digits; for every combination at most one holds
///     Broadcast           contained in the root's for every combination, strictly for one that
///                         some chunk has: all 0, all last, or any if each Q has, of the
///                         coordinates in question, those before its own
///
/// Where a condition fails for a combination that some chunk has, the step is illegal; where it
/// fails otherwise, nothing is decided. All conditions compare, in one digit, at most two devices,
/// a contributor, 0, and the values of that digit's coordinates; states are invariant under
/// permutations of the values that keep 0. So a grid of 4 values and one for each coordinate of one
/// digit represents all sizes beyond (see `required_values`).
class ChunkTables {
 public:
  /// Suffices where no two coordinates of a table are of one digit.
  static constexpr std::uint32_t kValues = 5;

  /// `values`: at most so many of every digit.
  ChunkTables(const Problem& problem, std::uint32_t values);

  std::uint32_t initial();
  /// Nothing for what is illegal, and for what is not decided.
  std::optional<std::uint32_t> step(std::uint32_t state, std::uint32_t move) {
    const Replayed next = replay(state, move);
    return next.kind == Replayed::Kind::Legal ? std::optional(next.state) : std::nullopt;
  }
  Replayed replay(std::uint32_t state, std::uint32_t move);
  bool is_goal(std::uint32_t state) const;
  /// Whether it is certain that a state is not the goal, where it is not.
  bool misses_goal(std::uint32_t state);
  std::uint32_t distance_bound(std::uint32_t state) const { return is_goal(state) ? 0 : 1; }
  std::uint32_t states() const { return states_.size(); }
  std::size_t bytes() const;

  /// The number of values that the steps run so far need; with fewer than both this and the size
  /// of a digit, nothing follows from them.
  std::uint32_t required_values() const { return required_values_; }

 private:
  struct Entry {
    std::uint32_t combination;  ///< the coordinates' values, the first most significant
    std::uint32_t contributors;
    auto operator<=>(const Entry&) const = default;
  };
  struct Table {
    std::vector<std::uint32_t> coordinates;  ///< ascending
    std::vector<Entry> entries;              ///< ascending, only what is held
  };
  /// A device's words in a state.
  struct Device {
    std::uint32_t divided = 0;  ///< E, or kNothing
    std::uint32_t table = 0;
  };

  Table table(std::uint32_t id) const;
  std::uint32_t intern(Table table);
  std::uint32_t coordinate(std::vector<std::uint32_t> given, std::uint32_t digit);
  std::uint32_t digit_of(std::uint32_t coordinate) const { return coordinates_[coordinate][0]; }
  std::uint32_t values_of(std::uint32_t coordinate) const {
    return grid_.values(digit_of(coordinate));
  }
  /// The tables over all coordinates of any of them; false if there are too many combinations.
  bool join(std::span<const std::uint32_t> ids, std::vector<Table>& joined);
  void require_values(std::span<const std::uint32_t> coordinates);
  std::optional<Table> extend(const Table& table, std::span<const std::uint32_t> coordinates) const;
  bool drop_coordinate(Table& table) const;
  /// Whether some chunk has this combination of values, whatever the sizes are.
  bool occurs(std::span<const std::uint32_t> coordinates, std::uint32_t combination) const;
  /// The same for the sizes of the problem: by its chunks, unless they are too many.
  bool occurs_here(const std::vector<std::uint32_t>& coordinates, std::uint32_t combination);
  /// The values of a coordinate, by chunk.
  const std::vector<std::uint32_t>& values_by_chunk(std::uint32_t coordinate);

  /// The offset in `after_` of the devices after the step, or a refusal.
  std::uint32_t run(std::uint32_t move, std::span<const std::uint32_t> before);
  std::optional<Table> sum(std::span<const std::uint32_t> tables, bool& illegal);
  bool scatter(std::uint32_t move, Device total, std::span<Device> group);
  std::optional<Device> gather(std::uint32_t move, std::span<const Device> group, bool& illegal);
  bool is_informative(std::span<const Device> group, bool& illegal);

  const Problem& problem_;
  ProxyGrid grid_;
  std::uint32_t required_values_ = 4;
  PointSets sets_;
  WordTable coordinates_;  // the digit, then Q
  WordTable tables_;       // number of coordinates, these, combinations and contributors
  WordTable states_;       // E and table of every device
  std::vector<std::uint32_t> goal_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> values_by_chunk_;
  std::map<std::vector<std::uint32_t>, std::set<std::uint32_t>> occurring_;  // by coordinates
  TupleCache results_;  // (move, devices) → what `run` returns
  std::vector<Device> after_;
};

}  // namespace p2
