#include "engine/execution/program_run.h"

#include <algorithm>
#include <numeric>

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

std::uint64_t wrong_in(std::span<const RankResult> results, std::size_t audit) {
  std::uint64_t wrong = 0;
  for (const RankResult& rank : results) wrong += rank.audits[audit].wrong;
  return wrong;
}

}  // namespace

ProgramRun::ProgramRun(const Plan& plan, const Expectation& expectation, Inputs inputs,
                       std::size_t chunk_elements)
    : plan_(plan),
      expectation_(expectation),
      inputs_(inputs),
      chunk_elements_(chunk_elements),
      all_chunks_(plan.devices) {
  inputs_.ranks = plan.devices;
  std::iota(all_chunks_.begin(), all_chunks_.end(), 0U);
}

std::array<std::size_t, 2> ProgramRun::buffer_bytes(std::uint32_t rank) const {
  if (rank >= plan_.devices) return {0, 0};
  return {plan_.max_rows * row_bytes(), plan_.max_rows * row_bytes()};
}

void ProgramRun::fill(Rank& rank) const {
  rank.write(0, plan_.devices * row_bytes(),
             [&](std::span<std::byte> elements) { inputs_.write(rank.number(), 0, elements); });
}

void ProgramRun::run_step(Rank& rank, std::size_t index, std::vector<Issued>* issued) const {
  const RankStep& step = plan_.steps[index][rank.number()];
  if (step.pack) rank.rearrange(*step.pack, row_bytes());
  if (step.call) {
    const std::uint64_t count =
        rank.run_collective(*step.call, step.call->rows * chunk_elements_, inputs_.type);
    if (issued != nullptr) {
      issued->push_back({static_cast<std::uint32_t>(index + 1), *step.call, count});
    }
  }
  if (step.unpack) rank.rearrange(*step.unpack, row_bytes());
}

bool ProgramRun::matches(std::uint32_t rank, const std::vector<Issued>& issued) const {
  return issued == planned_calls(plan_, rank, chunk_elements_);
}

const Rows& ProgramRun::held_after(Rank& rank, std::size_t steps) const {
  return steps == 0 ? all_chunks_ : plan_.steps[steps - 1][rank.number()].held;
}

Audit ProgramRun::audit_step(Rank& rank, std::size_t step) const {
  Audit audit;
  if (!expectation_.knows(step + 1)) return audit;
  const Rows& chunks = held_after(rank, step + 1);
  rank.read(0, chunks.size() * row_bytes(), [&](std::span<const std::byte> elements) {
    audit = execution::audit_step({rank.number(), chunks, chunk_elements_, elements}, inputs_,
                                  expectation_, step + 1);
  });
  return audit;
}

Audit ProgramRun::audit_result(Rank& rank) const {
  Audit audit;
  const Rows& chunks = held_after(rank, plan_.steps.size());
  rank.read(0, chunks.size() * row_bytes(), [&](std::span<const std::byte> elements) {
    audit = execution::audit_result({rank.number(), chunks, chunk_elements_, elements}, inputs_,
                                    expectation_);
  });
  return audit;
}

double Measurement::algbw() const {
  return seconds <= 0 ? 0 : static_cast<double>(bytes) / seconds * 1e-9;
}

double Measurement::busbw() const { return algbw() * bus_factor(collective, ranks); }

Measurement measure_step(const ProgramRun& run, const Job& job, std::span<const RankResult> results,
                         std::size_t index) {
  Measurement step;
  for (const RankStep& rank : run.plan().steps[index]) {
    if (!rank.call) continue;
    const Call& call = *rank.call;
    const bool of_all =
        call.collective == Collective::ReduceScatter || call.collective == Collective::AllGather;
    const std::uint64_t bytes = call.rows * run.row_bytes() * (of_all ? call.size : 1);
    step.collective = call.collective;
    step.ranks = std::max(step.ranks, call.size);
    step.bytes = std::max(step.bytes, bytes);
    step.count = std::max<std::uint64_t>(step.count, call.rows * run.chunk_elements());
  }
  step.seconds = mean_of_slowest(job, results, index);
  if (job.check == Check::Steps && run.expectation().knows(index + 1)) {
    step.wrong = wrong_in(results, index);
  }
  return step;
}

Measurement measure_program(const ProgramRun& run, const Job& job,
                            std::span<const RankResult> results) {
  Measurement program;
  program.bytes = run.ranks() * run.row_bytes();
  program.count = run.ranks() * run.chunk_elements();
  for (std::uint32_t rank = 0; rank < run.ranks(); ++rank) {
    program.ranks =
        std::max(program.ranks, static_cast<std::uint32_t>(run.expectation().goal(rank).size()));
  }
  for (std::size_t step = 0; step < run.max_steps(); ++step) {
    program.seconds += mean_of_slowest(job, results, step);
  }
  if (job.check != Check::Nothing) program.wrong = wrong_in(results, results[0].audits.size() - 1);
  return program;
}

}  // namespace p2::execution
