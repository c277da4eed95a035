// Questions about resharding as clauses: whether there is a shorter schedule, whether a plan of
// transfers is right.

#include "encodings/cnf/queries.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "encodings/cnf/solver.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/sharding.h"

namespace p2::cnf {
namespace {

constexpr std::size_t kMaxPoints = std::size_t{1} << 16;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

struct TooLarge {};

/// The possible starts in semi-active schedules: sums of sizes.
std::vector<std::int64_t> starts_before(std::int64_t end, const UnitTasks& tasks) {
  std::set<std::int64_t> sums = {0};
  for (const UnitTask& task : tasks) {
    for (const std::int64_t sum : std::set(sums)) {
      if (sum + task.size < end) sums.insert(sum + task.size);
    }
    if (sums.size() > kMaxPoints) throw TooLarge{};
  }
  return {sums.begin(), sums.end()};
}

/// Order encoding: of every task, literals "starts at this point or later" and its sender; of two
/// tasks that share a host one ends before the other starts.
class ScheduleEncoding {
 public:
  ScheduleEncoding(const UnitTasks& tasks, std::int64_t makespan)
      : tasks_(tasks), points_(starts_before(makespan, tasks)), never_(clauses_.fresh()) {
    clauses_.add({-never_});
    for (const UnitTask& task : tasks) add_task(task, makespan);
    for (std::size_t j = 0; j < tasks.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) separate(i, j);
      if (clauses_.bytes() > kMaxBytes) throw TooLarge{};
    }
  }

  const Clauses& clauses() const { return clauses_; }
  Clauses take_clauses() { return std::move(clauses_); }

  /// By sender of the largest task that has several, or of any.
  const std::vector<Literal>& cubes() const {
    std::size_t largest = 0;
    const auto rank = [&](std::size_t i) {
      return std::pair(tasks_[i].sender_hosts.size() > 1, tasks_[i].size);
    };
    for (std::size_t i = 1; i < tasks_.size(); ++i) {
      if (rank(i) > rank(largest)) largest = i;
    }
    return sent_[largest];
  }

 private:
  void add_task(const UnitTask& task, std::int64_t makespan) {
    auto& starts = starts_from_.emplace_back(1, clauses_.truth());
    if (task.size >= makespan) clauses_.add({never_});
    for (std::size_t k = 1; k < points_.size() && points_[k] + task.size < makespan; ++k) {
      starts.push_back(clauses_.fresh());
      clauses_.add({-starts[k], starts[k - 1]});
    }
    sent_.push_back(clauses_.fresh(task.sender_hosts.size()));
    clauses_.add(sent_.back());
  }

  void separate(std::size_t i, std::size_t j) {
    const UnitTask& a = tasks_[i];
    const UnitTask& b = tasks_[j];
    if (share_receiver(a, b)) {
      const Literal first = order(i, j, {});
      if (a == b) clauses_.add({first});  // symmetry of identical tasks
      return;
    }
    for (std::size_t s = 0; s < a.sender_hosts.size(); ++s) {
      for (std::size_t t = 0; t < b.sender_hosts.size(); ++t) {
        if (a.sender_hosts[s] == b.sender_hosts[t]) order(i, j, {-sent_[i][s], -sent_[j][t]});
      }
    }
  }

  /// Orders i and j unless one of the literals holds; returns the literal "i first".
  Literal order(std::size_t i, std::size_t j, const std::vector<Literal>& unless) {
    const Literal first = clauses_.fresh();
    follow(i, j, -first, unless);
    follow(j, i, first, unless);
    return first;
  }

  void follow(std::size_t a, std::size_t b, Literal other, const std::vector<Literal>& unless) {
    for (std::size_t k = 0; k < starts_from_[a].size(); ++k) {
      const std::int64_t end = points_[k] + tasks_[a].size;
      const auto next = static_cast<std::size_t>(
          std::lower_bound(points_.begin(), points_.end(), end) - points_.begin());
      std::vector<Literal> clause{other, -starts_from_[a][k],
                                  next < starts_from_[b].size() ? starts_from_[b][next] : never_};
      clause.insert(clause.end(), unless.begin(), unless.end());
      clauses_.add(clause);
    }
  }

  const UnitTasks& tasks_;
  const std::vector<std::int64_t> points_;
  Clauses clauses_;
  const Literal never_;
  std::vector<std::vector<Literal>> starts_from_;  // by task and point
  std::vector<std::vector<Literal>> sent_;         // by task and sender
};

}  // namespace

std::optional<SplitClauses> shorter_schedule_clauses(const UnitTasks& tasks,
                                                     std::int64_t makespan) try {
  ScheduleEncoding encoding(tasks, makespan);
  std::vector<Literal> cubes = encoding.cubes();
  return SplitClauses{encoding.take_clauses(), std::move(cubes)};
} catch (const TooLarge&) {
  return std::nullopt;
}

