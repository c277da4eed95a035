#include "engine/reshard/plans/plan_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/document_writers.h"
#include "engine/transfer/happens_before.h"

namespace p2::reshard {
namespace {

using transfer::EdgeKind;
using transfer::Event;

const Operation& operation_at(const Plan& plan, const OperationPlace& place) {
  return plan.programs[place.device][place.step][place.index];
}

/// The boundaries of the steps of all devices, with the transfers that their order depends on.
/// Boundary s of a device, from 0, is the end of its first s steps and the beginning of the next
/// one. The operations of a step begin together; the step ends once all of them are complete. A
/// receive is complete once its send has begun, a send at once if it is buffered and else once its
/// receive has begun (rendezvous).
class StepBoundaries {
 public:
  /// Precondition: every operation has its partner.
  StepBoundaries(const Plan& plan, const Partners& partners, bool buffered)
      : plan_(plan), partners_(partners) {
    transfer::GraphBuilder builder;
    std::size_t edges = 0;
    for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
      first_.push_back(first_.empty() ? 0 : first_.back() + steps(device - 1) + 1);
      edges += steps(device);
      for (const Step& step : plan.programs[device]) edges += step.size();
    }
    builder.reserve(first_.empty() ? 0 : first_.back() + plan.programs.back().size() + 1, edges);
    for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
      for (std::size_t step = 0; step <= steps(device); ++step) builder.add_event(device);
    }
    for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
      for (std::size_t step = 0; step < steps(device); ++step) {
        const Step& together = plan.programs[device][step];
        for (std::size_t i = 0; i < together.size(); ++i) {
          if (together[i].sends && buffered) continue;
          const OperationPlace& partner = *partners[device][step][i];
          builder.add_edge(boundary(partner.device, partner.step), boundary(device, step + 1),
                           together[i].sends ? EdgeKind::Rendezvous : EdgeKind::Message);
        }
      }
    }
    graph_ = std::move(builder).build();
  }

  bool all_occur() const { return !graph_.has_cycle(); }

  /// A shortest cycle of devices of which each waits for the next: the operation by which it does.
  std::vector<OperationPlace> waiting_operations() const {
    std::vector<std::size_t> reached(plan_.programs.size(), 0);  // boundaries, by device
    for (const Event event : graph_.order()) ++reached[graph_.process(event)];
    std::vector<OperationPlace> waiting;
    for (const transfer::Edge& edge : graph_.process_cycle()) {
      const std::uint32_t device = graph_.process(edge.to);
      const std::uint32_t peer = graph_.process(edge.from);
      const std::size_t step = reached[device] - 1;
      OperationPlace place{device, step, 0};
      const auto waits_for_peer = [&] {
        const OperationPlace& partner = *partners_[device][step][place.index];
        return partner.device == peer && partner.step >= reached[peer];
      };
      while (!waits_for_peer()) ++place.index;
      waiting.push_back(place);
    }
    return waiting;
  }

 private:
  std::size_t steps(std::uint32_t device) const { return plan_.programs[device].size(); }
  Event boundary(std::uint32_t device, std::size_t step) const {
    return static_cast<Event>(first_[device] + step);
  }

  const Plan& plan_;
  const Partners& partners_;
  std::vector<std::size_t> first_;  // by device
  transfer::HappensBefore graph_;
};

/// Where a send waits for its receive.
std::optional<PlanFault> find_deadlock(const Plan& plan, const Partners& partners) {
  const StepBoundaries boundaries(plan, partners, false);
  if (boundaries.all_occur()) return std::nullopt;
  const std::vector<OperationPlace> waiting = boundaries.waiting_operations();
  std::string text;
  for (const OperationPlace& place : waiting) {
    const Operation& each = operation_at(plan, place);
    const OperationPlace& partner = *partners[place.device][place.step][place.index];
    text += fmt::format(
        "{}evice {} cannot end its step {}, where it {} device {} {}, before device "
        "{} begins its step {}",
        text.empty() ? "D" : ", d", place.device, place.step + 1,
        each.sends ? "sends to" : "receives from", each.peer, to_string(each.box), partner.device,
        partner.step + 1);
  }
  return PlanFault{
      PlanRule::Deadlock,
      waiting.front(),
      {waiting.begin() + 1, waiting.end()},
      {},
      text + (waiting.size() == 1 ? ": it waits for itself."
                                  : ": each waits for the next, the last for the first.")};
}

/// `In step 2, device 1 sends to device 2 elements [0:4]`
std::string in_words(const OperationPlace& place, const Operation& each) {
  return fmt::format("In step {}, device {} {} device {} elements {}", place.step + 1, place.device,
                     each.sends ? "sends to" : "receives from", each.peer, to_string(each.box));
}

