#include "engine/execution/plan_run.h"

#include <algorithm>

#include "engine/execution/region.h"

namespace p2::execution {
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
