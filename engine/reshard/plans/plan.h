#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/reshard/plans/box.h"
#include "engine/reshard/sharding.h"

/// Cross-mesh resharding as programs of single transfers (section 3.1 of the paper).
namespace p2::reshard {

/// A sharding on the devices of a system: `devices` are those of the mesh, row by row.
struct Layout {
  Sharding sharding;
  std::vector<std::uint32_t> devices;
};

/// A tensor on one mesh that is to be brought to another one.
struct Reshard {
  TensorShape shape;
  std::vector<std::uint32_t> hosts;  ///< of every device of the system
  Layout from;
  Layout to;

  std::uint32_t devices() const { return static_cast<std::uint32_t>(hosts.size()); }
  /// What every device of the system holds, or is to hold, by one of the two layouts: a box without
  /// elements where it is not in the mesh.
  std::vector<Box> regions(const Layout& layout) const;
};

/// Meshes whose rows are hosts: those of `from` are hosts 0, 1, …, those of `to` host `first` and
/// the ones after it. A host has as many devices as the larger of its rows, devices are numbered
/// host by host. So meshes with a host in common share devices.
Reshard reshard_between(const TensorShape& shape, const Sharding& from, const Sharding& to,
                        std::uint32_t first);

/// The two buffers of a device: what it holds of the tensor in the one mesh, which nothing ever
/// writes, and in the other. A device in both meshes has both.
enum class Buffer : std::uint8_t { Source, Destination };

/// One half of a transfer: a send reads the elements of `box` in `buffer`, a receive writes them to
/// the destination buffer, every element to its own place. The k-th send of a device to another
/// one is for the k-th receive of that from it.
struct Operation {
  bool sends = false;
  Buffer buffer = Buffer::Destination;
  std::uint32_t peer = 0;  ///< maybe the device itself
  Box box;

  bool operator==(const Operation&) const = default;
};

/// Operations of one device that run at once. The next step begins when all are complete.
using Step = std::vector<Operation>;
using DeviceProgram = std::vector<Step>;

/// The program of every device.
struct Plan {
  Reshard problem;
  std::string strategy;  ///< how it was made, for people
  std::vector<DeviceProgram> programs;

  std::size_t transfers() const;
};

/// Most operations in a plan.
constexpr std::size_t kMostOperations = std::size_t{1} << 22U;

}  // namespace p2::reshard
