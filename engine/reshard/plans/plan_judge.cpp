#include <algorithm>

#include <fmt/format.h>

#include "engine/reshard/plans/plan_deadlock.h"
#include "engine/reshard/plans/plan_fault.h"

namespace p2::reshard {
namespace {

const char* name_of(Buffer buffer) { return buffer == Buffer::Source ? "source" : "destination"; }

std::string at(const OperationPlace& place) {
  return fmt::format("device {}, step {}", place.device, place.step + 1);
}

class Judge {
 public:
  explicit Judge(const Plan& plan)
      : plan_(plan),
        held_(plan.problem.regions(plan.problem.from)),
        needed_(plan.problem.regions(plan.problem.to)) {}

  PlanVerdict verdict() && {
    if (verdict_.fault = out_of_bounds(); verdict_.fault) return verdict_;
    const Partners partners = partners_of(plan_);
    if (verdict_.fault = unmatched(partners); verdict_.fault) return verdict_;
    verdict_.completes_buffered = !find_deadlock(plan_, partners, true);
    if (verdict_.fault = find_deadlock(plan_, partners, false); verdict_.fault) {
      verdict_.fault->explanation += verdict_.completes_buffered
                                         ? " It would end if sends did not wait for their receives."
                                         : " It would not end either if sends did not wait.";
      return verdict_;
    }
    verdict_.completes = true;
    if (verdict_.fault = overwritten(); verdict_.fault) return verdict_;
    if (verdict_.fault = not_held(); verdict_.fault) return verdict_;
    verdict_.fault = missing();
    return verdict_;
  }

 private:
  /// The first fault that `find` sees in an operation: of the first steps, then devices.
  template <typename Find>
  std::optional<PlanFault> first(Find find) const {
    std::size_t steps = 0;
    for (const DeviceProgram& program : plan_.programs) steps = std::max(steps, program.size());
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
        if (step >= plan_.programs[device].size()) continue;
        const Step& together = plan_.programs[device][step];
        for (std::size_t i = 0; i < together.size(); ++i) {
          auto fault = find(OperationPlace{device, step, i}, together[i]);
          if (fault) return fault;
        }
      }
    }
    return std::nullopt;
  }

  std::optional<PlanFault> out_of_bounds() const {
    return first([&](const OperationPlace& place, const Operation& each) {
      std::optional<PlanFault> fault;
      const auto& regions = each.buffer == Buffer::Source ? held_ : needed_;
      const Box& there = regions[place.device];
      const std::int64_t elements = each.box.elements();
      if (elements > 0 && there.elements() > 0 && there.contains(each.box)) return fault;
      const std::string what = in_words(place, each) + ", ";
      const std::string why =
          elements == 0 ? "which are none."
          : there.elements() == 0
              ? fmt::format("but has no {} buffer.", name_of(each.buffer))
              : fmt::format("but its {} buffer is for {}.", name_of(each.buffer), to_string(there));
      fault = PlanFault{PlanRule::Bounds, place, {}, each.box, what + why};
      return fault;
    });
  }

  std::optional<PlanFault> unmatched(const Partners& partners) const {
    return first([&](const OperationPlace& place, const Operation& each) {
      const auto& partner = partners[place.device][place.step][place.index];
      std::optional<PlanFault> fault;
      const std::string what = in_words(place, each) + ", but ";
      if (!partner) {
        fault = PlanFault{PlanRule::Match,
                          place,
                          {},
                          each.box,
                          what + fmt::format("device {} has no {} left for that.", each.peer,
                                             each.sends ? "receive" : "send")};
        return fault;
      }
      const Box& other = plan_.programs[partner->device][partner->step][partner->index].box;
      if (other == each.box) return fault;
      fault = PlanFault{
          PlanRule::Match,
          place,
          {*partner},
          each.box,
          what + fmt::format("what that is for ({}) is of {}.", at(*partner), to_string(other))};
      return fault;
    });
  }

  std::optional<PlanFault> overwritten() const {
    return first([&](const OperationPlace& place, const Operation& each) {
      std::optional<PlanFault> fault;
      if (each.sends) return fault;
      const Step& together = plan_.programs[place.device][place.step];
      for (std::size_t j = 0; j < together.size(); ++j) {
        const Operation& other = together[j];
        const bool same = j == place.index || (!other.sends && j < place.index);
        if (same || other.buffer != Buffer::Destination || !overlap(each.box, other.box)) continue;
        fault = PlanFault{
            PlanRule::Overwrite,
            place,
            {{place.device, place.step, j}},
            common(each.box, other.box),
            fmt::format("In step {}, device {} receives elements {} from device {} while it {} "
                        "them {} device {}: which is first is left open.",
                        place.step + 1, place.device, to_string(common(each.box, other.box)),
                        each.peer, other.sends ? "sends" : "receives", other.sends ? "to" : "from",
                        other.peer)};
        return fault;
      }
      return fault;
    });
  }

  std::optional<PlanFault> not_held() const {
    std::vector<std::vector<Box>> received(plan_.programs.size());
    std::vector<std::size_t> of_steps(plan_.programs.size(), 0);
    return first([&](const OperationPlace& place, const Operation& each) {
      std::optional<PlanFault> fault;
      std::vector<Box>& here = received[place.device];
      for (; of_steps[place.device] < place.step; ++of_steps[place.device]) {
        for (const Operation& earlier : plan_.programs[place.device][of_steps[place.device]]) {
          if (!earlier.sends) here.push_back(earlier.box);
        }
      }
      if (!each.sends || each.buffer == Buffer::Source) return fault;
      const auto whole = [&](const Box& box) { return box.contains(each.box); };
      if (std::any_of(here.rbegin(), here.rend(), whole)) return fault;
      const auto lacking = first_uncovered(each.box, here);
      if (!lacking) return fault;
      fault = PlanFault{
          PlanRule::NotHeld,
          place,
          {},
          *lacking,
          fmt::format("In step {}, device {} sends to device {} elements {} of its destination "
                      "buffer, which it does not have by then: it {}.",
                      place.step + 1, place.device, each.peer, to_string(*lacking),
                      when_received(plan_.programs[place.device], *lacking))};
      return fault;
    });
  }

  std::optional<PlanFault> missing() {
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
      std::vector<Box> received;
      for (const Step& step : plan_.programs[device]) {
        for (const Operation& each : step) {
          if (!each.sends) received.push_back(each.box);
        }
      }
      for (const Box& box : received) verdict_.received_twice += box.elements();
      verdict_.received_twice -= needed_[device].elements();
      if (needed_[device].elements() == 0) continue;
      std::sort(received.begin(), received.end(),
                [](const Box& a, const Box& b) { return a.low < b.low; });
      const auto lacking = first_uncovered(needed_[device], received);
      if (!lacking) continue;
      return PlanFault{PlanRule::Missing,
                       {device, 0, 0},
                       {},
                       *lacking,
                       fmt::format("Device {} is to end with elements {}, but never receives {}.",
                                   device, to_string(needed_[device]), to_string(*lacking))};
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::vector<Box> held_;
  std::vector<Box> needed_;
  PlanVerdict verdict_;
};

}  // namespace

PlanVerdict judge(const Plan& plan) { return Judge(plan).verdict(); }

}  // namespace p2::reshard
