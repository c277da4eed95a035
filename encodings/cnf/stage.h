#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/instance.h"

namespace p2::cnf {

/// What programs are made of: the devices that are simulated, and the sets of groups that a step
/// may form, in the order in which its choices are numbered (docs/certificates.md).
struct Stage {
  struct Shape {
    /// The instruction that forms them, its pattern not set; nothing where they stand for
    /// themselves.
    std::optional<GroupShape> name;
    std::vector<Group> groups;  ///< of at least two devices, each ascending, by first device
    bool master = false;        ///< groups that no InsideGroup or Parallel forms
  };

  std::uint32_t devices() const { return static_cast<std::uint32_t>(class_of.size()); }

  std::uint32_t chunks = 0;
  std::vector<std::uint32_t> class_of;  ///< of every device, the number of its reduction class
  std::vector<Shape> shapes;            ///< no two with the same groups
};

}  // namespace p2::cnf
