#include "engine/reshard/plans/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "p2/error.h"

namespace p2::reshard {
namespace {

using Devices = std::vector<std::uint32_t>;

/// A part of the tensor with the devices that hold it and those that need all of it, in the order
/// of their meshes.
struct Piece {
  Box box;
  std::size_t task = 0;  // its unit task in decompose()
  std::vector<std::uint32_t> holders;
  std::vector<std::uint32_t> receivers;
};
Box box_of(const Slice& slice) { return {slice.low, slice.high}; }

/// In the order of the mesh.
std::vector<std::uint32_t> devices_with(const Layout& layout, const std::vector<Box>& regions,
                                        const Slice& slice) {
  std::vector<std::uint32_t> devices;
  for (const std::uint32_t device : layout.devices) {
    if (regions[device] == box_of(slice)) devices.push_back(device);
  }
  return devices;
}

/// In the order of decompose(): one piece per task for intersections; for source slices one per
/// slice of the destination that overlaps the task's.
std::vector<Piece> pieces_of(const Reshard& problem, Decomposition decomposition) {
  const std::vector<Slice> destinations = slices_of(problem.shape, problem.to.sharding);
  const std::vector<Box> held = problem.regions(problem.from);
  const std::vector<Box> needed = problem.regions(problem.to);
  std::vector<Devices> receivers;
  for (const Slice& slice : destinations) {
    receivers.push_back(devices_with(problem.to, needed, slice));
  }
  std::vector<Piece> pieces;
  std::size_t tasks = 0;
  for (const Slice& slice : slices_of(problem.shape, problem.from.sharding)) {
    const Devices holders = devices_with(problem.from, held, slice);
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      const Box both = common(box_of(slice), box_of(destinations[i]));
      if (both.elements() == 0) continue;
      pieces.push_back({both, tasks, holders, receivers[i]});
      if (decomposition == Decomposition::Intersection) ++tasks;
    }
    if (decomposition == Decomposition::Source) ++tasks;
  }
  return pieces;
}

/// Appends transfers to the programs of both devices. The operations of a device in one round of
/// one piece form a step. All devices run the rounds in the same order, so there is no deadlock.
class Programs {
 public:
  explicit Programs(std::size_t devices) : programs_(devices), last_(devices) {}

  void next_piece() { ++piece_; }
  void transfer(std::size_t round, std::uint32_t from, Buffer buffer, std::uint32_t to,
                const Box& box) {
    if (box.elements() == 0) return;
    operations_ += 2;
    if (operations_ > kMaxOperations) {
      throw LimitReached(
          LimitReached::Kind::Size,
          fmt::format("a plan of more than {} operations, expected fewer chunks", kMaxOperations));
    }
    step(round, from).push_back({true, buffer, to, box});
    step(round, to).push_back({false, Buffer::Destination, from, box});
  }
  std::vector<DeviceProgram> take() { return std::move(programs_); }

 private:
  Step& step(std::size_t round, std::uint32_t device) {
    const std::pair now{piece_, round};
    DeviceProgram& program = programs_[device];
    if (program.empty() || last_[device] != now) program.emplace_back();
    last_[device] = now;
    return program.back();
  }

  std::vector<DeviceProgram> programs_;
  std::vector<std::pair<std::size_t, std::size_t>> last_;
  std::size_t piece_ = 0;
  std::size_t operations_ = 0;
};

/// One part per device; the last ones are empty if there are too few elements.
std::vector<Box> parts_for(const Box& box, std::size_t devices) {
  std::vector<Box> parts = split(box, static_cast<std::int64_t>(devices));
  const std::size_t dimensions = box.low.size();
  parts.resize(devices, Box{Element(dimensions, 0), Element(dimensions, 0)});
  return parts;
}

/// A ring allgather: device i has part i; in every round each sends on the part that it received
/// last.
void gather(const Devices& ring, const std::vector<Box>& parts, std::size_t first_round,
            Programs& programs) {
  const std::size_t n = ring.size();
  for (std::size_t k = 0; k + 1 < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      programs.transfer(first_round + k, ring[i], Buffer::Destination, ring[(i + 1) % n],
                        parts[(i + n - k) % n]);
    }
  }
}

void scatter(std::uint32_t sender, const Devices& to, const std::vector<Box>& parts,
             std::size_t round, Programs& programs) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    programs.transfer(round, sender, Buffer::Source, to[i], parts[i]);
  }
}

std::vector<Devices> by_host(const Devices& devices, const Reshard& problem) {
  std::vector<Devices> hosts;
  for (const std::uint32_t device : devices) {
    const bool same = !hosts.empty() && problem.hosts[hosts.back().back()] == problem.hosts[device];
    if (!same) hosts.emplace_back();
    hosts.back().push_back(device);
  }
  return hosts;
}

void broadcast(std::uint32_t sender, const Devices& to, const std::vector<Box>& chunks,
               std::size_t first_round, Programs& programs) {
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      programs.transfer(first_round + k + i, i == 0 ? sender : to[i - 1],
                        i == 0 ? Buffer::Source : Buffer::Destination, to[i], chunks[k]);
    }
  }
}

