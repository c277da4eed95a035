#include "engine/execution/rank_run.h"

#include <numeric>

#include "engine/execution/call_record.h"

namespace p2::execution {
namespace {

using Clock = std::chrono::steady_clock;

class RankRun {
 public:
  RankRun(Rank& rank, std::uint32_t number, const Job& job, RankProgress& progress)
      : rank_(rank),
        number_(number),
        job_(job),
        progress_(progress),
        everything_(job.plan.devices) {
    std::iota(everything_.begin(), everything_.end(), 0U);
    progress_.program = job.program;
  }

  RankResult run() && {
    fill();
    for (unsigned i = 0; i < job_.warmup + job_.iterations; ++i) {
      for (std::size_t step = 0; step < job_.plan.steps.size(); ++step) {
        const double seconds = take(step, nullptr);
        if (i >= job_.warmup) result_.seconds.push_back(seconds);
      }
    }
    if (job_.warmup + job_.iterations > 0) fill();
    for (std::size_t step = 0; step < job_.plan.steps.size(); ++step) {
      take(step, &result_.issued);
      if (job_.check == Check::Steps) result_.audits.push_back(audit_of(step));
    }
    if (job_.check != Check::Nothing) result_.audits.push_back(audit_of_result());
    result_.strayed = result_.issued != planned_calls(job_.plan, number_, job_.chunk_elements);
    rank_.meet();
    return std::move(result_);
  }

 private:
  void fill() {
    rank_.fill(job_.plan.devices * job_.row_bytes(),
               [&](std::span<std::byte> elements) { job_.inputs.write(number_, 0, elements); });
  }

  /// Returns how long this rank was inside the step.
  double take(std::size_t index, std::vector<Issued>* issued) {
    const auto number = static_cast<std::uint32_t>(index + 1);
    const std::optional<Fault>& fault = job_.fault;
    if (fault && fault->rank == number_ && fault->step == number) rank_.misbehave(fault->kind);
    progress_.step = number;
    ++progress_.begun;
    rank_.meet();
    const Clock::time_point start = Clock::now();
    const RankStep& step = job_.plan.steps[index][number_];
    if (step.pack) rank_.rearrange(*step.pack);
    if (step.call) {
      const std::uint64_t count = rank_.take_part(*step.call);
      if (issued != nullptr) issued->push_back({number, *step.call, count});
    }
    if (step.unpack) rank_.rearrange(*step.unpack);
    rank_.finish();
    const Clock::time_point end = Clock::now();
    ++progress_.ended;
    return std::chrono::duration<double>(end - start).count();
  }

  const Rows& held_after(std::size_t steps) const {
    return steps == 0 ? everything_ : job_.plan.steps[steps - 1][number_].held;
  }

  template <typename Audited>
  Audit audit(const Rows& chunks, Audited audited) {
    Audit audit;
    rank_.show(chunks.size() * job_.row_bytes(), [&](std::span<const std::byte> elements) {
      audit = audited(Held{number_, chunks, job_.chunk_elements, elements});
    });
    return audit;
  }

  Audit audit_of(std::size_t index) {
    if (!job_.expectation.knows(index + 1)) return {};
    return audit(held_after(index + 1), [&](const Held& held) {
      return audit_step(held, job_.inputs, job_.expectation, index + 1);
    });
  }

  Audit audit_of_result() {
    return audit(held_after(job_.plan.steps.size()), [&](const Held& held) {
      return audit_result(held, job_.inputs, job_.expectation);
    });
  }

  Rank& rank_;
  std::uint32_t number_;
  const Job& job_;
  RankProgress& progress_;
  Rows everything_;
  RankResult result_;
};

}  // namespace

RankResult run_rank(Rank& rank, std::uint32_t number, const Job& job, RankProgress& progress) {
  return RankRun(rank, number, job, progress).run();
}

}  // namespace p2::execution
