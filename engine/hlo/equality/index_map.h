#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace p2::hlo {

/// A variable of an index with the values 0 … extent − 1. Negative variables are offsets that are
/// known only at run time: a slice at such an offset is symbolic in it.
using Variable = std::int64_t;

struct Term {
  Variable variable = 0;
  std::int64_t stride = 1;

  bool operator==(const Term&) const = default;
};

/// One coordinate of an index: the affine expression base + Σ stride · variable. Terms are sorted
/// by variable; no stride is 0, and no variable has extent 1.
struct Coordinate {
  std::int64_t base = 0;
  std::vector<Term> terms = {};

  bool operator==(const Coordinate&) const = default;
  bool is_fixed() const { return terms.empty(); }
  Coordinate plus(std::int64_t offset) const { return {base + offset, terms}; }
  Coordinate times(std::int64_t factor) const;
  Coordinate operator+(const Coordinate& other) const;
};

/// An index into a tensor as an affine function of variables: one coordinate for each dimension. It
/// stands for a whole region of the tensor, whatever its size.
using IndexMap = std::vector<Coordinate>;

/// Whether it has no variables and no unknown offsets.
bool is_fixed(const IndexMap& map);
/// `map` with `value` for `variable`.
IndexMap substitute(const IndexMap& map, Variable variable, const Coordinate& value);

/// How to split a region on which a question has no uniform answer: at each of `cuts` (the first
/// values of all parts but the first), or into variable = factor · high + low.
struct Refinement {
  Variable variable = 0;
  std::vector<std::int64_t> cuts = {};
  std::int64_t factor = 0;
};

/// The offsets known only at run time, shared by all spaces of a comparison.
class Offsets {
 public:
  /// The offset between 0 and `max` that the value `key` decides; equal for equal arguments.
  Variable intern(std::int64_t key, std::int64_t max);
  std::int64_t max(Variable offset) const { return all_[index_of(offset)].max; }
  std::int64_t key(Variable offset) const { return all_[index_of(offset)].key; }

 private:
  struct Offset {
    std::int64_t key;
    std::int64_t max;
  };
  static std::size_t index_of(Variable offset) { return static_cast<std::size_t>(-1 - offset); }
  std::vector<Offset> all_;
};

struct Region;

/// The extents of all variables. Questions about an index whose answer is not the same on the whole
/// region throw Refinement or, if the answer depends on an unknown offset alone, UnknownOffset.
class Space {
 public:
  struct UnknownOffset {};
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;  ///< inclusive
  };

  explicit Space(Offsets& offsets) : offsets_(&offsets) {}

  Variable add(std::int64_t extent);
  /// Variables of `extents` that do not occur in `map`, the same ones for the same question: what
  /// is evaluated at them is found again.
  std::vector<Variable> reuse(const std::vector<std::int64_t>& extents, const IndexMap& map);
  /// A region with variables that are reused for its own.
  Region with_reused(const Region& region);
  std::int64_t extent(Variable variable) const {
    return extents_[static_cast<std::size_t>(variable)];
  }
  /// Every value of a variable by itself.
  Refinement singles(Variable variable) const;
  std::size_t size() const { return extents_.size(); }
  Offsets& offsets() const { return *offsets_; }

  Range range(const Coordinate& coordinate) const;
  /// The interval of the coordinate; interval i ends before boundaries[i] (ascending).
  std::size_t interval_of(const Coordinate& coordinate,
                          const std::vector<std::int64_t>& boundaries) const;
  /// The block of the coordinate among blocks of equal `size`.
  std::int64_t block_of(const Coordinate& coordinate, std::int64_t size) const;
  /// The index of the same row-major element in a tensor of sizes `to`, for an index into `from`.
  IndexMap reshape(const IndexMap& map, const std::vector<std::int64_t>& from,
                   const std::vector<std::int64_t>& to) const;

 private:
  /// Throws the refinement after which the coordinate crosses none of `boundaries`.
  [[noreturn]] void refine(const Coordinate& coordinate,
                           const std::vector<std::int64_t>& boundaries) const;
  /// Throws a refinement after which `rest` crosses fewer multiples of `size`.
  [[noreturn]] void refine_alignment(const Coordinate& rest, std::int64_t size) const;

  std::vector<std::int64_t> extents_;
  std::map<std::int64_t, std::vector<Variable>> reused_;  ///< by extent
  Offsets* offsets_;
};

/// A part of a tensor: an index and its variables, which no other region uses.
struct Region {
  IndexMap map;
  std::vector<Variable> variables;

  bool has(Variable variable) const;
};

/// The whole tensor.
Region whole_region(Space& space, const std::vector<std::int64_t>& sizes);
/// The parts of a region after a refinement of one of its variables.
std::vector<Region> split_region(Space& space, const Region& region, const Refinement& refinement);

}  // namespace p2::hlo