void send_piece(const Piece& piece, std::uint32_t sender, const Reshard& problem,
                const PlanChoice& choice, Programs& programs) {
  programs.next_piece();
  Devices to;
  for (const std::uint32_t device : piece.receivers) {
    const bool holds =
        std::find(piece.holders.begin(), piece.holders.end(), device) != piece.holders.end();
    if (holds) {
      programs.transfer(0, device, Buffer::Source, device, piece.box);
    } else {
      to.push_back(device);
    }
  }
  if (to.empty()) return;
  const std::vector<Devices> hosts = by_host(to, problem);
  switch (choice.strategy) {
    case TransferStrategy::SendRecv:
      for (std::size_t i = 0; i < to.size(); ++i) {
        programs.transfer(1 + i, sender, Buffer::Source, to[i], piece.box);
      }
      break;
    case TransferStrategy::LocalAllGather:
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        const std::vector<Box> parts = parts_for(piece.box, hosts[i].size());
        scatter(sender, hosts[i], parts, 1 + i, programs);
        gather(hosts[i], parts, 1 + hosts.size(), programs);
      }
      break;
    case TransferStrategy::GlobalAllGather: {
      const std::vector<Box> parts = parts_for(piece.box, to.size());
      scatter(sender, to, parts, 1, programs);
      gather(to, parts, 2, programs);
      break;
    }
    case TransferStrategy::Broadcast:
      broadcast(sender, to, split(piece.box, choice.chunks), 1, programs);
      break;
  }
}

}  // namespace

std::string_view to_string(TransferStrategy strategy) {
  switch (strategy) {
    case TransferStrategy::SendRecv:
      return "sendrecv";
    case TransferStrategy::LocalAllGather:
      return "local-allgather";
    case TransferStrategy::GlobalAllGather:
      return "global-allgather";
    case TransferStrategy::Broadcast:
      break;
  }
  return "broadcast";
}

Plan make_plan(const Reshard& problem, const PlanChoice& choice, const TaskSchedule& schedule) {
  const std::vector<Piece> pieces = pieces_of(problem, choice.decomposition);
  Programs programs(problem.hosts.size());
  std::vector<std::int64_t> sent(problem.hosts.size(), 0);
  for (const TaskRun& run : schedule.runs) {
    for (const Piece& piece : pieces) {
      if (piece.task != run.task) continue;
      std::uint32_t sender = UINT32_MAX;
      for (const std::uint32_t device : piece.holders) {
        if (problem.hosts[device] != run.sender) continue;
        if (sender == UINT32_MAX || sent[device] < sent[sender]) sender = device;
      }
      sent[sender] += piece.box.elements();
      send_piece(piece, sender, problem, choice, programs);
    }
  }
  return {problem,
          fmt::format("{}{}", to_string(choice.strategy),
                      choice.strategy == TransferStrategy::Broadcast
                          ? fmt::format(" in {} chunks", choice.chunks)
                          : ""),
          programs.take()};
}

namespace {

/// In units of 1/chunks of the time for an element.
std::int64_t time_of(const Piece& piece, const Reshard& problem, const PlanChoice& choice) {
  const std::int64_t t = piece.box.elements();
  std::set<std::uint32_t> hosts;
  std::int64_t devices = 0;
  for (const std::uint32_t device : piece.receivers) {
    if (std::find(piece.holders.begin(), piece.holders.end(), device) != piece.holders.end()) {
      continue;
    }
    hosts.insert(problem.hosts[device]);
    ++devices;
  }
  const auto a = static_cast<std::int64_t>(hosts.size());
  switch (choice.strategy) {
    case TransferStrategy::SendRecv:
      return devices * t;
    case TransferStrategy::LocalAllGather:
      return a * t;
    case TransferStrategy::GlobalAllGather:
      return std::min<std::int64_t>(a, 2) * t;
    case TransferStrategy::Broadcast:
      break;
  }
  return a == 0 ? 0 : (choice.chunks + a - 1) * t;
}

}  // namespace

FormulaTime time_by_formula(const Reshard& problem, const UnitTasks& tasks,
                            const PlanChoice& choice, const TaskSchedule& schedule) {
  UnitTasks timed = tasks;
  for (UnitTask& task : timed) task.size = 0;
  for (const Piece& piece : pieces_of(problem, choice.decomposition)) {
    timed[piece.task].size += time_of(piece, problem, choice);
  }
  std::vector<std::size_t> order;
  std::vector<std::uint32_t> senders(tasks.size(), 0);
  for (const TaskRun& run : schedule.runs) {
    order.push_back(run.task);
    senders[run.task] = run.sender;
  }
  return {schedule_in_order(timed, order, senders).makespan,
          choice.strategy == TransferStrategy::Broadcast ? choice.chunks : 1};
}

}  // namespace p2::reshard
