#include "engine/execution/measurement.h"

#include <algorithm>

namespace p2::execution {
namespace {

double bus_factor(Collective collective, std::uint32_t ranks) {
  const double others = ranks == 0 ? 0 : static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * others;
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return others;
    case Collective::Reduce:
    case Collective::Broadcast:
      return 1;
  }
  return 1;
}

double mean_of_slowest(const Job& job, std::span<const RankResult> results, std::size_t step) {
  const std::size_t steps = job.plan.steps.size();
  double sum = 0;
  for (unsigned i = 0; i < job.iterations; ++i) {
    double slowest = 0;
    for (const RankResult& rank : results) {
      slowest = std::max(slowest, rank.seconds[i * steps + step]);
    }
    sum += slowest;
  }
  return job.iterations == 0 ? 0 : sum / job.iterations;
}

std::uint64_t wrong_in(std::span<const RankResult> results, std::size_t audit) {
  std::uint64_t wrong = 0;
  for (const RankResult& rank : results) wrong += rank.audits[audit].wrong;
  return wrong;
}

}  // namespace

double Measurement::algbw() const {
  return seconds <= 0 ? 0 : static_cast<double>(bytes) / seconds * 1e-9;
}

double Measurement::busbw() const { return algbw() * bus_factor(collective, ranks); }

Measurement measure_step(const Job& job, std::span<const RankResult> results, std::size_t index) {
  Measurement step;
  for (const RankStep& rank : job.plan.steps[index]) {
    if (!rank.call) continue;
    const Call& call = *rank.call;
    const bool of_all =
        call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
    const std::uint64_t bytes = call.rows * job.row_bytes() * (of_all ? call.size : 1);
    step.collective = call.collective;
    step.ranks = std::max(step.ranks, call.size);
    step.bytes = std::max(step.bytes, bytes);
    step.count = std::max<std::uint64_t>(step.count, call.rows * job.chunk_elements);
  }
  step.seconds = mean_of_slowest(job, results, index);
  if (job.check == Check::Steps && job.expectation.knows(index + 1)) {
    step.wrong = wrong_in(results, index);
  }
  return step;
}

Measurement measure_program(const Job& job, std::span<const RankResult> results) {
  Measurement program;
  program.bytes = job.plan.devices * job.row_bytes();
  program.count = job.plan.devices * job.chunk_elements;
  for (std::uint32_t rank = 0; rank < job.plan.devices; ++rank) {
    program.ranks =
        std::max(program.ranks, static_cast<std::uint32_t>(job.expectation.goal(rank).size()));
  }
  for (std::size_t step = 0; step < job.plan.steps.size(); ++step) {
    program.seconds += mean_of_slowest(job, results, step);
  }
  if (job.check != Check::Nothing) program.wrong = wrong_in(results, results[0].audits.size() - 1);
  return program;
}

}  // namespace p2::execution
