// Whether the devices of several programs come to the end of their texts: they are replayed.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/programs.h"

namespace p2::kernel::xla {

/// Steps only ever allow others, so that the order in which devices are replayed does not matter.
void Programs::require_progress(Budget& budget) const {
  constexpr std::uint32_t kNobody = UINT32_MAX;
  struct Exchange {
    bool is_allowed = false, is_made = false;
    std::uint32_t waiting = UINT32_MAX;
  };
  std::vector<Exchange> messages(messages_.size());
  std::vector<std::size_t> missing = meetings_;
  // Of a meeting a device that waits, and of that another one that does.
  std::vector<std::uint32_t> waiting(meetings_.size(), kNobody);
  std::vector<std::uint32_t> other(program_of_.size(), kNobody);
  std::vector<std::size_t> next(program_of_.size(), 0);
  std::vector<char> has_come(program_of_.size(), 0);  // to the collective that is next
  std::vector<std::uint32_t> ready;
  for (auto device = static_cast<std::uint32_t>(program_of_.size()); device-- > 0;)
    ready.push_back(device);
  std::size_t done = 0;
  const auto wake = [&](std::uint32_t& device) {
    if (device != kNobody) ready.push_back(device);
    device = kNobody;
  };
  const auto come = [&](std::uint32_t meeting) {
    if (--missing.at(meeting) != 0) return;
    for (std::uint32_t device = waiting[meeting]; device != kNobody; device = other[device])
      ready.push_back(device);
    waiting[meeting] = kNobody;
  };
  /// Whether the device goes on.
  const auto execute = [&](std::uint32_t device, const Step& step) {
    const std::uint32_t number = step.numbers.at(own_number_[device]);
    if (number == kNoNumber) return true;
    using Kind = Step::Kind;
    if (step.kind == Kind::Receive || step.kind == Kind::Send || step.kind == Kind::ReceiveDone) {
      Exchange& message = messages.at(number);
      const bool has_to_wait = (step.kind == Kind::Send && !message.is_allowed) ||
                               (step.kind == Kind::ReceiveDone && !message.is_made);
      if (has_to_wait) {
        message.waiting = device;
        return false;
      }
      message.is_allowed = message.is_allowed || step.kind == Kind::Receive;
      message.is_made = message.is_made || step.kind == Kind::Send;
      if (step.kind != Kind::ReceiveDone) wake(message.waiting);
      return true;
    }
    if (step.kind != Kind::Done && has_come[device] == 0) {
      come(number);
      has_come[device] = 1;
    }
    if (step.kind != Kind::Start && missing.at(number) != 0) {
      other[device] = waiting[number];
      waiting[number] = device;
      return false;
    }
    return true;
  };
  while (!ready.empty()) {
    const std::uint32_t device = ready.back();
    ready.pop_back();
    const std::vector<Step>& steps = steps_[program_of_[device]];
    const std::size_t begin = next[device];
    while (next[device] < steps.size() && execute(device, steps[next[device]])) {
      ++next[device];
      has_come[device] = 0;
    }
    budget.spend(next[device] - begin);
    if (next[device] == steps.size()) {
      ++done;
      ++next[device];
    }
  }
  if (done != program_of_.size()) reject("devices wait for each other forever");
}

}  // namespace p2::kernel::xla
