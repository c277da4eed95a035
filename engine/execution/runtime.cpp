#include "engine/execution/runtime.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2::execution {
namespace {

using Clock = std::chrono::steady_clock;

bool is_inside(const RankProgress& rank) { return rank.ended < rank.begun; }

/// The part of one rank in a job.
class RankRun {
 public:
  RankRun(Rank& rank, const Job& job, RankProgress& progress)
      : rank_(rank),
        job_(job),
        work_(job.work),
        progress_(progress),
        active_(rank.number() < work_.ranks()),
        steps_(active_ ? work_.steps(rank.number()) : 0) {
    progress_.job = job.number;
    progress_.kind = work_.kind();
  }

  RankResult run() && {
    fill();
    for (unsigned i = 0; i < job_.warmup + job_.iterations; ++i) {
      for (std::size_t phase = 0; phase < work_.phases(); ++phase) {
        const double seconds = run_phase(phase, nullptr);
        if (i >= job_.warmup) result_.seconds.push_back(seconds);
      }
    }
    if (job_.warmup + job_.iterations > 0) fill();
    for (std::size_t phase = 0; phase < work_.phases(); ++phase) {
      run_phase(phase, &result_.issued);
      if (job_.check == Check::Steps && work_.lockstep()) audit_step(phase);
    }
    if (job_.check != Check::Nothing) audit_result();
    result_.strayed = active_ && !work_.matches(rank_.number(), result_.issued);
    rank_.barrier();
    return std::move(result_);
  }

 private:
  void fill() {
    if (active_) work_.fill(rank_);
  }

  /// Returns how long this rank was inside the phase.
  double run_phase(std::size_t phase, std::vector<Issued>* issued) {
    const std::size_t first = work_.lockstep() ? phase : 0;
    const std::size_t end = work_.lockstep() ? std::min(phase + 1, steps_) : steps_;
    if (first < end) enter(first);
    rank_.barrier();
    const Clock::time_point start = Clock::now();
    for (std::size_t step = first; step < end; ++step) {
      if (step > first) enter(step);
      work_.run_step(rank_, step, issued);
      rank_.finish();
      if (step + 1 < end) ++progress_.ended;
    }
    const Clock::time_point stop = Clock::now();
    if (first < end) ++progress_.ended;
    if (!work_.lockstep()) {  // what is behind is then what is stuck
      progress_.begun += work_.max_steps() - steps_;
      progress_.ended += work_.max_steps() - steps_;
    }
    return std::chrono::duration<double>(stop - start).count();
  }

  void enter(std::size_t step) {
    const auto number = static_cast<std::uint32_t>(step + 1);
    const std::optional<InjectedFault>& fault = job_.fault;
    if (fault && fault->rank == rank_.number() && fault->step == number) rank_.inject(fault->kind);
    progress_.step = number;
    ++progress_.begun;
  }

  void audit_step(std::size_t step) {
    result_.audits.push_back(active_ ? work_.audit_step(rank_, step) : Audit{});
  }
  void audit_result() { result_.audits.push_back(active_ ? work_.audit_result(rank_) : Audit{}); }

  Rank& rank_;
  const Job& job_;
  const Workload& work_;
  RankProgress& progress_;
  const bool active_;
  const std::size_t steps_;
  RankResult result_;
};

}  // namespace

void Rank::run_sums(const Call&, const RowSums&, std::uint64_t, ElementType) {
  invariant(false, "a user-defined collective on a backend that has none");
}

std::string describe_step(const RankProgress& rank) {
  return fmt::format("step {} of {} {}", rank.step.load(),
                     rank.kind == WorkloadKind::Program ? "program" : "plan", rank.job.load());
}

std::string describe_stall(std::span<const RankProgress> ranks) {
  const auto [last, first] = std::minmax_element(
      ranks.begin(), ranks.end(),
      [](const auto& a, const auto& b) { return a.begun.load() < b.begun.load(); });
  const bool at_barrier = first->kind == WorkloadKind::Program || !is_inside(*last);
  if (at_barrier && last->begun.load() < first->begun.load()) {
    return fmt::format("rank {} did not enter {}, where others wait for it", last - ranks.begin(),
                       describe_step(*first));
  }
  const auto stuck = at_barrier ? std::find_if(ranks.begin(), ranks.end(), is_inside) : last;
  if (stuck == ranks.end()) return "no rank was inside a step";
  return fmt::format("rank {} entered {} and did not leave it", stuck - ranks.begin(),
                     describe_step(*stuck));
}

std::size_t Job::audits() const {
  if (check == Check::Nothing) return 0;
  return 1 + (check == Check::Steps && work.lockstep() ? work.max_steps() : 0);
}

double mean_of_slowest(const Job& job, std::span<const RankResult> results, std::size_t phase) {
  double sum = 0;
  for (unsigned i = 0; i < job.iterations; ++i) {
    double slowest = 0;
    for (const RankResult& rank : results) {
      slowest = std::max(slowest, rank.seconds[i * job.work.phases() + phase]);
    }
    sum += slowest;
  }
  return job.iterations == 0 ? 0 : sum / job.iterations;
}

RankResult run_rank(Rank& rank, const Job& job, RankProgress& progress) {
  return RankRun(rank, job, progress).run();
}

void Barrier::arrive_and_wait() {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (aborted_ || (deadline_ && now >= *deadline_)) throw BarrierAborted();
  if (++arrived_ == threads_) {
    arrived_ = 0;
    ++round_;
    released_.notify_all();
    return;
  }
  const auto latest = deadline_ ? std::min(*deadline_, now + kStallTimeout) : now + kStallTimeout;
  const auto over = [this, round = round_] { return aborted_ || round_ != round; };
  if (!released_.wait_until(lock, latest, over) || aborted_) throw BarrierAborted();
}

void Barrier::abort() {
  const std::scoped_lock lock(mutex_);
  aborted_ = true;
  released_.notify_all();
}

}  // namespace p2::execution
