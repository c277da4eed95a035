#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reshard/sharding.h"
#include "p2/json.h"
#include "p2/reshard.h"

/// Cross-mesh resharding as programs of single transfers (section 3.1 of the paper).
namespace p2::reshard {

/// The coordinates of an element of a tensor.
using Element = std::vector<std::int64_t>;

/// Element counts saturate here: beyond any tensor, and the bytes of 4-byte elements do not
/// overflow.
constexpr std::int64_t kMaxCountedElements = std::int64_t{1} << 61U;

/// Elements of a tensor: from `low` to before `high` in every dimension. Boxes that are used
/// together have the same number of dimensions.
struct Box {
  Element low;
  Element high;

  /// The number of elements, saturated at kMaxCountedElements.
  std::int64_t elements() const;
  bool contains(const Box& other) const;
  bool contains(const Element& element) const;
  bool operator==(const Box&) const = default;
};

/// The intersection, which may be empty.
Box common(const Box& a, const Box& b);
bool overlap(const Box& a, const Box& b);

/// The part of `box` outside all boxes of `cover` that has the lowest corner; empty if they cover
/// it. Subtracts them one by one; fastest if `cover` is sorted.
std::optional<Box> first_uncovered(const Box& box, std::span<const Box> cover);

/// A partition of `box` into at most `parts` nonempty boxes of sizes as equal as possible: slabs of
/// the first dimension that is long enough, or of the longest, split further.
std::vector<Box> split(const Box& box, std::int64_t parts);

/// `[0:4, 2:8]`
std::string to_string(const Box& box);
/// `[3, 2]`
std::string to_string(const Element& element);

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

/// `sendrecv`, `local-allgather`, `global-allgather`, `broadcast`.
std::string_view to_string(TransferStrategy strategy);

struct PlanChoice {
  TransferStrategy strategy = TransferStrategy::SendRecv;
  Decomposition decomposition = Decomposition::Intersection;
  std::int64_t chunks = 1;  ///< of a broadcast; at most one per element of a piece
};

/// Generates the programs that run the unit tasks in the order in which `schedule`, a schedule of
/// the tasks of decompose(), starts them. A piece is sent by the device of the sender's host that
/// holds it and has sent the fewest elements so far. A receiver that holds a piece itself sends it
/// to itself. Throws LimitReached beyond kMaxOperations.
Plan make_plan(const Reshard& problem, const PlanChoice& choice, const TaskSchedule& schedule);

/// The exact time `time / parts`, in units of one element over one link of a host.
struct FormulaTime {
  std::int64_t time = 0;
  std::int64_t parts = 1;
};

/// The makespan of the unit tasks by the formulas of section 3.1, for hosts that send and receive
/// one element per unit of time; transfers inside a host take no time. For a piece that takes t to
/// one host, and A hosts with n devices in all:
///
/// | sendrecv | n·t |
/// | local-allgather | A·t |
/// | global-allgather | 2·t; t for one host |
/// | broadcast | (K+A−1)/K·t; the paper prints (K+A)/K·t |
///
/// Copies inside a device take no time. A task occupies its sender and all its receivers for the
/// sum of its pieces; tasks start as early as possible in the order of `schedule` (list
/// scheduling).
FormulaTime time_by_formula(const Reshard& problem, const UnitTasks& tasks,
                            const PlanChoice& choice, const TaskSchedule& schedule);

}  // namespace p2::reshard
