#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/placement/placement.h"
#include "engine/program/goal.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"

namespace p2 {

/// How many chunks the devices of an instance hold in a program of built-in collectives whose steps
/// have shapes and are legal: by classes of devices instead of devices. Devices are told apart by
/// which digits are 0, of those only that some step pins or some Reduce, Broadcast or start varies;
/// digits that all these treat alike are one digit.
class DeviceClasses {
 public:
  /// What devices of one class have in common.
  enum class Alike : std::uint8_t {
    Chunks,  ///< the number of chunks that they hold, always
    Calls    ///< and the steps in which they take part
  };
  /// More digits are not told apart.
  static constexpr int kMaxDigits = 12;

  DeviceClasses(const Instance& instance, const std::vector<Step>& steps, Start start, Alike alike);

  /// Whether there are few enough digits. Nothing below may be asked otherwise.
  bool is_small() const { return digits_.size() <= kMaxDigits; }
  /// Classes are numbered from 0: bit i says that digit i is not 0.
  std::uint32_t count() const { return static_cast<std::uint32_t>(held_.size()); }
  std::uint64_t devices(std::uint32_t index) const;
  /// The smallest id of a device of the class.
  std::uint32_t first_device(std::uint32_t index) const;

  /// Whether the devices are in a group of the pattern.
  bool takes_part(std::uint32_t index, const Pattern& pattern) const {
    return (index & nonzero(pattern.pinned)) == 0;
  }
  /// Whether they are the first of their groups. The digits that the pattern varies must be told
  /// apart.
  bool is_root(std::uint32_t index, const Pattern& pattern) const {
    return (index & nonzero(pattern.reduced)) == 0;
  }
  /// How many chunks each holds after the steps taken.
  std::uint32_t held(std::uint32_t index) const { return held_[index]; }
  /// How many the first device of its group holds.
  std::uint32_t held_by_root(std::uint32_t index, const Pattern& pattern) const {
    return held_[index & ~nonzero(pattern.reduced)];
  }
  /// The number that the first devices of all groups of a pattern hold; nothing if they differ.
  std::optional<std::uint32_t> held_by_roots(const Pattern& pattern) const;

  void take(const Step& step);

 private:
  /// The digits told apart of which these are a part.
  std::uint32_t nonzero(FactorSet digits) const;

  const DeviceGrid& grid_;
  std::vector<FactorSet> digits_;
  std::vector<std::uint32_t> held_;
};

/// How many devices each group of a pattern has.
std::uint32_t group_size(const DeviceGrid& grid, const Pattern& pattern);

}  // namespace p2
