#include "encodings/z3/queries.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "encodings/z3/onesided_events.h"
#include "encodings/z3/terms.h"
#include "engine/onesided/judge.h"

namespace p2::z3_encoding {
namespace {

using namespace onesided;
using namespace orders;

/// The constraints on times.
class Times {
 public:
  Times(z3::context& context, const Events& events)
      : context_(context), events_(events), t_(context), m_(context), occurs_(context) {
    for (Event e = 0; e < events.all.size(); ++e) {
      t_.push_back(context.int_const(fmt::format("t{}", e).c_str()));
      m_.push_back(context.int_const(fmt::format("m{}", e).c_str()));
      occurs_.push_back(context.bool_const(fmt::format("o{}", e).c_str()));
    }
  }

  /// An interleaving in which all occurs.
  void add_interleaving(z3::solver& solver) const {
    for (const auto* edges : {&events_.always, &events_.program, &events_.packets}) {
      for (const auto& [first, second] : *edges) solver.add(t(first) < t(second));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      const std::vector<Use>& signals = events_.signals[c];
      if (wait.number > signals.size()) return;  // in later launches
      if (events_.ordered[c]) {
        solver.add(t(signals[wait.number - 1].event) < t(wait.event));
      } else {
        solver.add(at_least(signals, wait.number,
                            [&](const Use& each) { return t(each.event) < t(wait.event); }));
      }
    });
    for (std::uint32_t c = 0; c < events_.signals.size(); ++c) {
      if (events_.ordered[c] || events_.waits[c].empty()) continue;
      z3::expr_vector times(context_);
      for (const Use& each : events_.signals[c]) times.push_back(t(each.event));
      solver.add(z3::distinct(times));
    }
  }

  /// An order that memory may have in the interleaving.
  void add_memory(z3::solver& solver) const {
    for (const auto* edges : {&events_.always, &events_.begun}) {
      for (const auto& [first, second] : *edges) solver.add(m(first) < m(second));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      if (events_.surplus[c]) return;
      const std::vector<Use>& signals = events_.signals[c];
      for (std::size_t k = 0; k < signals.size(); ++k) {
        const Use& signal = signals[k];
        if (events_.ordered[c] && k + 1 != wait.number) continue;
        z3::expr_vector both(context_);
        if (signal.fence && wait.fence) both.push_back(m(*signal.fence) < m(*wait.fence));
        if (signal.any && wait.any) {
          const EventInfo& sender = events_.all[signal.event];
          both.push_back(m(events_.begins[sender.rank][sender.launch]) < m(wait.event));
        }
        if (both.empty()) continue;
        if (events_.ordered[c]) {
          solver.add(z3::mk_and(both));
          continue;
        }
        // Among the first ones.
        const z3::expr is_late = at_least(
            signals, wait.number, [&](const Use& each) { return t(each.event) < t(signal.event); });
        solver.add(is_late || z3::mk_and(both));
      }
    });
  }

  /// A prefix of an interleaving after which nothing can occur, though something is left.
  void add_deadlock(z3::solver& solver, std::uint32_t judged) const {
    // An expr_vector that is copied is the same one.
    std::vector<std::vector<z3::expr>> enabled(events_.all.size());
    for (const auto* edges : {&events_.always, &events_.program}) {
      for (const auto& [first, second] : *edges) {
        enabled[second].push_back(o(first));
        solver.add(z3::implies(o(second), o(first) && t(first) < t(second)));
      }
    }
    for (const auto& [writer, poll] : events_.packets) {
      enabled[poll].push_back(o(writer));
      solver.add(z3::implies(o(poll), o(writer) && t(writer) < t(poll)));
    }
    for_each_wait([&](std::uint32_t c, const Use& wait) {
      const std::vector<Use>& signals = events_.signals[c];
      if (wait.number > signals.size()) {
        enabled[wait.event].push_back(context_.bool_val(false));
        solver.add(!o(wait.event));
        return;
      }
      enabled[wait.event].push_back(
          at_least(signals, wait.number, [&](const Use& each) { return o(each.event); }));
      solver.add(z3::implies(o(wait.event), at_least(signals, wait.number, [&](const Use& each) {
                               return o(each.event) && t(each.event) < t(wait.event);
                             })));
    });
    z3::expr_vector left(context_);
    for (Event e = 0; e < events_.all.size(); ++e) {
      z3::expr_vector all(context_);
      for (const z3::expr& each : enabled[e]) all.push_back(each);
      solver.add(z3::implies(z3::mk_and(all), o(e)));
      if (events_.all[e].launch < judged) left.push_back(!o(e));
    }
    solver.add(z3::mk_or(left));
  }

  z3::expr is_race(const Pair& pair) const {
    z3::expr_vector all(context_);
    all.push_back(t(pair.x) < t(pair.y));
    all.push_back(m(pair.y) < m(pair.x));
    for (const Event poll : pair.polls) {
      if (poll != pair.y) all.push_back(m(pair.y) < m(poll));
    }
    return z3::mk_and(all);
  }

  z3::expr t(Event event) const { return t_[static_cast<int>(event)]; }

 private:
  z3::expr m(Event event) const { return m_[static_cast<int>(event)]; }
  z3::expr o(Event event) const { return occurs_[static_cast<int>(event)]; }

