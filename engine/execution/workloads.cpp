#include "engine/execution/workloads.h"

#include <algorithm>

#include "engine/execution/region.h"

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
    : plan_(plan), expectation_(expectation), inputs_(inputs), chunk_elements_(chunk_elements) {
  inputs_.ranks = plan.devices;
}

std::array<std::size_t, 2> ProgramRun::buffer_bytes(std::uint32_t rank) const {
  if (rank >= plan_.devices) return {0, 0};
  return {plan_.max_rows * row_bytes(), plan_.max_rows * row_bytes()};
}

void ProgramRun::fill(Rank& rank) const {
  const Rows& chunks = plan_.begin[rank.number()];
  rank.write(0, chunks.size() * row_bytes(), [&](std::span<std::byte> elements) {
    Reference reference;
    for (std::size_t row = 0; row < chunks.size(); ++row) {
      const Contributors contributors = expectation_.after(0, rank.number(), chunks[row]);
      const std::size_t first = chunks[row] * chunk_elements_;
      if (contributors == Contributors{rank.number()}) {
        inputs_.write(rank.number(), first, elements.subspan(row * row_bytes(), row_bytes()));
      } else {
        reference.compute(inputs_, contributors, first, chunk_elements_);
        reference.write(inputs_.type, elements, row * chunk_elements_);
      }
    }
  });
}

void ProgramRun::run_step(Rank& rank, std::size_t index, std::vector<Issued>* issued) const {
  const RankStep& step = plan_.steps[index][rank.number()];
  if (step.pack) rank.rearrange(*step.pack, row_bytes());
  if (step.call) {
    std::uint64_t count = step.call->rows * chunk_elements_;
    if (is_built_in(step.call->collective)) {
      count = rank.run_collective(*step.call, count, inputs_.type);
    } else {
      rank.run_sums(*step.call, step.sums, chunk_elements_, inputs_.type);
    }
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
  return steps == 0 ? plan_.begin[rank.number()] : plan_.steps[steps - 1][rank.number()].held;
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
  program.collective = run.expectation().collective();
  program.bytes = run.plan().chunks * run.row_bytes();
  program.count = run.plan().chunks * run.chunk_elements();
  program.ranks = run.expectation().largest_class();
  for (std::size_t step = 0; step < run.max_steps(); ++step) {
    program.seconds += mean_of_slowest(job, results, step);
  }
  if (job.check != Check::Nothing) program.wrong = wrong_in(results, results[0].audits.size() - 1);
  return program;
}

namespace {

using reshard::Box;
using reshard::Word;

std::size_t bytes_of(const Box& box) {
  return static_cast<std::size_t>(box.elements()) * sizeof(Word);
}

Word* words(std::span<std::byte> bytes) { return reinterpret_cast<Word*>(bytes.data()); }

}  // namespace

PlanRun::PlanRun(const reshard::Plan& plan) : plan_(plan) {
  const std::vector<Box> held = plan.problem.regions(plan.problem.from);
  const std::vector<Box> needed = plan.problem.regions(plan.problem.to);
  for (std::size_t device = 0; device < held.size(); ++device) {
    regions_.push_back({held[device], needed[device]});
  }
  for (const reshard::DeviceProgram& program : plan.programs) {
    max_steps_ = std::max(max_steps_, program.size());
    for (const reshard::Step& step : program) {
      for (const reshard::Operation& each : step) {
        max_message_ = std::max(max_message_, each.box.elements());
      }
    }
  }
}

std::array<std::size_t, 2> PlanRun::buffer_bytes(std::uint32_t rank) const {
  if (rank >= regions_.size()) return {0, 0};
  return {bytes_of(regions_[rank].source), bytes_of(regions_[rank].destination)};
}

std::size_t PlanRun::message_bytes(std::uint32_t rank) const {
  std::size_t most = 0;
  if (rank >= regions_.size()) return most;
  for (const reshard::Step& step : plan_.programs[rank]) {
    std::size_t bytes = 0;
    for (const reshard::Operation& each : step) bytes += bytes_of(each.box);
    most = std::max(most, bytes);
  }
  return most;
}

void PlanRun::fill(Rank& rank) const {
  const Regions& regions = regions_[rank.number()];
  rank.write(0, bytes_of(regions.source), [&](std::span<std::byte> bytes) {
    Word* next = words(bytes);
    reshard::for_each_row(regions.source, [&](const reshard::Element& first, std::int64_t length) {
      reshard::write_values(plan_.problem.shape, first, length, next);
      next += length;
    });
  });
  rank.write(1, bytes_of(regions.destination), [](std::span<std::byte> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::byte{});
  });
}

void PlanRun::run_step(Rank& rank, std::size_t step, std::vector<Issued>* /*issued*/) const {
  rank.run_transfers(plan_.programs[rank.number()][step], regions_[rank.number()]);
}

Audit PlanRun::audit_result(Rank& rank) const {
  const Regions& regions = regions_[rank.number()];
  Audit audit;
  rank.read(1, bytes_of(regions.destination), [&](std::span<const std::byte> bytes) {
    const auto* next = reinterpret_cast<const Word*>(bytes.data());
    std::vector<Word> expected;
    reshard::for_each_row(
        regions.destination, [&](const reshard::Element& first, std::int64_t length) {
          expected.resize(static_cast<std::size_t>(length));
          reshard::write_values(plan_.problem.shape, first, length, expected.data());
          for (const Word value : expected) {
            const Word got = *next++;
            if (got == value) continue;
            audit.add({rank.number(), 0, got == 0, value - 1, static_cast<double>(got),
                       static_cast<double>(value)});
          }
          audit.compared += expected.size();
        });
  });
  return audit;
}

}  // namespace p2::execution
