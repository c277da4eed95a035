#pragma once

#include <cstdint>
#include <vector>

#include "engine/hlo/equality/interner.h"

namespace p2::hlo {

/// A variable of an index: it takes the values 0 … extent − 1. Variables below 0 are offsets that
/// are not known before the program runs: a slice at such an offset is the same whatever it is.
using Variable = std::int64_t;

struct Term {
  Variable variable = 0;
  std::int64_t stride = 1;

  bool operator==(const Term&) const = default;
};

/// base + Σ stride · variable: one coordinate of an index. Terms are sorted by variable; no stride
/// is 0, and no variable has extent 1.
struct Coordinate {
  std::int64_t base = 0;
  std::vector<Term> terms = {};

  bool operator==(const Coordinate&) const = default;
  bool is_fixed() const { return terms.empty(); }
  Coordinate plus(std::int64_t offset) const { return {base + offset, terms}; }
  Coordinate times(std::int64_t factor) const;
  Coordinate operator+(const Coordinate& other) const;
};

/// An index into a tensor as a function of the variables: one coordinate for each dimension. That
/// is how a whole region of a tensor is looked at in one step, however large it is.
using IndexMap = std::vector<Coordinate>;

std::vector<std::int64_t> encode(const IndexMap& map);
IndexMap decode(Interner::Sequence sequence);
/// Whether it has no variables, unknown offsets included.
bool is_fixed(const IndexMap& map);

/// A region that has to be cut before a question has one answer for all of it: at each of `cuts`
/// (the first values of the parts but the first), or into variable = factor · high + low.
struct Refinement {
  Variable variable = 0;
  std::vector<std::int64_t> cuts = {};
  std::int64_t factor = 0;
};

/// The offsets that are not known before the program runs, shared by all spaces of a comparison.
class Offsets {
 public:
  /// An offset from 0 to `most` that the value `key` decides; the same number for the same two.
  Variable of(std::int64_t key, std::int64_t most);
  std::int64_t most(Variable offset) const { return all_[index_of(offset)].most; }
  std::int64_t key(Variable offset) const { return all_[index_of(offset)].key; }

 private:
  struct Offset {
    std::int64_t key;
    std::int64_t most;
  };
  static std::size_t index_of(Variable offset) { return static_cast<std::size_t>(-1 - offset); }
  std::vector<Offset> all_;
};

/// The largest values of all variables and offsets, and what follows from them for indices. Where
/// a question has no one answer the functions throw Refinement or, where only an unknown offset
/// decides, Undecided.
class Space {
 public:
  struct Undecided {};
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;  ///< inclusive
  };

  explicit Space(Offsets& offsets) : offsets_(&offsets) {}

  Variable add(std::int64_t extent);
  std::int64_t extent(Variable variable) const {
    return extents_[static_cast<std::size_t>(variable)];
  }
  std::size_t size() const { return extents_.size(); }
  Offsets& offsets() const { return *offsets_; }

  Range range(const Coordinate& coordinate) const;
  /// Which part of `boundaries` (ascending; part i ends before boundaries[i]) the coordinate is in.
  std::size_t part_of(const Coordinate& coordinate,
                      const std::vector<std::int64_t>& boundaries) const;
  /// The same for parts of equal `size`.
  std::int64_t piece_of(const Coordinate& coordinate, std::int64_t size) const;
  /// The index into a tensor of `to` sizes of the same row-major element.
  IndexMap reshape(const IndexMap& map, const std::vector<std::int64_t>& from,
                   const std::vector<std::int64_t>& to) const;

 private:
  [[noreturn]] void cut(const Coordinate& coordinate,
                        const std::vector<std::int64_t>& boundaries) const;
  [[noreturn]] void align(const Coordinate& rest, std::int64_t size) const;

  std::vector<std::int64_t> extents_;
  Offsets* offsets_;
};

/// Part of a tensor: the index as a function of variables that belong to this region alone.
struct Region {
  IndexMap map;
  std::vector<Variable> variables;

  bool has(Variable variable) const;
};

/// All of a tensor.
Region whole(Space& space, const std::vector<std::int64_t>& sizes);
/// The parts of a region that a refinement of one of its variables leads to.
std::vector<Region> refined(Space& space, const Region& region, const Refinement& refinement);
/// The index where a variable has been replaced.
IndexMap substitute(const IndexMap& map, Variable variable, const Coordinate& value);

}  // namespace p2::hlo
