#include <deque>
#include <map>

#include "engine/reshard/plans/plan_fault.h"

namespace p2::reshard {
namespace {

/// Devices that take their steps as soon as they can.
class Replay {
 public:
  Replay(const Plan& plan, const Partners& partners, bool buffered)
      : plan_(plan),
        partners_(partners),
        buffered_(buffered),
        at_(plan.programs.size(), 0),
        entered_(plan.programs.size(), 0),
        open_(plan.programs.size(), 0) {
    for (std::uint32_t device = 0; device < plan.programs.size(); ++device) enter(device);
    while (!ready_.empty()) {
      const std::uint32_t device = ready_.front();
      ready_.pop_front();
      ++at_[device];
      enter(device);
    }
  }

  std::vector<std::size_t> take() { return std::move(at_); }

 private:
  /// The device comes to its step: what waited for that completes, and with it maybe the step.
  void enter(std::uint32_t device) {
    const DeviceProgram& program = plan_.programs[device];
    const std::size_t step = at_[device];
    if (step == program.size()) return;
    open_[device] = program[step].size();
    for (std::size_t i = 0; i < program[step].size(); ++i) {
      const auto& partner = partners_[device][step][i];
      const bool sends = program[step][i].sends;
      if (!partner) continue;  // never completes
      const bool here = partner->device == device && partner->step == step;
      const bool there = here || entered_[partner->device] > partner->step;
      if (buffered_ && sends) {
        complete(device);
        if (there && !here) complete(partner->device);
      } else if (there) {
        complete(device);
        if (!here && !buffered_) complete(partner->device);
      }
    }
    entered_[device] = step + 1;
    if (program[step].empty()) ready_.push_back(device);
  }

  void complete(std::uint32_t device) {
    if (--open_[device] == 0) ready_.push_back(device);
  }

  const Plan& plan_;
  const Partners& partners_;
  bool buffered_;
  std::vector<std::size_t> at_;
  std::vector<std::size_t> entered_;  // steps that a device has come to
  std::vector<std::size_t> open_;     // operations of the present step that are not complete
  std::deque<std::uint32_t> ready_;
};

}  // namespace

Partners partners_of(const Plan& plan) {
  using Queue = std::deque<OperationPlace>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Queue, Queue>> open;
  Partners partners(plan.programs.size());
  for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
    const DeviceProgram& program = plan.programs[device];
    partners[device].resize(program.size());
    for (std::size_t step = 0; step < program.size(); ++step) {
      partners[device][step].resize(program[step].size());
      for (std::size_t i = 0; i < program[step].size(); ++i) {
        const Operation& each = program[step][i];
        const OperationPlace here{device, step, i};
        auto& [sends, receives] =
            each.sends ? open[{device, each.peer}] : open[{each.peer, device}];
        Queue& waiting = each.sends ? receives : sends;
        if (waiting.empty()) {
          (each.sends ? sends : receives).push_back(here);
          continue;
        }
        const OperationPlace there = waiting.front();
        waiting.pop_front();
        partners[device][step][i] = there;
        partners[there.device][there.step][there.index] = here;
      }
    }
  }
  return partners;
}

std::vector<std::size_t> completed_steps(const Plan& plan, const Partners& partners,
                                         bool buffered) {
  return Replay(plan, partners, buffered).take();
}

}  // namespace p2::reshard