/// When a device receives the first of these elements, if ever, in words that follow `it`.
std::string when_received(const DeviceProgram& program, const Box& box) {
  for (std::size_t step = 0; step < program.size(); ++step) {
    for (const Operation& each : program[step]) {
      if (each.sends || !overlap(each.box, box)) continue;
      return fmt::format("receives {} of them from device {} only in step {}",
                         to_string(common(each.box, box)), each.peer, step + 1);
    }
  }
  return "never receives them";
}

const char* name_of(Buffer buffer) { return buffer == Buffer::Source ? "source" : "destination"; }

std::string at(const OperationPlace& place) {
  return fmt::format("device {}, step {}", place.device, place.step + 1);
}

/// Checks the rules in the order of PlanRule.
class PlanJudge {
 public:
  explicit PlanJudge(const Plan& plan)
      : plan_(plan),
        held_(plan.problem.regions(plan.problem.from)),
        needed_(plan.problem.regions(plan.problem.to)) {}

  PlanDecision decide() && {
    decision_.violation = find_violation();
    if (decision_.violation) decision_.outcome = Outcome::Refuted;
    return std::move(decision_);
  }

 private:
  std::optional<PlanFault> find_violation() {
    if (auto fault = find_out_of_bounds()) return fault;
    const Partners partners = partners_of(plan_);
    if (auto fault = find_unmatched(partners)) return fault;
    decision_.completes_buffered = StepBoundaries(plan_, partners, true).all_occur();
    if (auto fault = find_deadlock(plan_, partners)) {
      fault->explanation += decision_.completes_buffered
                                ? " It would complete if sends were buffered."
                                : " It would not complete with buffered sends either.";
      return fault;
    }
    decision_.completes_rendezvous = true;
    if (auto fault = find_overwritten()) return fault;
    if (auto fault = find_not_held()) return fault;
    return find_missing();
  }

  /// The first fault that `find` returns for an operation, by step, then device.
  template <typename Find>
  std::optional<PlanFault> find_first(Find find) const {
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

  std::optional<PlanFault> find_out_of_bounds() const {
    return find_first([&](const OperationPlace& place, const Operation& each) {
      std::optional<PlanFault> fault;
      const auto& regions = each.buffer == Buffer::Source ? held_ : needed_;
      const Box& there = regions[place.device];
      const std::int64_t elements = each.box.elements();
      if (elements > 0 && there.elements() > 0 && there.contains(each.box)) return fault;
      const std::string what = in_words(place, each) + ", ";
      const std::string why =
          elements == 0 ? "which is empty."
          : there.elements() == 0
              ? fmt::format("but has no {} buffer.", name_of(each.buffer))
              : fmt::format("but its {} buffer holds {}.", name_of(each.buffer), to_string(there));
      fault = PlanFault{PlanRule::Bounds, place, {}, each.box, what + why};
      return fault;
    });
  }

  std::optional<PlanFault> find_unmatched(const Partners& partners) const {
    return find_first([&](const OperationPlace& place, const Operation& each) {
      const auto& partner = partners[place.device][place.step][place.index];
      std::optional<PlanFault> fault;
      const std::string what = in_words(place, each) + ", but ";
      if (!partner) {
        fault = PlanFault{PlanRule::Match,
                          place,
                          {},
                          each.box,
                          what + fmt::format("device {} has no matching {}.", each.peer,
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
          what + fmt::format("the matching {} ({}) has {}.", each.sends ? "receive" : "send",
                             at(*partner), to_string(other))};
      return fault;
    });
  }

  std::optional<PlanFault> find_overwritten() const {
    return find_first([&](const OperationPlace& place, const Operation& each) {
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
                        "them {} device {}: their order is undefined.",
                        place.step + 1, place.device, to_string(common(each.box, other.box)),
                        each.peer, other.sends ? "sends" : "receives", other.sends ? "to" : "from",
                        other.peer)};
        return fault;
      }
      return fault;
    });
  }

  std::optional<PlanFault> find_not_held() const {
    std::vector<std::vector<Box>> received(plan_.programs.size());
    std::vector<std::size_t> of_steps(plan_.programs.size(), 0);
    return find_first([&](const OperationPlace& place, const Operation& each) {
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
                      "buffer, which it does not hold yet: it {}.",
                      place.step + 1, place.device, each.peer, to_string(*lacking),
                      when_received(plan_.programs[place.device], *lacking))};
      return fault;
    });
  }

  std::optional<PlanFault> find_missing() {
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
      std::vector<Box> received;
      for (const Step& step : plan_.programs[device]) {
        for (const Operation& each : step) {
          if (!each.sends) received.push_back(each.box);
        }
      }
      for (const Box& box : received) decision_.received_twice += box.elements();
      decision_.received_twice -= needed_[device].elements();
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
  PlanDecision decision_;
};

}  // namespace

