#include "encodings/z3/queries.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "encodings/z3/terms.h"

namespace p2::z3_encoding {
namespace {

using reshard::Box;
using reshard::Buffer;
using reshard::Operation;

struct Placed {
  std::uint32_t device = 0;
  std::size_t step = 0;
  const Operation* operation = nullptr;
};

class PlanTerms {
 public:
  PlanTerms(z3::context& context, const reshard::Plan& plan)
      : context_(context),
        held_(plan.problem.regions(plan.problem.from)),
        needed_(plan.problem.regions(plan.problem.to)),
        receives_(plan.programs.size()) {
    for (std::size_t i = 0; i < plan.problem.shape.size(); ++i) {
      element_.push_back(context.int_const(fmt::format("x{}", i).c_str()));
    }
    for (std::uint32_t device = 0; device < plan.programs.size(); ++device) {
      steps_.push_back(plan.programs[device].size());
      for (std::size_t step = 0; step < steps_.back(); ++step) {
        for (const Operation& each : plan.programs[device][step]) {
          operations_.push_back({device, step, &each});
        }
      }
    }
    for (const Placed& each : operations_) {
      const bool sends = each.operation->sends;
      if (!sends) receives_[each.device].push_back(&each);
      auto& [from, to] = pairs_[sends ? std::pair(each.device, each.operation->peer)
                                      : std::pair(each.operation->peer, each.device)];
      (sends ? from : to).push_back(&each);
    }
  }

  z3::expr out_of_bounds() const {
    z3::expr_vector some(context_);
    for (const Placed& each : operations_) {
      const Box& box = each.operation->box;
      const bool source = each.operation->buffer == Buffer::Source;
      const Box& region = (source ? held_ : needed_)[each.device];
      some.push_back(is_in(box) && !is_in(region));
      for (std::size_t i = 0; i < element_.size(); ++i) {
        some.push_back(number(box.high[i]) <= number(box.low[i]));
      }
    }
    return z3::mk_or(some);
  }

  z3::expr unmatched() const {
    z3::expr_vector some(context_);
    for (const auto& [ends, both] : pairs_) {
      const auto& [sends, receives] = both;
      if (sends.size() != receives.size()) return context_.bool_val(true);
      for (std::size_t k = 0; k < sends.size(); ++k) {
        some.push_back(is_in(sends[k]->operation->box) != is_in(receives[k]->operation->box));
      }
    }
    return z3::mk_or(some);
  }

  /// The times exist. Precondition: all transfers have both halves.
  z3::expr in_time() const {
    z3::expr_vector all(context_);
    for (std::uint32_t device = 0; device < steps_.size(); ++device) {
      for (std::size_t step = 0; step < steps_[device]; ++step) {
        all.push_back(begin(device, step) < begin(device, step + 1));
      }
    }
    std::size_t number = 0;
    for (const auto& [ends, both] : pairs_) {
      for (std::size_t k = 0; k < both.first.size(); ++k) {
        const z3::expr time = context_.int_const(fmt::format("transfer{}", number++).c_str());
        for (const Placed* half : {both.first[k], both.second[k]}) {
          all.push_back(begin(half->device, half->step) < time);
          all.push_back(time < begin(half->device, half->step + 1));
        }
      }
    }
    return z3::mk_and(all);
  }

  z3::expr overwritten() const {
    z3::expr_vector some(context_);
    for (const Placed& each : operations_) {
      if (each.operation->sends) continue;
      for (const Placed& other : operations_) {
        const bool together = other.device == each.device && other.step == each.step;
        if (!together || &other == &each || other.operation->buffer == Buffer::Source) continue;
        some.push_back(is_in(each.operation->box) && is_in(other.operation->box));
      }
    }
    return z3::mk_or(some);
  }

  z3::expr not_held() const {
    z3::expr_vector some(context_);
    for (const Placed& each : operations_) {
      if (!each.operation->sends || each.operation->buffer == Buffer::Source) continue;
      some.push_back(is_in(each.operation->box) && !was_received(each.device, each.step));
    }
    return z3::mk_or(some);
  }

  z3::expr missing() const {
    z3::expr_vector some(context_);
    for (std::uint32_t device = 0; device < steps_.size(); ++device) {
      some.push_back(is_in(needed_[device]) && !was_received(device, steps_[device]));
    }
    return z3::mk_or(some);
  }

 private:
  z3::expr number(std::int64_t value) const { return context_.int_val(value); }
  z3::expr begin(std::uint32_t device, std::size_t step) const {
    return context_.int_const(fmt::format("begin{}.{}", device, step).c_str());
  }
  z3::expr is_in(const Box& box) const {
    z3::expr_vector all(context_);
    for (std::size_t i = 0; i < element_.size(); ++i) {
      all.push_back(number(box.low[i]) <= element_[i] && element_[i] < number(box.high[i]));
    }
    return z3::mk_and(all);
  }
  /// Whether the device has received the element before the step.
  z3::expr was_received(std::uint32_t device, std::size_t step) const {
    z3::expr_vector some(context_);
    for (const Placed* each : receives_[device]) {
      if (each->step < step) some.push_back(is_in(each->operation->box));
    }
    return z3::mk_or(some);
  }

  z3::context& context_;
  std::vector<Box> held_;
  std::vector<Box> needed_;
  std::vector<z3::expr> element_;
  std::vector<std::size_t> steps_;
  std::vector<Placed> operations_;
  std::vector<std::vector<const Placed*>> receives_;
  using Halves = std::pair<std::vector<const Placed*>, std::vector<const Placed*>>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Halves> pairs_;  // by sender and receiver
};

EngineAnswer decide(const PlanQuery& query) {
  EngineAnswer answer{"z3"};
  if (2 * query.plan->transfers() > PlanQuery::kMaxOperations) return answer;
  z3::context context;
  const Meter meter(context, query.limits);
  const PlanTerms terms(context, *query.plan);
  const auto is_possible = [&](const z3::expr& condition) -> std::optional<bool> {
    z3::solver solver(context);
    solver.add(condition);
    const z3::check_result result = meter.check(solver, z3::expr_vector(context));
    if (result == z3::unknown) return std::nullopt;
    return result == z3::sat;
  };
  using Ask = z3::expr (PlanTerms::*)() const;
  const std::pair<const char*, Ask> rules[] = {{"out-of-bounds", &PlanTerms::out_of_bounds},
                                               {"unmatched", &PlanTerms::unmatched},
                                               {"deadlock", &PlanTerms::in_time},
                                               {"overwritten", &PlanTerms::overwritten},
                                               {"not-held", &PlanTerms::not_held},
                                               {"missing", &PlanTerms::missing}};
  for (const auto& [rule, ask] : rules) {
    const std::optional<bool> possible = is_possible((terms.*ask)());
    if (!possible) return answer;
    const bool broken = ask == &PlanTerms::in_time ? !*possible : *possible;
    if (broken) return {"z3", Outcome::Refuted, 0, rule};
  }
  answer.outcome = Outcome::Established;
  return answer;
}

}  // namespace

EngineAnswer judge(const PlanQuery& query) {
  try {
    return guarded([&] { return decide(query); });
  } catch (const LimitReached&) {
    return {"z3"};
  }
}

}  // namespace p2::z3_encoding
