#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/program/synthesis_hierarchy.h"

namespace p2 {

/// What the rules of the paper leave open (semantics: Dialects). `Printed` takes them literally;
/// `Published` reproduces the paper's program counts by allowing only AllReduce with Master.
enum class Dialect : std::uint8_t { Printed, Published };

enum class Form : std::uint8_t { InsideGroup, Parallel, Master };

/// Which groups a step forms, as sets of grid factors: a group varies over `reduced` and exists
/// where `pinned` is zero. Two shapes give the same groups exactly if their patterns are equal.
struct Pattern {
  FactorSet reduced = 0;
  FactorSet pinned = 0;

  auto operator<=>(const Pattern&) const = default;
};

/// The slice and form of an instruction (section 3.3), by indices into a hierarchy's levels. In a
/// linear hierarchy `slice` is one level, and so is `ancestor` (none for InsideGroup). In the
/// lattice `slice` is the set of levels reduced over and `ancestor` the set pinned to zero by a
/// Master; the other form is Parallel, without ancestor.
struct GroupShape {
  std::vector<std::uint32_t> slice;
  Form form = Form::InsideGroup;
  std::vector<std::uint32_t> ancestor;
  Pattern pattern;
};

/// The shape of `slice` and `form` over a linear hierarchy; `ancestor` < `slice` (ignored for
/// InsideGroup).
GroupShape linear_shape(const SynthesisHierarchy& hierarchy, std::uint32_t slice, Form form,
                        std::uint32_t ancestor);
/// The shape over a lattice that reduces over the levels in `reduced` and pins those in `pinned`;
/// levels of size 1 are left out, they say nothing.
GroupShape lattice_shape(const SynthesisHierarchy& hierarchy, std::vector<std::uint32_t> reduced,
                         std::vector<std::uint32_t> pinned);

/// The same slice and form with their pattern, which solvers leave open.
GroupShape with_pattern(const SynthesisHierarchy& hierarchy, const GroupShape& shape);

/// All shapes of a hierarchy that form groups of at least two devices, one per pattern, in a fixed
/// order: InsideGroup, Parallel, Master, each by slice and ancestor; the first name of a pattern
/// stands for it, so that groups which InsideGroup or Parallel also give are not Master. For the
/// lattice: by number of factors reduced, then pinned. Throws std::length_error for a lattice of
/// more than 8 factors greater than 1.
std::vector<GroupShape> all_shapes(const SynthesisHierarchy& hierarchy);

/// Whether the dialect lets `collective` run on groups of this pattern.
bool allows(Dialect dialect, const Pattern& pattern, Collective collective);

/// `node, Parallel(root)`, or over a lattice `{node.data}, Master({gpu.data})`.
std::string to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);
std::string slice_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);
std::string form_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);

std::string_view to_string(Dialect dialect);
std::optional<Dialect> dialect_called(std::string_view name);

}  // namespace p2
