#include "engine/reshard/plans/plan_deadlock.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

namespace p2::reshard {
namespace {

/// Which of the operations of the steps that devices are stuck in wait, and for whom.
class Waiting {
 public:
  Waiting(const Plan& plan, const Partners& partners, bool buffered)
      : plan_(plan),
        partners_(partners),
        buffered_(buffered),
        at_(completed_steps(plan, partners, buffered)) {}

  bool stuck(std::uint32_t device) const { return at_[device] < plan_.programs[device].size(); }

  /// The operations of the device's step whose partners have not come to theirs.
  std::vector<OperationPlace> of(std::uint32_t device) const {
    std::vector<OperationPlace> waiting;
    const Step& step = plan_.programs[device][at_[device]];
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (buffered_ && step[i].sends) continue;
      const OperationPlace& partner = *partners_[device][at_[device]][i];
      if (partner.step > at_[partner.device]) waiting.push_back({device, at_[device], i});
    }
    return waiting;
  }

  /// A shortest way from the device back to it.
  std::vector<OperationPlace> ring(std::uint32_t start) const {
    std::vector<std::optional<OperationPlace>> reached(plan_.programs.size());
    std::deque<std::uint32_t> next{start};
    while (!next.empty()) {
      const std::uint32_t device = next.front();
      next.pop_front();
      for (const OperationPlace& place : of(device)) {
        const std::uint32_t peer = plan_.programs[device][place.step][place.index].peer;
        if (reached[peer]) continue;
        reached[peer] = place;
        if (peer == start) return back_from(start, reached);
        next.push_back(peer);
      }
    }
    return {};
  }

 private:
  static std::vector<OperationPlace> back_from(
      std::uint32_t start, const std::vector<std::optional<OperationPlace>>& reached) {
    std::vector<OperationPlace> ring;
    std::uint32_t device = start;
    do {
      ring.push_back(*reached[device]);
      device = ring.back().device;
    } while (device != start);
    std::reverse(ring.begin(), ring.end());
    return ring;
  }

  const Plan& plan_;
  const Partners& partners_;
  bool buffered_;
  std::vector<std::size_t> at_;
};

}  // namespace

std::optional<PlanFault> find_deadlock(const Plan& plan, const Partners& partners, bool buffered) {
  const Waiting waiting(plan, partners, buffered);
  std::vector<OperationPlace> shortest;
  for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
    if (!waiting.stuck(device)) continue;
    std::vector<OperationPlace> ring = waiting.ring(device);
    if (!ring.empty() && (shortest.empty() || ring.size() < shortest.size())) {
      shortest = std::move(ring);
    }
    if (shortest.size() == 1) break;
  }
  if (shortest.empty()) return std::nullopt;
  std::string text;
  for (const OperationPlace& place : shortest) {
    const Operation& each = plan.programs[place.device][place.step][place.index];
    const OperationPlace& partner = *partners[place.device][place.step][place.index];
    text += fmt::format(
        "{}evice {} cannot end its step {}, where it {} device {} {}, before device "
        "{} comes to its step {}",
        text.empty() ? "D" : ", d", place.device, place.step + 1,
        each.sends ? "sends to" : "receives from", each.peer, to_string(each.box), partner.device,
        partner.step + 1);
  }
  return PlanFault{
      PlanRule::Deadlock,
      shortest.front(),
      {shortest.begin() + 1, shortest.end()},
      {},
      text + (shortest.size() == 1 ? ": it waits for itself."
                                   : ": each waits for the next, the last for the first.")};
}

}  // namespace p2::reshard
