#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/placement/device_grid.h"

namespace p2 {

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
  std::optional<std::uint32_t> level_called(std::string_view name) const;
  /// True for (d), collapsed and lattice.
  bool confined_to_reduction() const { return kind_ >= HierarchyKind::Reduction; }
  bool is_lattice() const { return kind_ == HierarchyKind::Lattice; }

 private:
  HierarchyKind kind_;
  std::vector<SynthesisLevel> levels_;
};

/// `a`, `b`, `c`, `d`, `collapsed`, `lattice`.
std::string_view to_string(HierarchyKind kind);
std::optional<HierarchyKind> hierarchy_kind_called(std::string_view name);

/// `root 1 > node 4 > gpu 2`, or `{node.data 4, gpu.data 2}` for the lattice.
std::string to_string(const SynthesisHierarchy& hierarchy);

}  // namespace p2
