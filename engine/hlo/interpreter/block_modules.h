#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module_relation.h"
#include "p2/limits.h"

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

/// The module without instructions of the entry that repeat an earlier one: the same operation on
/// the same operands, on the same devices.
Module without_repetitions(const Module& module);

/// Two modules on one element of each block of indices (block_dimensions.cpp): what they compute is
/// what the modules compute for inputs that are constant on blocks.
struct BlockModules {
  /// The first index of every block along each dimension, by array.
  using Starts = std::vector<std::vector<std::vector<std::int64_t>>>;

  std::shared_ptr<const Module> before;
  std::shared_ptr<const Module> after;
  ModuleRelation relation;
  /// What runs the modules: the devices, or one of each class.
  Devices devices;
  std::vector<std::uint32_t> first_devices = {};  ///< by class; empty where all devices run
  /// Of the inputs and outputs of both modules, arrays in order.
  Starts inputs_before;
  Starts inputs_after;
  Starts outputs_before;
  Starts outputs_after;
  /// The sizes of the inputs that are drawn.
  std::vector<std::vector<std::int64_t>> input_sizes;
  /// By dimension of these: the first block of several numbers of an iota, or kNone.
  std::vector<std::vector<std::uint32_t>> input_tails;
  /// The elements of a block of an iota differ: what depends on them is known in ranges.
  bool has_ranges = false;
  double operations = 0;   ///< an estimate for both
  std::string words = {};  ///< `16384 in 4, 8192 in 2`: sizes of dimensions, and their blocks
};

/// Dimensions of which devices hold many equal parts, as of the rows of a batch, may repeat some of
/// their indices.
enum class Repetition : std::uint8_t {
  None,
  Parts,    ///< those of two parts: every other data-parallel rank has the same rows
  TwoRows,  ///< those of two of the parts into which these are cut in turn: of two microbatches
  OneRow,   ///< those of one
};

/// Where dimensions are cut beside where operations need it.
struct BlockCuts {
  std::vector<std::int64_t> everywhere;  ///< indices of all dimensions
  /// An iota has blocks of several numbers, but for its first ones.
  bool has_ranges = false;
  Repetition repetition = Repetition::None;
};

/// The modules on the fewest blocks with these cuts; nothing where arrays have more than `most`
/// elements or executing them takes more operations, or blocks do not fit. Throws LimitReached.
std::optional<BlockModules> block_modules_cut(const Module& before, const Module& after,
                                              const Devices& devices,
                                              const ModuleRelation& relation, const BlockCuts& cuts,
                                              double most, const Limits& limits);

/// The modules on as many blocks as executing them in about `most` operations on elements allows;
/// nothing where that is too few, or blocks do not fit. `repeats_rows`: dimensions may repeat some
/// of their indices where that is too much otherwise. Throws LimitReached.
std::optional<BlockModules> block_modules(const Module& before, const Module& after,
                                          const Devices& devices, const ModuleRelation& relation,
                                          double most, const Limits& limits,
                                          bool repeats_rows = true);

}  // namespace p2::hlo
