#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"

namespace p2 {

/// One level of a hardware hierarchy: `size` instances inside every instance of the level above.
/// A name has letters, digits, `_` and `-` and does not start with a digit or `-`; it has no `.`,
/// because `level.axis` names a factor of a level.
struct Level {
  std::string name;
  std::uint32_t size = 1;

  bool operator==(const Level&) const = default;
};

/// The hardware hierarchy `H = [h0 … hn]` (section 2), outermost level first. Levels of size 1 are
/// legal. Devices are the instances of the innermost level, numbered row-major.
class Hierarchy {
 public:
  /// Bound on the devices of a system: they are counted in 32 bits, with a few words of memory
  /// each.
  static constexpr std::uint64_t kMaxDevices = std::uint64_t{1} << 20;
  static constexpr std::size_t kMaxLevels = 64;

  Hierarchy() = default;
  /// Throws InputError at `where` for no level at all or more than kMaxLevels, a size of 0, a name
  /// that is none, two levels of one name, the reserved name `root`, or more than kMaxDevices
  /// devices.
  Hierarchy(std::vector<Level> levels, const SourcePosition& where);

  const std::vector<Level>& levels() const { return levels_; }
  std::uint32_t devices() const { return devices_; }

  bool operator==(const Hierarchy&) const = default;

 private:
  std::vector<Level> levels_;
  std::uint32_t devices_ = 1;
};

/// Parses `4,16` (levels are then named l0, l1, …) or `node=4,gpu=16`. `source` names the text in
/// messages.
Hierarchy parse_hierarchy(std::string_view source, std::string_view text);

/// `node=4,gpu=16`: the inverse of parse_hierarchy.
std::string to_string(const Hierarchy& hierarchy);

}  // namespace p2
