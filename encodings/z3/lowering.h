#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "encodings/z3/terms.h"
#include "engine/program/instance.h"

namespace p2::z3_encoding {

/// The groups of an instruction as formulas over device coordinates (P2, section 3.3). Slice, form
/// and level are symbols, and so may be the devices; a coordinate is a digit of the device id.
/// Which devices make a group, who takes part and who stands where follow from them inside the
/// solver.
///
///                  a group varies over the levels        and exists where zero are the levels
///   InsideGroup    below slice                           -
///   Parallel(e)    below e down to slice                 -
///   Master(e)      below e down to slice                 below slice
///   lattice        of the set `slice`                    of the set `level`
///
/// Factors that belong to no level of the hierarchy never vary: every pattern is repeated for each
/// of their values.
class Formation {
 public:
  Formation(z3::context& context, const Instance& instance);

  /// Levels by their index in the hierarchy; for the lattice sets of levels, bit l for level l.
  const z3::expr& slice() const { return slice_; }
  const z3::expr& form() const { return form_; }
  const z3::expr& level() const { return level_; }
  z3::expr slice_value(const GroupShape& shape) const { return levels_value(shape.slice); }
  z3::expr form_value(Form form) const;
  z3::expr level_value(const GroupShape& shape) const { return levels_value(shape.ancestor); }

  /// Whether slice, form and level go together.
  z3::expr well_formed() const;

  /// A device id as a bit-vector; a symbolic device must be given the sort of one of these, and
  /// `exists` must be asserted of it.
  z3::expr device(std::uint32_t id) const { return context_->bv_val(id, device_width_); }
  z3::expr exists(const z3::expr& device) const;

  /// Whether the device stands in any group (which may be a group of itself alone).
  z3::expr takes_part(const z3::expr& device) const;
  z3::expr same_group(const z3::expr& one, const z3::expr& other) const;
  /// The device's place in its group, by device id, from 0; of the sort of a device.
  z3::expr position(const z3::expr& device) const;
  /// The id of the first device of its group: two devices that take part are in one group exactly
  /// if they have the same.
  z3::expr leader(const z3::expr& device) const;
  /// The id of the first device of its reduction class. Does not depend on slice, form and level.
  z3::expr class_leader(const z3::expr& device) const;

 private:
  struct Choice {
    z3::expr varies;
    z3::expr zero;
  };

  z3::expr levels_value(const std::vector<std::uint32_t>& levels) const;
  Choice choice_of_level(std::uint32_t level) const;
  z3::expr digit(const z3::expr& device, const Factor& factor) const;

  z3::context* context_;
  bool lattice_;
  std::uint32_t levels_;
  std::vector<Factor> factors_;
  FactorSet reduction_;
  std::uint32_t devices_;
  unsigned device_width_;
  unsigned level_width_;
  z3::expr slice_;
  z3::expr form_;
  z3::expr level_;
  std::vector<Choice> choices_;  ///< by factor
};

/// The groups of at least two devices that an instruction forms, each in the order of positions,
/// ordered by first device.
struct Formed {
  std::vector<Group> groups;
  /// Whether every device takes part. A Master form excludes a device unless InsideGroup or
  /// Parallel forms the same groups, and then the instruction is not a Master: the dialects
  /// differ only in the collectives that a Master may have.
  bool everyone = true;
};

/// Evaluates the formulas for a given slice, form and level: the values are substituted for the
/// symbols, and Z3's simplifier gives for every device whether it takes part, its group, and its
/// position there.
class Lowering {
 public:
  Lowering(z3::context& context, const Instance& instance);

  Formed form(const GroupShape& shape) const;
  std::vector<Group> classes() const;

 private:
  Formation formation_;
  std::uint32_t devices_;
  std::optional<z3::expr> places_;  ///< for every device: takes part, leader, position
};

/// Simplifies all of `terms` in one go, so that what they share is simplified once.
std::vector<z3::expr> simplify_all(z3::context& context, const std::vector<z3::expr>& terms);

}  // namespace p2::z3_encoding
