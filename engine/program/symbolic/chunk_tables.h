#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/program/state_graph.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/synthesis.h"

namespace p2 {

/// A problem and, after its moves, what makes the ends of its programs of every whole class: the
/// collective that prepares the beginning, if there is one, and that of the goal.
struct ProblemWithEnds : Problem {
  ProblemWithEnds(const Problem& problem, Collective of_goal);

  std::optional<std::uint32_t> preparation;  ///< moves
  std::optional<std::uint32_t> goal;         ///< none where every class is one device
};

/// A sub-grid of a problem's devices that stands for all of them: of every digit the first values,
/// at most `values`. The states of a problem are invariant under permutations of the values of a
/// digit that keep 0 (and, where chunk numbers matter, the last): no instruction tells them apart.
class ProxyGrid {
 public:
  /// The devices of one group in the grid: `base + offset`, the root first. `size` counts the
  /// devices of the group in the whole system.
  struct Groups {
    std::vector<std::uint32_t> bases;
    std::vector<std::uint32_t> offsets;
    std::uint64_t size = 1;
  };

  ProxyGrid(const Problem& problem, std::uint32_t values);

  std::uint32_t points() const { return points_; }
  std::size_t digits() const { return factors_.size(); }
  /// The number of values of a digit in the grid.
  std::uint32_t values(std::size_t digit) const { return factors_[digit].size; }
  /// Whether the grid has all values of a digit.
  bool has_all_values(std::size_t digit) const { return factors_[digit].size == sizes_[digit]; }
  std::uint32_t value(std::uint32_t point, std::size_t digit) const {
    return point / factors_[digit].stride % factors_[digit].size;
  }
  const Groups& groups(std::uint32_t move) const { return groups_[groups_of_move_[move]]; }

 private:
  std::vector<Factor> factors_;
  std::vector<std::uint32_t> sizes_;
  std::uint32_t points_ = 1;
  std::vector<Groups> groups_;
  std::vector<std::uint32_t> groups_of_move_;
};

/// Sets of points of a ProxyGrid, interned; 0 is the empty set.
class PointSets {
 public:
  static constexpr std::uint32_t kEmpty = 0;

  explicit PointSets(std::uint32_t points) : buffer_((points + 31) / 32, 0) {
    table_.intern(buffer_);
  }

  std::uint32_t of(std::span<const std::uint32_t> points);
  /// The union; nothing unless the sets are pairwise disjoint.
  std::optional<std::uint32_t> disjoint_union(std::span<const std::uint32_t> sets);
  bool is_subset(std::uint32_t some, std::uint32_t all) const;
  std::size_t bytes() const { return table_.bytes(); }

 private:
  friend struct Approximations;  // tests/synthesis/symbolic_steps_test.cpp compares states

  WordTable table_;
  std::vector<std::uint32_t> buffer_;
};

/// Numbers of chunks, as TwoChunks counts them: exactly or, for any sizes, as the product of all
/// chunks with powers of the digits' sizes. 0 is none.
class ChunkCounts {
 public:
  using Count = std::uint64_t;

  ChunkCounts(const Problem& problem, bool any_sizes);

  Count all() const { return all_; }
  /// Whether the numbers may be equal.
  bool may_equal(Count a, Count b) const;
  /// Whether `a` may be at least `b`.
  bool may_reach(Count a, Count b) const;
  /// A share of one of `size` devices that vary over `digits`; nothing if it is no whole number.
  std::optional<Count> divide(Count count, FactorSet digits, std::uint64_t size) const;
  /// The shares together; nothing if there are fewer chunks than that.
  std::optional<Count> multiply(Count count, FactorSet digits, std::uint64_t size) const;

 private:
  std::optional<Count> scale(Count count, FactorSet digits, int exponent) const;

