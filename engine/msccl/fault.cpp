#include "engine/msccl/step_graph.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/msccl/verdict.h"

namespace p2::msccl {

std::string_view to_string(Fault::Kind kind) {
  constexpr std::array<std::string_view, 15> kNames = {
      "out-of-bounds",       "no-peer",           "shared-connection", "unmatched-send",
      "unmatched-receive",   "count-mismatch",    "never-published",   "order-deadlock",
      "dependency-deadlock", "capacity-deadlock", "data-race",         "missing-data",
      "wrong-chunk",         "double-count",      "lost-contribution"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

/// The execution of one schedule, step by step, with one transmission per step: the progress of
/// every thread block and connection. Independent of the happens-before graph.
class ScheduleRun {
 public:
  /// Precondition: find_mismatch() finds nothing.
  ScheduleRun(const Algorithm& algorithm, const std::vector<Connection>& connections);

  /// Whether the step is the next of its thread block, its dependency is over, its message has been
  /// sent and the connection that it sends on is not full.
  bool is_ready(StepPlace place) const;
  /// Precondition: it is ready.
  void run(StepPlace place);

 private:
  struct Fifo {
    std::size_t sent = 0;
    std::size_t received = 0;
  };
  struct Use {
    const Connection* sends_on = nullptr;
    const Connection* receives_on = nullptr;
  };

  const Algorithm& algorithm_;
  std::vector<std::vector<std::uint32_t>> done_;  ///< steps, by gpu and thread block
  std::map<const Connection*, Fifo> fifos_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Use> uses_;  ///< by gpu and thread block
};

ScheduleRun::ScheduleRun(const Algorithm& algorithm, const std::vector<Connection>& connections)
    : algorithm_(algorithm) {
  for (const Gpu& gpu : algorithm.gpus) done_.emplace_back(gpu.blocks.size());
  for (const Connection& connection : connections) {
    if (connection.sends.empty()) continue;
    fifos_[&connection] = {};
    const StepPlace send = connection.sends.front();
    const StepPlace receive = connection.receives.front();
    uses_[{send.gpu, send.block}].sends_on = &connection;
    uses_[{receive.gpu, receive.block}].receives_on = &connection;
  }
}

bool ScheduleRun::is_ready(StepPlace place) const {
  if (done_[place.gpu][place.block] != place.step) return false;
  const Step& step = algorithm_.step(place);
  if (step.waits_for) {
    const auto ends = awaited(algorithm_, place);
    if (!ends || done_[ends->gpu][ends->block] <= ends->step) return false;
  }
  const auto use = uses_.find({place.gpu, place.block});
  if (receives(step.type)) {
    const Fifo& fifo = fifos_.at(use->second.receives_on);
    if (fifo.sent == fifo.received) return false;
  }
  if (sends(step.type)) {
    const Fifo& fifo = fifos_.at(use->second.sends_on);
    if (fifo.sent - fifo.received >= fifo_capacity(algorithm_.protocol)) return false;
  }
  return true;
}

void ScheduleRun::run(StepPlace place) {
  ++done_[place.gpu][place.block];
  const StepType type = algorithm_.step(place).type;
  const auto use = uses_.find({place.gpu, place.block});
  if (receives(type)) ++fifos_.at(use->second.receives_on).received;
  if (sends(type)) ++fifos_.at(use->second.sends_on).sent;
}

bool exists(const Algorithm& algorithm, StepPlace place) {
  return place.gpu < algorithm.gpus.size() &&
         place.block < algorithm.gpus[place.gpu].blocks.size() &&
         place.step < algorithm.block(place).steps.size();
}

bool all_exist(const Algorithm& algorithm, const Fault& fault) {
  const auto there = [&](StepPlace place) { return exists(algorithm, place); };
  const auto waits = [&](const Wait& wait) { return there(wait.step); };
  return std::all_of(fault.steps.begin(), fault.steps.end(), there) &&
         std::all_of(fault.schedule.begin(), fault.schedule.end(), there) &&
         std::all_of(fault.cycle.begin(), fault.cycle.end(), waits);
}

/// These are found again in linear time.
bool same_mismatch(const Algorithm& algorithm, const std::vector<Connection>& all,
                   const Fault& fault) {
  const auto found = find_mismatch(algorithm, all);
  return found && found->kind == fault.kind && found->steps == fault.steps;
}

/// Whether `first` is send (or receive) k of a connection and `second` receive k (or send
/// k + capacity).
bool joined(const Algorithm& algorithm, const std::vector<Connection>& all, StepPlace first,
            StepPlace second, EdgeKind why) {
  const std::size_t apart = why == EdgeKind::Message ? 0 : fifo_capacity(algorithm.protocol);
  for (const Connection& connection : all) {
    const auto& from = why == EdgeKind::Message ? connection.sends : connection.receives;
    const auto& to = why == EdgeKind::Message ? connection.receives : connection.sends;
    const auto found = std::find(from.begin(), from.end(), first);
    if (found == from.end()) continue;
    const std::size_t k = static_cast<std::size_t>(found - from.begin()) + apart;
    if (k < to.size() && to[k] == second) return true;
  }
  return false;
}

bool precedes(const Algorithm& algorithm, const std::vector<Connection>& all, const Wait& wait,
              StepPlace next) {
  switch (wait.before) {
    case EdgeKind::Program:
      return wait.step.gpu == next.gpu && wait.step.block == next.block &&
             wait.step.step < next.step;
    case EdgeKind::Dependency:
      return algorithm.step(next).waits_for && awaited(algorithm, next) == wait.step;
    case EdgeKind::Rendezvous:
      return false;
    case EdgeKind::Message:
    case EdgeKind::Capacity:
      return joined(algorithm, all, wait.step, next, wait.before);
  }
  return false;
}

bool has_cycle_of(const Algorithm& algorithm, const std::vector<Connection>& all,
                  const Fault& fault) {
  for (std::size_t i = 0; i < fault.cycle.size(); ++i) {
    const StepPlace next = fault.cycle[(i + 1) % fault.cycle.size()].step;
    if (!precedes(algorithm, all, fault.cycle[i], next)) return false;
  }
  return !fault.cycle.empty();
}

bool conflict(const MemoryLayout& layout, StepPlace first, StepPlace second, const Cell& cell) {
  for (const Access& one : layout.accesses(first)) {
    for (const Access& other : layout.accesses(second)) {
      if (one.cell != cell || other.cell != cell || !(one.writes || other.writes)) continue;
      if (first != second || one.chunk != other.chunk) return true;
    }
  }
  return false;
}

bool has_race_of(const Algorithm& algorithm, const MemoryLayout& layout,
                 const std::vector<Connection>& all, const Fault& fault) {
  if (fault.steps.size() != 2 || !fault.cell) return false;
  ScheduleRun run(algorithm, all);
  for (const StepPlace place : fault.schedule) {
    if (!run.is_ready(place)) return false;
    run.run(place);
  }
  return run.is_ready(fault.steps[0]) && run.is_ready(fault.steps[1]) &&
         conflict(layout, fault.steps[0], fault.steps[1], *fault.cell);
}

bool has_result_of(const Algorithm& algorithm, const MemoryLayout& layout,
                   const std::vector<Connection>& all, const Fault& fault) {
  if (!layout.collective()) return false;
  for (const StepPlace place : algorithm.steps()) {
    if (algorithm.step(place).type == StepType::ResidualAdd) return false;
  }
  const StepGraph graph(algorithm, all, true);
  if (graph.order().has_cycle()) return false;
  const Limits none;
  LimitWatch watch(none, "replaying a refutation");
  const auto found = find_wrong_result(algorithm, layout, all, graph, watch);
  return found && found->kind == fault.kind && found->cell == fault.cell &&
         found->steps == fault.steps;
}

}  // namespace

bool can_replay(const Algorithm& algorithm, const Fault& fault) {
  using enum Fault::Kind;
  const bool is_callable = fault.in_place ? algorithm.in_place : algorithm.out_of_place;
  if (!is_callable || !all_exist(algorithm, fault)) return false;
  const MemoryLayout layout(algorithm, fault.in_place);
  if (fault.kind == OutOfBounds) {
    return fault.steps.size() == 1 && layout.find_overrun(fault.steps[0]).has_value();
  }
  if (fault.kind == NeverPublished) {
    return fault.steps.size() == 1 && algorithm.step(fault.steps[0]).waits_for &&
           !awaited(algorithm, fault.steps[0]);
  }
  const std::vector<Connection> all = connections(algorithm);
  if (fault.kind < NeverPublished) return same_mismatch(algorithm, all, fault);
  const auto inside = [&](StepPlace place) { return !layout.find_overrun(place); };
  const std::vector<StepPlace> steps = algorithm.steps();
  if (find_mismatch(algorithm, all) || find_endless_wait(algorithm) ||
      !std::all_of(steps.begin(), steps.end(), inside)) {
    return false;
  }
  if (fault.kind < DataRace) return has_cycle_of(algorithm, all, fault);
  if (fault.kind == DataRace) return has_race_of(algorithm, layout, all, fault);
  return fault.kind <= LostContribution && has_result_of(algorithm, layout, all, fault);
}

}  // namespace p2::msccl
