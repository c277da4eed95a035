#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/symbolic/all_sizes.h"
#include "p2/instance.h"

namespace p2 {

/// The sizes that an instance leaves open, written `*`: of levels, of axes, and the factors of the
/// placement of which they are made.
struct OpenSizes {
  std::vector<bool> levels;
  std::vector<bool> axes;
  std::vector<std::vector<bool>> factors;  ///< by axis and level

  /// Every factor greater than 1.
  static OpenSizes all(const DeviceGrid& grid);
  FactorSet of(const DeviceGrid& grid) const;

  std::string hierarchy_text(const Hierarchy& hierarchy) const;  ///< `node=*,gpu=8`
  std::string axes_text(const Axes& named) const;                ///< `data=*`
  std::string placement_text(const Placement& placement) const;  ///< `[[* 8]]`
  Json hierarchy_json(const Hierarchy& hierarchy) const;         ///< with the size `"*"`
  Json axes_json(const Axes& named) const;
  Json placement_json(const Placement& placement) const;
};

/// Replaces the sizes `*` by sizes that stand for all from 2 on; nothing if there is none. Throws
/// InputError where the placement does not tell which factors are open: several axes and no
/// placement with `*`, or a level or an axis that is open without an open factor, or the reverse.
std::optional<OpenSizes> close_sizes(InstanceSpec& spec);
/// The same in the header of a program in `.p2` notation.
std::optional<OpenSizes> close_sizes(const std::string& file, std::string& program);

/// Throws InputError at `--all-sizes` for other terms than the paper's.
void require_known_for_all_sizes(const Terms& terms);

/// The answer about all sizes in words: `valid for every size ≥ 2 of node.data: theorem T7 …`.
/// `what` is what is said of them: `valid`, `the same programs`.
std::string to_string(const SizesAnswer& answer, const std::string& what, const Instance& instance,
                      const OpenSizes& open);
/// `{"outcome":"valid","of":["node.data"],"reason":"…","sizes":null}`.
Json json_of(const SizesAnswer& answer, const Instance& instance, const OpenSizes& open);

}  // namespace p2