  std::size_t digits_;
  bool any_sizes_;
  Count all_;
};

/// An over-approximation of the valid programs: what can be said of the first and the last chunk
/// alone. Of every device of a ProxyGrid of 4 values (first, two between, last) a state has
///
/// - the number of chunks held;
/// - the contributors in the first and in the last chunk;
/// - a label: devices with equal labels hold the same.
///
/// The projection of a state determines that of the next: of ReduceScatter the root gets the first
/// chunk and the last device of the group the last. Two values between suffice: a contributor of a
/// union over a digit comes from a device with the contributor's own value, 0, the last value, or
/// any other, and those are alike.
///
/// A step is refused if a premise fails for these chunks, counts or labels; then it fails for the
/// devices. Labels matter for `informative` only: a group in which all labels are equal learns
/// nothing. Devices get equal labels by AllReduce and AllGather of one group, by Broadcast that of
/// the root, and where a collective runs on groups whose members have equal labels.
class TwoChunks {
 public:
  static constexpr std::uint32_t kValues = 4;

  /// With `any_sizes`, a premise about counts fails only if it fails for all sizes: the programs
  /// are accepted that are valid for some sizes with the same ProxyGrid.
  explicit TwoChunks(const Problem& problem, bool any_sizes = false,
                     Collective goal = Collective::AllReduce);

  std::uint32_t initial();
  std::optional<std::uint32_t> step(std::uint32_t state, std::uint32_t move);
  std::uint32_t distance_bound(std::uint32_t state) const;
  std::uint32_t states() const { return states_.size(); }
  std::size_t bytes() const;

 private:
  friend struct Approximations;

  /// What a device holds; interned, 0 is nothing.
  struct Holding {
    std::uint32_t first = PointSets::kEmpty;  ///< contributors in the first chunk
    std::uint32_t last = PointSets::kEmpty;   ///< and in the last
    ChunkCounts::Count chunks = 0;
  };

  Holding holding(std::uint32_t id) const;
  std::uint32_t intern(const Holding& holding);
  /// Takes a step; false if it is refused, the state is unspecified then.
  bool advance(std::vector<std::uint32_t>& state, std::uint32_t move);
  /// The offset in `after_` of the holdings after the step, or kRefusedRun.
  std::uint32_t run(std::uint32_t move, std::span<const std::uint32_t> before);
  std::optional<Holding> sum(std::span<const Holding> group);
  std::optional<Holding> gather(std::uint32_t move, std::span<const Holding> group);
  bool root_contains(std::span<const Holding> group) const;

  const ProblemWithEnds problem_;
  ProxyGrid grid_;
  ChunkCounts counts_;
  PointSets sets_;
  WordTable holdings_;
  WordTable states_;                 // holdings of all devices, then their labels
  std::vector<std::uint32_t> goal_;  // device → holding
  TupleCache results_;               // (move, holdings) → what `run` returns
  std::vector<std::uint32_t> after_;
};

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
  ChunkTables(const Problem& problem, std::uint32_t values,
              Collective goal = Collective::AllReduce);

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
  friend struct Approximations;

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

  /// All that a coordinate rests on, if each one's Q are those before it: then their runs nest.
  std::optional<std::vector<std::uint32_t>> nested(std::uint32_t coordinate) const;
  /// The value of a coordinate at a chunk, by arithmetic; nothing where the runs are too irregular.
  std::optional<std::uint32_t> value_at(std::uint32_t coordinate, std::uint32_t chunk) const;
  /// The entry of a chunk, an empty set where none is held; nothing where its coordinates are not
  /// known, or not in the grid.
  std::optional<std::uint32_t> contributors_at(const Table& table, std::uint32_t chunk) const;
  /// Chunks at the ends of what a table holds.
  void add_ends(const Table& table, std::vector<std::uint32_t>& chunks) const;

  /// Takes a step; the state is unspecified unless it is legal.
  Replayed::Kind advance(std::vector<std::uint32_t>& state, std::uint32_t move);
  /// The offset in `after_` of the devices after the step, or a refusal.
  std::uint32_t run(std::uint32_t move, std::span<const std::uint32_t> before);
  std::optional<Table> sum(std::span<const std::uint32_t> tables, bool& illegal);
  bool scatter(std::uint32_t move, Device total, std::span<Device> group);
  std::optional<Device> gather(std::uint32_t move, std::span<const Device> group, bool& illegal);
  bool is_informative(std::span<const Device> group, bool& illegal);

  const ProblemWithEnds problem_;
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
