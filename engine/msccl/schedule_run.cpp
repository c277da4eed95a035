#include "engine/msccl/schedule_run.h"

namespace p2::msccl {

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

bool ScheduleRun::ready(StepPlace place) const {
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

}  // namespace p2::msccl