ScheduleRefutation refute_shorter_schedule(const UnitTasks& tasks, std::int64_t makespan,
                                           const Limits& limits,
                                           const std::optional<std::string>& refuted_in) try {
  const ScheduleEncoding encoding(tasks, makespan);
  Decided decided = decide(encoding.clauses(), encoding.cubes(), 1, refuted_in, limits);
  if (std::holds_alternative<Model>(decided)) return {Outcome::Refuted, {}};
  return {Outcome::Established, std::get<ClauseProof>(std::move(decided))};
} catch (const LimitReached&) {
  return {};
} catch (const TooLarge&) {
  return {};
}

namespace {

using reshard::Box;
using reshard::Buffer;
using reshard::Operation;

/// One element of the tensor of a plan, with its coordinates as bit vectors, and the boxes that it
/// is in.
class SymbolicElement {
 public:
  /// Both must outlive this. The bit vectors are wide enough for the boxes of the plan.
  SymbolicElement(Clauses& clauses, const reshard::Plan& plan);

  Literal in(const reshard::Box& box);

 private:
  /// Coordinate i ≥ number: a comparator over its bits, shared by all boxes.
  Literal at_least(std::size_t i, std::int64_t number);

  Clauses& clauses_;
  std::vector<std::vector<Literal>> bits_;  // by dimension, the lowest first
  std::vector<std::map<std::int64_t, Literal>> known_;
};

SymbolicElement::SymbolicElement(Clauses& clauses, const reshard::Plan& plan)
    : clauses_(clauses), bits_(plan.problem.shape.size()), known_(bits_.size()) {
  reshard::Element largest = plan.problem.shape;
  for (const auto& program : plan.programs) {
    for (const reshard::Step& step : program) {
      for (const reshard::Operation& each : step) {
        for (std::size_t i = 0; i < largest.size(); ++i) {
          largest[i] = std::max(largest[i], each.box.high[i]);
        }
      }
    }
  }
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    const auto width = std::bit_width(static_cast<std::uint64_t>(largest[i]));
    bits_[i] = clauses.fresh(static_cast<std::size_t>(width));
  }
}

Literal SymbolicElement::in(const reshard::Box& box) {
  std::vector<Literal> all;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    all.push_back(at_least(i, box.low[i]));
    all.push_back(-at_least(i, box.high[i]));
  }
  return clauses_.all_of(all);
}

Literal SymbolicElement::at_least(std::size_t i, std::int64_t number) {
  if (number <= 0) return clauses_.truth();
  const auto wanted = static_cast<std::uint64_t>(number);
  if (static_cast<std::size_t>(std::bit_width(wanted)) > bits_[i].size()) return -clauses_.truth();
  const auto [known, is_new] = known_[i].try_emplace(number, 0);
  if (!is_new) return known->second;
  Literal from_here = clauses_.truth();  // of the bits below
  for (std::size_t bit = 0; bit < bits_[i].size(); ++bit) {
    const Literal both[] = {bits_[i][bit], from_here};
    from_here = (wanted >> bit & 1U) != 0 ? clauses_.all_of(both) : clauses_.any_of(both);
  }
  return known->second = from_here;
}

class PlanClauses {
 public:
  explicit PlanClauses(const reshard::Plan& plan) : plan_(plan), element_(clauses_, plan) {}

  const Clauses& clauses() const { return clauses_; }

  Literal out_of_bounds() {
    const auto held = plan_.problem.regions(plan_.problem.from);
    const auto needed = plan_.problem.regions(plan_.problem.to);
    std::vector<Literal> some;
    for_each([&](std::uint32_t device, std::size_t, const Operation& each) {
      const Box& region = (each.buffer == Buffer::Source ? held : needed)[device];
      const Literal stray[] = {element_.in(each.box), -element_.in(region)};
      some.push_back(clauses_.all_of(stray));
      // Negative coordinates have no bit vector.
      for (std::size_t i = 0; i < each.box.low.size(); ++i) {
        const bool none = each.box.high[i] <= each.box.low[i] || each.box.low[i] < 0;
        if (none) some.push_back(clauses_.truth());
      }
    });
    return clauses_.any_of(some);
  }

  Literal unmatched() {
    std::vector<Literal> some;
    for (const auto& [ends, sends] : halves(true)) {
      const auto receives = halves(false)[ends];
      for (std::size_t k = 0; k < std::min(sends.size(), receives.size()); ++k) {
        const Literal a = element_.in(sends[k].operation->box);
        const Literal b = element_.in(receives[k].operation->box);
        const Literal first_only[] = {a, -b};
        const Literal second_only[] = {b, -a};
        some.push_back(clauses_.all_of(first_only));
        some.push_back(clauses_.all_of(second_only));
      }
      if (sends.size() != receives.size()) some.push_back(clauses_.truth());
    }
    for (const auto& [ends, receives] : halves(false)) {
      if (!halves(true).contains(ends)) some.push_back(clauses_.truth());
    }
    return clauses_.any_of(some);
  }