std::string_view to_string(PlanRule rule) {
  switch (rule) {
    case PlanRule::Bounds:
      return "out-of-bounds";
    case PlanRule::Match:
      return "unmatched";
    case PlanRule::Deadlock:
      return "deadlock";
    case PlanRule::Overwrite:
      return "overwritten";
    case PlanRule::NotHeld:
      return "not-held";
    case PlanRule::Missing:
      break;
  }
  return "missing";
}

Partners partners_of(const Plan& plan) {
  transfer::ConnectionTable<OperationPlace> table;
  Partners partners(plan.programs.size());
  for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
    const DeviceProgram& program = plan.programs[device];
    partners[device].resize(program.size());
    for (std::size_t step = 0; step < program.size(); ++step) {
      partners[device][step].resize(program[step].size());
      for (std::size_t i = 0; i < program[step].size(); ++i) {
        const Operation& each = program[step][i];
        if (each.sends) {
          table.add_send(device, each.peer, 0, {device, step, i});
        } else {
          table.add_receive(each.peer, device, 0, {device, step, i});
        }
      }
    }
  }
  const auto partner_of = [&](const OperationPlace& place) -> std::optional<OperationPlace>& {
    return partners[place.device][place.step][place.index];
  };
  for (const auto& connection : std::move(table).take()) {
    for (std::size_t k = 0; k < connection.matched(); ++k) {
      partner_of(connection.sends[k]) = connection.receives[k];
      partner_of(connection.receives[k]) = connection.sends[k];
    }
  }
  return partners;
}

PlanDecision judge(const Plan& plan) { return PlanJudge(plan).decide(); }

namespace {

constexpr std::size_t kMaxDevicesDrawn = 32;
constexpr std::size_t kMaxStepsDrawn = 12;

Json place_json(const OperationPlace& place) {
  return Json::object(
      {{"device", place.device}, {"step", place.step + 1}, {"operation", place.index + 1}});
}

std::string region_text(const Box& box) { return box.elements() == 0 ? "-" : to_string(box); }

std::string steps_text(const DeviceProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.size() && i < kMaxStepsDrawn; ++i) {
    text += i == 0 ? "" : " | ";
    for (const Operation& each : program[i]) {
      text += fmt::format("{}{}{}", &each == &program[i].front() ? "" : " ", each.sends ? ">" : "<",
                          each.peer);
    }
  }
  if (program.size() > kMaxStepsDrawn) {
    text += fmt::format(" | … {} more", program.size() - kMaxStepsDrawn);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json json = Json::object({{"format", kPlanFormat},
                            {"strategy", plan.strategy},
                            {"shape", Json::array_of(plan.problem.shape)},
                            {"hosts", Json::array_of(plan.problem.hosts)},
                            {"from", to_json(plan.problem.from)},
                            {"to", to_json(plan.problem.to)}});
  json.add("programs", Json::array_of(plan.programs, [](const DeviceProgram& program) {
             return Json::array_of(program, [](const Step& step) {
               return Json::array_of(step, [](const Operation& each) { return to_json(each); });
             });
           }));
  return json;
}

Json fault_json(const PlanFault& fault) {
  const bool placed = fault.rule != PlanRule::Missing;
  Json elements;
  if (!fault.box.low.empty()) {
    elements = Json::object(
        {{"low", Json::array_of(fault.box.low)}, {"high", Json::array_of(fault.box.high)}});
  }
  return Json::object({{"rule", to_string(fault.rule)},
                       {"device", fault.place.device},
                       {"step", placed ? Json(fault.place.step + 1) : Json()},
                       {"operation", placed ? Json(fault.place.index + 1) : Json()},
                       {"others", Json::array_of(fault.others, place_json)},
                       {"elements", std::move(elements)}});
}

std::string draw(const Plan& plan) {
  const auto held = plan.problem.regions(plan.problem.from);
  const auto needed = plan.problem.regions(plan.problem.to);
  std::vector<std::vector<std::string>> rows{
      {"device", "host", "has", "is to end with", "steps: >5 sends to 5, <5 receives"}};
  for (std::uint32_t d = 0; d < plan.problem.devices() && d < kMaxDevicesDrawn; ++d) {
    rows.push_back({std::to_string(d), std::to_string(plan.problem.hosts[d]), region_text(held[d]),
                    region_text(needed[d]), steps_text(plan.programs[d])});
  }
  std::string text = table_text(rows, 2);
  if (plan.problem.devices() > kMaxDevicesDrawn) {
    text += fmt::format("… and {} more devices\n", plan.problem.devices() - kMaxDevicesDrawn);
  }
  return text;
}

}  // namespace p2::reshard
