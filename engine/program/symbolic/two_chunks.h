#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/symbolic/proxy_grid.h"

namespace p2 {

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
  explicit TwoChunks(const Problem& problem, bool any_sizes = false);

  std::uint32_t initial();
  std::optional<std::uint32_t> step(std::uint32_t state, std::uint32_t move);
  std::uint32_t distance_bound(std::uint32_t state) const;
  std::uint32_t states() const { return states_.size(); }
  std::size_t bytes() const;

 private:
  /// What a device holds; interned, 0 is nothing.
  struct Holding {
    std::uint32_t first = PointSets::kEmpty;  ///< contributors in the first chunk
    std::uint32_t last = PointSets::kEmpty;   ///< and in the last
    ChunkCounts::Count chunks = 0;
  };

  Holding holding(std::uint32_t id) const;
  std::uint32_t intern(const Holding& holding);
  /// The offset in `after_` of the holdings after the step, or kRefusedRun.
  std::uint32_t run(std::uint32_t move, std::span<const std::uint32_t> before);
  std::optional<Holding> sum(std::span<const Holding> group);
  std::optional<Holding> gather(std::uint32_t move, std::span<const Holding> group);
  bool root_contains(std::span<const Holding> group) const;

  const Problem& problem_;
  ProxyGrid grid_;
  ChunkCounts counts_;
  PointSets sets_;
  WordTable holdings_;
  WordTable states_;                 // holdings of all devices, then their labels
  std::vector<std::uint32_t> goal_;  // device → holding
  TupleCache results_;               // (move, holdings) → what `run` returns
  std::vector<std::uint32_t> after_;
};

}  // namespace p2
