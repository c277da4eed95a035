#include "encodings/cnf/queries.h"

#include <algorithm>
#include <set>

#include "encodings/cnf/solver.h"
#include "engine/reshard/unit_task.h"

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

ScheduleRefutation refute_shorter_schedule(const UnitTasks& tasks, std::int64_t makespan,
                                           const Limits& limits) try {
  const ScheduleEncoding encoding(tasks, makespan);
  const DratTrace trace;
  Solver solver(limits);
  solver.write_proof(trace);
  solver.add(encoding.clauses().literals());
  if (solver.possible()) return {Outcome::Refuted, {}};
  solver.finish_proof();
  return {Outcome::Established, clause_proof(encoding.clauses(), trace, limits)};
} catch (const LimitReached&) {
  return {};
} catch (const TooLarge&) {
  return {};
}

}  // namespace p2::cnf