  template <typename Visit>
  void for_each_wait(const Visit& visit) const {
    for (std::uint32_t c = 0; c < events_.waits.size(); ++c) {
      for (const Use& wait : events_.waits[c]) {
        if (wait.number > 0) visit(c, wait);
      }
    }
  }
  template <typename Holds>
  z3::expr at_least(const std::vector<Use>& uses, std::uint64_t number, const Holds& holds) const {
    z3::expr_vector all(context_);
    for (const Use& each : uses) all.push_back(holds(each));
    if (number > all.size()) return context_.bool_val(false);
    return z3::atleast(all, static_cast<unsigned>(number));
  }

  z3::context& context_;
  const Events& events_;
  z3::expr_vector t_;
  z3::expr_vector m_;
  z3::expr_vector occurs_;
};

/// Executes the events in an order; whether all polls find their packets and all outputs are right.
bool has_right_result(const onesided::Unrolling& plan, const Events& events,
                      const std::vector<Event>& order) {
  std::vector<std::uint64_t> memory(plan.cells);
  std::vector<std::int64_t> flags(plan.cells, -1);
  Outputs outputs(plan.launches, std::vector<std::vector<std::uint64_t>>(plan.ranks));
  for (const Event event : order) {
    const EventInfo& info = events.all[event];
    if (info.user) {
      const UserCells& user = plan.users[info.rank];
      for (std::uint32_t k = 0; info.launch > 0 && k < user.output_cells; ++k) {
        outputs[info.launch - 1][info.rank].push_back(memory[user.output + k]);
      }
      for (std::uint32_t k = 0; k < user.output_cells; ++k) {
        memory[user.output + k] = ~input_number(info.launch, info.rank, k);
      }
      for (std::uint32_t k = 0; k < user.input_cells; ++k) {
        memory[user.input + k] = input_number(info.launch, info.rank, k);
      }
    }
    if (info.operation == nullptr ||
        (info.operation->kind == Operation::Kind::Push && !info.transfer)) {
      continue;
    }
    for (const Statement& statement : info.operation->statements) {
      std::vector<std::uint64_t> sums(statement.sources.front().count);
      std::vector<std::int64_t> marks(sums.size(), info.launch);
      for (const Operand& source : statement.sources) {
        for (std::uint32_t k = 0; k < source.count; ++k) {
          const std::int64_t mark = flags[source.cell(k)];
          if (source.polled && mark != std::int64_t{info.launch}) return false;
          if (source.packets && !source.polled) marks[k] = mark;
          sums[k] += memory[source.cell(k)];
        }
      }
      for (const Operand& target : statement.targets) {
        for (std::uint32_t k = 0; k < target.count; ++k) {
          memory[target.cell(k)] = sums[k];
          flags[target.cell(k)] = target.packets ? marks[k] : -1;
          if (!target.packets) continue;
          memory[target.cell(k) + 1] = sums[k];
          flags[target.cell(k) + 1] = -1;
        }
      }
    }
  }
  return !find_wrong_number(plan, outputs);
}

EngineAnswer decide(const OrdersQuery& query) {
  const onesided::Unrolling& plan = *query.unrolling;
  const Events events(plan);
  if (events.is_refuted) return {"z3", Outcome::Refuted};
  const std::vector<Pair> pairs = possible_races(plan, events);
  z3::context context;
  const Meter meter(context, query.limits);
  const Times times(context, events);
  const z3::expr_vector none(context);
  z3::solver deadlock(context);
  times.add_deadlock(deadlock, plan.judged);
  const z3::check_result stops = meter.check(deadlock, none);
  if (stops != z3::unsat) {
    // Elements that go on before others have seen their packets are no events here.
    const bool is_stop = stops == z3::sat && !events.forwards;
    return {"z3", is_stop ? Outcome::Refuted : Outcome::Undecided};
  }
  // Signals of later launches may end a wait, too.
  const bool ambiguous = std::ranges::any_of(events.ordered, [](bool each) { return !each; });
  if (ambiguous && plan.judged == plan.launches) return {"z3"};
  z3::solver solver(context);
  times.add_interleaving(solver);
  if (meter.check(solver, none) != z3::sat) return {"z3"};
  std::vector<Event> order(events.all.size());
  std::iota(order.begin(), order.end(), 0);
  const z3::model model = solver.get_model();
  std::vector<std::int64_t> at;
  at.reserve(order.size());
  for (const Event event : order) {
    at.push_back(model.eval(times.t(event), true).get_numeral_int64());
  }
  std::ranges::stable_sort(order, {}, [&](Event event) { return at[event]; });
  times.add_memory(solver);
  for (const bool open : {false, true}) {
    z3::expr_vector some(context);
    for (const Pair& pair : pairs) {
      if (pair.open == open) some.push_back(times.is_race(pair));
    }
    solver.push();
    solver.add(z3::mk_or(some));
    const z3::check_result found = meter.check(solver, none);
    solver.pop();
    if (found == z3::unsat) continue;
    return {"z3", found == z3::sat && !open ? Outcome::Refuted : Outcome::Undecided};
  }
  return {"z3", has_right_result(plan, events, order) ? Outcome::Established : Outcome::Refuted};
}

}  // namespace

EngineAnswer judge(const OrdersQuery& query) {
  try {
    return guarded([&] { return decide(query); });
  } catch (const LimitReached&) {
    return {"z3"};
  } catch (const LeftOpen&) {
    return {"z3"};
  }
}

}  // namespace p2::z3_encoding
