#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// A unit communication task (Zhuang et al., "On Optimizing the Communication of Model
/// Parallelism", MLSys 2023, section 2.2): one slice that every receiver host needs and that any
/// sender host can broadcast. Both lists are sorted, without duplicates, and not empty. Sender and
/// receiver hosts belong to two meshes and are numbered independently.
struct UnitTask {
  std::int64_t size = 1;  ///< the time it occupies its sender and its receivers; at least 1
  std::vector<std::uint32_t> sender_hosts;
  std::vector<std::uint32_t> receiver_hosts;

  bool operator==(const UnitTask&) const = default;
};

using UnitTasks = std::vector<UnitTask>;

/// The sender chosen for a task and its start; it ends `size` later.
struct TaskRun {
  std::size_t task = 0;
  std::uint32_t sender = 0;
  std::int64_t start = 0;

  bool operator==(const TaskRun&) const = default;
};

/// Sorted by start, then by task.
struct TaskSchedule {
  std::vector<TaskRun> runs;
  std::int64_t makespan = 0;
};

/// How a resharding is decomposed into unit tasks.
enum class Decomposition : std::uint8_t {
  Intersection,  ///< a task per non-empty intersection of a source and a destination slice
  Source         ///< a task per source slice, as in section 2.2; its receivers need any part of it
};

/// A tensor to bring from one mesh to another, in the notation of the command line.
struct ReshardTensor {
  std::string shape;  ///< `1024,1024,512`
  std::string from;   ///< `2x4:S0,R,R`: 2 hosts of 4 devices; per dimension R, S0, S1, S01 or S10
  std::string to;     ///< likewise
  Decomposition decomposition = Decomposition::Intersection;
  bool pad = false;  ///< rounds dimensions up to what both meshes divide evenly
};

enum class ReshardStrategy : std::uint8_t {
  Exact,        ///< the shortest schedule
  Naive,        ///< a baseline of the paper: the first sender, in the order given
  LoadBalance,  ///< a baseline: longest first, on the least loaded sender
  Greedy        ///< a baseline: rounds of host-disjoint tasks
};

/// `exact`, `naive`, `load-balance`, `greedy`.
std::string_view to_string(ReshardStrategy strategy);

/// How a slice is sent from one device to several (section 3.1 and figure 3 of the paper).
enum class TransferStrategy : std::uint8_t {
  Broadcast,       ///< pipelined in chunks along a chain of all devices, host by host
  SendRecv,        ///< to each receiver in turn
  LocalAllGather,  ///< scattered over the devices of each host, then a ring allgather in the host
  GlobalAllGather  ///< scattered over all devices, then a ring allgather of all
};

/// A plan of point-to-point transfers of every device, made from the schedule and checked.
struct ReshardPlanSpec {
  static constexpr std::int64_t kMaxChunks = 1'000'000;

  TransferStrategy strategy = TransferStrategy::Broadcast;
  std::int64_t chunks = 16;  ///< of a broadcast, from 1 to kMaxChunks
  /// The first host of the destination mesh; absent: the one after the last of the source mesh.
  std::optional<std::uint32_t> first_host;
  std::optional<std::string> system;  ///< path of a system file to simulate the plan on
  std::int64_t element_bytes = 4;
  std::optional<std::string> file;  ///< where the caller writes the plan, to be named in the report
};

/// What to schedule: either `tasks` or `tensor`.
struct ReshardRequest {
  std::optional<std::string> tasks;  ///< path of a JSON file with unit tasks
  std::optional<ReshardTensor> tensor;
  ReshardStrategy strategy = ReshardStrategy::Exact;
  std::optional<ReshardPlanSpec> plan;  ///< needs `tensor`
  /// Writes a certificate for p2-check to this folder: no schedule is shorter than this one or,
  /// where that is not proved, than the lower bound.
  std::optional<std::string> certify;
  /// A folder for the question whether there is a shorter schedule than the one found, as formulas
  /// for SAT solvers, one for each sender of the largest task: without `certify` they are written
  /// there, with it the certificate is made of the proofs that are there. docs/campaigns.md.
  std::optional<std::string> cubes = {};
  bool plot = false;  ///< draws the timeline
};

/// The plan that was asked for.
struct ReshardPlanAnswer {
  bool valid = false;
  std::string text;    ///< the plan in the format `reshard-plan/1`, for check and run
  double seconds = 0;  ///< simulated on the system, 0 without one
};

/// Sizes and times are in elements for a tensor, else in the unit of the file.
struct ReshardAnswer : Answer {
  UnitTasks tasks;
  TaskSchedule schedule;
  std::int64_t lower_bound = 0;  ///< of all schedules
  bool optimal = false;          ///< the makespan equals the lower bound
  std::string bound_reason;      ///< the argument for the lower bound, in words
  std::uint64_t states = 0;      ///< explored by branch and bound
  std::optional<ReshardPlanAnswer> plan;
  std::string plot;  ///< SVG, where asked for
};

/// Schedules the unit tasks of a resharding (Eq. 1–3 of the paper). The outcome is Undecided where
/// an exact search reached a limit, and Refuted where the plan is invalid. Throws InputError.
///
///     ReshardRequest request;
///     request.tensor = {"1024,1024,512", "2x4:S0,R,R", "2x4:R,S01,R"};
///     const ReshardAnswer answer = schedule_resharding(request);  // answer.schedule,
///     answer.optimal
ReshardAnswer schedule_resharding(const ReshardRequest& request, const Options& options = {});

}  // namespace p2
