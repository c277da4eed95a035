#pragma once

#include <cstdint>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// Devices in classes that compute the same: they run the same program on equal inputs, and what
/// they receive is from devices of the same classes.
struct DeviceClasses {
  std::vector<std::uint32_t> of = {};     ///< by device
  std::vector<std::uint32_t> first = {};  ///< by class: the first device, ascending
};

/// Splits classes of devices, which run the same program on equal inputs, until those of a class
/// compute the same in linked programs. False where devices may know their numbers, or exchange
/// otherwise than by reductions and messages.
bool split_classes(const Module& linked, DeviceClasses& classes);

/// The module that one device of each class runs: an all-reduce takes what each class has as often
/// as a group has devices of it (block_dimensions.h: kBlockSizes).
Module module_of_classes(const Module& linked, const DeviceClasses& classes);

}  // namespace p2::hlo