  /// Precondition: all transfers have both halves.
  Literal deadlock() {
    std::vector<std::vector<Literal>> begins;  // step s never begins: by device and step
    std::vector<std::vector<std::vector<Literal>>> inside;
    for (const auto& program : plan_.programs) {
      begins.push_back(clauses_.fresh(program.size()));
      inside.emplace_back(program.size());
    }
    std::vector<Literal> some;
    auto receives = halves(false);
    for (const auto& [ends, sends] : halves(true)) {
      for (std::size_t k = 0; k < sends.size(); ++k) {
        const Half& a = sends[k];
        const Half& b = receives[ends][k];
        const Literal stuck = clauses_.fresh();
        clauses_.add({-stuck, begins[a.device][a.step], begins[b.device][b.step]});
        inside[a.device][a.step].push_back(stuck);
        inside[b.device][b.step].push_back(stuck);
        some.push_back(stuck);
      }
    }
    for (std::size_t device = 0; device < begins.size(); ++device) {
      for (std::size_t step = 0; step < begins[device].size(); ++step) {
        std::vector<Literal> clause{-begins[device][step]};
        if (step > 0) {
          const auto& before = inside[device][step - 1];
          clause.insert(clause.end(), before.begin(), before.end());
          clause.push_back(begins[device][step - 1]);
        }
        clauses_.add(clause);
      }
    }
    return clauses_.any_of(some);
  }

  Literal overwritten() {
    std::vector<Literal> some;
    for_each([&](std::uint32_t device, std::size_t step, const Operation& each) {
      if (each.sends) return;
      for (const Operation& other : plan_.programs[device][step]) {
        if (&other == &each || other.buffer == Buffer::Source) continue;
        const Literal both[] = {element_.in(each.box), element_.in(other.box)};
        some.push_back(clauses_.all_of(both));
      }
    });
    return clauses_.any_of(some);
  }

  Literal not_held() {
    std::vector<Literal> some;
    for_each([&](std::uint32_t device, std::size_t step, const Operation& each) {
      if (!each.sends || each.buffer == Buffer::Source) return;
      some.push_back(lacking(each.box, device, step));
    });
    return clauses_.any_of(some);
  }

  Literal missing() {
    const auto needed = plan_.problem.regions(plan_.problem.to);
    std::vector<Literal> some;
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
      some.push_back(lacking(needed[device], device, plan_.programs[device].size()));
    }
    return clauses_.any_of(some);
  }

 private:
  struct Half {
    std::uint32_t device = 0;
    std::size_t step = 0;
    const Operation* operation = nullptr;
  };
  using Ends = std::pair<std::uint32_t, std::uint32_t>;

  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) {
      for (std::size_t step = 0; step < plan_.programs[device].size(); ++step) {
        for (const Operation& each : plan_.programs[device][step]) visit(device, step, each);
      }
    }
  }

  /// Sends or receives, by sender and receiver.
  std::map<Ends, std::vector<Half>> halves(bool sends) const {
    std::map<Ends, std::vector<Half>> all;
    for_each([&](std::uint32_t device, std::size_t step, const Operation& each) {
      if (each.sends != sends) return;
      all[sends ? Ends(device, each.peer) : Ends(each.peer, device)].push_back(
          {device, step, &each});
    });
    return all;
  }

  /// The element is in the box, and in nothing that the device receives in its first steps.
  Literal lacking(const Box& box, std::uint32_t device, std::size_t steps) {
    std::vector<Literal> all{element_.in(box)};
    for (std::size_t step = 0; step < steps; ++step) {
      for (const Operation& each : plan_.programs[device][step]) {
        if (!each.sends) all.push_back(-element_.in(each.box));
      }
    }
    return clauses_.all_of(all);
  }

  const reshard::Plan& plan_;
  Clauses clauses_;
  SymbolicElement element_;
};

}  // namespace

EngineAnswer judge(const PlanQuery& query) {
  EngineAnswer answer{"cnf"};
  if (2 * query.plan->transfers() > PlanQuery::kMaxOperations) return answer;
  using Ask = Literal (PlanClauses::*)();
  const std::pair<const char*, Ask> rules[] = {
      {"out-of-bounds", &PlanClauses::out_of_bounds}, {"unmatched", &PlanClauses::unmatched},
      {"deadlock", &PlanClauses::deadlock},           {"overwritten", &PlanClauses::overwritten},
      {"not-held", &PlanClauses::not_held},           {"missing", &PlanClauses::missing}};
  try {
    for (const auto& [rule, ask] : rules) {
      PlanClauses plan(*query.plan);
      const Literal broken = (plan.*ask)();
      Solver solver(query.limits);
      solver.add(plan.clauses().literals());
      if (solver.possible(broken)) return {"cnf", Outcome::Refuted, 0, rule};
    }
  } catch (const LimitReached&) {
    return answer;
  }
  answer.outcome = Outcome::Established;
  return answer;
}

}  // namespace p2::cnf
