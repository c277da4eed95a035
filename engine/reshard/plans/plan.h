#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reshard/plans/box.h"
#include "engine/reshard/sharding.h"
#include "p2/json.h"

/// Cross-mesh resharding as programs of single transfers (section 3.1 of the paper).
namespace p2::reshard {

/// A sharding on the devices of a system: `devices` are those of the mesh, row by row.
struct Layout {
  Sharding sharding;
  std::vector<std::uint32_t> devices;
};

/// The transfer of a tensor from one mesh to another.
struct Reshard {
  TensorShape shape;
  std::vector<std::uint32_t> hosts;  ///< of every device of the system
  Layout from;
  Layout to;

  std::uint32_t devices() const { return static_cast<std::uint32_t>(hosts.size()); }
  /// The region of every device of the system by one of the two layouts; empty for devices outside
  /// its mesh.
  std::vector<Box> regions(const Layout& layout) const;
};

/// Meshes whose rows are hosts: those of `from` are hosts 0, 1, …, those of `to` host `first` and
/// the ones after it. A host has as many devices as the larger of its rows, devices are numbered
/// host by host. So meshes with a host in common share devices.
Reshard reshard_between(const TensorShape& shape, const Sharding& from, const Sharding& to,
                        std::uint32_t first);

/// The two buffers of a device: its region in the first mesh, which is read only, and in the
/// second. A device in both meshes has both.
enum class Buffer : std::uint8_t { Source, Destination };

/// One half of a transfer: a send reads the elements of `box` in `buffer`, a receive writes them to
/// the destination buffer, at the same coordinates. The k-th send of one device to another matches
/// the k-th receive of the latter from the former.
struct Operation {
  bool sends = false;
  Buffer buffer = Buffer::Destination;
  std::uint32_t peer = 0;  ///< may be the device itself
  Box box;

  bool operator==(const Operation&) const = default;
};

/// Concurrent operations of one device. The next step begins when all are complete.
using Step = std::vector<Operation>;
using DeviceProgram = std::vector<Step>;

/// The program of every device.
struct Plan {
  Reshard problem;
  std::string strategy;  ///< how it was generated; informative
  std::vector<DeviceProgram> programs;

  std::size_t transfers() const;
};

/// The largest number of operations in a plan.
constexpr std::size_t kMaxOperations = std::size_t{1} << 22U;

/// The value of the member `format` of a plan's file.
constexpr std::string_view kPlanFormat = "reshard-plan/1";

/// Whether a text is JSON with the format name of a plan, `reshard-plan/1`.
bool is_plan(const std::string& text);

/// Reads a plan as written by to_json():
///
///     {"format":"reshard-plan/1","shape":[8,8],"hosts":[0,0,1,1],
///      "from":{"mesh":[[0,1]],"spec":["S0","R"]},"to":{"mesh":[[2,3]],"spec":["R","R"]},
///      "programs":[[[{"send":2,"of":"source","low":[0,0],"high":[4,8]}]], … ]}
///
/// and an optional string `strategy`. A mesh is a list of rows of devices; `programs` has the steps
/// of every device; `hosts` has the host of every device and only affects the cost. Throws
/// InputError if the text is no plan: also for a duplicate device in a mesh, an unknown peer, a box
/// with a wrong number of dimensions or of more than kMaxTensorElements elements. Faults of the
/// plan itself are found by judge().
Plan read_plan(const std::string& source, const std::string& text);

std::string to_json(const Plan& plan);
Json to_json(const Layout& layout);
Json to_json(const Operation& operation);

}  // namespace p2::reshard
