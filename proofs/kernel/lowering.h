#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proofs/kernel/json_reader.h"

namespace p2::kernel {

/// The groups of one instruction, ordered by first device, and whether it is a Master whose groups
/// no InsideGroup or Parallel gives.
struct Lowered {
  std::vector<Numbers> groups;
  bool master = false;
};

/// A placed reduction and its synthesis hierarchy, read from the keys hierarchy, axes, reduce,
/// placement and synthesis_hierarchy of problem.json. A device id is written as one digit per
/// hardware level and axis, row-major over the levels and, inside a level, over the axes.
class Instance {
 public:
  Instance(const Json& problem, std::uint32_t devices);

  /// The reduction classes, ordered by first device.
  std::vector<Numbers> classes() const;
  /// Objects when slice and form are no instruction of the hierarchy, or one that forms no group of
  /// two devices.
  Lowered lower(const std::string& slice, const std::string& form) const;

 private:
  struct Digit {
    std::size_t level = 0;
    std::size_t axis = 0;
    std::uint32_t size = 1;
    std::uint32_t stride = 1;
  };
  struct Level {  ///< of the synthesis hierarchy
    std::string name;
    std::vector<std::size_t> digits;
  };
  enum class Role : std::uint8_t { Kept, Reduced, Pinned };

  void read_placement(const Json& matrix, const Numbers& level_sizes, const Numbers& axis_sizes,
                      std::uint32_t devices);
  void build_levels(const std::string& kind, const std::vector<std::string>& levels,
                    const std::vector<std::string>& axes);
  std::size_t level_called(const std::string& name) const;
  std::vector<std::size_t> level_set(const std::string& text) const;
  void assign(std::vector<Role>& roles, std::size_t level, Role role) const;
  std::vector<Role> linear_roles(const std::string& slice, const std::string& form) const;
  std::vector<Role> lattice_roles(const std::string& slice, const std::string& form) const;
  std::vector<Numbers> groups(const std::vector<Role>& roles) const;

  std::uint32_t devices_;
  std::vector<Digit> digits_;
  std::vector<bool> reduced_axis_;
  bool lattice_ = false;
  std::vector<Level> levels_;
};

}  // namespace p2::kernel
