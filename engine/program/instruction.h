#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/placement/placement.h"

namespace p2 {

/// The names that find_hierarchy_kind knows, for messages.
inline constexpr std::string_view kHierarchyKindNames = "a, b, c, d, collapsed or lattice";

/// The hierarchies over which instructions are formed (sections 2.5 and 3.4, table 1).
enum class HierarchyKind : std::uint8_t {
  Hardware,   ///< (a) the hardware levels
  Columns,    ///< (b) all placement factors, column by column
  Rows,       ///< (c) all placement factors, row by row
  Reduction,  ///< (d) the factors of the reduction rows
  Collapsed,  ///< (d') = (d), factors of one hardware level multiplied together
  Lattice,    ///< (e) the reduction factors as a set, without order
};

inline constexpr HierarchyKind kHierarchyKinds[] = {
    HierarchyKind::Hardware,  HierarchyKind::Columns,   HierarchyKind::Rows,
    HierarchyKind::Reduction, HierarchyKind::Collapsed, HierarchyKind::Lattice};

/// One level of a synthesis hierarchy: some factors of the device grid taken together.
struct SynthesisLevel {
  std::string name;
  std::uint32_t size = 1;
  FactorSet factors = 0;  ///< empty for levels of size 1
};

/// `root` of size 1, then the levels of one kind. (a) and collapsed carry the hardware levels'
/// names, the others `level.axis`. In (d), collapsed and lattice only the reduction factors take
/// part: every pattern is repeated for each assignment of the other factors.
class SynthesisHierarchy {
 public:
  SynthesisHierarchy(HierarchyKind kind, const DeviceGrid& grid, const ReductionAxes& reduction);

  HierarchyKind kind() const { return kind_; }
  /// levels()[0] is root.
  const std::vector<SynthesisLevel>& levels() const { return levels_; }
  std::optional<std::uint32_t> find_level(std::string_view name) const;
  /// True for (d), collapsed and lattice.
  bool confined_to_reduction() const { return kind_ >= HierarchyKind::Reduction; }
  bool is_lattice() const { return kind_ == HierarchyKind::Lattice; }

 private:
  HierarchyKind kind_;
  std::vector<SynthesisLevel> levels_;
};

/// `a`, `b`, `c`, `d`, `collapsed`, `lattice`.
std::string_view to_string(HierarchyKind kind);
std::optional<HierarchyKind> find_hierarchy_kind(std::string_view name);

/// `root 1 > node 4 > gpu 2`, or `{node.data 4, gpu.data 2}` for the lattice.
std::string to_string(const SynthesisHierarchy& hierarchy);

/// Readings of the rules that the paper leaves open. `Printed` takes
/// them literally; `Published` reproduces the paper's program counts by allowing only AllReduce
/// with Master.
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
/// levels of size 1 are left out.
GroupShape lattice_shape(const SynthesisHierarchy& hierarchy, std::vector<std::uint32_t> reduced,
                         std::vector<std::uint32_t> pinned);

/// The same slice and form with their pattern, which solvers leave open.
GroupShape with_pattern(const SynthesisHierarchy& hierarchy, const GroupShape& shape);

/// All shapes of a hierarchy that form groups of at least two devices, one per pattern, in a fixed
/// order: InsideGroup, Parallel, Master, each by slice and ancestor; of several shapes with one
/// pattern the first is kept, so that groups which InsideGroup or Parallel also give are not
/// Master. For the lattice: by number of factors reduced, then pinned. Throws LimitReached for a
/// lattice of more than 8 factors greater than 1.
std::vector<GroupShape> all_shapes(const SynthesisHierarchy& hierarchy);

/// Whether the dialect lets `collective` run on groups of this pattern.
bool allows(Dialect dialect, const Pattern& pattern, Collective collective);

/// `node, Parallel(root)`, or over a lattice `{node.data}, Master({gpu.data})`.
std::string to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);
std::string slice_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);
std::string form_to_string(const GroupShape& shape, const SynthesisHierarchy& hierarchy);

std::string_view to_string(Dialect dialect);
std::optional<Dialect> find_dialect(std::string_view name);

}  // namespace p2
